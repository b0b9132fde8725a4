"""The pane "ir": the graph before the first phase and after each, with what the phase did marked
word by word.

Which line became which is not guessed: a line is known by the key of its node (`links.py`). A line
with a node that was not there before was added, one whose node is gone was removed, one whose node
stands in another place was moved. Of several copies of a node those in the same block are the same.
Only where one node is written differently are the words compared.

How the real one differs: PyTorch logs graphs before and after passes, and leaves the comparison to
the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from viz.rooms.diff_rows import WORD
from viz.rooms.explore_page.links import Links
from viz.rooms.explore_page.scene import Keys, Pane, Phase, Row, View, cut, folded

LINES_AT_MOST = 700
ROWS_AT_MOST = 12_000  # of all phases together


class Line(NamedTuple):
    """A line of a graph, what it is of, and the key of the block or group that it stands in."""

    text: str
    own: Keys
    kind: str
    where: Keys


def lines_of(graph: Any, links: Links) -> list[Line]:
    """The graph's text, each line with its keys."""
    from internals.jit.ir import type_verbosity
    from internals.jit.ir.printer import graph_lines

    links.look_at(graph)
    inputs: Counter[Keys] = Counter()
    found = []
    with type_verbosity(1):
        for text, node in graph_lines(graph, False):
            kind = node.kind()
            keys = links.keys(node)
            if kind == "prim::Param" and node.owningBlock().owningNode() is None and len(keys) > 1:
                inputs[keys] += 1
                keys = keys[inputs[keys] - 1 : inputs[keys]]
            if kind in ("prim::Param", "prim::Return") and keys and keys[0] in links.members:
                # the first and last line of a group's graph are of the group as a whole
                keys = (f"g{keys[0][1:]}",)
            found.append(Line(text, keys, kind, links.keys(node.owningBlock().paramNode())))
    return found


def ir_pane(steps: Iterable[tuple[Any, Any]], links: Links) -> tuple[Pane, list[Phase]]:
    """`steps` are (record of a pass or None, graph after it), as `GraphExecutor.watched` gives
    them.
    """
    from internals.jit.passes import find_pass

    pane, phases = Pane("ir", "Graph (IR)"), []
    before: list[Line] = []
    budget = ROWS_AT_MOST
    for record, graph in steps:
        lines = lines_of(graph, links)
        if record is None:
            pane.views.append(_view("as compiled", [_row(line) for line in lines]))
            phases.append(
                Phase("compiled", "the graph as it was made", 0, True, f"{len(lines)} lines")
            )
        elif lines == before:
            title = find_pass(record.name).title
            phases.append(Phase(record.name, title, len(pane.views) - 1, False, "changed nothing"))
        else:
            rows = list(compared(before, lines))
            title, told = find_pass(record.name).title, summary(rows)
            view = _view(f"after {record.name}", rows)
            budget -= len(view.rows)
            if budget < 0:
                view = View(
                    view.title,
                    note=f"not shown: the page has {ROWS_AT_MOST:,} lines of graphs already",
                )
            pane.views.append(view)
            phases.append(Phase(record.name, title, len(pane.views) - 1, True, told))
        before = lines
    pane.first = len(pane.views) - 1  # the last phase that changed something left it
    return pane, phases


def compared(before: list[Line], after: list[Line]) -> Iterable[Row]:
    """The lines after a phase, and those that it removed in the place where they were."""
    was, now = range(len(before)), identities(before, after)
    still = set(now)
    for tag, i, j, k, m in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal":
            for old, new in zip(before[i:j], after[k:m]):
                yield _row(new) if old.text == new.text else _changed(old, new)
            continue
        for number in was[i:j]:
            if number not in still:
                yield Row(before[number].text, before[number].own, kind="removed")
        for line, number in zip(after[k:m], now[k:m]):
            if number < 0:
                yield Row(line.text, line.own, kind="added")
            elif line.text == before[number].text:
                yield Row(line.text, line.own, kind="moved")
            else:
                yield _changed(before[number], line)


def identities(before: list[Line], after: list[Line]) -> list[int]:
    """For each line after, which of those before it was; numbers below zero for new ones."""
    free: dict[Any, list[int]] = {}
    for number, line in enumerate(before):
        free.setdefault((line.own, line.kind, line.where), []).append(number)
    found = [_taken(free, (line.own, line.kind, line.where)) for line in after]
    elsewhere: dict[Any, list[int]] = {}
    for (own, kind, _), numbers in free.items():
        elsewhere.setdefault((own, kind), []).extend(numbers)
    found = [
        _taken(elsewhere, (line.own, line.kind)) if number is None else number
        for line, number in zip(after, found)
    ]
    return [-1 - n if number is None else number for n, number in enumerate(found)]


def _taken(free: dict[Any, list[int]], name: Any) -> int | None:
    return free[name].pop(0) if free.get(name) else None


def summary(rows: list[Row]) -> str:
    """ "2 lines added, 1 removed"."""
    count = Counter(row.kind for row in rows)
    parts = [
        f"{count[kind]} {kind}" for kind in ("added", "removed", "changed", "moved") if count[kind]
    ]
    return ", ".join(parts) or "changed nothing that is printed"


def _view(title: str, rows: list[Row]) -> View:
    """The rows numbered as the graph's text is, those that are gone without a number."""
    number = 0
    for row in rows:
        if row.kind != "removed":
            number += 1
            row.label = str(number)
    rows, hidden = cut(folded(rows, LINES_AT_MOST), LINES_AT_MOST)
    return View(title, rows, hidden=hidden)


def _row(line: Line) -> Row:
    return Row(line.text, line.own)


def _changed(old: Line, new: Line) -> Row:
    """The words of a line that is written differently now."""
    a, b = WORD.findall(old.text), WORD.findall(new.text)
    pieces: list[tuple[str, str]] = []
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(("", "".join(b[k:m])))
            continue
        if a[i:j]:
            pieces.append(("del", "".join(a[i:j])))
        if b[k:m]:
            pieces.append(("ins", "".join(b[k:m])))
    return Row(new.text, new.own, kind="changed", pieces=pieces)
