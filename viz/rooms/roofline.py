"""A roofline: how fast a piece of work runs, over how many operations it does for each byte it
moves.

Both axes are logarithmic. The slanted line is the memory: so many bytes a second, times operations
per byte. The level line is the arithmetic. Nothing can be above the lower of the two; a point far
below has something else to wait for.

How the real one differs: GPUs' profilers (Nsight Compute) draw it from counters of the hardware;
here bytes and operations are counted from sizes, and the roof is measured by
`internals.machine_code.limits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from math import floor, log10

from viz.canvas import Box, Canvas, text_width
from viz.scene import Picture

WIDTH, HEIGHT = 520.0, 240.0
ROLES = ("shared", "copied", "owner", "allocator", "ready", "warning", "view", "free")


@dataclass
class Point:
    """Work of `flops` operations on `moved` bytes that took `seconds`."""

    name: str
    flops: int
    moved: int
    seconds: float

    @property
    def intensity(self) -> float:
        return self.flops / max(self.moved, 1)

    @property
    def speed(self) -> float:
        return self.flops / self.seconds


@dataclass
class Roofline(Picture):
    """`bandwidth` in bytes a second, `cached` the same while everything fits the cache, `peak` in
    operations a second.
    """

    points: list[Point]
    bandwidth: float
    cached: float
    peak: float

    @staticmethod
    def of_this_machine(points: list[Point]) -> Roofline:
        """Measures the roof, in about half a second."""
        from internals.machine_code import limits

        return Roofline(points, limits.bandwidth(), limits.bandwidth(1 << 18, 0.1), limits.peak())

    def title(self) -> str:
        return "roofline"

    def text(self) -> str:
        roof = (
            f"{self.bandwidth / 1e9:.1f} GB/s from memory, {self.cached / 1e9:.0f} from the cache"
        )
        lines = [f"roofline: {roof}, {self.peak / 1e9:.0f} Gflop/s"]
        for p in self.points:
            lines.append(
                f"    {p.name}: {p.intensity:.3g} operations a byte, {p.speed / 1e9:.3g} Gflop/s"
            )
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        return roofline_canvas(self)


def measured(call: Callable[[], object], seconds: float = 0.2) -> float:
    """The seconds that `call()` takes at best."""
    from internals.machine_code import limits

    return limits.fastest(call, seconds)


def roofline_canvas(r: Roofline) -> Canvas:
    canvas = Canvas(r.title(), r.text())
    places = [p.intensity for p in r.points] + [r.peak / r.bandwidth, r.peak / r.cached]
    left, right = floor(log10(min(places))), -floor(-log10(max(places) * 2))
    top = -floor(-log10(r.peak * 1.2))
    bottom = min(floor(log10(min([p.speed for p in r.points] + [r.bandwidth * 10**left]))), top - 2)

    def place(intensity: float, speed: float) -> tuple[float, float]:
        across = WIDTH * (log10(intensity) - left) / (right - left)
        return across, HEIGHT * (top - log10(speed)) / (top - bottom)

    for e in range(left, right + 1):
        x = place(10.0**e, 1)[0]
        canvas.line([(x, 0), (x, HEIGHT)], "line", 0.8)
        canvas.text(x, HEIGHT + 16, f"{10.0**e:g}", 11, "middle", "mono", "muted")
    for e in range(bottom, top + 1):
        y = place(1, 10.0**e)[1]
        canvas.line([(0, y), (WIDTH, y)], "line", 0.8)
        canvas.text(-8, y + 4, f"{10.0 ** (e - 9):g}", 11, "end", "mono", "muted")
    for name, speed, dashed in (("memory", r.bandwidth, False), ("cache", r.cached, True)):
        start = max(10.0**left, 10.0**bottom / speed)
        canvas.line(
            [place(start, start * speed), place(r.peak / speed, r.peak)],
            "storage",
            2,
            dashed=dashed,
            tip=name,
        )
    canvas.line(
        [place(r.peak / r.cached, r.peak), place(10.0**right, r.peak)], "key", 2, tip="arithmetic"
    )
    spots = [place(p.intensity, p.speed) for p in r.points]
    taken = [Box(x - 5, y - 5, 10, 10) for x, y in spots]
    for role, p, (x, y) in zip(cycle(ROLES), r.points, spots):
        canvas.rect(
            x - 5, y - 5, 10, 10, role, radius=5, tip=f"{p.name}: {p.speed / 1e9:.3g} Gflop/s"
        )
        label = _free_box(p.name, x, y, taken)
        canvas.rect(label.x, label.y, label.w, label.h, "paper")  # or a line runs through the name
        canvas.text(label.x + 2, label.y + 12, p.name, 12, bold=True)
        taken.append(label)
    canvas.text(0, -12, "Gflop/s", 12, paint="muted")
    canvas.text(WIDTH, HEIGHT + 34, "operations per byte", 12, "end", paint="muted")
    roof = (
        f"blue: {r.bandwidth / 1e9:.1f} GB/s from memory, dashed {r.cached / 1e9:.0f} GB/s from "
        "the cache"
    )
    canvas.text(
        0,
        HEIGHT + 54,
        f"{roof}; level: {r.peak / 1e9:.0f} Gflop/s of arithmetic",
        11,
        paint="muted",
    )
    return canvas


def _free_box(name: str, x: float, y: float, taken: list[Box]) -> Box:
    """Where the name of a point is written: to the right, to the left, above or below, where
    nothing is yet.
    """
    w, h = text_width(name, 12, bold=True) + 4, 15.0
    places = [
        Box(x + 8, y - 8, w, h),
        Box(x - 8 - w, y - 8, w, h),
        Box(x - w / 2, y - 25, w, h),
        Box(x - w / 2, y + 9, w, h),
    ]
    return next((b for b in places if not any(b.overlaps(t) for t in taken)), places[0])
