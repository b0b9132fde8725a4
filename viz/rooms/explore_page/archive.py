"""The page of a saved file: its records, and if there is a program in it, everything that the page
of a function has.

The program's source is the one that was printed when it was saved; its graph is compiled from that,
so source, tree and graph belong together as they do for a function. A record that holds one of the
sources has the key of that source. Loading executes nothing but the reader's own code; what is in
the file is shown, as text.

How the real one differs: `torch.utils.model_dump` shows records, code and tensors beside each
other.
"""

from __future__ import annotations

import os
from typing import Any

from viz.rooms.archive import archive
from viz.rooms.explore_page.record import record
from viz.rooms.explore_page.scene import Keys, Page, Pane, Row, View, cut

ROWS_AT_MOST = 500
NO_PROGRAM = "There is no program in this file: it holds {what}."


def record_archive(path: str | os.PathLike[str], program: Any, args: tuple[Any, ...]) -> Page:
    """The page of a file. `program` is what is called to run it, None if there is none, or a text
    that says why not.

    Raises what `viz.archive` raises for files that are none.
    """
    from internals.serialization.inspection.report import examine

    report = examine(path)
    if program is None or isinstance(program, str):
        page = Page(report.name)
        page.notes.append(program or NO_PROGRAM.format(what=report.title))
        page.panes = [_code_pane(report)] if report.code else []
        keys: dict[str, Keys] = {name: (f"f{i}",) for i, name in enumerate(report.code)}
    else:
        page = record(program, args, report.name)
        keys = {
            row.note: row.own for row in page.pane("source").views[0].rows if row.kind == "head"
        }
    for n, t in enumerate(report.tensors):
        _tie(page, keys, t, f"w{n}")
    records = [_record(r, keys.get(r.name, ())) for r in report.records]
    title = f"{report.title}, {report.size:,} bytes"
    drawing = View("drawing", svg=archive(path).svg())
    others = []
    if report.tensors:
        tensors = [_tensor(t, page.attributes.get(t.path, ())) for t in report.tensors]
        others.append(_cut("tensors", tensors))
    if report.pickles or report.texts:
        others.append(_cut("description", _description(report)))
    if page.panes:  # there is a program, which wants the room
        page.panes.insert(
            0, Pane("archive", "Archive", [_cut("records", records, title), *others, drawing])
        )
    else:
        page.panes = [Pane("archive", "Archive", [_cut("records", records, title), drawing])]
        page.panes += [Pane(view.title, view.title.capitalize(), [view]) for view in others]
    page.notes += [f"wrong with the file: {problem}" for problem in report.problems]
    return page


def _tie(page: Page, keys: dict[str, Keys], t: Any, key: str) -> None:
    """A tensor belongs to the record that holds its bytes, and to the nodes of the graph that fetch
    it.
    """
    own = (*page.attributes.get(t.path, ()), key)
    page.attributes[t.path] = own
    keys[t.record] = tuple(dict.fromkeys((*keys.get(t.record, ()), *own)))


def _record(r: Any, own: Keys) -> Row:
    """One record. The place where its payload begins stands before it."""
    problem = f"   WRONG: {r.problem}" if r.problem else ""
    return Row(r.name, own, f"{r.offset:#x}", note=f"{r.size:,} bytes, {r.what}{problem}")


def _tensor(t: Any, own: Keys) -> Row:
    from internals.serialization.inspection.text import tensor_row

    _, dtype, sizes, strides, nbytes, place, there, *more = tensor_row(t)
    rest = ", ".join(word for word in more if word)
    note = f"{dtype} {sizes}, strides {strides}: {nbytes} bytes, {there} of {place}" + (
        f"; {rest}" if rest else ""
    )
    return Row(t.path, own, note=note)


def _description(report: Any) -> list[Row]:
    from internals.serialization.inspection.text import pickles_section

    return [
        Row(line) for block in pickles_section(report, None) for line in [*block.splitlines(), ""]
    ]


def _code_pane(report: Any) -> Pane:
    """The code of a program that could not be loaded."""
    rows: list[Row] = []
    for i, (name, text) in enumerate(report.code.items()):
        rows.append(Row(name, (f"f{i}",), kind="head"))
        rows += [Row(line, label=str(n)) for n, line in enumerate(text.splitlines(), 1)]
    return Pane("source", "Source", [_cut("source", rows)])


def _cut(title: str, rows: list[Row], note: str = "") -> View:
    rows, hidden = cut(rows, ROWS_AT_MOST)
    return View(title, rows, note, hidden)
