"""What is on the page: panes, their rows, and which of them belong together.

Everything that can be pointed at has *keys*, and whatever shares a key is about the same thing:

    a7     a node of a source's syntax tree      p0   an input of the graph
    n12    a node of the graph, in all phases    r    what the graph returns
    t3     a node of TorchScript's tree          f1   a source as a whole
    w4     a tensor of a saved file              g5   what a kernel does for the whole group n5

`own` are the keys of a row; pointing at the row marks all rows whose own keys are in its *reach*,
which is more: what stands below a node of a tree, and for a node of the graph the text that it was
compiled from. `Page.links` says what a key reaches.

How the real one differs: PyTorch has no such page; Compiler Explorer colours source and assembly by
the lines that debug information gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Keys = tuple[str, ...]


@dataclass
class Part:
    """A stretch of a row, from one character to another, with keys of its own. `kind` is that of
    the node of Python's tree.
    """

    start: int
    end: int
    own: Keys
    kind: str = ""


@dataclass
class Row:
    """One line of a view. `kind` is "", "head", "note", or what a phase did to it: "added",
    "removed", "changed", "moved".

    `pieces` are set for a changed one: ("", text), ("ins", text), ("del", text) in reading order.
    Where pointing at the row means less than all that its keys reach, `via` is the one key whose
    reach it is, or `reach` are the keys themselves.
    """

    text: str
    own: Keys = ()
    label: str = ""
    depth: int = 0
    kind: str = ""
    note: str = ""
    parts: list[Part] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)
    reach: Keys | None = None
    via: str = ""


@dataclass
class View:
    """Rows shown at a time. `hidden` counts those left out for their number; `svg` is a drawing
    instead of rows.
    """

    title: str
    rows: list[Row] = field(default_factory=list)
    note: str = ""
    hidden: int = 0
    svg: str = ""


@dataclass
class Pane:
    """`name` is what links call it; `first` is the view that is shown at first."""

    name: str
    title: str
    views: list[View] = field(default_factory=list)
    first: int = 0


@dataclass
class Phase:
    """A position of the slider: the pass that was run, and which view of the pane "ir" shows the
    graph after it.
    """

    name: str
    title: str
    view: int
    changed: bool
    summary: str = ""


@dataclass
class Page:
    """The scene."""

    name: str
    panes: list[Pane] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    links: dict[str, Keys] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # of a module: who fetches "fc.weight"
    attributes: dict[str, Keys] = field(default_factory=dict)

    def pane(self, name: str) -> Pane:
        """Raises KeyError when there is none of that name."""
        for pane in self.panes:
            if pane.name == name:
                return pane
        raise KeyError(f"no pane {name!r}; there are {', '.join(p.name for p in self.panes)}")

    def reach(self, thing: Row | Part) -> set[str]:
        """The keys that pointing at a row or part marks."""
        if isinstance(thing, Row) and thing.reach is not None:
            return set(thing.reach)
        if isinstance(thing, Row) and thing.via:
            return reached([thing.via], self.links)
        return reached(thing.own, self.links)

    def marked(self, thing: Row | Part, pane: str, view: int | None = None) -> Iterator[Row | Part]:
        """What is marked in a view of a pane, its first one by default, when `thing` is pointed
        at.
        """
        keys, shown = self.reach(thing), self.pane(pane)
        for row in shown.views[shown.first if view is None else view].rows:
            things: list[Row | Part] = [row, *row.parts]
            for each in things:
                if keys.intersection(each.own):
                    yield each


def reached(own: Iterable[str], links: dict[str, Keys]) -> set[str]:
    return {other for key in own for other in (key, *links.get(key, ()))}


def folded(rows: list[Row], limit: int, around: int = 3) -> list[Row]:
    """Rows of which many were changed by nothing: beyond `limit`, runs of these far from any change
    become one note.
    """
    if len(rows) <= limit:
        return rows
    near = {j for i, row in enumerate(rows) if row.kind for j in range(i - around, i + around + 1)}
    result: list[Row] = []
    skipped = 0
    for i, row in enumerate([*rows, Row("")]):
        if i in near or i == len(rows):
            if skipped:
                result.append(Row(f"… {skipped:,} unchanged lines not shown", kind="note"))
            result += [row] if i in near and i < len(rows) else []
            skipped = 0
        else:
            skipped += 1
    return result


def cut(rows: list[Row], limit: int) -> tuple[list[Row], int]:
    """The first `limit` rows, and how many are left out."""
    return rows[:limit], max(len(rows) - limit, 0)
