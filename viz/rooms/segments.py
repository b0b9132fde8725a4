"""`viz.allocator("cuda")`: the segments that the caching allocator holds of a GPU's memory, and the
blocks cut from them.

A row is one segment, what one cudaMalloc gave. Blocks lie in it in the order of their addresses: in
use, given back while a stream still works on them, or free. Free memory is of use only where it
lies together: fragmentation is the share of the free bytes that is not in the largest free block.

What is drawn is a snapshot in PyTorch's own form, so those of real PyTorch
(`torch.cuda.memory._dump_snapshot`) can be drawn too.

How the real one differs: the viewer at pytorch.org/memory_viz reads the same snapshots, zooms, and
shows whole stacks.
"""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.frames import who
from viz.scene import Picture
from viz.text import corrected, plural, table

WIDTH, HEIGHT, LEAST = 760.0, 38.0, 30.0
BLOCKS_AT_MOST, SEGMENTS_AT_MOST = 40, 24
STATES = {
    "active_allocated": ("in use", "storage"),
    "active_pending_free": ("awaiting events", "shared"),
    "active_awaiting_free": ("awaiting events", "shared"),
    "inactive": ("free", "free"),
}


@dataclass
class Block:
    """A piece of a segment. `requested` is what was asked for, `who` by whom if that was
    recorded.
    """

    offset: int
    size: int
    requested: int
    state: str
    who: str = ""

    @property
    def words(self) -> str:
        return STATES[self.state][0]


@dataclass
class Segment:
    """What one cudaMalloc gave. Named G0, G1, ... by address."""

    name: str
    device: int
    size: int
    pool: str
    stream: str
    blocks: list[Block]

    def total(self, words: str) -> int:
        return sum(b.size for b in self.blocks if b.words == words)


@dataclass
class SegmentsScene(Picture):
    device: str
    segments: list[Segment]
    simulated: bool = False
    traces: list[list[dict[str, Any]]] = field(default_factory=list)
    snapshot: list[dict[str, Any]] = field(default_factory=list)

    def title(self) -> str:
        return f"viz.allocator: {self.device}"

    @property
    def heading(self) -> str:
        return f"CachingAllocator on {self.device}" + (", simulated" if self.simulated else "")

    def free_blocks(self) -> list[int]:
        return [b.size for s in self.segments for b in s.blocks if b.words == "free"]

    @property
    def fragmentation(self) -> float:
        """The share of the free bytes outside of the largest free block; 0 when nothing is free."""
        free = self.free_blocks()
        return 1 - max(free) / sum(free) if free else 0.0

    def facts(self) -> list[str]:
        """What is held, in use, awaiting, free: one fact each."""
        blocks = [b for s in self.segments for b in s.blocks]
        reserved = sum(s.size for s in self.segments)
        used = [b for b in blocks if b.words == "in use"]
        waiting = [b for b in blocks if b.words == "awaiting events"]
        free = self.free_blocks()
        facts = [f"{plural(len(self.segments), 'segment')}, {short(reserved)} reserved"]
        asked = sum(b.requested for b in used)
        facts.append(f"{plural(len(used), 'block')} in use, {short(sum(b.size for b in used))}")
        if asked and used and asked != sum(b.size for b in used):
            facts[-1] += f" ({short(asked)} asked for)"
        if waiting:
            facts.append(
                f"{plural(len(waiting), 'block')} awaiting events, "
                f"{short(sum(b.size for b in waiting))}"
            )
        facts.append(f"{plural(len(free), 'free block')}, {short(sum(free))}")
        if free:
            facts.append(
                f"the largest has {short(max(free))}: fragmentation {self.fragmentation:.0%}"
            )
        return facts

    def timeline(self) -> Picture:
        """The history that the snapshot holds, as a picture. Raises ValueError when none was
        recorded.
        """
        from viz.rooms.segments_timeline import timeline_of

        events = [e for trace in self.traces for e in trace]
        if not any(e["action"] == "alloc" for e in events):
            raise ValueError(
                corrected(
                    "this snapshot holds no history: recording it has to begin before the program",
                    "snapshot = torch.cuda.memory._snapshot()",
                    "torch.cuda.memory._record_memory_history(); run(); snapshot = "
                    "torch.cuda.memory._snapshot()",
                )
            )
        return timeline_of(events, self.snapshot, self.device, self.simulated)

    def text(self) -> str:
        lines = [self.heading, *(f"    {fact}" for fact in self.facts())]
        for s in self.segments[:SEGMENTS_AT_MOST]:
            lines.append(_segment_head(s))
            rows = [
                [
                    f"{s.name}+{b.offset:#x}",
                    f"{b.size:,}",
                    f"{b.requested:,}" if b.words != "free" else "",
                    b.words,
                    b.who,
                ]
                for b in s.blocks[:BLOCKS_AT_MOST]
            ]
            lines.append(
                table(rows, ["block", "bytes", "asked for", "", ""], indent=4, right=[1, 2])
            )
            if hidden := max(0, len(s.blocks) - BLOCKS_AT_MOST):
                lines.append(f"    ({plural(hidden, 'more block')} hidden)")
        if hidden := max(0, len(self.segments) - SEGMENTS_AT_MOST):
            lines.append(f"({plural(hidden, 'more segment')} hidden)")
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        return segments_canvas(self)


def segments(source: Any) -> SegmentsScene:
    """The picture for a device ("cuda", "cuda:1"), an allocator of `internals.cuda`, a snapshot, or
    the path of a pickled one.
    """
    if isinstance(source, (list, dict)):
        return scene_of(source, "a snapshot")
    if hasattr(source, "snapshot") and hasattr(source, "trace"):
        found = {"segments": source.snapshot(), "device_traces": [source.trace()]}
        return scene_of(found, f"cuda:{getattr(source, 'index', 0)}", _simulated(source))
    if isinstance(source, os.PathLike) or os.path.splitext(str(source))[1]:
        return scene_of(read_snapshot(source), "a snapshot")
    from internals.core.device import resolve
    from internals.cuda import backend, memory

    device = resolve(source)
    index = backend.index_of(device)
    whole = memory._snapshot()
    mine = [s for s in whole["segments"] if s["device"] == index]
    found = {"segments": mine, "device_traces": [whole["device_traces"][index]]}
    return scene_of(found, f"cuda:{index}", backend.driver().simulated)


def is_cuda(source: Any) -> bool:
    """Whether `source` names a CUDA device, or is a snapshot, a path or an allocator of CUDA
    memory.
    """
    if isinstance(source, (list, dict, os.PathLike)) or hasattr(source, "trace"):
        return True
    return str(source).split(":")[0] == "cuda" or bool(os.path.splitext(str(source))[1])


def scene_of(snapshot: Any, device: str, simulated: bool = False) -> SegmentsScene:
    """The scene for a snapshot in PyTorch's form: a dict with "segments", or the list of them.

    Raises ValueError for data that is none.
    """
    listed = (
        snapshot["segments"] if isinstance(snapshot, dict) and "segments" in snapshot else snapshot
    )
    if not isinstance(listed, list) or not all(
        isinstance(s, dict) and "blocks" in s and "total_size" in s for s in listed
    ):
        raise ValueError(
            "this is no snapshot of CUDA memory: it has no list of segments with their blocks"
        )
    ordered = sorted(listed, key=lambda s: (s.get("device", 0), s["address"]))
    streams = stream_names(ordered)
    found = []
    for n, s in enumerate(ordered):
        blocks, at = [], s["address"]
        for b in s["blocks"]:
            start = b.get("address", at)
            requested = b.get("requested_size", b["size"])
            blocks.append(
                Block(
                    start - s["address"],
                    b["size"],
                    requested,
                    b["state"],
                    str(who(b.get("frames", ()))),
                )
            )
            at = start + b["size"]
        stream = streams[s.get("device", 0), s["stream"]]
        found.append(
            Segment(
                f"G{n}",
                s.get("device", 0),
                s["total_size"],
                s.get("segment_type", ""),
                stream,
                blocks,
            )
        )
    traces = snapshot.get("device_traces", []) if isinstance(snapshot, dict) else []
    return SegmentsScene(device, found, simulated, traces, ordered)


def stream_names(ordered: list[dict[str, Any]]) -> dict[tuple[int, int], str]:
    """ "default stream", then "stream 1", "stream 2", ... by first appearance on each device."""
    names: dict[tuple[int, int], str] = {}
    for s in ordered:
        device, handle = s.get("device", 0), s["stream"]
        if handle == 0:
            names[device, 0] = "default stream"
        elif (device, handle) not in names:
            number = 1 + sum(d == device and h != 0 for d, h in names)
            names[device, handle] = f"stream {number}"
    return names


def read_snapshot(path: str | os.PathLike[str]) -> Any:
    """The snapshot in a file. Raises ValueError if that is no pickle of plain data: nothing in it
    is called.
    """
    with open(path, "rb") as file:
        try:
            return _PlainUnpickler(io.BytesIO(file.read())).load()
        except (
            pickle.UnpicklingError,
            EOFError,
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
            UnicodeDecodeError,
        ) as error:
            raise ValueError(
                f"{os.path.basename(path)} is no pickled snapshot of CUDA memory: {error}"
            ) from error


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, strings, lists and dicts. A snapshot has nothing else, and a file may come
    from anywhere.
    """

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _simulated(allocator: Any) -> bool:
    from internals.cuda import backend

    return backend.initialized() and backend.driver().simulated


def short(nbytes: int) -> str:
    """ "512 B", "4 KiB", "1.9 MiB"."""
    value, unit = float(nbytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def _segment_head(s: Segment) -> str:
    pool = f"{s.pool} pool, " if s.pool else ""
    return f"{s.name}: {short(s.size)} ({s.size:,} bytes), {pool}{s.stream}"


def segments_canvas(scene: SegmentsScene) -> Canvas:
    canvas = Canvas(scene.title(), f"{scene.heading}: {'; '.join(scene.facts())}")
    canvas.chip(0, 0, scene.heading, "allocator", 12, bold=True)
    y = 32.0
    for fact in scene.facts():
        canvas.text(0, y + 10, fact, 12)
        y += 18
    y += 8
    for s in scene.segments[:SEGMENTS_AT_MOST]:
        name = canvas.text(0, y + 12, s.name, 13, font="mono", bold=True)
        canvas.text(name.right + 10, y + 12, _segment_head(s).partition(": ")[2], 11, paint="muted")
        y = _draw_blocks(canvas, s, y + 19) + 12
    if hidden := max(0, len(scene.segments) - SEGMENTS_AT_MOST):
        canvas.text(0, y + 10, f"{plural(hidden, 'more segment')} hidden", 11, paint="muted")
        y += 20
    if not scene.segments:
        canvas.text(0, y + 10, "no segments", 12, paint="muted")
        y += 20
    roles = [
        ("storage", "in use (blank: rounded up)"),
        ("shared", "given back, awaiting events"),
        ("free", "free"),
    ]
    end = canvas.key(0, y + 2, roles)
    canvas.text(
        end.right, y + 13, "to scale, but each wide enough for its label", 11, paint="muted"
    )
    return canvas


def _draw_blocks(canvas: Canvas, s: Segment, y: float) -> float:
    blocks = s.blocks[:BLOCKS_AT_MOST]
    least = [max(LEAST, text_width(short(b.size), 11, "mono") + 10) for b in blocks]
    spare = max(0.0, WIDTH - sum(least))
    x = 0.0
    for b, floor in zip(blocks, least):
        width = floor + round(spare * b.size / s.size)
        words, role = STATES[b.state]
        asked = f", {b.requested:,} asked for" if words != "free" else ""
        tip = (
            f"{s.name}+{b.offset:#x}: {b.size:,} bytes "
            f"{words}{asked}{f', {b.who}' if b.who else ''}"
        )
        box = canvas.rect(
            x, y, width - 2, HEIGHT, f"{role}-soft", role, dashed=words == "free", tip=tip
        )
        slack = (width - 2) * (1 - b.requested / b.size) if words != "free" and b.requested else 0.0
        if slack >= 1.5:
            canvas.rect(
                box.right - slack + 0.5,
                y + 1,
                slack - 1.5,
                HEIGHT - 2,
                "paper",
                None,
                2,
                tip=f"rounded up: {b.size - b.requested:,} bytes",
            )
        canvas.text(x + 4, y + 15, short(b.size), 11, font="mono", tip=tip)
        room = width - 10
        if b.who and text_width(b.who.split(" in ")[0], 9.5) <= room:
            shown = b.who if text_width(b.who, 9.5) <= room else b.who.split(" in ")[0]
            canvas.text(x + 4, y + 30, shown, 9.5, paint="muted", tip=b.who)
        x += width
    if hidden := len(s.blocks) - len(blocks):
        canvas.text(x + 4, y + 22, f"and {hidden} more", 11, paint="muted")
    return y + HEIGHT
