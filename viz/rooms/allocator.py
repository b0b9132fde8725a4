"""`viz.allocator`: what the caching allocator holds, and a timeline of what it did.

A storage that dies does not return its memory to the system: the block goes to the free list of its
size class and serves the next request of that class. The picture has one row per class; the
timeline one row per event, with every block at its own place, so that one sees the same block being
handed out again.

A GPU's memory is split and merged: `segments.py` and `segments_timeline.py` draw that.

How the real one differs: PyTorch's viewer of `torch.cuda.memory._snapshot` draws segments with
blocks split from them; our CPU allocator never splits, so a block is a segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.rooms.segments import is_cuda, segments
from viz.rooms.segments_timeline import segments_timeline
from viz.scene import Picture
from viz.text import plural, table

BLOCKS_AT_MOST, EVENTS_AT_MOST = 24, 60
ACTIONS = {
    "alloc": "new from the system",
    "cache_hit": "taken from the cache",
    "cache_return": "returned to the cache",
    "segment_free": "given back to the system",
}


@dataclass
class SizeClass:
    """The blocks of one size: what each active one was asked for, and how many lie in the free
    list.
    """

    size: int
    requested: list[int]
    cached: int


@dataclass
class AllocatorScene(Picture):
    device: str
    classes: list[SizeClass]
    stats: dict[str, int]

    def summary(self) -> str:
        active = sum(len(c.requested) for c in self.classes)
        cached = sum(c.cached for c in self.classes)
        in_use = sum(c.size * len(c.requested) for c in self.classes)
        idle = sum(c.size * c.cached for c in self.classes)
        return (
            f"{plural(active, 'block')} in use ({plural(in_use, 'byte')}), "
            f"{plural(cached, 'block')} in the cache ({plural(idle, 'byte')})"
        )

    def text(self) -> str:
        rows = []
        for c in self.classes:
            shown = ", ".join(map(str, c.requested[:8])) + (", …" if len(c.requested) > 8 else "")
            rows.append([f"{c.size:,}", len(c.requested), c.cached, shown])
        header = ["size class", "in use", "cached", "asked for (bytes)"]
        body = table(rows, header, indent=4, right=[0, 1, 2]) if rows else "    no blocks"
        return f"caching allocator on {self.device}: {self.summary()}\n{body}"

    def canvas(self) -> Canvas:
        return allocator_canvas(self)


def allocator(device: Any = "cpu") -> Any:
    """What the caching allocator of `device`, or a `CachingAllocator` of your own, holds now.

    Of the CPU these are blocks by size class, of "cuda" segments with the blocks cut from them. A
    snapshot in PyTorch's form is drawn too: the dict or list itself, or the path of a pickled one.
    Raises ValueError for a device without a caching allocator.
    """
    if is_cuda(device):
        return segments(device)
    source = _source(device, "viz.allocator")
    return scene(source.snapshot(), source.memory_stats())


def _source(device: Any, asker: str) -> Any:
    """A caching allocator: the one of a device, or the one given."""
    from internals.core.cpu_allocator import CachingAllocator, caching_allocator

    if isinstance(device, CachingAllocator):
        return device
    if str(device) != "cpu":
        raise ValueError(
            f"{asker} knows the allocators of 'cpu' and 'cuda', not of {str(device)!r}"
        )
    return caching_allocator


def scene(
    snapshot: list[dict[str, Any]], stats: dict[str, int], device: str = "cpu"
) -> AllocatorScene:
    classes: dict[int, SizeClass] = {}
    for block in sorted(snapshot, key=lambda b: (b["size"], b["requested"])):
        one = classes.setdefault(block["size"], SizeClass(block["size"], [], 0))
        if block["state"] == "active":
            one.requested.append(block["requested"])
        else:
            one.cached += 1
    return AllocatorScene(device, list(classes.values()), dict(stats))


def allocator_canvas(scene: AllocatorScene) -> Canvas:
    canvas = Canvas(f"viz.allocator: {scene.device}", scene.summary())
    chip = canvas.chip(0, 0, f"CachingAllocator on {scene.device}", "allocator", 12, bold=True)
    canvas.text(chip.right + 12, 15, scene.summary(), 12, paint="muted")
    y, names = 40.0, [f"{c.size:,} bytes" for c in scene.classes]
    left = max([80.0, *(text_width(name, 12, "mono") for name in names)]) + 14
    for name, c in zip(names, scene.classes):
        canvas.text(left - 14, y + 17, name, 12, "end", "mono")
        x, total = left, len(c.requested) + c.cached
        width = max(
            30.0, max((text_width(f"{r:,}", 11, "mono") for r in c.requested), default=0) + 12
        )
        active = min(len(c.requested), BLOCKS_AT_MOST)
        for requested in c.requested[:active]:
            box = canvas.rect(
                x,
                y,
                width,
                24,
                "storage-soft",
                "storage",
                tip=f"in use, {requested:,} bytes asked for",
            )
            canvas.label(box, f"{requested:,}", 11)
            x += width + 4
        cached = min(c.cached, max(2, BLOCKS_AT_MOST - active))
        for _ in range(cached):
            canvas.rect(x, y, width, 24, "free-soft", "free", dashed=True, tip="in the free list")
            x += width + 4
        if hidden := total - active - cached:
            canvas.text(x + 4, y + 16, f"and {hidden:,} more", 11, paint="muted")
        y += 32
    if not scene.classes:
        canvas.text(0, y + 10, "no blocks", 12, paint="muted")
        y += 20
    canvas.key(
        0,
        y + 8,
        [("storage", "in use (bytes asked for)"), ("free", "cached, ready for the next request")],
    )
    return canvas


@dataclass
class Event:
    """One event: which block, and the state of every block after it ("active", "cached" or "")."""

    action: str
    block: int
    states: list[str]


@dataclass
class Timeline(Picture):
    """What an allocator did while somebody watched. Blocks are B0, B1, ... by first appearance."""

    sizes: list[int] = field(default_factory=list)  # of each block, in bytes
    events: list[Event] = field(default_factory=list)

    def text(self) -> str:
        if not self.events:
            return "allocator timeline: nothing happened"
        rows = []
        for number, event in enumerate(self.events[:EVENTS_AT_MOST]):
            marks = {"active": "#", "cached": "-", "": "."}
            row = "".join(marks[state] for state in event.states)
            rows.append(
                [number, event.action, f"B{event.block}", f"{self.sizes[event.block]:,} bytes", row]
            )
        header = ["", "event", "block", "size", "blocks (# in use, - cached, . not there)"]
        hidden = len(self.events) - EVENTS_AT_MOST
        more = f"\n    ({plural(hidden, 'more event')} hidden)" if hidden > 0 else ""
        return "allocator timeline\n" + table(rows, header, indent=4, right=[0]) + more

    def canvas(self) -> Canvas:
        return timeline_canvas(self)


@contextmanager
def allocator_timeline(device: Any = "cpu") -> Iterator[Any]:
    """Watch the caching allocator of `device`, or one of your own, while the block runs; then the
    value is the picture.

    Of "cuda" it says who allocated what, and draws each allocation at its address.

    >>> with viz.allocator_timeline() as timeline:      # doctest: +SKIP
    ...     a = torch.ones(4) + 1
    >>> timeline                                        # doctest: +SKIP
    """
    if is_cuda(device):
        with segments_timeline(device) as shown:
            yield shown
        return
    picture = Timeline()
    with _source(device, "viz.allocator_timeline").record_history() as events:
        yield picture
    recorded = timeline(list(events))
    picture.sizes, picture.events = recorded.sizes, recorded.events


def timeline(events: list[dict[str, Any]]) -> Timeline:
    """Replay recorded events. A block that was there before the recording began is cached or in use
    from the start.
    """
    after = {
        "alloc": "active",
        "cache_hit": "active",
        "cache_return": "cached",
        "free": "",
        "segment_free": "",
    }
    before = {
        "alloc": "",
        "cache_hit": "cached",
        "cache_return": "active",
        "free": "active",
        "segment_free": "cached",
    }
    at: dict[int, int] = {}  # address -> block
    sizes: list[int] = []
    starts: list[str] = []
    played: list[tuple[str, int]] = []
    for event in events:
        address, action = event["address"], event["action"]
        if address not in at or action == "alloc":
            at[address] = len(sizes)
            sizes.append(event["size"])
            starts.append(before[action])
        played.append((action, at[address]))
    states = list(starts)
    picture = Timeline(sizes)
    for action, block in played:
        states[block] = after[action]
        picture.events.append(Event(action, block, list(states)))
    return picture


def timeline_canvas(scene: Timeline) -> Canvas:
    canvas = Canvas("viz.allocator_timeline", plural(len(scene.events), "event"))
    if not scene.events:
        canvas.text(0, 12, "nothing happened", 12, paint="muted")
        return canvas
    chip = canvas.chip(0, -34, "CachingAllocator, event by event", "allocator", 12, bold=True)
    canvas.text(chip.right + 12, -19, plural(len(scene.events), "event"), 12, paint="muted")
    left = max(text_width(ACTIONS.get(e.action, e.action), 12) for e in scene.events) + 46
    widths = [max(52.0, text_width(f"{size:,}", 10.5, "mono") + 14) for size in scene.sizes]
    widths = [
        min(220.0, w + 4 * max(0, size.bit_length() - 7)) for w, size in zip(widths, scene.sizes)
    ]
    places = [left + sum(widths[:n]) + 6 * n for n in range(len(widths))]
    blocks = [n for n in range(len(widths)) if n < BLOCKS_AT_MOST]
    for n in blocks:
        canvas.text(places[n] + widths[n] / 2, 12, f"B{n}", 11, "middle", "mono", "muted")
    if hidden := len(widths) - len(blocks):
        canvas.text(
            places[len(blocks)],
            12,
            f"and {plural(hidden, 'more block')}, hidden",
            11,
            paint="muted",
        )
    y = 22.0
    for number, event in enumerate(scene.events[:EVENTS_AT_MOST]):
        canvas.text(22, y + 15, str(number), 11, "end", "mono", "muted")
        canvas.text(32, y + 15, ACTIONS.get(event.action, event.action), 12)
        for n in blocks:
            state, here = event.states[n], event.block == n
            if state or here:
                role = {"active": "storage", "cached": "free", "": "allocator"}[state]
                fill = f"{role}-soft" if state else None
                box = canvas.rect(
                    places[n], y, widths[n], 21, fill, "key" if here else role,
                    width=2.2 if here else 1, dashed=state != "active",
                    tip=f"B{n}: {scene.sizes[n]:,} bytes, {state or 'given back'}",
                )  # fmt: skip
                if here:
                    canvas.label(box, f"{scene.sizes[n]:,}", 10.5)
        y += 27
    if (hidden := len(scene.events) - EVENTS_AT_MOST) > 0:
        canvas.text(32, y + 12, f"{plural(hidden, 'more event')} hidden", 11, paint="muted")
        y += 20
    roles = [("storage", "in use (bytes)"), ("free", "cached"), ("key", "the block of this event")]
    canvas.key(0, y + 10, roles)
    return canvas
