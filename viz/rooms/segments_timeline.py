"""A timeline of a GPU's memory: every allocation as a rectangle, from when it was made to when it
was given back, at its address.

To the right is later, one step for each event; down is a higher address, one band for each segment.
What lies in a column is what the memory held at that moment. The colour says which line of the
program asked, the name which operator.

How the real one differs: the "Active memory timeline" of pytorch.org/memory_viz stacks what is in
use without its addresses; its "Allocator state history" shows the addresses of one moment at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.frames import Who, who
from viz.rooms.segments import short, stream_names
from viz.scene import Picture
from viz.text import plural, table

EVENTS_AT_MOST, TEXT_EVENTS = 240, 60
WIDTH, CURVE = 780.0, 56.0
ROLES = ("view", "copied", "owner", "allocator", "ready", "python")
OTHERS, BEFORE = "storage", "free"
WORDS = {
    "alloc": "allocated",
    "free": "given back",
    "free_requested": "given back, awaiting events",
    "free_completed": "its events are done: free",
    "segment_alloc": "new segment from cudaMalloc",
    "segment_free": "segment given to cudaFree",
    "oom": "out of memory",
}


@dataclass
class Life:
    """One allocation: its place, and the numbers of the events with which it began, was given back,
    and was free.
    """

    segment: int
    offset: int
    size: int  # of the block, rounded
    who: Who
    start: int
    given: int
    end: int


@dataclass
class Band:
    """One segment while it was held. `size` is 0 where only its address is known."""

    name: str
    address: int
    size: int
    stream: str
    start: int
    end: int


@dataclass
class Event:
    number: int
    action: str
    place: str
    size: int
    who: str
    in_use: int  # bytes, after it


@dataclass
class MemoryTimeline(Picture):
    """What an allocator of a GPU did while somebody watched."""

    device: str
    simulated: bool = False
    events: list[Event] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    bands: list[Band] = field(default_factory=list)

    def title(self) -> str:
        return f"viz.allocator_timeline: {self.device}"

    @property
    def heading(self) -> str:
        return f"CachingAllocator on {self.device}" + (", simulated" if self.simulated else "")

    def summary(self) -> str:
        made = sum(e.action == "alloc" for e in self.events)
        calls = sum(e.action == "segment_alloc" for e in self.events)
        peak = max((e.in_use for e in self.events), default=0)
        return (
            f"{plural(made, 'allocation')} with {plural(calls, 'call')} of cudaMalloc, at most "
            f"{short(peak)} in use"
        )

    def lines(self) -> list[tuple[str, str]]:
        """(role, line of the program) by first appearance; what does not fit the palette shares one
        role.
        """
        found = list(dict.fromkeys(life.who.line for life in self.lives if life.start >= 0))
        named = [(ROLES[n], line or "unknown") for n, line in enumerate(found[: len(ROLES)])]
        return named + ([(OTHERS, "other lines")] if len(found) > len(ROLES) else [])

    def role(self, life: Life) -> str:
        if life.start < 0:
            return BEFORE
        found = list(dict.fromkeys(other.who.line for other in self.lives if other.start >= 0))
        n = found.index(life.who.line)
        return ROLES[n] if n < len(ROLES) else OTHERS

    def text(self) -> str:
        if not self.events:
            return f"{self.heading}: nothing happened"
        rows = [
            [
                e.number,
                WORDS.get(e.action, e.action),
                e.place,
                f"{e.size:,}",
                f"{e.in_use:,}",
                e.who,
            ]
            for e in self.events[:TEXT_EVENTS]
        ]
        body = table(rows, ["", "event", "place", "bytes", "in use", ""], indent=4, right=[0, 3, 4])
        hidden = max(0, len(self.events) - TEXT_EVENTS)
        return f"{self.heading}: {self.summary()}\n{body}" + (
            f"\n    ({plural(hidden, 'more event')} hidden)" if hidden else ""
        )

    def canvas(self) -> Canvas:
        return timeline_canvas(self)


@contextmanager
def segments_timeline(device: Any = "cuda") -> Iterator[MemoryTimeline]:
    """Watch the memory of a GPU while the block runs. A recording that goes on already goes on."""
    from internals.core.device import resolve
    from internals.cuda import backend, memory

    simulated = backend.driver().simulated
    index = backend.index_of(resolve(device))
    allocator: Any = memory.allocator_for(index) if not hasattr(device, "trace") else device
    picture = MemoryTimeline(f"cuda:{index}", simulated)
    recorded = allocator.history is not None
    if not recorded:
        allocator.record_history()
    before = len(allocator.trace())
    try:
        yield picture
    finally:
        events = allocator.trace()[before:]
        held = allocator.snapshot()
        if not recorded:
            allocator.record_history(False)
    found = timeline_of(events, held, picture.device, simulated)
    picture.events, picture.lives, picture.bands = found.events, found.lives, found.bands


def timeline_of(
    events: list[dict[str, Any]], held: list[dict[str, Any]], device: str, simulated: bool
) -> MemoryTimeline:
    """Replay a history. `held` are the segments after it, with which what was there before can be
    told.
    """
    events = _joined(events)[:EVENTS_AT_MOST]
    player = _Player(held, events)
    for number, event in enumerate(events):
        player.play(number, event)
    lives = [life for life in player.lives if life.segment >= 0]
    return MemoryTimeline(device, simulated, player.events, lives, player.bands)


def _joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two entries that say that a block was given back and free at once, from the same place,
    become one, "free".
    """
    joined: list[dict[str, Any]] = []
    for e in events:
        last = joined[-1] if joined else {}
        pair = (last.get("action"), e["action"]) == ("free_requested", "free_completed")
        if pair and (last["addr"], last.get("frames")) == (e["addr"], e.get("frames")):
            joined[-1] = {**last, "action": "free"}
        elif e["action"] in WORDS:
            joined.append(e)
    return joined


class _Player:
    """What is known while the history is replayed."""

    def __init__(self, held: list[dict[str, Any]], events: list[dict[str, Any]]) -> None:
        self.last = len(events)
        self.bands: list[Band] = []
        self.lives: list[Life] = []
        self.events: list[Event] = []
        self.live: dict[int, Life] = {}
        self.in_use = 0
        self.streams = stream_names(
            [{"device": 0, "stream": s["stream"]} for s in [*held, *events]]
        )
        made = {e["addr"] for e in events if e["action"] == "segment_alloc"}
        for s in held:
            if s["address"] not in made:
                self._open(s["address"], s["total_size"], s["stream"], -1)
        opened: set[int] = set()
        for e in events:  # segments that were there before and are gone now
            if e["action"] == "segment_alloc":
                opened.add(e["addr"])
            elif e["action"] == "segment_free":
                if e["addr"] not in opened:
                    self._open(e["addr"], e["size"], e["stream"], -1)
                opened.discard(e["addr"])
        self.bands.sort(key=lambda b: b.address)
        self._name()
        born: set[int] = set()
        for e in events:  # blocks that were in use before
            if e["action"] == "alloc":
                born.add(e["addr"])
            elif e["action"] in ("free", "free_requested") and e["addr"] not in born:
                self._begin(e["addr"], e["size"], Who("", "before"), -1)
                born.add(e["addr"])
        for s in held:
            at = s["address"]
            for b in s["blocks"]:
                at = b.get("address", at)
                if b["state"] == "active_allocated" and at not in born:
                    self._begin(at, b.get("requested_size", b["size"]), Who("", "before"), -1)
                at += b["size"]

    def play(self, number: int, e: dict[str, Any]) -> None:
        action, address, size = e["action"], e.get("addr", 0), e["size"]
        if action == "segment_alloc":
            self._open(address, size, e["stream"], number)
            self._name()
        elif action == "segment_free" and (band := self._band(address)) is not None:
            band.end = number
        elif action == "alloc":
            self._begin(address, size, who(e.get("frames", ())), number)
        elif action in ("free", "free_requested") and address in self.live:
            self.live[address].given = number
            self.in_use -= self.live[address].size
        if action in ("free", "free_completed") and address in self.live:
            self.live.pop(address).end = number
        self.events.append(
            Event(
                number,
                action,
                self._place(address),
                size,
                str(who(e.get("frames", ()))),
                self.in_use,
            )
        )

    def _open(self, address: int, size: int, stream: int, start: int) -> None:
        name = self.streams.get((0, stream), "")
        self.bands.append(Band("", address, size, name, start, self.last))

    def _name(self) -> None:
        for n, band in enumerate(self.bands):
            band.name = f"G{n}"

    def _band(self, address: int) -> Band | None:
        """The segment that is held now and has this address."""
        for band in reversed(self.bands):
            if band.end == self.last and band.address <= address < band.address + band.size:
                return band
        return None

    def _begin(self, address: int, requested: int, by: Who, start: int) -> None:
        band = self._band(address)
        size = max(512, -(-requested // 512) * 512)
        number, base = (self.bands.index(band), band.address) if band else (-1, address)
        life = self.live[address] = Life(
            number, address - base, size, by, start, self.last, self.last
        )
        self.lives.append(life)
        self.in_use += size

    def _place(self, address: int) -> str:
        band = self._band(address)
        if band is None:
            closed = [b for b in self.bands if b.address == address]
            return closed[-1].name if closed else ""
        return f"{band.name}+{address - band.address:#x}"


def timeline_canvas(t: MemoryTimeline) -> Canvas:
    canvas = Canvas(t.title(), f"{t.heading}: {t.summary()}")
    chip = canvas.chip(0, 0, t.heading, "allocator", 12, bold=True)
    if not t.events:
        canvas.text(chip.right + 12, 15, "nothing happened", 12, paint="muted")
        return canvas
    canvas.text(chip.right + 12, 15, t.summary(), 12, paint="muted")
    step = min(34.0, max(3.0, WIDTH / len(t.events)))
    left = 14.0 + max(text_width(b.name, 12, "mono", True) for b in t.bands) if t.bands else 14.0
    y = _draw_curve(canvas, t, left, step, 36.0)
    for n, band in enumerate(t.bands):
        y = _draw_band(canvas, t, n, band, left, step, y) + 10
    canvas.text(
        left,
        y + 10,
        f"{plural(len(t.events), 'event')}, from left to right; not to scale downwards",
        11,
        paint="muted",
    )
    y += 22
    entries = t.lines() + (
        [(BEFORE, "there before")] if any(life.start < 0 for life in t.lives) else []
    )
    x = 0.0
    for role, name in entries:
        if x and x + 40 + text_width(name, 11) > WIDTH:
            x, y = 0.0, y + 20
        x = canvas.key(x, y, [(role, name)]).right
    return canvas


def _draw_curve(canvas: Canvas, t: MemoryTimeline, left: float, step: float, y: float) -> float:
    """Bytes in use after each event."""
    peak = max(e.in_use for e in t.events) or 1
    floor = y + CURVE
    canvas.text(left, y + 9, f"bytes in use, at most {short(peak)}", 11, paint="muted")
    y, floor = y + 16, floor + 16
    points = []
    for e in t.events:
        level = floor - CURVE * e.in_use / peak
        points += [(left + e.number * step, level), (left + (e.number + 1) * step, level)]
    canvas.line([(left, floor), (left + len(t.events) * step, floor)], "line", 1)
    canvas.line(points, "storage", 2)
    return floor + 16


def _draw_band(
    canvas: Canvas, t: MemoryTimeline, number: int, band: Band, left: float, step: float, y: float
) -> float:
    lives = [life for life in t.lives if life.segment == number]
    edges = sorted(
        {0, *(life.offset for life in lives), *(life.offset + life.size for life in lives)}
    )
    heights = [
        min(46.0, 15 + 3.5 * max(0, ((b - a) // 512).bit_length() - 1))
        for a, b in zip(edges, edges[1:])
    ]
    at = {edge: sum(heights[:n]) for n, edge in enumerate(edges)}
    tall = sum(heights) + 14  # the rest of the segment, that nobody used
    canvas.text(0, y + 12, band.name, 12, font="mono", bold=True)
    canvas.text(left, y + 10, f"{short(band.size)}, {band.stream}", 10.5, paint="muted")
    y += 16
    first, last = max(0, band.start), band.end
    tip = f"{band.name}: {band.size:,} bytes"
    canvas.rect(left + first * step, y, (last - first) * step, tall, "panel", "line", 2, tip=tip)
    for life in lives:
        role = t.role(life)
        top = y + at[life.offset]
        height = at[life.offset + life.size] - at[life.offset] - 1
        x, until = left + max(0, life.start) * step, left + life.given * step
        what = (
            f"{band.name}+{life.offset:#x}: {life.size:,} "
            f"bytes{f', {life.who}' if str(life.who) else ''}"
        )
        box = canvas.rect(
            x, top, max(until - x - 1, 2), height, f"{role}-soft", role, 1.5, 0.9, tip=what
        )
        if life.end > life.given:
            canvas.rect(
                until,
                top,
                max((life.end - life.given) * step - 1, 2),
                height,
                "panel",
                "shared",
                1.5,
                0.9,
                True,
                f"awaiting events: {what}",
            )
        label = _fitting(life.who.operator or short(life.size), box.w - 6)
        if label and height >= 12:
            canvas.text(x + 4, top + min(height, 20.0) / 2 + 3.5, label, 9, font="mono", tip=what)
    return y + tall


def _fitting(label: str, room: float) -> str:
    """As much of a label as there is room for; nothing if that is not enough to recognise it."""
    if text_width(label, 9, "mono") <= room:
        return label
    while len(label) > 4:
        label = label[:-1]
        if text_width(label + "…", 9, "mono") <= room:
            return label + "…"
    return ""
