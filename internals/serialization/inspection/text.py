"""Formats a report of `inspect` for a terminal: a few facts, then aligned tables, each shortened
unless its section is asked for.

How the real one differs: `torch.utils.model_dump` writes a web page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from ..visible import visible
from .report import RecordFacts, Report
from .tensors import TensorFacts
from .tree import tree

# section -> rows or lines in the overview
SHORT = {"records": 12, "tensors": 12, "pickle": 18, "code": 0, "graph": 0}
ALL = tuple(SHORT)
JSON_WIDTH = 100


def as_text(report: Report, wanted: Sequence[str] = (), graph: str | None = None) -> str:
    """The overview, or the `wanted` sections in full."""
    blocks = [heading(report, bool(wanted))]
    for section in ALL:
        if wanted and section not in wanted:
            continue
        limit = None if section in wanted else SHORT[section]
        if section == "graph":
            blocks += [f"graph\n{indented(graph)}"] if graph else []
        elif limit != 0:
            found = list(SECTIONS[section](report, limit))
            blocks += found or [f"{section}\n  none in this file"] * (section in wanted)
    return visible("\n\n".join(blocks), lines=True)


def heading(report: Report, brief: bool) -> str:
    """The first lines: the kind of file, then aligned pairs of a name and a text. `brief` omits
    all but the writer and the problems.
    """
    rows = [("written by", report.written_by)] if report.written_by else []
    if not brief:
        rows += list(facts(report))
    if report.refused:
        rows.append(
            (
                "refused",
                f"loading it would import {', '.join(report.refused)}: not on the list of what is "
                "allowed",
            )
        )
    rows += [("WRONG", problem) for problem in report.problems]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"{visible(report.name)}: {report.title}, {report.size:,} bytes"]
    return "\n".join(
        lines + [f"  {visible(name):<{width}}  {visible(value)}" for name, value in rows]
    )


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each line that sums up the report."""
    if report.top:
        yield "folder", report.top
    yield from report.facts.items()
    if report.records:
        stored = [r for r in report.records if r.what == "tensor"]
        aligned = sum(r.aligned for r in stored)
        yield (
            "records",
            f"{len(report.records):,}, of which {len(stored):,} with the bytes of tensors",
        )
        if stored:
            every = "all" if aligned == len(stored) else f"{aligned:,} of {len(stored):,}"
            yield "alignment", f"{every} of them on a multiple of 64 bytes"
    if report.tensors:
        elements = sum(t.numel for t in report.tensors)
        records = {t.record for t in report.tensors}
        shared = sum(bool(t.shares_with) for t in report.tensors)
        note = f", {shared:,} of which share their storage" if shared else ""
        yield (
            "tensors",
            f"{len(report.tensors):,} in {plural(len(records), 'storage')}{note}; {elements:,} "
            "elements",
        )
    if report.code:
        lines = sum(len(text.splitlines()) for text in report.code.values())
        yield (
            "code",
            f"{plural(lines, 'line')} in {plural(len(report.code), 'record')} (--code prints it, "
            "--graph the graph)",
        )


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + "s" * (count != 1)


def records_section(report: Report, limit: int | None) -> Iterator[str]:
    rows = [record_row(r, report) for r in report.records]
    spans = [[f"{s.start:#x}", f"{s.size:,}", "", "", "", s.what] for s in report.spans]
    header = ["at", "bytes", "how", "aligned", "crc-32", "record"]
    if rows:
        yield section("records", rows, spans, header, {0, 1}, limit)


def record_row(r: RecordFacts, report: Report) -> list[str]:
    """The cells of a record: offset, size, method, alignment, checksum, name."""
    how = f"deflated to {r.stored_size:,}" if r.deflated else "stored"
    # the largest power of two up to 64 that divides the offset
    aligned = "64" if r.aligned else str(math.gcd(r.offset, 64))
    crc = f"{r.crc32:08x}" if r.crc32 or "zip" in report.title or "archive" in report.title else ""
    size = f"{r.size:,}" if r.size >= 0 else "?"
    return [
        f"{r.offset:#x}",
        size,
        how,
        aligned,
        crc,
        r.name + (f"   WRONG: {r.problem}" if r.problem else ""),
    ]


def tensors_section(report: Report, limit: int | None) -> Iterator[str]:
    rows = [tensor_row(t) for t in report.tensors]
    header = ["tensor", "dtype", "sizes", "strides", "bytes", "in record", "bytes there", "", ""]
    if rows:
        yield section("tensors", rows, [], header, {4}, limit)


def tensor_row(t: TensorFacts) -> list[str]:
    """The cells of a tensor, in the order of the header in `tensors_section`."""
    shared = (
        f"shared with {', '.join(t.shares_with[:3])}{', ...' * (len(t.shares_with) > 3)}"
        if t.shares_with
        else ""
    )
    there = "all" if t.whole else f"{t.first:,} to {t.last:,}"
    gradient = "requires grad" if t.requires_grad else ""
    place = t.record if t.device == "cpu" else f"{t.record} ({t.device})"
    return [
        t.path,
        t.dtype,
        str(t.sizes),
        str(t.strides),
        f"{t.nbytes:,}",
        place,
        there,
        gradient,
        shared,
    ]


def pickles_section(report: Report, limit: int | None) -> Iterator[str]:
    """Yields each pickle as a tree; in full, also the names that it imports and the JSON."""
    for name, described in report.pickles.items():
        if limit is not None and name == "constants.pkl" and described.opcodes < 4:
            continue  # an empty tuple: the code has no constants
        head = (
            f"{visible(name)} (protocol {described.protocol}, "
            f"{plural(described.opcodes, 'instruction')})"
        )
        prefix = "" if name in ("object", "pickle") else name.removesuffix(".pkl") + "/"
        lines = tree(described.root, prefix, limit)
        if lines[-1] == "...":
            lines[-1] = "... more (--pickle)"
        used = [
            f"    {visible(str(g))}{'   REFUSED' if str(g) in report.refused else ''}"
            for g in described.globals
        ]
        names = (
            ["  names that it uses:", *used] if used and (limit is None or report.refused) else []
        )
        yield "\n".join([head, *(f"  {line}" for line in lines), *names])
    if limit is None:
        for name, text in report.texts.items():
            yield f"{visible(name)}\n{indented(pretty(text))}"


def pretty(text: str) -> str:
    """JSON with line breaks where a value is longer than a line; other text unchanged."""
    try:
        return "\n".join(json_lines(json.loads(text), ""))
    except (ValueError, RecursionError):
        return text


def json_lines(value: object, indent: str, before: str = "", after: str = "") -> Iterator[str]:
    """Yields a JSON value on one line if it fits, else with a line for each of its parts. `before`
    is its key, `after` a comma.
    """
    line = indent + before + json.dumps(value, ensure_ascii=False) + after
    if len(line) <= JSON_WIDTH or not isinstance(value, (dict, list)) or not value:
        yield line
        return
    brackets = "{}" if isinstance(value, dict) else "[]"
    parts = (
        [(f"{json.dumps(k)}: ", v) for k, v in value.items()]
        if isinstance(value, dict)
        else [("", v) for v in value]
    )
    yield indent + before + brackets[0]
    for i, (label, part) in enumerate(parts):
        yield from json_lines(part, indent + "  ", label, "," * (i < len(parts) - 1))
    yield indent + brackets[1] + after


def code_section(report: Report, limit: int | None) -> Iterator[str]:
    for name, text in report.code.items():
        yield f"{visible(name)}\n{indented(text)}"


def section(
    title: str,
    rows: list[list[str]],
    last: list[list[str]],
    header: list[str],
    right: set[int],
    limit: int | None,
) -> str:
    """A table under its title. Of `rows`, those beyond `limit` are only counted; `last` are always
    shown. The columns `right` are aligned to the right.
    """
    hidden = len(rows) - limit if limit is not None and len(rows) > limit + 1 else 0
    shown = [
        [visible(cell) for cell in row] for row in (header, *rows[: len(rows) - hidden], *last)
    ]
    widths = [max(len(row[i]) for row in shown) for i in range(len(header))]
    lines = [
        "  "
        + "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths))
        ).rstrip()
        for row in shown
    ]
    if hidden:
        lines.insert(len(lines) - len(last), f"  ... {hidden:,} more (--{title})")
    return "\n".join([title, *lines])


def indented(text: str | None) -> str:
    return "\n".join(f"  {line}".rstrip() for line in (text or "").rstrip().splitlines())


SECTIONS = {
    "records": records_section,
    "tensors": tensors_section,
    "pickle": pickles_section,
    "code": code_section,
}
