"""`viz.chart`: lines over a common axis. What a loss did, the path of an optimizer, bytes in use
while a step ran.

A series is a list of numbers, one for each step, or of (x, y) pairs. Values that are no finite
numbers leave a gap. The drawing is made of the same few marks as every picture here, so it is the
same everywhere and follows the page's theme.

How the real one differs: PyTorch draws nothing; people use matplotlib or TensorBoard, which can do
very much more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10
from typing import Any

from viz.canvas import Canvas, text_width
from viz.scene import Picture
from viz.text import table

Point = tuple[float, float]
ROLES = ("view", "shared", "copied", "owner", "allocator", "free", "storage", "python")
BANDS = ("storage", "owner", "copied", "shared", "free")
WIDTH, HEIGHT = 600.0, 230.0
SPARKS = "▁▂▃▄▅▆▇█"


@dataclass
class Span:
    """A named part of the x axis."""

    name: str
    start: float
    stop: float


@dataclass
class Chart(Picture):
    series: dict[str, list[Point]]
    x: str = ""
    y: str = ""
    spans: list[Span] = field(default_factory=list)
    steps: bool = False
    dots: bool = False

    def text(self) -> str:
        what = " over ".join(word for word in (self.y, self.x) if word)
        rows = []
        for name, points in self.series.items():
            ys = [y for _, y in points if isfinite(y)]
            if not ys:
                rows.append([name, "no values"])
                continue
            rows.append(
                [
                    name,
                    number(ys[0]),
                    number(min(ys)),
                    number(max(ys)),
                    number(ys[-1]),
                    sparkline(ys),
                ]
            )
        header = ["", "first", "lowest", "highest", "last"]
        spans = "".join(
            f"\n    {s.name}: from {number(s.start)} to {number(s.stop)}" for s in self.spans
        )
        return (
            f"chart: {what or 'no labels'}\n"
            + table(rows, header, indent=4, right=[1, 2, 3, 4])
            + spans
        )

    def canvas(self) -> Canvas:
        return chart_canvas(self)


def chart(
    series: Mapping[str, Sequence[Any]],
    x: str = "",
    y: str = "",
    spans: Iterable[tuple[str, float, float]] = (),
    steps: bool = False,
    dots: bool = False,
) -> Chart:
    """Lines for `series`, a dict from names to numbers or (x, y) pairs; `x` and `y` label the axes.

    `spans` are (name, start, stop) parts of the x axis to be tinted. With `steps` a value holds
    until the next one, with `dots` every point is marked. Raises ValueError when there is nothing
    to draw or too many series to tell apart.
    """
    if not any(len(points) for points in series.values()):
        raise ValueError("viz.chart needs at least one series with at least one value")
    if len(series) > len(ROLES):
        raise ValueError(f"viz.chart can tell {len(ROLES)} series apart, got {len(series)}")
    lines = {
        name: [_point(n, value) for n, value in enumerate(values)]
        for name, values in series.items()
    }
    return Chart(
        lines,
        x,
        y,
        [Span(name, float(start), float(stop)) for name, start, stop in spans],
        steps,
        dots,
    )


def _point(n: int, value: Any) -> Point:
    if isinstance(value, (tuple, list)):
        return float(value[0]), float(value[1])
    return float(n), float(value)


def chart_canvas(chart: Chart) -> Canvas:
    canvas = Canvas(
        "viz.chart: " + " over ".join(word for word in (chart.y, chart.x) if word), chart.text()
    )
    points = [
        p for line in chart.series.values() for p in line if isfinite(p[0]) and isfinite(p[1])
    ] or [(0.0, 0.0)]
    ends = [edge for span in chart.spans for edge in (span.start, span.stop)]
    xs, ys = ticks([*(p[0] for p in points), *ends]), ticks([p[1] for p in points])
    left, right = min([p[0] for p in points] + ends), max([p[0] for p in points] + ends)
    right = right if right > left else left + 1
    low, high = ys[0], ys[-1]

    def place(p: Point) -> Point:
        return WIDTH * (p[0] - left) / (right - left), HEIGHT * (high - p[1]) / (high - low)

    _spans(canvas, chart.spans, lambda x: place((x, low))[0])
    for tick in ys:
        level = place((left, tick))[1]
        canvas.line([(0, level), (WIDTH, level)], "line", 0.8)
        canvas.text(-8, level + 4, number(tick), 11, "end", "mono", "muted")
    for tick in (t for t in xs if left <= t <= right):
        across = place((tick, low))[0]
        canvas.line([(across, HEIGHT), (across, HEIGHT + 5)], "muted", 1)
        canvas.text(across, HEIGHT + 18, number(tick), 11, "middle", "mono", "muted")
    for role, (name, line) in zip(ROLES, chart.series.items()):
        for run in runs(line):
            placed = [place(p) for p in (stairs(run) if chart.steps else run)]
            if len(placed) > 1:
                canvas.line(placed, role, 2, tip=name)
            if chart.dots or len(placed) == 1:
                for a, b in placed:
                    canvas.rect(a - 2.5, b - 2.5, 5, 5, role, radius=2.5)
    above = -12.0 if not chart.spans else -38.0
    canvas.text(0, above, chart.y, 12, paint="muted")
    canvas.text(WIDTH, HEIGHT + 36, chart.x, 12, "end", paint="muted")
    _legend(canvas, list(chart.series), HEIGHT + 46)
    return canvas


def _spans(canvas: Canvas, spans: list[Span], across: Any) -> None:
    """A tint behind each span, and its name above, unless the span is too narrow for it."""
    for n, span in enumerate(spans):
        a, b, role = across(span.start), across(span.stop), BANDS[n % len(BANDS)]
        canvas.rect(a, -24, b - a, HEIGHT + 24, f"{role}-soft", radius=0, tip=span.name)
        if text_width(span.name, 11) + 6 <= b - a:
            canvas.text((a + b) / 2, -9, span.name, 11, "middle")


def _legend(canvas: Canvas, names: list[str], y: float) -> None:
    """The names beside short lines in their colours, as many lines of text as they need."""
    x = 0.0
    for role, name in zip(ROLES, names):
        if x and x + 24 + text_width(name, 11) > WIDTH:
            x, y = 0.0, y + 18
        canvas.rect(x, y + 5, 16, 3, role, radius=1)
        x = canvas.text(x + 22, y + 11, name, 11, paint="muted").right + 20


def ticks(values: Sequence[float]) -> list[float]:
    """Four to nine round numbers, evenly spaced, whose ends enclose all values."""
    low, high = min(values), max(values)
    if high == low:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)
    exponent = floor(log10((high - low) / 3))
    size = next(s for s in (1, 2, 5, 10) if (high - low) / (s * 10.0**exponent) <= 7)
    if exponent < 0:
        # divide by a whole power of ten: its quotient is the nearest float, a product need not be
        first, last = floor(low / size * 10**-exponent), ceil(high / size * 10**-exponent)
        return [n * size / 10**-exponent for n in range(first, last + 1)]
    unit = size * 10**exponent
    return [float(n * unit) for n in range(floor(low / unit), ceil(high / unit) + 1)]


def number(value: float) -> str:
    """A number with at most four digits that count: "0.25", "1,200", "3e-05"."""
    if value == round(value) and abs(value) < 1e9:
        return f"{round(value):,}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def runs(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The stretches between values that cannot be drawn."""
    run: list[Point] = []
    for p in points:
        if isfinite(p[0]) and isfinite(p[1]):
            run.append(p)
        elif run:
            yield run
            run = []
    if run:
        yield run


def stairs(points: Sequence[Point]) -> list[Point]:
    """The corners of a line on which each value holds until the next."""
    corners = [points[0]]
    for (_, before), (x, y) in zip(points, points[1:]):
        corners += [(x, before), (x, y)] if y != before else [(x, y)]
    return corners


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """The course of the values in one word; of many, evenly chosen ones."""
    chosen = (
        [values[n * (len(values) - 1) // (width - 1)] for n in range(width)]
        if len(values) > width
        else values
    )
    low, high = min(chosen), max(chosen)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((value - low) * scale)] for value in chosen)
