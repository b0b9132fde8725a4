"""The chart of `docs/performance.md`: our time over PyTorch's for every case, on a logarithmic
scale, drawn with `viz`'s own canvas.

A bar runs from quartile to quartile, a dot marks what is held against the goal, a tick the goal.
The same run gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10
from typing import Any

from benchmarks.results import Record, number
from viz.canvas import Canvas, text_width
from viz.svg import svg

WIDTH, LINE, SIZE = 420.0, 15.0, 10.0
PEERS = ("torch", "TorchScript")  # the first of these that took part is the one in the chart


def draw(found: Record) -> str:
    """The chart as the text of an SVG file."""
    return svg(sheet(found)) + "\n"


def sheet(found: Record) -> Canvas:
    groups = [(group["title"], list(rows(group))) for group in found["groups"]]
    groups = [(title, entries) for title, entries in groups if entries]
    every = [ratio for _, entries in groups for _, ratio in entries]
    canvas = Canvas("Our time over PyTorch's", description(every))
    if not every:
        canvas.text(0, SIZE, "nothing was measured beside PyTorch", SIZE)
        return canvas
    names = [name for _, entries in groups for name, _ in entries]
    left = max(text_width(name, SIZE) for name in names) + 14
    low, high = limits(every)
    scale = WIDTH / (high - low)

    def x(value: float) -> float:
        return left + (min(max(log10(value), low), high) - low) * scale

    height = LINE * sum(len(entries) + 1.6 for _, entries in groups)
    for tick in ticks(low, high):
        strong = tick == 1
        canvas.line(
            [(x(tick), 0), (x(tick), height)], "ink" if strong else "line", 1.2 if strong else 0.8
        )
        canvas.text(x(tick), -5, f"{tick:g}", SIZE, anchor="middle", paint="muted")
    canvas.text(
        left, -20, "our time / PyTorch's, logarithmic; left of 1 we are faster", SIZE, paint="muted"
    )
    y = 0.0
    for title, entries in groups:
        canvas.text(0, y + LINE, title, SIZE + 1, bold=True)
        y += 1.4 * LINE
        for name, ratio in entries:
            entry(canvas, name, ratio, x, y, left)
            y += LINE
        y += 0.2 * LINE
    canvas.key(
        left, y + 8, [("copied", "goal met"), ("warning", "goal missed"), ("view", "no goal")]
    )
    return canvas


def entry(canvas: Canvas, name: str, ratio: dict[str, Any], x: Any, y: float, left: float) -> None:
    role = {True: "copied", False: "warning", None: "view"}[ratio["met"]]
    middle = y + LINE / 2
    verdict = (
        ""
        if ratio["goal"] is None
        else f", goal {number(ratio['goal'])}: {'met' if ratio['met'] else 'missed'}"
    )
    tip = f"{name}: {number(ratio['judged'])}{verdict}"
    canvas.text(left - 10, middle + 3.5, name, SIZE, anchor="end")
    from_, to = x(ratio["lower"]), x(ratio["upper"])
    canvas.rect(from_, middle - 3, max(to - from_, 1), 6, f"{role}-soft", role, radius=1, tip=tip)
    canvas.rect(x(ratio["judged"]) - 3, middle - 3, 6, 6, role, radius=3, tip=tip)
    if ratio["goal"] is not None:
        at = x(ratio["goal"])
        canvas.line([(at, middle - 6), (at, middle + 6)], "ink", 1.6, tip=tip)


def rows(group: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each case with the ratio that the chart shows."""
    for case in group["cases"]:
        by_peer = {ratio["against"]: ratio for ratio in case["ratios"]}
        for peer in PEERS:
            if peer in by_peer:
                yield case["name"], by_peer[peer]
                break


def limits(ratios: list[dict[str, Any]]) -> tuple[float, float]:
    """Powers of ten as exponents, in halves; 1 is always inside."""
    values = [r[key] for r in ratios for key in ("lower", "upper", "judged")] + [
        r["goal"] for r in ratios if r["goal"]
    ]
    logs = [log10(v) for v in values if v > 0]
    return min(floor(2 * min(logs)) / 2, -0.5), max(ceil(2 * max(logs)) / 2, 0.5)


def ticks(low: float, high: float) -> list[float]:
    values = [m * 10.0**e for e in range(floor(low), ceil(high) + 1) for m in (1, 2, 5)]
    return [float(f"{v:.6g}") for v in values if low <= log10(v) <= high]


def description(ratios: list[dict[str, Any]]) -> str:
    promised = [ratio for ratio in ratios if ratio["goal"] is not None]
    met = sum(bool(ratio["met"]) for ratio in promised)
    return f"{len(ratios)} cases; {met} of {len(promised)} goals beside PyTorch are met."
