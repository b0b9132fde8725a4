"""`viz.strides`: from an index to a place in memory, one multiplication per dimension.

The grid is the tensor as the reader thinks of it; each of its cells says which element of the
storage it is. The strip is the storage as it lies in memory. The sum in between, of index times
stride, is all that connects them.

How the real one differs: it does not; this is the arithmetic of every kernel in
`aten/src/ATen/native`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from viz.canvas import Canvas, text_width
from viz.device_bytes import in_words
from viz.scene import Picture
from viz.text import corrected, plural, table

ROWS, COLUMNS, PLANES, STRIP = 8, 12, 6, 36  # what is drawn at most; the rest is counted


@dataclass
class Place:
    """One element: its index, and the number of the storage's element it is."""

    index: tuple[int, ...]
    offset: int


@dataclass
class Strides(Picture):
    kind: str
    dtype: str
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    storage_offset: int  # in elements, from the first element of the storage
    length: int  # of the storage, in elements
    chosen: Place | None
    device: str = ""  # where it is not the host's memory

    def place(self, index: Sequence[int]) -> Place:
        return Place(
            tuple(index), self.storage_offset + sum(i * s for i, s in zip(index, self.strides))
        )

    @property
    def terms(self) -> list[tuple[int, int, int, int, int]]:
        """(dimension, size, stride, index, index * stride) of the chosen element."""
        assert self.chosen is not None
        rows = zip(self.sizes, self.strides, self.chosen.index)
        return [(d, n, s, i, i * s) for d, (n, s, i) in enumerate(rows)]

    def text(self) -> str:
        return strides_text(self)

    def canvas(self) -> Canvas:
        return strides_canvas(self)


def strides(t: Any, index: Sequence[int] | int | None = None) -> Strides:
    """How `index` (the last element, if not given) becomes an offset into the storage of tensor or
    array `t`.

    Raises TypeError for something without strides, IndexError for an index that `t` does not have.
    """
    if isinstance(t, np.ndarray):
        if any(s % t.itemsize for s in t.strides):
            raise ValueError(
                f"strides {t.strides} are not whole numbers of elements of {t.itemsize} bytes"
            )
        start, length = _array_storage(t)
        steps = tuple(s // t.itemsize for s in t.strides)
        offset = (t.__array_interface__["data"][0] - start) // t.itemsize
        scene = Strides(
            "ndarray", str(t.dtype), t.itemsize, t.shape, steps, offset, length // t.itemsize, None
        )
    elif hasattr(t, "untyped_storage"):
        itemsize = t.element_size()
        length = t.untyped_storage().nbytes() // itemsize
        dtype = str(t.dtype).split(".")[-1]
        scene = Strides(
            type(t).__name__,
            dtype,
            itemsize,
            tuple(t.shape),
            tuple(t.stride()),
            t.storage_offset(),
            length,
            None,
        )
        scene.device = in_words(t.device) if type(t).__module__.startswith("internals") else ""
    else:
        raise TypeError(
            corrected(
                f"viz.strides needs a tensor or a numpy array, got {type(t).__name__}",
                f"viz.strides({t!r:.40})",
                f"viz.strides(torch.tensor({t!r:.40}))",
            )
        )
    scene.chosen = _choose(scene, index)
    return scene


def _choose(scene: Strides, index: Sequence[int] | int | None) -> Place | None:
    if index is None:
        return scene.place([n - 1 for n in scene.sizes]) if all(scene.sizes) else None
    at = [operator.index(i) for i in (index if isinstance(index, Sequence) else [index])]
    if len(at) != len(scene.sizes):
        raise IndexError(
            f"{plural(len(at), 'index')} given for {plural(len(scene.sizes), 'dimension')}"
        )
    for d, (i, n) in enumerate(zip(at, scene.sizes)):
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension {d} with size {n}")
    return scene.place([i % n for i, n in zip(at, scene.sizes)])


def _array_storage(a: np.ndarray) -> tuple[int, int]:
    from viz.looking import region

    return region(a)


def planes(scene: Strides) -> list[tuple[tuple[int, ...], int, int]]:
    """The two-dimensional slices to draw: (leading index, rows, columns); at most PLANES, the
    chosen one among them.
    """
    *lead, rows, columns = (1, 1, *scene.sizes)[-max(2, len(scene.sizes)) :]
    if not (rows and columns):
        return []
    first = list(islice(product(*(range(n) for n in lead)), PLANES))
    chosen = scene.chosen.index[:-2] if scene.chosen else ()
    if chosen and chosen not in first:
        first[-1] = chosen
    return [(at, rows, columns) for at in first]


def shown(count: int, limit: int, keep: int, around: int = 0) -> list[int | None]:
    """Which of `count` things to draw: all, or the first ones, those around `keep` and the last;
    None marks a gap.
    """
    if count <= limit:
        return list(range(count))
    near = range(max(0, keep - around), min(count, keep + around + 1))
    wanted = sorted({*range(limit - 3 - 2 * around), *near, count - 1})
    out: list[int | None] = []
    for n in wanted:
        if out and n - 1 != out[-1]:
            out.append(None)
        out.append(n)
    return out


def cell_offset(scene: Strides, lead: tuple[int, ...], row: int, column: int) -> int:
    index = (*lead, row, column)[-len(scene.sizes) :] if scene.sizes else ()
    return scene.place(index).offset


def strides_text(scene: Strides) -> str:
    head = (
        f"{scene.kind} {scene.dtype} {scene.sizes}, strides {scene.strides}, storage_offset "
        f"{scene.storage_offset}"
    )
    head += f", on {scene.device}" if scene.device else ""
    blocks = [head]
    for lead, rows, columns in planes(scene):
        keep = (0, 0, *scene.chosen.index)[-2:] if scene.chosen else (0, 0)
        lines = []
        for r in shown(rows, ROWS, keep[0]):
            cells = [
                "…" if r is None or c is None else str(cell_offset(scene, lead, r, c))
                for c in shown(columns, COLUMNS, keep[1])
            ]
            lines.append(cells)
        name = (
            f"[{', '.join(map(str, lead))}, :, :]"
            if lead
            else "element of the storage at each index"
        )
        blocks.append(f"{name}\n" + table(lines, indent=4, right=range(COLUMNS + 2)))
    if hidden := hidden_planes(scene):
        blocks.append(hidden)
    if scene.chosen is not None:
        rows_ = [[d, n, s, i, f"{i} * {s} = {p}"] for d, n, s, i, p in scene.terms]
        body = table(
            rows_, ["dim", "size", "stride", "index", "index * stride"], indent=4, right=range(4)
        )
        blocks.append(f"{body}\n{sum_text(scene)}" if scene.sizes else sum_text(scene))
    return "\n".join(blocks)


def hidden_planes(scene: Strides) -> str:
    total = int(np.prod(scene.sizes[:-2], dtype=object)) if len(scene.sizes) > 2 else 1
    return f"({total - PLANES:,} more planes are hidden)" if total > PLANES else ""


def sum_text(scene: Strides) -> str:
    assert scene.chosen is not None
    parts = [str(scene.storage_offset), *(f"{i}*{s}" for _, _, s, i, _ in scene.terms)]
    at = scene.chosen.offset
    return (
        f"{list(scene.chosen.index)} -> {' + '.join(parts)} = element {at} = byte "
        f"S0+{at * scene.itemsize:#x}"
    )


def strides_canvas(scene: Strides) -> Canvas:
    canvas = Canvas("viz.strides", strides_text(scene).split("\n")[0])
    x = canvas.text(0, 12, f"{scene.kind} {scene.dtype} {scene.sizes}", 13, bold=True).right
    place = f", on {scene.device}" if scene.device else ""
    canvas.text(
        x + 12,
        12,
        f"strides {scene.strides}, storage_offset {scene.storage_offset}{place}",
        12,
        paint="muted",
    )
    y = _draw_planes(canvas, scene, 34)
    if scene.chosen is not None:
        y = _draw_sum(canvas, scene, y + 12)
    y = _draw_storage(canvas, scene, y + 22)
    roles = [("storage", "elements of the storage"), ("view", "which of them the tensor uses")]
    canvas.key(0, y + 8, roles)
    return canvas


def _cell_width(scene: Strides) -> float:
    return max(34.0, text_width(f"{scene.length:,}", 12, "mono") + 10)


def _draw_planes(canvas: Canvas, scene: Strides, y: float) -> float:
    """The logical grid, planes side by side and wrapped; the number in a cell is the storage
    element it stands for.
    """
    w, h, x, bottom = _cell_width(scene), 26.0, 0.0, y
    fits = max(5, min(COLUMNS, int(760 / w)))
    keep = (0, 0, *scene.chosen.index)[-2:] if scene.chosen else (0, 0)
    for lead, rows, columns in planes(scene):
        rows_shown, columns_shown = shown(rows, ROWS, keep[0]), shown(columns, fits, keep[1])
        left = 26 if scene.sizes else 0
        wide = left + w * len(columns_shown)
        if x and x + wide > 760:
            x, y = 0.0, bottom + 18
        top = y
        if lead:
            canvas.text(
                x, top + 10, f"[{', '.join(map(str, lead))}, :, :]", 11, font="mono", paint="muted"
            )
            top += 18
        for k, c in enumerate(columns_shown):
            if scene.sizes:
                label = "…" if c is None else str(c)
                canvas.text(
                    x + left + (k + 0.5) * w, top + 10, label, 10, "middle", "mono", "muted"
                )
        for j, r in enumerate(rows_shown):
            cy = top + 16 + j * h
            if len(scene.sizes) > 1:
                canvas.text(
                    x + left - 5, cy + 17, "…" if r is None else str(r), 10, "end", "mono", "muted"
                )
            for k, c in enumerate(columns_shown):
                if r is None or c is None:
                    canvas.text(
                        x + left + (k + 0.5) * w, cy + 17, "…", 12, "middle", "mono", "muted"
                    )
                    continue
                index = (*lead, r, c)[-len(scene.sizes) :] if scene.sizes else ()
                offset = scene.place(index).offset
                chosen = scene.chosen is not None and scene.chosen.index == index
                box = canvas.rect(
                    x + left + k * w + 1,
                    cy + 1,
                    w - 2,
                    h - 2,
                    "view-soft",
                    "key" if chosen else "view",
                    width=2.4 if chosen else 1,
                    tip=f"{list(index)} is element {offset} of the storage",
                )
                canvas.label(box, str(offset), 12, bold=chosen)
        bottom = max(bottom, top + 16 + len(rows_shown) * h)
        x += wide + 26
    if hidden := hidden_planes(scene):
        canvas.text(0, bottom + 18, hidden, 11, paint="muted")
        bottom += 22
    return bottom


def _draw_sum(canvas: Canvas, scene: Strides, y: float) -> float:
    """The table of terms, and the sum under it."""
    columns = [
        ("dim", 44.0),
        ("size", 74.0),
        ("stride", 84.0),
        ("index", 74.0),
        ("index × stride", 120.0),
    ]
    if scene.sizes:
        x = 0.0
        for name, wide in columns:
            x += wide
            canvas.text(x, y + 14, name, 11, "end", paint="muted")
        canvas.line([(8, y + 20), (x, y + 20)], "line", 1)
        for d, n, s, i, p in scene.terms:
            y += 20
            x = 0.0
            for value, (_, wide) in zip((d, n, s, i, p), columns):
                x += wide
                canvas.text(x, y + 15, f"{value:,}", 12, "end", "mono")
        y += 24
    canvas.text(8, y + 18, sum_text(scene).replace(" -> ", "  →  "), 12.5, font="mono", bold=True)
    return y + 24


def _draw_storage(canvas: Canvas, scene: Strides, y: float) -> float:
    """The storage as a strip, around what is of interest; the numbers under it count its
    elements.
    """
    w, h = max(30.0, text_width(str(scene.length), 11, "mono") + 8), 26.0
    per_row = max(8, int(760 // w))
    keep = scene.chosen.offset if scene.chosen else 0
    places = shown(scene.length, STRIP, min(max(keep, 0), max(scene.length - 1, 0)), around=10)
    used = _used(scene, {p for p in places if p is not None})
    canvas.text(0, y + 4, f"storage S0: {plural(scene.length, 'element')}", 11, paint="muted")
    y += 12
    for k, place in enumerate(places):
        x, top = (k % per_row) * w, y + (k // per_row) * (h + 8)
        if place is None:
            canvas.text(x + w / 2, top + 17, "…", 12, "middle", "mono", "muted")
            continue
        mine, chosen = place in used, scene.chosen is not None and place == scene.chosen.offset
        role = "view" if mine else "storage"
        stroke = "key" if chosen else role
        box = canvas.rect(
            x + 1, top, w - 2, h, f"{role}-soft", stroke, width=2.4 if chosen else 1,
            tip=f"S0+{place * scene.itemsize:#x}",
        )  # fmt: skip
        canvas.label(box, str(place), 11, bold=chosen, pad=1, paint="ink" if mine else "muted")
    rows = (len(places) + per_row - 1) // per_row
    return y + max(rows, 0) * (h + 8)


def _used(scene: Strides, places: set[int]) -> set[int]:
    """Which of these storage elements the tensor uses, without walking a large tensor."""
    from viz.footprint import Footprint, share_bytes

    view = Footprint(1 << 20, scene.sizes, scene.strides, 1)
    start = view.address - scene.storage_offset
    return {p for p in places if share_bytes(view, Footprint(start + p, (), (), 1))}
