"""`viz.diff`: two graphs, or any two texts, side by side, with what changed marked word by word.

Lines that are equal stand beside each other in grey; runs of them are folded. A line that changed has its other form beside
it, and only the words that differ are coloured. What a pass did to a graph is then the coloured part.

How the real one differs: PyTorch prints the graph before and after each pass, when PYTORCH_JIT_LOG_LEVEL asks for it, and leaves
the comparison to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from viz.canvas import MONO_ADVANCE, Canvas, shorten, text_width
from viz.scene import Picture
from viz.text import plural

CONTEXT = 3
SIZE = 11.0
ROW = 16.0
COLUMN = 520.0
MARKS = {"equal": "  ", "removed": "- ", "added": "+ "}
WORD = re.compile(r"%?[\w.:]+|\s+|.")


@dataclass
class DiffRow:
    """`kind`: "equal", "changed", "removed", "added", or "skipped" (`count` equal lines not shown)."""

    kind: str
    left: str = ""
    right: str = ""
    count: int = 0


@dataclass
class Diff(Picture):
    """The scene."""

    names: tuple[str, str]
    rows: list[DiffRow] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether there is any difference."""
        return any(r.kind not in ("equal", "skipped") for r in self.rows)

    def summary(self) -> str:
        count = {kind: sum(r.kind == kind for r in self.rows) for kind in ("removed", "added", "changed")}
        parts = [f"{plural(n, 'line')} {kind}" for kind, n in count.items() if n]
        return ", ".join(parts) or "no difference"

    def text(self) -> str:
        lines = [f"{self.names[0]} -> {self.names[1]}: {self.summary()}"]
        for r in self.rows:
            if r.kind == "skipped":
                lines.append(f"    ... {plural(r.count, 'line')} unchanged")
            elif r.kind == "changed":
                lines += [f"  - {r.left}", f"  + {r.right}"]
            else:
                lines.append(f"  {MARKS[r.kind]}{r.left or r.right}")
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        canvas = Canvas(f"viz.diff: {self.names[0]}, {self.names[1]}", self.summary())
        canvas.text(0, 13, self.summary(), 13, bold=True)
        width = min(
            COLUMN, max((text_width(t, SIZE, "mono") for r in self.rows for t in (r.left, r.right)), default=60.0) + 12
        )
        places = (0.0, width + 12)
        for x, name in zip(places, self.names):
            canvas.text(x, 36, name, 11.5, paint="muted", bold=True)
        y = 44.0
        for r in self.rows:
            if r.kind == "skipped":
                canvas.text(6, y + 12, f"… {plural(r.count, 'line')} unchanged", 10.5, paint="muted")
            else:
                _draw_side(canvas, places[0], y, width, r.left, r.right, r.kind, "warning")
                _draw_side(canvas, places[1], y, width, r.right, r.left, r.kind, "copied")
            y += ROW
        canvas.key(0, y + 12, [("warning", "only before"), ("copied", "only after")])
        return canvas

    def title(self) -> str:
        return f"viz.diff: {self.names[0]}, {self.names[1]}"


def diff(before: Any, after: Any, *, names: tuple[str, str] = ("before", "after"), context: int = CONTEXT) -> Diff:
    """Compare two graphs (or what has one, or texts). `context` is how many equal lines stay around a change.

    >>> viz.diff(before, after, names=("traced", "optimised"))     # doctest: +SKIP
    """
    a, b = text_of(before).splitlines(), text_of(after).splitlines()
    return Diff(names, list(_folded(list(_rows(a, b)), context)))


def text_of(thing: Any) -> str:
    """A graph's text without source lines and with short types; a text as it is."""
    if isinstance(thing, str):
        return thing
    from internals.jit.ir import type_verbosity
    from viz.rooms.graph import graph_of

    with type_verbosity(1):
        return str(graph_of(thing)[0].str(False))


def _rows(a: list[str], b: list[str]) -> Iterator[DiffRow]:
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (DiffRow("equal", line, line) for line in a[i:j])
        else:
            yield from _paired(a[i:j], b[k:m])


def _paired(a: list[str], b: list[str]) -> Iterator[DiffRow]:
    """Lines that were replaced: those that look alike beside each other, in order."""
    while a and b:
        best = max(range(len(b)), key=lambda n: (_alike(a[0], b[n]), -n))
        if _alike(a[0], b[best]) < 0.6:
            yield DiffRow("removed", a[0])
            a = a[1:]
            continue
        yield from (DiffRow("added", right=line) for line in b[:best])
        yield DiffRow("changed", a[0], b[best])
        a, b = a[1:], b[best + 1 :]
    yield from (DiffRow("removed", line) for line in a)
    yield from (DiffRow("added", right=line) for line in b)


def _alike(a: str, b: str) -> float:
    """How much of two lines is the same, of what is not indentation; lines of different kinds of node are not alike."""
    if _kind(a) != _kind(b):
        return 0.0
    return SequenceMatcher(None, WORD.findall(a.strip()), WORD.findall(b.strip()), autojunk=False).ratio()


def _kind(line: str) -> str:
    """`aten::add` of a node's line."""
    found = re.search(r"= (\^?[\w:]+)", line)
    return found.group(1) if found else ""


def _folded(rows: list[DiffRow], context: int) -> Iterator[DiffRow]:
    """Equal lines far from any change become one "skipped" row."""
    near = {j for i, r in enumerate(rows) if r.kind != "equal" for j in range(i - context, i + context + 1)}
    skipped = 0
    for i, r in enumerate(rows):
        if i in near or not near:
            if skipped:
                yield DiffRow("skipped", count=skipped)
                skipped = 0
            yield r
        else:
            skipped += 1
    if skipped:
        yield DiffRow("skipped", count=skipped)


def _draw_side(canvas: Canvas, x: float, y: float, width: float, mine: str, other: str, kind: str, role: str) -> None:
    if not mine:
        return
    shown = shorten(mine, width - 12, SIZE, "mono")
    advance = MONO_ADVANCE * SIZE
    if kind != "equal":
        spans = [(0, len(shown))] if not other else _different(mine, other)
        for start, end in spans:
            end = min(end, len(shown))
            if start < end:
                canvas.rect(x + 4 + start * advance, y, (end - start) * advance + 3, ROW - 1, f"{role}-soft", radius=2)
    paint = "muted" if kind == "equal" else "ink"
    canvas.text(x + 6, y + 12, shown, SIZE, font="mono", paint=paint, tip=mine if shown != mine else "")


def _different(mine: str, other: str) -> list[tuple[int, int]]:
    """The stretches of `mine` that `other` does not have, in characters."""
    words, theirs = WORD.findall(mine), WORD.findall(other)
    spans, at = [], 0
    starts = [0]
    for w in words:
        at += len(w)
        starts.append(at)
    for tag, i, j, _, _ in SequenceMatcher(None, words, theirs, autojunk=False).get_opcodes():
        if tag in ("replace", "delete"):
            spans.append((starts[i], starts[j]))
    return spans
