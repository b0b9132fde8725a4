"""A sheet to draw on: rectangles, text, lines and arrows at exact places, with nothing about how
they are written out.

Rooms put primitives here; `viz.svg` and `viz.png` turn the same sheet into a file. Because a
picture must come out the same everywhere, text is never measured by asking a font: widths are
estimated from DejaVu Sans, the widest of the fonts a reader is likely to have, so that what does
not overlap here overlaps nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil

MONO_ADVANCE = 0.605  # em; true of nearly every monospaced font
# Advance widths of the printable ASCII characters in DejaVu Sans, in hundredths of an em, from " "
# to "~".
SANS_ADVANCES = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 "
    "53 100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 "
    "84 50 50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 "
    "64 84"
)
_SANS = [int(advance) for advance in SANS_ADVANCES.split()]
LINE_HEIGHT = 1.35


@dataclass(frozen=True)
class Box:
    """A rectangle in canvas units: `x`, `y` is its top left corner."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    def overlaps(self, other: Box, slack: float = 0.01) -> bool:
        across = min(self.right, other.right) - max(self.x, other.x)
        down = min(self.bottom, other.bottom) - max(self.y, other.y)
        return across > slack and down > slack


@dataclass(frozen=True)
class Rect:
    box: Box
    fill: str | None = "panel"
    stroke: str | None = None
    radius: float = 3
    width: float = 1
    dashed: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Text:
    x: float
    y: float  # of the baseline
    text: str
    size: float = 12
    anchor: str = "start"  # or "middle", "end"
    font: str = "sans"  # or "mono"
    paint: str = "ink"
    bold: bool = False
    tip: str = ""

    @property
    def box(self) -> Box:
        w = text_width(self.text, self.size, self.font, self.bold)
        x = self.x - {"start": 0.0, "middle": w / 2, "end": w}[self.anchor]
        return Box(x, self.y - 0.78 * self.size, w, self.size)


@dataclass(frozen=True)
class Line:
    points: tuple[tuple[float, float], ...]
    stroke: str = "muted"
    width: float = 1.2
    dashed: bool = False
    arrow: bool = False  # a head at the last point
    tip: str = ""


Mark = Rect | Text | Line


def text_width(text: str, size: float, font: str = "sans", bold: bool = False) -> float:
    """How wide `text` will be at most, in canvas units, rounded up to a quarter.

    Quarters add up exactly, so a picture's measures do not depend on how Python adds floats (3.12
    changed `sum`).
    """
    if font == "mono":
        width = len(text) * MONO_ADVANCE
    else:
        width = sum(_SANS[ord(c) - 32] if " " <= c <= "~" else 100 for c in text) / 100
        if bold:
            width = 1.07 * width + 0.04 * len(text)  # what DejaVu Sans Bold adds
    return ceil(4 * width * size) / 4


def shorten(text: str, room: float, size: float, font: str = "sans", bold: bool = False) -> str:
    """`text`, cut with an ellipsis so that it is at most `room` wide; empty when not even that
    fits.
    """
    if text_width(text, size, font, bold) <= room:
        return text
    while text and text_width(text + "…", size, font, bold) > room:
        text = text[:-1]
    return text + "…" if text else ""


@dataclass
class Canvas:
    """Marks in drawing order. `title` and `description` are what a screen reader says."""

    title: str = ""
    description: str = ""
    marks: list[Mark] = field(default_factory=list)
    margin: float = 14

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str | None = "panel",
        stroke: str | None = None,
        radius: float = 3,
        width: float = 1,
        dashed: bool = False,
        tip: str = "",
    ) -> Box:
        box = Box(x, y, w, h)
        self.marks.append(Rect(box, fill, stroke, radius, width, dashed, tip))
        return box

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12,
        anchor: str = "start",
        font: str = "sans",
        paint: str = "ink",
        bold: bool = False,
        tip: str = "",
    ) -> Box:
        mark = Text(x, y, text, size, anchor, font, paint, bold, tip)
        if text:
            self.marks.append(mark)
        return mark.box

    def label(
        self,
        box: Box,
        text: str,
        size: float = 12,
        font: str = "mono",
        paint: str = "ink",
        bold: bool = False,
        anchor: str = "middle",
        pad: float = 3,
    ) -> None:
        """`text` in the middle of `box`, shortened if it must be; smaller before shorter."""
        room = box.w - 2 * pad
        while size > 8.5 and text_width(text, size, font, bold) > room:
            size -= 0.5
        shown = shorten(text, room, size, font, bold)
        x = {"start": box.x + pad, "middle": box.x + box.w / 2, "end": box.right - pad}[anchor]
        tip = text if shown != text else ""
        self.text(x, box.y + box.h / 2 + 0.35 * size, shown, size, anchor, font, paint, bold, tip)

    def line(
        self,
        points: Sequence[tuple[float, float]],
        stroke: str = "muted",
        width: float = 1.2,
        dashed: bool = False,
        arrow: bool = False,
        tip: str = "",
    ) -> None:
        self.marks.append(Line(tuple(points), stroke, width, dashed, arrow, tip))

    def chip(
        self,
        x: float,
        y: float,
        text: str,
        role: str,
        size: float = 11,
        font: str = "sans",
        bold: bool = False,
    ) -> Box:
        """A small rounded label in a role's colours, as wide as its text; `y` is its top."""
        box = self.rect(
            x, y, text_width(text, size, font, bold) + 14, size + 9, f"{role}-soft", role, radius=5
        )
        self.text(x + 7, y + size + 2, text, size, font=font, bold=bold)
        return box

    def key(self, x: float, y: float, entries: Sequence[tuple[str, str]]) -> Box:
        """A legend in one line: (role, what it means) each; `y` is its top."""
        start = x
        for role, meaning in entries:
            self.rect(x, y + 1, 12, 12, f"{role}-soft", role, radius=2)
            x = self.text(x + 17, y + 11, meaning, 11, paint="muted").right + 18
        return Box(start, y, x - start, 14)

    def stack(self, other: Canvas, gap: float = 18) -> None:
        """Put another sheet's marks below this one's."""
        down = self.bounds().bottom + gap if self.marks else 0.0
        self.marks.extend(shifted(mark, 0, down) for mark in other.marks)

    def texts(self) -> Iterator[Text]:
        return (mark for mark in self.marks if isinstance(mark, Text))

    def bounds(self) -> Box:
        """The smallest box around every mark."""
        boxes = [mark_box(mark) for mark in self.marks] or [Box(0, 0, 0, 0)]
        x, y = min(b.x for b in boxes), min(b.y for b in boxes)
        return Box(x, y, max(b.right for b in boxes) - x, max(b.bottom for b in boxes) - y)

    def sheet(self) -> Box:
        """The bounds with the margin: what a writer shows."""
        b, m = self.bounds(), self.margin
        return Box(b.x - m, b.y - m, b.w + 2 * m, b.h + 2 * m)


def mark_box(mark: Mark) -> Box:
    if isinstance(mark, Line):
        xs, ys = [p[0] for p in mark.points], [p[1] for p in mark.points]
        return Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
    return mark.box


def shifted(mark: Mark, dx: float, dy: float) -> Mark:
    if isinstance(mark, Rect):
        moved = Box(mark.box.x + dx, mark.box.y + dy, mark.box.w, mark.box.h)
        return Rect(moved, mark.fill, mark.stroke, mark.radius, mark.width, mark.dashed, mark.tip)
    if isinstance(mark, Text):
        return Text(
            mark.x + dx,
            mark.y + dy,
            mark.text,
            mark.size,
            mark.anchor,
            mark.font,
            mark.paint,
            mark.bold,
            mark.tip,
        )
    points = tuple((x + dx, y + dy) for x, y in mark.points)
    return Line(points, mark.stroke, mark.width, mark.dashed, mark.arrow, mark.tip)


def arrow_head(line: Line, size: float = 7) -> tuple[tuple[float, float], ...]:
    """The triangle at the end of a line, as three points; a writer fills it in the line's
    colour.
    """
    (x0, y0), (x1, y1) = line.points[-2], line.points[-1]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    bx, by = x1 - ux * size, y1 - uy * size
    half = size * 0.45
    return ((x1, y1), (bx - uy * half, by + ux * half), (bx + uy * half, by - ux * half))
