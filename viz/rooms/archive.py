"""`viz.archive`: the bytes of a saved file, in order: what is a header, what is padding, what is a
tensor, and who says so.

An archive is a zip file whose payloads begin on multiples of 64 bytes, so that they can be mapped
into memory and used where they are. Each record is a row: its header with its name, the padding up
to the boundary, the payload, the data descriptor. Beside a payload are the tensors that look at it;
beside the map stand the pickle, the code and the JSON that give them their names.

How the real one differs: PyTorch draws nothing; `unzip -v` lists the records, and
`torch.utils.model_dump` the tensors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.text import plural, size_in_words, table

RECORDS_AT_MOST = 24
LINES_AT_MOST = 18  # of a panel
BUCKETS = 60
MARKS = {
    "tensor": "█",
    "description": "▒",
    "code": "▓",
    "text": "▒",
    "directory": "░",
    "overhead": "·",
}


@dataclass
class TensorRow:
    """A tensor and the bytes of its record that it touches; `shared` when another one looks at that
    record, too.
    """

    name: str
    facts: str
    first: int
    last: int
    whole: bool
    shared: bool


@dataclass
class RecordRow:
    """One record: `start` is where its header is, and header, padding, payload and descriptor
    follow each other from there.

    `kind` is "tensor", "description" (pickle, JSON), "code", "text", "directory", or "hidden": a
    run of records not shown.
    """

    name: str
    kind: str
    start: int
    header: int
    padding: int
    payload: int
    descriptor: int
    note: str
    tensors: list[TensorRow] = field(default_factory=list)
    problem: str = ""

    @property
    def offset(self) -> int:
        return self.start + self.header + self.padding

    @property
    def end(self) -> int:
        return self.offset + self.payload + self.descriptor


@dataclass
class Panel:
    """Some lines of a record, and how many more there are."""

    title: str
    lines: list[str]
    hidden: int = 0


@dataclass
class Archive(Picture):
    """The scene. `runs` are the whole file's bytes by kind: (start, size, kind)."""

    name: str
    what: str
    size: int
    rows: list[RecordRow] = field(default_factory=list)
    runs: list[tuple[int, int, str]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def text(self) -> str:
        lines = [
            f"{self.name}: {self.what}, {size_in_words(self.size)}",
            *(f"  {line}" for line in self.summary),
        ]
        lines += [f"  WARNING: {warning}" for warning in self.warnings]
        lines += ["", f"  {strip(self)}", f"  {legend()}", ""]
        rows = [cells for row in self.rows for cells in row_cells(row)]
        lines.append(
            table(rows, ["at", "header", "padding", "payload", "record", "holds"], 2, {0, 1, 2, 3})
        )
        for panel in self.panels:
            lines += ["", panel.title, *(f"    {line}".rstrip() for line in panel.lines)]
            lines += [f"    ... {plural(panel.hidden, 'more line')}"] if panel.hidden else []
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        from viz.rooms.archive_canvas import archive_canvas

        return archive_canvas(self)

    def title(self) -> str:
        return f"viz.archive: {self.name}"


def archive(path: str | os.PathLike[str], *, limit: int = RECORDS_AT_MOST) -> Archive:
    """The bytes of a `.pt`, `.pth`, `.pt2` or `.safetensors` file; at most `limit` records, others
    are marked as hidden.

    Nothing in the file is executed. A damaged file is drawn as far as it can be read.

    Raises OSError when there is no such file, `ArchiveError` when it is of another kind, and
    ValueError for a limit below 1.
    """
    from internals.serialization.inspection.report import examine

    if limit < 1:
        raise ValueError(f"limit is how many records there may be, at least 1, not {limit}")
    return scene(examine(path), limit)


def visible(text: str) -> str:
    from internals.serialization.visible import visible as shown

    return shown(text)


def scene(report: Any, limit: int) -> Archive:
    """The picture of a report of `internals.serialization.inspection.report`."""
    rows = [record_row(r, report) for r in report.records]
    rows += [
        RecordRow(s.what, "directory", s.start, 0, 0, s.size, 0, SAYS.get(s.what, ""))
        for s in report.spans
    ]
    rows.sort(key=lambda row: row.start)
    warnings = [f"loading it would import {name}, which is refused" for name in report.refused]
    return Archive(
        name=visible(report.name),
        what=report.title,
        size=report.size,
        rows=folded(rows, limit, visible(main_code(report))),
        runs=runs_of(rows, report.size),
        panels=panels(report),
        summary=[visible(line) for line in summary(report)],
        warnings=[visible(line) for line in (*warnings, *report.problems)],
    )


KINDS = {
    "tensor": "tensor",
    "pickle": "description",
    "json": "description",
    "code": "code",
    "positions": "code",
}
SAYS = {
    "central directory": "where each record is, and how long",
    "end record": "where the central directory is",
    ".data/serialization_id": "a number that stands for the contents",
    "end records": "where the central directory is, twice",
}


def record_row(r: Any, report: Any) -> RecordRow:
    tensors = (
        [tensor_row(t) for t in report.tensors if t.record == r.name] if r.what == "tensor" else []
    )
    return RecordRow(
        name=visible(r.name),
        kind=KINDS.get(r.what, "text"),
        start=r.header_offset,
        header=r.header,
        padding=r.padding,
        payload=r.stored_size,
        descriptor=r.descriptor,
        note=visible(note_of(r, report)),
        tensors=tensors,
        problem=visible(r.problem),
    )


def tensor_row(t: Any) -> TensorRow:
    strides = "" if t.is_contiguous() else f" strides {t.strides}"
    return TensorRow(
        visible(t.path),
        visible(f"{t.dtype} {t.sizes}{strides}"),
        t.first,
        t.last,
        t.whole,
        bool(t.shares_with),
    )


def note_of(r: Any, report: Any) -> str:
    """What a record that is no tensor holds, in a few words."""
    if r.problem:
        return f"damaged: {r.problem}"
    if r.what == "tensor":
        users = [t for t in report.tensors if t.record == r.name]
        if len(users) > 1:
            return f"{len(users)} tensors share it:"
        if not users:
            return "bytes that no tensor here looks at"
        all_of_it = (users[0].first, users[0].last, users[0].nbytes) == (0, r.size, r.size)
        return (
            "one tensor, all of it, in another order:" if all_of_it else "one tensor, a part of it:"
        )
    if r.deflated:
        return (
            f"{r.size:,} bytes of {'code' if r.what == 'code' else 'positions in the source'}, "
            "deflated"
        )
    if r.what == "code":
        return plural(len(report.code.get(r.name, "").splitlines()), "line")
    if r.name in report.pickles:
        return f"{plural(report.pickles[r.name].opcodes, 'instruction')} of a pickle"
    if r.what in ("json", "archive"):
        return "JSON" if r.what == "json" else "an archive in the archive: example inputs"
    fact = report.facts.get(r.name.removeprefix("."))
    return f"{fact!r}" if fact is not None else SAYS.get(r.name, "")


def folded(rows: list[RecordRow], limit: int, main: str = "") -> list[RecordRow]:
    """At most `limit` records: what is damaged or shared first, then what describes the rest, then
    the others, as they come.
    """

    def weight(i: int) -> tuple[int, int]:
        row = rows[i]
        several = len(row.tensors) > 1 or any(not t.whole for t in row.tensors)
        first = row.kind == "directory" or bool(row.problem)
        described = row.kind == "description" or row.name == main
        rank = 0 if first else 1 if several else 2 if described else 4 if row.kind == "code" else 3
        return rank, i

    records = [i for i, row in enumerate(rows) if row.kind != "directory"]
    if len(records) <= limit + 1:
        return rows
    kept = set(sorted(records, key=weight)[:limit]) | {
        i for i, row in enumerate(rows) if row.kind == "directory"
    }
    shown: list[RecordRow] = []
    hidden: list[RecordRow] = []
    for i, row in enumerate([*rows, None]):
        if row is not None and i not in kept:
            hidden.append(row)
            continue
        if hidden:
            shown.append(fold(hidden) if len(hidden) > 1 else hidden[0])
            hidden = []
        if row is not None:
            shown.append(row)
    return shown


def fold(rows: list[RecordRow]) -> RecordRow:
    """One row that stands for several."""
    tensors = sum(len(row.tensors) for row in rows)
    size = rows[-1].end - rows[0].start
    what = f", {plural(tensors, 'tensor')}" if tensors else ""
    kinds = {row.kind for row in rows}
    kind = "tensor" if tensors else "code" if kinds == {"code"} else "text"
    note = f"not shown: {size:,} bytes{what}" + (" of code" if kind == "code" else "")
    return RecordRow(plural(len(rows), "more record"), "hidden", rows[0].start, 0, 0, size, 0, note)


def runs_of(rows: list[RecordRow], size: int) -> list[tuple[int, int, str]]:
    """The whole file, byte by byte, as runs of one kind."""
    runs: list[tuple[int, int, str]] = []
    at = 0

    def add(end: int, kind: str) -> None:
        nonlocal at
        end = min(end, size)
        if end > at:
            runs.append((at, end - at, kind))
            at = end

    for row in rows:
        add(row.offset, "overhead")
        add(row.offset + row.payload, row.kind)
    add(size, "overhead")
    return runs


def summary(report: Any) -> list[str]:
    lines = [f"written by {report.written_by}"] if report.written_by else []
    stored = [r for r in report.records if r.what == "tensor"]
    if stored:
        aligned = sum(r.aligned for r in stored)
        how_many = "all" if aligned == len(stored) else f"{aligned} of {len(stored)}"
        of_tensors = sum(r.stored_size for r in stored)
        share = f"{of_tensors / report.size:.1%} of the file are tensors' bytes"
        lines.append(
            f"{plural(len(report.records), 'record')}; {share}; {how_many} of their storages on a "
            "multiple of 64"
        )
    views = sum(bool(t.shares_with) for t in report.tensors)
    if views:
        lines.append(
            f"{plural(len(report.tensors), 'tensor')}, {views} of which share a storage that is "
            "there once"
        )
    return lines


def panels(report: Any) -> list[Panel]:
    """The pickle, the code and the JSON: the beginning of each."""
    from internals.serialization.inspection.text import pretty
    from internals.serialization.inspection.tree import tree

    found = []
    for name, described in report.pickles.items():
        if described.opcodes > 3:
            prefix = "" if name in ("object", "pickle") else name.removesuffix(".pkl") + "/"
            found.append(panel(f"{name} asks for", tree(described.root, prefix, 2000)))
    main = main_code(report)
    if main:
        found.insert(1, panel(main, report.code[main].splitlines()))
    found += [
        panel(name, pretty(text).splitlines())
        for name, text in sorted(report.texts.items(), key=lambda item: -len(item[1]))[:2]
    ]
    return found


def main_code(report: Any) -> str:
    """The record with the class of the saved module; "" when there is no code."""
    function = getattr(getattr(report.pickles.get("data.pkl"), "root", None), "function", None)
    name = f"code/{getattr(function, 'module', '').replace('.', '/')}.py"
    return (
        name
        if name in report.code
        else min(report.code, key=lambda each: (each.count("/"), each), default="")
    )


def panel(title: str, lines: list[str]) -> Panel:
    hidden = max(0, len(lines) - LINES_AT_MOST)
    return Panel(
        visible(title), [visible(line.expandtabs(4)) for line in lines[:LINES_AT_MOST]], hidden
    )


def row_cells(row: RecordRow) -> list[list[str]]:
    """The lines of a row as text: one, or one more for each tensor that is not simply all of the
    record.
    """
    if row.kind in ("hidden", "directory"):
        cells = [
            f"{row.start:#x}",
            "",
            "",
            f"{row.payload:,}" if row.kind == "directory" else "",
            row.name,
            row.note,
        ]
        return [["..." if row.kind == "hidden" else cells[0], *cells[1:]]]
    first = [
        f"{row.start:#x}",
        str(row.header),
        str(row.padding),
        f"{row.payload:,} at {row.offset:#x}",
        row.name,
    ]
    simple = len(row.tensors) == 1 and row.tensors[0].whole
    if simple:
        return [[*first, f"{row.tensors[0].name}  {row.tensors[0].facts}"]]
    lines = [[*first, row.note]]
    for t in row.tensors:
        lines.append(
            [
                "",
                "",
                "",
                f"{t.first:,} to {t.last:,}",
                "",
                f"{t.name}  {t.facts}{'  shared' if t.shared else ''}",
            ]
        )
    return lines


def strip(scene: Archive) -> str:
    """The whole file to scale: each character is the kind that has most of its bytes."""
    totals: list[dict[str, float]] = [{} for _ in range(BUCKETS)]
    step = max(scene.size, 1) / BUCKETS
    for start, size, kind in scene.runs:
        first, last = int(start / step), min(int((start + size) / step), BUCKETS - 1)
        for b in range(first, last + 1):
            covered = min(start + size, (b + 1) * step) - max(start, b * step)
            totals[b][kind] = totals[b].get(kind, 0) + covered
    return "[" + "".join(MARKS[max(t, key=lambda k: t[k])] if t else " " for t in totals) + "]"


def legend() -> str:
    words = {
        "█": "tensors",
        "▒": "pickle, JSON, text",
        "▓": "code",
        "░": "directory",
        "·": "headers and padding",
    }
    return "  ".join(f"{mark} {meaning}" for mark, meaning in words.items())
