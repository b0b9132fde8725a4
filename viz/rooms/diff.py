"""`viz.diff`: two graphs, or any two texts, side by side, with what changed marked word by word.

Lines that are equal stand beside each other in grey; runs of them are folded. A line that changed
has its other form beside it, and only the words that differ are coloured. What a pass did to a
graph is then the coloured part.

A copy of a graph has other numbers. When two texts have more in common without the numbers of
values, `%7` here is taken for the `%12` that stands in the same place there.

How the real one differs: PyTorch prints the graph before and after each pass, when
PYTORCH_JIT_LOG_LEVEL asks for it, and leaves the comparison to the reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.rooms.diff_rows import DiffRow, compared, folded
from viz.scene import Picture
from viz.text import plural

CONTEXT = 3
SIZE = 11.15
# of a character, a little more than SIZE * MONO_ADVANCE, so that words drawn one by one do not
# touch
ADVANCE = 6.75
ROW = 16.0
CHARACTERS = 84
MARKS = {"equal": "  ", "removed": "- ", "added": "+ "}


@dataclass
class Diff(Picture):
    """The scene. `renumbered`: the numbers of values were ignored, because more is equal without
    them.
    """

    names: tuple[str, str]
    rows: list[DiffRow] = field(default_factory=list)
    renumbered: bool = False

    @property
    def changed(self) -> bool:
        """Whether there is any difference."""
        return any(r.kind not in ("equal", "skipped") for r in self.rows)

    def summary(self) -> str:
        count = {
            kind: sum(r.kind == kind for r in self.rows) for kind in ("removed", "added", "changed")
        }
        parts = [f"{plural(n, 'line')} {kind}" for kind, n in count.items() if n]
        anew = "; values have other numbers" if self.renumbered else ""
        return (", ".join(parts) or "no difference") + anew

    def text(self) -> str:
        lines = [f"{self.names[0]} -> {self.names[1]}: {self.summary()}"]
        for r in self.rows:
            if r.kind == "skipped":
                lines.append(f"    ... {plural(r.count, 'line')} unchanged")
            elif r.kind == "changed":
                lines += [f"  - {r.left}", f"  + {r.right}"]
            else:
                lines.append(f"  {MARKS[r.kind]}{r.right or r.left}")
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        canvas = Canvas(f"viz.diff: {self.names[0]}, {self.names[1]}", self.summary())
        canvas.text(0, 13, self.summary(), 13, bold=True)
        longest = max((len(t) for r in self.rows for t in (r.left, r.right)), default=10)
        width = max(
            min(longest, CHARACTERS) * ADVANCE + 12,
            *(text_width(name, 11.5, bold=True) + 12 for name in self.names),
        )
        places = (0.0, width + 12)
        for x, name in zip(places, self.names):
            canvas.text(x, 36, name, 11.5, paint="muted", bold=True)
        y = 44.0
        for r in self.rows:
            if r.kind == "skipped":
                canvas.text(
                    6, y + 12, f"… {plural(r.count, 'line')} unchanged", 10.5, paint="muted"
                )
                y += ROW
                continue
            y += ROW * max(
                _draw_side(canvas, places[0], y, r.left, r.marks[0], r.kind, "warning"),
                _draw_side(canvas, places[1], y, r.right, r.marks[1], r.kind, "copied"),
            )
        canvas.key(0, y + 12, [("warning", "only before"), ("copied", "only after")])
        return canvas

    def title(self) -> str:
        return f"viz.diff: {self.names[0]}, {self.names[1]}"


def diff(
    before: Any, after: Any, *, names: tuple[str, str] = ("before", "after"), context: int = CONTEXT
) -> Diff:
    """Compare two graphs (or what has one, or texts). `context` is how many equal lines stay around
    a change.

    Raises TypeError for what is neither a text nor has a graph.

    >>> viz.diff(before, after, names=("traced", "optimised"))     # doctest: +SKIP
    """
    rows, renumbered = compared(text_of(before).splitlines(), text_of(after).splitlines())
    return Diff(names, list(folded(rows, context)), renumbered)


def text_of(thing: Any) -> str:
    """A graph's text without source lines and with short types; a text as it is."""
    if isinstance(thing, str):
        return thing
    from internals.jit.ir import type_verbosity
    from viz.rooms.graph import graph_of

    with type_verbosity(1):
        return str(graph_of(thing)[0].str(False))


def _draw_side(
    canvas: Canvas,
    x: float,
    y: float,
    text: str,
    marked: list[tuple[int, int]],
    kind: str,
    role: str,
) -> int:
    """One form of a line, broken where it is too long, its stretches `marked` coloured; returns how
    many rows it took.
    """
    paint = "muted" if kind == "equal" else "ink"
    pieces = list(_pieces(text))
    for row, (first, last, indent) in enumerate(pieces):
        cuts = sorted({first, last, *(c for span in marked for c in span if first < c < last)})
        for start, end in zip(cuts, cuts[1:]):
            at, top = x + 6 + (indent + start - first) * ADVANCE, y + row * ROW
            if any(s <= start and end <= e for s, e in marked):
                canvas.rect(
                    at - 1.5, top, (end - start) * ADVANCE + 3, ROW - 1, f"{role}-soft", radius=2
                )
            word = text[start:end]
            bare = word.lstrip()
            canvas.text(
                at + (len(word) - len(bare)) * ADVANCE,
                top + 12,
                bare.rstrip(),
                SIZE,
                font="mono",
                paint=paint,
            )
    return max(len(pieces), 1)


def _pieces(text: str) -> list[tuple[int, int, int]]:
    """Where a line is broken: (start, end, indentation) of each piece."""
    pieces, start = [], 0
    indent = 0
    hanging = len(text) - len(text.lstrip()) + 4
    while len(text) - start > CHARACTERS - indent:
        end = (
            text.rfind(" ", start + hanging, start + CHARACTERS - indent) + 1
            or start + CHARACTERS - indent
        )
        pieces.append((start, end, indent))
        start, indent = end, hanging
    return [*pieces, (start, len(text), indent)]
