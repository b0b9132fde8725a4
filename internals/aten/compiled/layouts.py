"""How images are laid out for convolutions and poolings, and the calls of the loops that do it (`windows`).

A `Window` says how a kernel moves over an image. A `Plan` follows from it and the sizes: which phases are needed, how large their
planes are, and how far each element of the kernel is from where its window begins. Plans are kept, as a network asks for the same
ones again and again.

How the real one differs: a oneDNN `primitive_desc` holds such decisions, and is kept in a cache likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import TensorImpl, alias, array, backed_ptr, empty_contiguous

from . import windows
from .ready import typed
from .scratch import Scratch, Table

CHUNK = 1 << 22  # bytes of copies and sums that are worked on at once
GRAIN = 1 << 14  # elements that a thread should copy at least


class Window(NamedTuple):
    """How a kernel moves over an image; all entries are (vertical, horizontal)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


class Plan(NamedTuple):
    """How images of one size are laid out and read."""

    phases: Table  # which phases of the image are needed, in pairs
    parts: int  # how many they are
    rows: int  # the size of a phase's plane
    columns: int
    offsets: Table  # of the kernel's elements, for one channel after the other
    places: int  # how many sums are computed for each output channel
    as_it_lies: bool  # whether that is the image itself

    @property
    def plane(self) -> int:
        return self.parts * self.rows * self.columns


@lru_cache(maxsize=256)
def planned(window: Window, channels: int, height: int, width: int, out_height: int, out_width: int) -> Plan:
    """The plan for images (height, width) that give results (out_height, out_width)."""
    kernel, stride, padding, dilation = window
    where = [[i * d for i in range(k)] for k, d in zip(kernel, dilation)]  # the kernel's elements
    used = [sorted({w % s for w in along}) for along, s in zip(where, stride)]  # the phases they are in
    rows, columns = (along[-1] // s + n for along, s, n in zip(where, stride, (out_height, out_width)))
    parts, plane = len(used[0]) * len(used[1]), rows * columns

    def offset(i: int, j: int) -> int:
        phase = used[0].index(i % stride[0]) * len(used[1]) + used[1].index(j % stride[1])
        return phase * plane + i // stride[0] * columns + j // stride[1]

    of_kernel = np.array([offset(i, j) for i in where[0] for j in where[1]], np.int64)
    offsets = (np.arange(channels, dtype=np.int64)[:, None] * (parts * plane) + of_kernel).reshape(-1)
    as_it_lies = stride == (1, 1) and padding == (0, 0) and (rows, columns) == (height, width)
    phases = np.array([(r, c) for r in used[0] for c in used[1]], np.int64)
    return Plan(Table(phases), parts, rows, columns, Table(offsets), (out_height - 1) * columns + out_width, as_it_lies)


def lay_out(x: TensorImpl, first: int, n: int, plan: Plan, window: Window, laid: Scratch, fill: float = 0.0) -> None:
    """`n` images of x with a border, in phases."""
    _, channels, height, width = x.shape
    typed(windows.lay_out, windows.LAY_OUT, x.dtype).parallel(
        n * channels, GRAIN // (plan.plane + 1) + 1, image_at(x, first), laid.data_ptr(), plan.phases.address, plan.parts,
        channels, plan.rows, plan.columns, height, width, *window.padding, *window.stride, *x.stride(), fill,
    )  # fmt: skip


def fill_columns(
    x: TensorImpl, first: int, n: int, places: tuple[int, int], window: Window, matrix: Scratch, row: int
) -> None:
    """The windows of `n` images of x as columns of `matrix`, whose rows lie `row` elements apart."""
    _, channels, height, width = x.shape
    typed(windows.columns, windows.COLUMNS, x.dtype).parallel(
        channels * prod(window.kernel), GRAIN // (n * prod(places) + 1) + 1, image_at(x, first), matrix.data_ptr(),
        *window.kernel, n, *places, height, width, *window.padding, *window.stride, *window.dilation, *x.stride(), row,
    )  # fmt: skip


def cut_out(sums: Scratch, bias: Any, out: TensorImpl, first: int, n: int, steps: tuple[int, int, int]) -> None:
    """`n` images of the result, from sums whose images, channels and rows lie `steps` apart."""
    _, channels, height, width = out.shape
    typed(windows.cut_out, windows.CUT_OUT, out.dtype).parallel(
        n * channels, GRAIN // (height * width) + 1, sums.data_ptr(), sums.data_ptr() if bias is None else backed_ptr(bias),
        image_at(out, first), bias is not None, channels, height, width, *steps, *out.stride(),
    )  # fmt: skip


def window_of(kernel: Sequence[int], *how: Sequence[int]) -> Window:
    """A window from the sizes of a kernel, stride, padding and dilation; in one dimension it is 1 high."""
    pairs = ((plain, *v) if len(v) == 1 else tuple(v) for plain, v in zip((1, 1, 0, 1), (kernel, *how)))
    return Window(*pairs)  # type: ignore[arg-type]


def as_images(t: TensorImpl) -> TensorImpl:
    """(N, C, L) as (N, C, 1, L)."""
    if t.dim() == 4:
        return t
    (n, c, length), (n_step, c_step, step) = t.shape, t.stride()
    found: TensorImpl = alias(t, (n, c, 1, length), (n_step, c_step, step * length, step), t.storage_offset())
    return found


def contiguous(t: TensorImpl) -> TensorImpl:
    """The tensor, or a copy whose elements lie in order."""
    if t.is_contiguous():
        return t
    copy: TensorImpl = empty_contiguous(t.shape, t.dtype)
    array(copy)[...] = array(t)
    return copy


def chunks(count: int, together: int) -> Iterator[tuple[int, int]]:
    """(first, how many) of each part of 0..count."""
    return ((first, min(together, count - first)) for first in range(0, count, together))


def image_at(t: TensorImpl, number: int) -> int:
    """The address of an image."""
    return backed_ptr(t) + number * t.stride(0) * t.itemsize
