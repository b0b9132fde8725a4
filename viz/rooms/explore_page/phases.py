"""The pane "ir": the graph before the first phase and after each, with what the phase did marked word by word.

Which line became which is not guessed: a line is known by the key of its node (`links.py`). A line with a node that was not there
before was added, one whose node is gone was removed, one whose node stands in another place was moved. Only where the same node
is written differently are the words compared.

How the real one differs: PyTorch logs graphs before and after passes, and leaves the comparison to the reader.
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
    """A line of a graph. `identity` is the same for the same line of another phase."""

    text: str
    own: Keys
    identity: tuple[Any, ...]


def lines_of(graph: Any, links: Links) -> list[Line]:
    """The graph's text, each line with its keys."""
    from internals.jit.ir import type_verbosity
    from internals.jit.ir.printer import graph_lines

    links.look_at(graph)
    seen: Counter[tuple[Any, ...]] = Counter()
    found = []
    with type_verbosity(1):
        for text, node in graph_lines(graph, False):
            kind = node.kind()
            keys = links.keys(node)
            if kind == "prim::Param" and node.owningBlock().owningNode() is None and len(keys) > 1:
                number = seen[(keys, "inputs")]
                seen[(keys, "inputs")] += 1
                keys = keys[number : number + 1]
            if kind in ("prim::Param", "prim::Return") and keys and keys[0] in links.members:
                keys = (f"g{keys[0][1:]}",)  # the first and last line of a group's graph are of the group as a whole
            name = (keys, kind)
            found.append(Line(text, keys, (*name, seen[name])))
            seen[name] += 1
    return found


def ir_pane(steps: Iterable[tuple[Any, Any]], links: Links) -> tuple[Pane, list[Phase]]:
    """`steps` are (record of a pass or None, graph after it), as `GraphExecutor.watched` gives them."""
    from internals.jit.passes import find_pass

    pane, phases = Pane("ir", "Graph (IR)"), []
    before: list[Line] = []
    budget = ROWS_AT_MOST
    for record, graph in steps:
        lines = lines_of(graph, links)
        if record is None:
            pane.views.append(_view("as compiled", [_row(line) for line in lines]))
            phases.append(Phase("compiled", "the graph as it was made", 0, True, f"{len(lines)} lines"))
        elif [(x.text, x.identity) for x in lines] == [(x.text, x.identity) for x in before]:
            title = find_pass(record.name).title
            phases.append(Phase(record.name, title, len(pane.views) - 1, False, "changed nothing"))
        else:
            rows = list(compared(before, lines))
            title, told = find_pass(record.name).title, summary(rows)
            view = _view(f"after {record.name}", rows)
            budget -= len(view.rows)
            if budget < 0:
                view = View(view.title, note=f"not shown: the page has {ROWS_AT_MOST:,} lines of graphs already")
            pane.views.append(view)
            phases.append(Phase(record.name, title, len(pane.views) - 1, True, told))
        before = lines
    pane.first = len(pane.views) - 1  # the last phase that changed something left it
    return pane, phases


def compared(before: list[Line], after: list[Line]) -> Iterable[Row]:
    """The lines after a phase, and those that it removed in the place where they were."""
    was, now = {line.identity for line in before}, {line.identity for line in after}
    matcher = SequenceMatcher(None, [x.identity for x in before], [x.identity for x in after], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(before[i:j], after[k:m]):
                yield _row(new) if old.text == new.text else _changed(old, new)
            continue
        for line in before[i:j]:
            if line.identity not in now:
                yield Row(line.text, line.own, kind="removed")
        for line in after[k:m]:
            yield Row(line.text, line.own, kind="moved" if line.identity in was else "added")


def summary(rows: list[Row]) -> str:
    """ "2 lines added, 1 removed"."""
    count = Counter(row.kind for row in rows)
    parts = [f"{count[kind]} {kind}" for kind in ("added", "removed", "changed", "moved") if count[kind]]
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
