"""Where the boxes of a layered graph go: Graphviz decides, we draw.

`viz.Graph` lets Graphviz draw too. Pictures with more in a box than a label use this instead: it
asks Graphviz for places only, for boxes and labels of given sizes, so that what is drawn there can
be anything a canvas can hold. Where no Graphviz is installed a plain layering by longest path does,
with straight edges.

How the real one differs: `dot` knows ports, clusters and ranks; here are boxes and arrows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from viz.canvas import Box
from viz.dot import render, renderer

Point = tuple[float, float]
RANK_GAP, NODE_GAP = 34.0, 22.0
SAMPLES = 6  # straight pieces for each Bézier piece of an edge


@dataclass(frozen=True)
class Arrow:
    """An edge to be laid out: `label` is the width and height of what stands beside it; `ranks`
    whether head goes below tail.
    """

    tail: int
    head: int
    label: Point = (0.0, 0.0)
    ranks: bool = True
    weight: int = 1


@dataclass
class Layout:
    """Top left corners of the boxes; for each arrow its points, and the middle of its label (None
    where it has none).
    """

    boxes: list[Box] = field(default_factory=list)
    routes: list[list[Point]] = field(default_factory=list)
    labels: list[Point | None] = field(default_factory=list)


def layered(sizes: Sequence[Point], arrows: Sequence[Arrow]) -> Layout:
    """Places for boxes of these (width, height), arrows pointing down. The same graph always gets
    the same layout.
    """
    if not sizes:
        return Layout()
    return _by_dot(sizes, arrows) if renderer() is not None else _by_longest_path(sizes, arrows)


def dot_source(sizes: Sequence[Point], arrows: Sequence[Arrow]) -> str:
    """The graph as Graphviz gets it: sizes, no text."""
    lines = [
        "digraph {",
        f"  graph [nodesep={NODE_GAP / 72:.3f} ranksep={RANK_GAP / 72:.3f}]",
        '  node [shape=box fixedsize=true label=""] edge [arrowsize=0.7]',
    ]
    lines += [f"  n{n} [width={w / 72:.4f} height={h / 72:.4f}]" for n, (w, h) in enumerate(sizes)]
    for number, arrow in enumerate(arrows):
        w, h = arrow.label
        room = (
            f'<table border="0" fixedsize="true" width="{w:.0f}" '
            f'height="{h:.0f}"><tr><td></td></tr></table>'
        )
        label = f" label=<{room}>" if w else ""
        free = "" if arrow.ranks else " constraint=false"
        lines.append(
            f"  n{arrow.tail} -> n{arrow.head} [id=e{number} weight={arrow.weight}{free}{label}]"
        )
    return "\n".join([*lines, "}", ""])


def _by_dot(sizes: Sequence[Point], arrows: Sequence[Arrow]) -> Layout:
    drawn = json.loads(render(dot_source(sizes, arrows), "json"))
    top = float(drawn["bb"].split(",")[3])
    layout = Layout([Box(0, 0, 0, 0)] * len(sizes), [[] for _ in arrows], [None] * len(arrows))
    for item in drawn["objects"]:
        n = int(item["name"][1:])
        (x, y), (w, h) = _point(item["pos"], top), sizes[n]
        layout.boxes[n] = Box(_half(x - w / 2), _half(y - h / 2), w, h)
    for item in drawn.get("edges", ()):
        number = int(item["id"][1:])
        layout.routes[number] = _sampled(item["pos"], top)
        if "lp" in item:
            x, y = _point(item["lp"], top)
            layout.labels[number] = (_half(x), _half(y))
    return layout


def _sampled(pos: str, top: float) -> list[Point]:
    """A Graphviz spline, "e,tip start c c p c c p ...", as straight pieces that end at the tip."""
    words = pos.split()
    tip = [_point(w[2:], top) for w in words if w.startswith("e,")]
    controls = [_point(w, top) for w in words if not w.startswith(("e,", "s,"))]
    points = controls[:1]
    for i in range(0, len(controls) - 3, 3):
        a, b, c, d = controls[i : i + 4]
        for step in range(1, SAMPLES + 1):
            t = step / SAMPLES
            s = 1 - t
            x = s**3 * a[0] + 3 * s * s * t * b[0] + 3 * s * t * t * c[0] + t**3 * d[0]
            y = s**3 * a[1] + 3 * s * s * t * b[1] + 3 * s * t * t * c[1] + t**3 * d[1]
            points.append((x, y))
    return [(_half(x), _half(y)) for x, y in simplified(points + tip)]


def simplified(points: list[Point], tolerance: float = 0.8) -> list[Point]:
    """Without the points that a straight line would pass by anyway (Douglas and Peucker)."""
    if len(points) < 3:
        return points
    (x0, y0), (x1, y1) = points[0], points[-1]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    off = [abs((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / length for x, y in points]
    far = max(range(len(points)), key=off.__getitem__)
    if off[far] <= tolerance:
        return [points[0], points[-1]]
    return simplified(points[: far + 1], tolerance)[:-1] + simplified(points[far:], tolerance)


def _point(text: str, top: float) -> Point:
    x, y = text.split(",")
    return float(x), top - float(y)


def _half(value: float) -> float:
    """To the nearest half: no digits of a float's making, and short in the file."""
    return round(2 * value) / 2


def _by_longest_path(sizes: Sequence[Point], arrows: Sequence[Arrow]) -> Layout:
    """Each box one row below the lowest of those that point to it."""
    rank = [0] * len(sizes)
    for _ in sizes:
        moved = False
        for a in arrows:
            if a.ranks and a.tail != a.head and rank[a.head] <= rank[a.tail] < len(sizes):
                rank[a.head], moved = rank[a.tail] + 1, True
        if not moved:
            break
    layout, y = Layout([Box(0, 0, 0, 0)] * len(sizes)), 0.0
    for row in sorted(set(rank)):
        x = 0.0
        members = [n for n, r in enumerate(rank) if r == row]
        for n in members:
            layout.boxes[n] = Box(x, y, *sizes[n])
            x += sizes[n][0] + 3 * NODE_GAP
        y += max(sizes[n][1] for n in members) + 2 * RANK_GAP
    for a in arrows:
        start, end = layout.boxes[a.tail], layout.boxes[a.head]
        down = start.y <= end.y
        route = [
            (start.x + start.w / 2, start.bottom if down else start.y),
            (end.x + end.w / 2, end.y if down else end.bottom),
        ]
        layout.routes.append(route)
        layout.labels.append(
            ((route[0][0] + route[1][0]) / 2, (route[0][1] + route[1][1]) / 2)
            if a.label[0]
            else None
        )
    return layout
