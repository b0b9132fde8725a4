"""`viz.flame`: where the time of a profile went. A stripe is a call; what it calls lies below it,
as wide as its share.

Calls of the same name under the same caller are one stripe, as wide as all of them together. What
is left free below a stripe is its *self* time: its own work, and what nobody recorded. Weighed by
calls or bytes instead of time, the picture is the same on every run.

How the real one differs: torch.profiler writes traces and stacks, and leaves the drawing to others.
A trace's viewer keeps the order of calls; here equal ones are put together, which is what makes it
a flame graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.text import corrected, plural, table

WIDTH, ROW = 780.0, 21.0
NARROWEST = 1.5  # what would be narrower is counted instead of drawn
LABELLED = 26.0  # from this width on a stripe has its name in it
ROWS_AT_MOST = 60
KINDS = {
    "operator": ("view", "operator"),
    "label": ("owner", "label or optimizer"),
    "module": ("storage", "call of a module"),
    "backward": ("shared", "node of the autograd graph"),
    "compiled": ("copied", "compiled function"),
}
SCOPES = {1: "backward", 2: "compiled", 6: "module", 7: "label"}
WEIGHTS = ("time", "calls", "memory")


@dataclass
class Stripe:
    """All calls of one name under one caller. `total` includes the stripes below, `own` does not;
    in the unit of the picture.
    """

    name: str
    kind: str
    calls: int = 0
    own: float = 0.0
    below: dict[str, Stripe] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.own + sum(stripe.total for stripe in self.below.values())

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Stripe]]:
        """Itself and all below, callers first, with how deep they lie."""
        yield depth, self
        for stripe in self.below.values():
            yield from stripe.walk(depth + 1)


@dataclass
class Flame(Picture):
    """The picture of a profile. `weight` says what widths mean: "time", "calls" or "memory"."""

    roots: list[Stripe]
    weight: str

    def title(self) -> str:
        return "viz.flame"

    @property
    def total(self) -> float:
        return sum(root.total for root in self.roots)

    def find(self, name: str) -> list[Stripe]:
        """The stripes of that name, callers first."""
        return [stripe for root in self.roots for _, stripe in root.walk() if stripe.name == name]

    def amount(self, value: float) -> str:
        """ "1.25 ms", "3 calls", "4,096 bytes"."""
        if self.weight == "calls":
            return plural(round(value), "call")
        if self.weight == "memory":
            return plural(round(value), "byte")
        for unit, size in (("s", 1e6), ("ms", 1e3)):
            if value >= size:
                return f"{value / size:.2f} {unit}"
        return f"{value:.1f} µs"

    def share(self, value: float) -> str:
        return f"{value / self.total:.1%}" if self.total else "0.0%"

    def heading(self) -> str:
        calls = sum(stripe.calls for root in self.roots for _, stripe in root.walk())
        if not calls:
            return "nothing was recorded"
        wide = {
            "time": "time",
            "calls": "calls, those within included",
            "memory": "bytes taken from the allocator",
        }
        total = "" if self.weight == "calls" else f", {self.amount(self.total)}"
        return f"{plural(calls, 'recorded call')}{total}; width is {wide[self.weight]}"

    def text(self) -> str:
        lines = [(depth, stripe) for root in self.roots for depth, stripe in root.walk()]
        rows = [
            [
                "  " * depth + s.name,
                s.calls,
                self.amount(s.total),
                self.share(s.total),
                self.amount(s.own),
            ]
            for depth, s in lines[:ROWS_AT_MOST]
        ]
        more = (
            f"\n    ({plural(len(lines) - ROWS_AT_MOST, 'more line')})"
            if len(lines) > ROWS_AT_MOST
            else ""
        )
        if not rows:
            return f"flame: {self.heading()}"
        header = ["", "calls", "total", "share", "self"]
        return (
            f"flame: {self.heading()}\n" + table(rows, header, indent=4, right=[1, 2, 3, 4]) + more
        )

    def canvas(self) -> Canvas:
        return flame_canvas(self)


def flame(source: Any, *args: Any, weight: str = "time") -> Flame:
    """The calls of a profile, or of what `source(*args)` does, by who called them.

    `source` is an `internals.profiler.profile` that has ended, the list of its events, or a
    function. `weight` is "time", "calls" or "memory", for which the profile must have been taken
    with `profile_memory=True`. Raises ValueError for another weight, TypeError for another source,
    AssertionError for a profile that has not ended, and what the function raises.
    """
    if weight not in WEIGHTS:
        raise ValueError(f"viz.flame: weight must be one of {', '.join(WEIGHTS)}, got {weight!r}")
    return Flame(merged(_events(source, args, weight), weight), weight)


def _events(source: Any, args: tuple[Any, ...], weight: str) -> Iterable[Any]:
    if callable(getattr(source, "events", None)):
        return source.events()
    if hasattr(source, "function_events"):
        return source.function_events
    if isinstance(source, list):
        return source
    if callable(source):
        return _recorded(source, args, weight)
    raise TypeError(
        corrected(
            f"viz.flame takes a profile, its events, or a function, not {type(source).__name__}",
            "viz.flame(f(x))",
            "viz.flame(f, x)",
        )
    )


def _recorded(function: Callable[..., Any], args: tuple[Any, ...], weight: str) -> Iterable[Any]:
    from internals.profiler import profile

    with profile(with_modules=True, profile_memory=weight == "memory") as prof:
        function(*args)
    return prof.events()


def merged(events: Iterable[Any], weight: str) -> list[Stripe]:
    """The stripes of the outermost calls, in order of their first call."""
    roots: dict[str, Stripe] = {}
    stripes: dict[int, Stripe] = {}
    for event in events:
        if event.id <= 0:  # work of a device, or memory given back between calls
            continue
        parent = event.cpu_parent
        siblings = roots if parent is None else stripes[parent.id].below
        stripe = siblings.get(event.key)
        if stripe is None:
            stripe = siblings[event.key] = Stripe(event.key, _kind(event))
        stripe.calls += 1
        stripe.own += {
            "time": event.self_cpu_time_total,
            "calls": 1,
            "memory": event.bytes_allocated,
        }[weight]
        stripes[event.id] = stripe
    return list(roots.values())


def _kind(event: Any) -> str:
    if event.name.startswith("autograd::engine::"):
        return "backward"
    return SCOPES.get(int(event.scope), "operator")


def flame_canvas(scene: Flame) -> Canvas:
    canvas = Canvas(scene.title(), scene.heading())
    canvas.text(0, 11, scene.heading(), 12.5, bold=True)
    if not scene.total:
        return canvas
    narrow = _draw(canvas, scene, scene.roots, 0.0, 26.0, WIDTH / scene.total)
    y = canvas.bounds().bottom + 8
    if narrow:
        canvas.text(0, y + 10, f"{plural(narrow, 'narrower stripe')} not drawn", 11, paint="muted")
        y += 18
    used = {stripe.kind for root in scene.roots for _, stripe in root.walk()}
    canvas.key(0, y + 4, [look for kind, look in KINDS.items() if kind in used])
    return canvas


def _draw(
    canvas: Canvas, scene: Flame, stripes: Iterable[Stripe], x: float, y: float, scale: float
) -> int:
    """Draws stripes side by side from `x`, and what they call below; returns how many were too
    narrow.
    """
    narrow = 0
    for stripe in stripes:
        width = stripe.total * scale
        if width < NARROWEST:
            narrow += sum(1 for _ in stripe.walk())
        else:
            role = KINDS[stripe.kind][0]
            own = "" if stripe.own == stripe.total else f", {scene.amount(stripe.own)} of its own"
            calls = "" if scene.weight == "calls" else f", {plural(stripe.calls, 'call')}"
            tip = (
                f"{stripe.name}: {scene.amount(stripe.total)} "
                f"({scene.share(stripe.total)}){calls}{own}"
            )
            box = canvas.rect(x + 0.25, y, width - 0.5, ROW - 2, f"{role}-soft", role, 2, tip=tip)
            if width >= LABELLED:
                canvas.label(
                    box, stripe.name.removeprefix("aten::"), 10.5, "sans", pad=4, anchor="start"
                )
            narrow += _draw(canvas, scene, stripe.below.values(), x, y + ROW, scale)
        x += width
    return narrow
