"""`viz.big_picture`: the talk's diagram, Tensor → Storage → DataPtr → Allocator, for a live tensor.

Each box is one object, each line one field: what it is called here, its value now, and in small
print what it is called in PyTorch's C++.

How the real one differs: PyTorch's `TensorImpl` has more fields (its Python object, named
dimensions, symbolic sizes); `StorageImpl` and `DataPtr` have the ones shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.canvas import Box, Canvas, text_width
from viz.device_bytes import bytes_at, in_words
from viz.refs import count_in_words, others
from viz.scene import Picture
from viz.text import corrected, table

BOX, GAP, LINE = 252.0, 46.0, 36.0
BYTES_SHOWN = 12


@dataclass
class Entry:
    """One field: our name, its value, PyTorch's name for it."""

    name: str
    value: str
    cpp: str


@dataclass
class Part:
    """One object of the diagram."""

    name: str
    cpp: str
    role: str
    entries: list[Entry] = field(default_factory=list)


@dataclass
class BigPicture(Picture):
    tensor: Part
    storage: Part
    data_ptr: Part
    allocator: Part
    values: list[str]  # the first elements of the storage
    offset: int  # where the tensor begins, in elements
    itemsize: int
    hidden: int  # elements of the storage that are not among `values`
    where: str = ""  # whose memory it is, if not the CPU's
    block: Part | None = None  # of a GPU's memory: the allocator's record of these bytes,
    segment: Part | None = None  # and what it was cut from

    @property
    def parts(self) -> list[Part]:
        every = [self.tensor, self.storage, self.data_ptr, self.allocator, self.block, self.segment]
        return [part for part in every if part is not None]

    @property
    def place(self) -> str:
        """What the memory is called: "S0", "S0 = G1+0x400 on cuda:0, simulated"."""
        called = f"S0 = {self.block.entries[0].value}" if self.block else "S0"
        return f"{called} on {self.where}" if self.where else called

    def text(self) -> str:
        blocks = []
        for part in self.parts:
            rows = [[e.name, e.value, e.cpp] for e in part.entries]
            blocks.append(f"{part.name} ({part.cpp})\n" + table(rows, indent=4))
        more = f", and {self.hidden:,} more" if self.hidden else ""
        blocks.append(f"memory {self.place}\n    {'  '.join(self.values) or 'no bytes'}{more}")
        return "\n".join(blocks)

    def canvas(self) -> Canvas:
        return big_picture_canvas(self)


def big_picture(t: Any) -> BigPicture:
    """The objects behind tensor `t`, with the values of their fields. Raises TypeError for anything
    else.
    """
    if not hasattr(t, "untyped_storage") or not hasattr(t.untyped_storage(), "data_ptr_object"):
        raise TypeError(
            corrected(
                f"viz.big_picture needs a tensor of internals, got {type(t).__name__}",
                f"viz.big_picture({t!r:.40})",
                f"viz.big_picture(torch.tensor({t!r:.40}))",
            )
        )
    holder = [t.untyped_storage()]
    uses = count_in_words(others(holder, 0))
    storage = holder[0]
    data, itemsize = storage.data_ptr_object, t.element_size()
    tensor = Part(
        "Tensor", "TensorImpl", "view",
        [
            Entry("sizes", str(tuple(t.size())), "sizes_and_strides_"),
            Entry("strides", str(tuple(t.stride())), "sizes_and_strides_"),
            Entry("storage_offset", str(t.storage_offset()), "storage_offset_"),
            Entry("numel", f"{t.numel():,}", "numel_"),
            Entry("dtype", str(t.dtype), "data_type_"),
            Entry("device", str(t.device), "device_opt_"),
            Entry("_version", str(t._version), "version_counter_"),
            Entry("untyped_storage()", "&Storage", "storage_"),
        ],
    )  # fmt: skip
    made_by = storage.allocator
    body = Part(
        "Storage", "StorageImpl", "storage",
        [
            Entry("nbytes", f"{storage.nbytes():,}", "size_bytes_"),
            Entry("resizable", str(storage.resizable()), "resizable_"),
            Entry("use count", uses, "intrusive_ptr's refcount_"),
            Entry("allocator", "None" if made_by is None else f"&{made_by.name}", "allocator_"),
            Entry("data_ptr_object", "&DataPtr", "data_ptr_"),
        ],
    )  # fmt: skip
    context = type(data.context).__name__ if data.context is not None else "None"
    if hasattr(data.context, "size") and hasattr(data.context, "pool"):
        context = f"{context}, {data.context.size:,} bytes"  # of a GPU's caching allocator
    context = "the memory itself" if context == "int" else f"&{context}"
    deleter = getattr(data.deleter, "__qualname__", type(data.deleter).__name__)
    pointer = Part(
        "DataPtr", "c10::DataPtr", "owner",
        [
            Entry("pointer", "S0+0x0" if data.pointer else "NULL", "ptr_.data_"),
            Entry("context", context, "ptr_.ctx_"),
            Entry("deleter", deleter, "deleter_"),
            Entry("device", str(data.device), "device_"),
        ],
    )  # fmt: skip
    allocator = Part("Allocator", "c10::Allocator", "allocator")
    if storage.allocator is None:
        allocator.entries.append(
            Entry("none", "memory is borrowed" if data.pointer else "no memory", "nullptr")
        )
    else:
        allocator.entries.append(Entry("name", storage.allocator.name, "c10::GetAllocator()"))
        allocator.entries.append(Entry("device", str(storage.allocator.device), "DeviceType"))
    values = _values(storage, data, t, itemsize)
    hidden = max(0, storage.nbytes() // itemsize - len(values)) if values else 0
    where = in_words(data.device)
    picture = BigPicture(
        tensor, body, pointer, allocator, values, t.storage_offset(), itemsize, hidden, where
    )
    if where and data.pointer:
        picture.block, picture.segment = _on_the_device(data, storage.allocator)
    return picture


def _on_the_device(data: Any, allocator: Any) -> tuple[Part | None, Part | None]:
    """The block of a GPU's memory that a DataPtr owns, and its segment, named as `viz.allocator`
    names them.
    """
    found = allocator.snapshot() if hasattr(allocator, "snapshot") else []
    start = next(
        (s["address"] for s in found if 0 <= data.pointer - s["address"] < s["total_size"]), None
    )
    if start is None:
        return None, None
    from viz.rooms.segments import scene_of

    segment = scene_of(found, "").segments[sorted(s["address"] for s in found).index(start)]
    mine = next(n for n, b in enumerate(segment.blocks) if start + b.offset == data.pointer)
    names = ["None", *(f"{segment.name}+{b.offset:#x}" for b in segment.blocks), "None"]
    b = segment.blocks[mine]
    block = Part(
        "Block", "Block", "shared",
        [
            Entry("pointer", names[mine + 1], "ptr"),
            Entry("size", f"{b.size:,}", "size"),
            Entry("requested", f"{b.requested:,}", "requested_size"),
            Entry("stream", segment.stream, "stream"),
            Entry("prev", names[mine], "prev"),
            Entry("next", names[mine + 2], "next"),
        ],
    )  # fmt: skip
    whole = Part(
        "Segment", "cudaMalloc", "copied",
        [
            Entry("name", segment.name, "SegmentInfo::address"),
            Entry("size", f"{segment.size:,}", "SegmentInfo::total_size"),
            Entry("pool", segment.pool, "BlockPool"),
            Entry("blocks", str(len(segment.blocks)), "chained by prev and next"),
        ],
    )  # fmt: skip
    return block, whole


def _values(storage: Any, data: Any, t: Any, itemsize: int) -> list[str]:
    count = min(BYTES_SHOWN, storage.nbytes() // itemsize)
    if not data.pointer:
        return []
    dtype = np.dtype(str(t.dtype).split(".")[-1])
    raw = bytes_at(data.device, data.pointer, count * itemsize)
    return [
        f"{v:.4g}" if isinstance(v, float) else str(v) for v in np.frombuffer(raw, dtype).tolist()
    ]


def big_picture_canvas(scene: BigPicture) -> Canvas:
    names = ", ".join(part.name for part in scene.parts)
    canvas = Canvas("viz.big_picture", f"{names}: " + "; ".join(
        f"{part.name}: " + ", ".join(f"{e.name} {e.value}" for e in part.entries)
        for part in scene.parts
    ))  # fmt: skip
    step = BOX + GAP
    tensor = _draw_part(canvas, scene.tensor, 0, 0)
    storage = _draw_part(canvas, scene.storage, step, 0)
    data = _draw_part(canvas, scene.data_ptr, 2 * step, 0)
    low = max(storage.bottom, data.bottom) + 30
    allocator = _draw_part(canvas, scene.allocator, step, low)
    _arrow_right(canvas, tensor, scene.tensor, "untyped_storage()", storage)
    _arrow_right(canvas, storage, scene.storage, "data_ptr_object", data)
    if scene.allocator.entries[0].name != "none":
        row = _row(storage, scene.storage, "allocator")
        turn = storage.right + GAP * 0.36
        points = [
            (storage.right, row),
            (turn, row),
            (turn, allocator.y + 15),
            (allocator.right, allocator.y + 15),
        ]
        canvas.line(points, "allocator", 1.6, arrow=True)
    lowest = max(allocator.bottom, tensor.bottom)
    if scene.block is not None and scene.segment is not None:
        block = _draw_part(canvas, scene.block, 2 * step, low)
        segment = _draw_part(canvas, scene.segment, 3 * step, low)
        row, turn = _row(data, scene.data_ptr, "context"), data.right + GAP * 0.7
        canvas.line(
            [
                (data.right, row),
                (turn, row),
                (turn, low - 14),
                (block.x + 20, low - 14),
                (block.x + 20, low),
            ],
            "shared",
            1.6,
            arrow=True,
        )
        _arrow_right(canvas, block, scene.block, "pointer", segment)
        lowest = max(lowest, block.bottom, segment.bottom)
    top = lowest + 46
    if scene.values:
        strip = _draw_memory(canvas, scene, top)
        row = _row(data, scene.data_ptr, "pointer")
        edge = data.right + 18 + (step if scene.segment else 0)
        canvas.line(
            [(data.right, row), (edge, row), (edge, top - 34), (8, top - 34), (8, strip.y)],
            "owner",
            1.6,
            arrow=True,
        )
    else:
        canvas.text(0, top, "no bytes", 12, paint="muted")
    return canvas


def _row(box: Box, part: Part, name: str) -> float:
    """The height of one field's line."""
    return box.y + 30 + LINE * ([e.name for e in part.entries].index(name) + 0.5)


def _arrow_right(canvas: Canvas, start: Box, part: Part, name: str, end: Box) -> None:
    row, turn = _row(start, part, name), start.right + GAP * 0.6
    canvas.line(
        [(start.right, row), (turn, row), (turn, end.y + 15), (end.x, end.y + 15)],
        "ink",
        1.6,
        arrow=True,
    )


def _draw_part(canvas: Canvas, part: Part, x: float, y: float) -> Box:
    height = 30 + LINE * len(part.entries) + 4
    box = canvas.rect(x, y, BOX, height, "paper", part.role, 6, width=1.6)
    canvas.rect(x, y, BOX, 30, f"{part.role}-soft", part.role, 6, width=1.6)
    name = canvas.text(x + 12, y + 20, part.name, 14, bold=True)
    canvas.text(box.right - 12, y + 20, part.cpp, 11.5, "end", "mono", "muted")
    assert name.right < box.right
    for n, entry in enumerate(part.entries):
        line = y + 30 + n * LINE
        if n:
            canvas.line([(x + 1, line), (box.right - 1, line)], "line", 0.8)
        left = canvas.text(x + 12, line + 16, entry.name, 12, font="mono", bold=True).right
        canvas.text(x + 12, line + 30, entry.cpp, 10, font="mono", paint="muted")
        room = Box(left + 8, line, box.right - left - 14, 25)
        canvas.label(room, entry.value, 12, anchor="end", pad=4)
    return box


def _draw_memory(canvas: Canvas, scene: BigPicture, y: float) -> Box:
    """The first elements of the memory; the tensor's first one is marked."""
    x = 0.0
    width = max(44.0, max(text_width(v, 12, "mono") for v in scene.values) + 14)
    for n, value in enumerate(scene.values):
        box = canvas.rect(
            x, y, width, 30, "storage-soft", "storage", 0, tip=f"S0+{n * scene.itemsize:#x}"
        )
        canvas.label(box, value)
        x += width
    end = x + 8
    if scene.hidden:
        end = canvas.text(end, y + 19, f"… {scene.hidden:,} more", 11, paint="muted").right + 14
    x_name, y_name = (end, y + 19) if scene.where else (0.0, y + 44)
    canvas.text(x_name, y_name, scene.place, 11, font="mono", paint="muted")
    if 0 < scene.offset < len(scene.values):
        at = (scene.offset + 0.5) * width
        canvas.line([(at, y + 52), (at, y + 32)], "view", 1.6, arrow=True)
        note = (
            f"storage_offset {scene.offset}: the tensor begins at "
            f"S0+{scene.offset * scene.itemsize:#x}"
        )
        canvas.text(at + 10, y + 50, note, 11, paint="view-text")
    return Box(0, y, x, 30)
