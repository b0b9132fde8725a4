"""`viz.timeline`: what ran when. One row for the host's calls, one for each stream of each device.

A call that starts work returns long before the work is done; that is what the slanted lines from
the host's row show. Streams are queues of their own: work in one row runs in order, work in two
rows may overlap, unless an event makes one wait for the other.

How the real one differs: torch.profiler records the same (and operators with their Python stacks),
and leaves the drawing to https://ui.perfetto.dev, which `.save("trace.json")` writes for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viz.canvas import Canvas, text_width
from viz.rooms.chart import number, ticks
from viz.scene import Picture, write_atomically
from viz.text import corrected, plural, table

KINDS = {
    "kernel": ("view", "kernel", "#"),
    "h2d": ("copied", "copy to the device", ">"),
    "d2h": ("shared", "copy to the host", "<"),
    "d2d": ("storage", "copy on the device", "="),
    "memset": ("free", "memset", "0"),
    "event": ("ready", "event", "|"),
    "host": ("python", "call of the driver", "-"),
}
COPIES = ("h2d", "d2h", "d2d")
ROW, BAR = 40.0, 24.0
WORK = ("key", "other work of the host", "*")  # on the host's row, between the calls
WIDTH = 780.0
TEXT_WIDTH, ROWS_AT_MOST = 72, 80
HOST = "host"


@dataclass
class Bar:
    """One thing that was done, or one call; `target` is the row of the stream that a call is about.
    Times in microseconds.
    """

    row: str
    target: str
    name: str
    kind: str
    start: float
    end: float
    details: str = ""
    correlation: int = 0
    waits_for: int = 0

    @property
    def length(self) -> float:
        return self.end - self.start

    @property
    def look(self) -> tuple[str, str, str]:
        """Colour, words and sign for it."""
        return WORK if self.kind == HOST and not self.name.startswith("cu") else KINDS[self.kind]


@dataclass
class Timeline(Picture):
    """The picture of a recording. `links` are (from, to, kind) of bars: "call" or "event"."""

    rows: list[str]
    bars: list[Bar]
    links: list[tuple[int, int, str]]
    simulated: bool = False
    hidden: int = 0  # calls before the first work
    trace: dict[str, Any] = field(default_factory=dict)

    def title(self) -> str:
        return "viz.timeline"

    @property
    def start(self) -> float:
        return min((b.start for b in self.bars), default=0.0)

    @property
    def end(self) -> float:
        return max((b.end for b in self.bars), default=0.0)

    def busy(self, *kinds: str) -> list[tuple[float, float]]:
        """The stretches of time in which work of these kinds (all but the host's, if none are
        named) was going on.
        """
        return union(
            (b.start, b.end)
            for b in self.bars
            if (b.kind in kinds if kinds else b.kind not in (HOST, "event"))
        )

    @property
    def overlap(self) -> float:
        """For how long copies and kernels went on at the same time, in microseconds."""
        return total(common(self.busy("kernel"), self.busy(*COPIES)))

    def facts(self) -> list[str]:
        kernels, copies = (
            sum(b.kind in kinds for b in self.bars) for kinds in (("kernel",), COPIES)
        )
        span, busy = self.end - self.start, total(self.busy())
        what = f"{plural(kernels, 'kernel')} and " + (
            "1 copy" if copies == 1 else f"{copies} copies"
        )
        facts = [
            f"{what} in {micro(span)}"
            + (", times are modelled (simulated device)" if self.simulated else "")
        ]
        if span and busy:
            facts.append(f"devices at work for {micro(busy)}, {busy / span:.0%} of the time")
        if kernels and copies:
            facts.append(f"copies and kernels at the same time for {micro(self.overlap)}")
        return facts

    def text(self) -> str:
        if not self.bars:
            return "timeline: nothing was done"
        lines = ["timeline", *(f"    {fact}" for fact in self.facts())]
        wide = max(map(len, self.rows))
        lines += [f"    {row.ljust(wide)}  {self._strip(row)}" for row in self.rows]
        lines.append(
            " " * (wide + 6) + ", ".join(f"{sign} {words}" for _, words, sign in self.looks())
        )
        rows = [
            [f"{b.start:.1f}", f"{b.length:.1f}", b.row, b.name, b.details]
            for b in self.bars[:ROWS_AT_MOST]
            if b.kind != HOST
        ]
        lines.append(table(rows, ["start", "for (µs)", "", "", ""], indent=4, right=[0, 1]))
        if len(self.bars) > ROWS_AT_MOST:
            lines.append(f"    (only of the first {ROWS_AT_MOST} things)")
        return "\n".join(lines)

    def looks(self) -> list[tuple[str, str, str]]:
        """What is to be explained below the picture."""
        used = {b.look for b in self.bars}
        return [look for look in (*KINDS.values(), WORK) if look in used]

    def _strip(self, row: str) -> str:
        cells = [" "] * TEXT_WIDTH
        per = (self.end - self.start) / TEXT_WIDTH or 1.0
        for b in self.bars:
            if b.row == row:
                first = min(TEXT_WIDTH - 1, int((b.start - self.start) / per))
                last = min(TEXT_WIDTH - 1, max(first, int((b.end - self.start) / per - 1e-9)))
                for n in range(first, last + 1):
                    cells[n] = b.look[2]
        return "".join(cells).rstrip()

    def canvas(self) -> Canvas:
        return timeline_canvas(self)

    def save(self, path: str | os.PathLike[str], theme: str | None = None) -> Path:
        """As every picture; with the suffix .json a Chrome trace, for https://ui.perfetto.dev or
        chrome://tracing.
        """
        path = Path(path)
        if path.suffix.lower() != ".json":
            return super().save(path, theme)
        write_atomically(path, (json.dumps(self.trace, indent=1) + "\n").encode())
        return path


def timeline(source: Any, *args: Any, host: bool = True) -> Timeline:
    """A picture of a recording (`internals.cuda.record_activity()`), of what `source(*args)` does,
    or of a Chrome trace.

    A trace is given as a dict or as the path of a .json file, of ours or of torch.profiler's.
    `host=False` leaves the host's row out. Raises TypeError for anything else, ValueError for a
    file that is no trace, and what `source` raises.
    """
    if hasattr(source, "chrome_trace"):
        return scene(source.chrome_trace(), host)
    if isinstance(source, dict):
        return scene(source, host)
    if isinstance(source, (str, os.PathLike)):
        try:
            return scene(json.loads(Path(source).read_text(encoding="utf-8")), host)
        except ValueError as error:
            raise ValueError(f"{os.path.basename(source)} is no Chrome trace: {error}") from error
    if callable(source):
        return scene(_recorded(source, args), host)
    raise TypeError(
        corrected(
            "viz.timeline takes a recording, a function, or a Chrome trace, not "
            f"{type(source).__name__}",
            "viz.timeline(f(x))",
            "viz.timeline(f, x)",
        )
    )


def _recorded(function: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, Any]:
    from internals.cuda.activity import record_activity

    with record_activity() as recording:
        function(*args)
    return recording.chrome_trace()


def scene(trace: Any, host: bool) -> Timeline:
    """The bars of a trace: complete events ("ph": "X") of the driver, kernels and copies."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError("it has no list 'traceEvents'")
    bars = [
        bar
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and (bar := _bar(event)) is not None
    ]
    bars.sort(key=lambda b: (b.start, b.end, b.correlation, b.kind != HOST))
    queued = {b.correlation for b in bars if b.kind != HOST and b.correlation}
    begin = [b.start for b in bars if b.kind != HOST or b.correlation in queued or b.look is WORK]
    first = min(begin, default=0.0)
    shown = [b for b in bars if b.kind != HOST or b.end > first]
    hidden = len(bars) - len(shown) if host else 0
    links = _links(shown)
    if not host:
        kept = [n for n, b in enumerate(shown) if b.kind != HOST]
        at = {n: k for k, n in enumerate(kept)}
        shown, links = (
            [shown[n] for n in kept],
            [(at[a], at[b], kind) for a, b, kind in links if kind == "event"],
        )
    rows = sorted(
        {b.row for b in shown} - {HOST},
        key=lambda r: (r.split(" ")[0], "default" not in r, len(r), r),
    )
    return Timeline(
        [HOST] * any(b.kind == HOST for b in shown) + rows,
        shown,
        links,
        bool(trace.get("simulated")),
        hidden,
        trace,
    )


def _bar(event: dict[str, Any]) -> Bar | None:
    args, category, name = event.get("args", {}), event.get("cat", ""), str(event.get("name", ""))
    stream = args.get("stream", event.get("tid", 0))
    target = f"cuda:{args.get('device', event.get('pid', 0))} " + (
        f"stream {stream}" if stream else "default stream"
    )
    if category in ("cuda_runtime", "cuda_driver"):
        kind = HOST
    elif category == "gpu_memcpy":
        kind = "h2d" if "HtoD" in name else "d2h" if "DtoH" in name else "d2d"
    else:
        kind = {"kernel": "kernel", "gpu_memset": "memset", "cuda_event": "event"}.get(category, "")
    if not kind:
        return None
    start, row = float(event["ts"]), HOST if kind == HOST else target
    end = start + float(event.get("dur", 0))
    numbers = (int(args.get(key, 0)) for key in ("correlation", "waits for"))
    return Bar(row, target, name, kind, round(start, 6), round(end, 6), _details(args), *numbers)


def _details(args: dict[str, Any]) -> str:
    parts = []
    if "grid" in args and "block" in args:
        parts.append(f"grid {_extent(args['grid'])}, block {_extent(args['block'])}")
    if "bytes" in args:
        rate = args.get("memory bandwidth (GB/s)")
        parts.append(f"{args['bytes']:,} bytes" + (f", {number(float(rate))} GB/s" if rate else ""))
    return ", ".join(parts)


def _extent(sizes: list[int]) -> str:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " × ".join(map(str, kept))


def _links(bars: list[Bar]) -> list[tuple[int, int, str]]:
    """From each call to the work that it queued, and from each event to the first work that had to
    wait for it.
    """
    calls = {b.correlation: n for n, b in enumerate(bars) if b.kind == HOST and b.correlation}
    events = {b.correlation: n for n, b in enumerate(bars) if b.kind == "event"}
    work = [(n, b) for n, b in enumerate(bars) if b.kind not in (HOST, "event")]
    links = [(calls[b.correlation], n, "call") for n, b in work if b.correlation in calls]
    for wait in (b for b in bars if b.waits_for in events):
        behind = [
            (b.correlation, n)
            for n, b in work
            if b.row == wait.target and b.correlation > wait.correlation
        ]
        if behind:
            links.append((events[wait.waits_for], min(behind)[1], "event"))
    return links


def union(stretches: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same stretches without overlap, in order."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def common(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """What lies in both."""
    return [(max(a, c), min(b, d)) for a, b in first for c, d in second if min(b, d) > max(a, c)]


def total(stretches: Iterable[tuple[float, float]]) -> float:
    return round(sum(end - start for start, end in stretches), 6)


def micro(microseconds: float) -> str:
    """ "3 µs", "1.25 ms"."""
    return (
        f"{number(round(microseconds, 3))} µs"
        if microseconds < 1000
        else f"{number(round(microseconds / 1000, 3))} ms"
    )


def timeline_canvas(t: Timeline) -> Canvas:
    canvas = Canvas(t.title(), "; ".join(t.facts()) if t.bars else "nothing was done")
    if not t.bars:
        canvas.text(0, 12, "nothing was done", 12, paint="muted")
        return canvas
    y = 0.0
    for n, fact in enumerate(t.facts()):
        canvas.text(0, y + 11, fact, 12.5 if n == 0 else 12, bold=n == 0)
        y += 18
    left = max(text_width(row, 12, "mono") for row in t.rows) + 16
    span = max(t.end - t.start, 1e-9)
    scale = WIDTH / span
    top = y + 34
    place = {row: top + n * ROW for n, row in enumerate(t.rows)}
    bottom = top + len(t.rows) * ROW

    def across(time: float) -> float:
        return left + (time - t.start) * scale

    _draw_axis(canvas, t, across, top, bottom)
    for row, at in place.items():
        canvas.text(0, at + BAR / 2 + 4, row, 12, font="mono", bold=row == HOST)
        canvas.line([(left, at + BAR / 2), (across(t.end), at + BAR / 2)], "line", 0.8)
    for first, second, kind in t.links:
        a, b = t.bars[first], t.bars[second]
        start = (
            across(a.end if kind == "event" else a.start) + (0 if kind == "event" else 1.5),
            place[a.row] + BAR,
        )
        role = "ready" if kind == "event" else "line"
        tip = "waits for the event" if kind == "event" else "started by this call"
        if kind == "event" and place[b.row] < place[a.row]:
            start = (start[0], place[a.row])
            end = (across(b.start), place[b.row] + BAR)
        else:
            end = (across(b.start), place[b.row])
        canvas.line(
            [start, end], role, 1.6 if kind == "event" else 1, arrow=kind == "event", tip=tip
        )
    for b in t.bars:
        _draw_bar(canvas, b, across, place[b.row])
    y = bottom + 4
    if t.hidden:
        canvas.text(
            0,
            y + 10,
            f"{plural(t.hidden, 'call')} of the host before the first work not shown",
            11,
            paint="muted",
        )
        y += 18
    canvas.key(0, y + 4, [(role, words) for role, words, _ in t.looks()])
    return canvas


def _draw_axis(
    canvas: Canvas, t: Timeline, across: Callable[[float], float], top: float, bottom: float
) -> None:
    for tick in ticks([t.start, t.end]):
        if t.start - 1e-9 <= tick <= t.end + 1e-9:
            canvas.line([(across(tick), top - 8), (across(tick), bottom - 10)], "line", 0.6)
            canvas.text(across(tick), top - 12, micro(tick), 10.5, "middle", "mono", "muted")


def _draw_bar(canvas: Canvas, b: Bar, across: Callable[[float], float], y: float) -> None:
    role = b.look[0]
    x, width = across(b.start), max(across(b.end) - across(b.start), 3.0)
    tip = (
        f"{b.name}: {micro(b.start)} to {micro(b.end)}, "
        f"{micro(b.length)}{f'; {b.details}' if b.details else ''}"
    )
    if b.kind == "event":
        canvas.rect(x - 2, y - 3, 4, BAR + 6, role, None, 1, tip=tip)
        return
    box = canvas.rect(x, y, width, BAR, f"{role}-soft", role, 2, tip=tip)
    name = b.name.removeprefix("cuda")
    if text_width(name[:4], 10) + 8 <= width:
        canvas.label(box, name, 10, "sans", pad=3)
