"""Pooling of row-major images, plane by plane
(`aten/src/ATen/native/cpu/{MaxPool,AvgPool,AdaptiveAvgPool}Kernel.cpp`).

One item of work is a plane: a channel of an image. A row of windows is computed together: for each
element of the window in turn, that element of all windows of the row is compared with (or added to)
the results so far. With a stride of 2 this would read every other element, which vector units do
badly; so the planes are first laid out as for a convolution, with a border and split into phases
(`windows.lay_out`). Then the innermost loop runs along memory, the compiler makes vector
instructions of it, and a row of results stays in the first-level cache.

How the real one differs: for row-major images it takes window after window, with a branch for each
element of the maximum; for `channels_last` its innermost loop runs over channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import Tensor, TensorImpl, alias, backed_ptr
from internals.machine_code import kernel, template
from internals.machine_code.records import Indices, Values

from .entries import FLOATS, run_typed, typed
from .scratch import Scratch, Table
from .windows import (
    CHUNK,
    Pair,
    Plan,
    Window,
    chunks,
    end_inside,
    first_inside,
    lay_out,
    planned,
    window_of,
)

T = template("T")
GRAIN = 1 << 13  # elements that are worth a thread


class LaidOut(NamedTuple):
    """The sizes of planes in phases, as `windows.lay_out` leaves them."""

    plane: int  # elements of a plane, in all its phases
    columns: int  # elements of a row
    places: Pair  # rows and columns of windows


@kernel
def max_pool(
    begin: int, end: int, x: Values, offsets: Indices, positions: Indices, out: Values,
    index: Indices, laid: LaidOut, window: Window, width: int,
) -> None:  # fmt: skip
    """The maxima of windows of planes that are laid out, and their positions in the original
    planes, whose rows have `width` elements.

    NaN counts as the largest, and of several the last one wins; of equal elements the first one
    does, even if all are -inf."""
    kernel, stride, padding, dilation = window
    rows, places = laid.places
    for plane in range(begin, end):
        for i in range(rows):
            at, to = plane * laid.plane + i * laid.columns, (plane * rows + i) * places
            top = i * stride.h - padding.h
            corner = top * width - padding.w
            # to begin with, the position of the first element that is not padding: nothing in a
            # window of -inf is larger, so it stays
            first_y = first_inside(dilation.h, top) * dilation.h * width
            for j in range(places):
                left = j * stride.w - padding.w
                first_x = first_inside(dilation.w, left) * dilation.w
                out[to + j] = T(-inf)
                index[to + j] = corner + j * stride.w + first_y + first_x
            for e in range(kernel.h * kernel.w):
                line, position = at + offsets[e], corner + positions[e]
                for j in range(places):
                    v, best, there = x[line + j], out[to + j], index[to + j]
                    larger = (v > best) | (v != v)  # v != v: a NaN
                    out[to + j] = v if larger else best
                    index[to + j] = position + j * stride.w if larger else there


@kernel
def avg_pool(
    begin: int, end: int, x: Values, offsets: Indices, divisor: Values, out: Values, laid: LaidOut,
    elements: int,
) -> None:  # fmt: skip
    """The sums of windows of planes that are laid out, each divided by its own divisor: windows at
    the edges may count fewer elements."""
    rows, places = laid.places
    for plane in range(begin, end):
        for i in range(rows):
            at, to = plane * laid.plane + i * laid.columns, (plane * rows + i) * places
            for j in range(places):
                out[to + j] = T(0)
            for e in range(elements):
                line = at + offsets[e]
                for j in range(places):
                    out[to + j] += x[line + j]
            for j in range(places):
                out[to + j] = out[to + j] / divisor[i * places + j]


@kernel
def max_pool_backward(
    begin: int, end: int, g: Values, index: Indices, dx: Values, plane_size: int, windows: int
) -> None:
    """Planes of zeros with each gradient added where `index` says. The index of a window whose
    elements all lie in the padding is outside the plane, and its gradient goes nowhere.
    """
    for plane in range(begin, end):
        to, at = plane * plane_size, plane * windows
        for i in range(plane_size):
            dx[to + i] = T(0)
        for i in range(windows):
            place = index[at + i]
            if place >= 0 and place < plane_size:
                dx[to + place] += g[at + i]


@kernel
def avg_pool_backward(
    begin: int, end: int, g: Values, divisor: Values, dx: Values, image: Pair, places: Pair,
    window: Window,
) -> None:  # fmt: skip
    """Planes of zeros with each gradient, over its divisor, added to all elements of its window."""
    (height, width), (rows, columns) = image, places
    kernel, stride, padding, _ = window
    for plane in range(begin, end):
        to, at = plane * height * width, plane * rows * columns
        for i in range(height * width):
            dx[to + i] = T(0)
        for i in range(rows):
            for h in range(kernel.h):
                y = i * stride.h + h - padding.h
                if y >= 0 and y < height:
                    for w in range(kernel.w):
                        # window j lies on column j * stride.w + shift; only those inside count
                        shift = w - padding.w
                        first = min(first_inside(stride.w, shift), columns)
                        line, row = to + y * width + shift, i * columns
                        for j in range(first, end_inside(stride.w, shift, width, columns)):
                            dx[line + j * stride.w] += g[at + row + j] / divisor[row + j]


@kernel
def adaptive_pool(begin: int, end: int, x: Values, out: Values, image: Pair, windows: Pair) -> None:
    """The means of planes over windows that cover them evenly: along each dimension window i of n
    has the elements from floor(i * size / n) up to ceil((i + 1) * size / n)."""
    (height, width), (rows, places) = image, windows
    for plane in range(begin, end):
        at, to = plane * height * width, plane * rows * places
        for i in range(rows):
            first_y, last_y = i * height // rows, ((i + 1) * height + rows - 1) // rows
            for j in range(places):
                first_x, last_x = j * width // places, ((j + 1) * width + places - 1) // places
                total = T(0)
                for y in range(first_y, last_y):
                    for k in range(at + y * width + first_x, at + y * width + last_x):
                        total += x[k]
                out[to + i * places + j] = total / T((last_y - first_y) * (last_x - first_x))


@kernel
def adaptive_pool_backward(
    begin: int, end: int, g: Values, dx: Values, image: Pair, windows: Pair
) -> None:
    """Planes of zeros with each gradient added, in equal parts, to the elements of its window,
    which are those of `adaptive_pool`."""
    (height, width), (rows, places) = image, windows
    for plane in range(begin, end):
        to, at = plane * height * width, plane * rows * places
        for i in range(height * width):
            dx[to + i] = T(0)
        for i in range(rows):
            first_y, last_y = i * height // rows, ((i + 1) * height + rows - 1) // rows
            for j in range(places):
                first_x, last_x = j * width // places, ((j + 1) * width + places - 1) // places
                part = g[at + i * places + j] / T((last_y - first_y) * (last_x - first_x))
                for y in range(first_y, last_y):
                    for k in range(to + y * width + first_x, to + y * width + last_x):
                        dx[k] += part


__all__ = ["Pair", "Table", "fits", "run", "run_avg_pool", "run_max_pool", "window_of"]


def fits(*tensors: Tensor) -> bool:
    """Whether there are kernels for the dtype of the first tensor, and all of them are row-major
    and not empty.
    """
    return tensors[0].dtype in FLOATS and all(t.is_contiguous() and t.numel() for t in tensors)


def run(kernel: Any, *args: Any) -> bool:
    """Run a kernel that reads planes as they lie in tensors. False if numpy has to do it.

    args: as the kernel wants them; the first is a tensor, which gives the dtype and the number of
    planes."""
    planes = prod(args[0].shape[:-2])
    work = max(a.numel() for a in args if isinstance(a, TensorImpl)) // planes
    return run_typed(kernel, args[0].dtype, planes, GRAIN // (work + 1) + 1, *args)


def run_max_pool(x: Tensor, values: Tensor, indices: Tensor, window: Window) -> bool:
    """Fill `values` and `indices` (N, C, H', W'). False if numpy has to do it."""
    if typed(max_pool, x.dtype) is None:
        return False
    plan, width, item = _planned(x, values, window), x.shape[-1], x.itemsize
    how = LaidOut(plan.plane, plan.columns, Pair(*values.shape[-2:]))
    positions = _positions(window.kernel, window.dilation, width)
    size = prod(how.places)
    for first, planes, laid in _laid_out(x, plan, window, -inf):  # a border that is never largest
        to = backed_ptr(values) + first * size * item, backed_ptr(indices) + first * size * 8
        run_typed(
            max_pool, x.dtype, planes, GRAIN // (size * positions.size) + 1, laid, plan.offsets,
            positions, to, how, window, width,
        )  # fmt: skip
    return True


def run_avg_pool(x: Tensor, divisors: Table, out: Tensor, window: Window) -> bool:
    """Fill `out` (N, C, H', W') with the windows' sums over `divisors` (H' * W'). False if numpy
    has to do it."""
    if typed(avg_pool, x.dtype) is None:
        return False
    plan, elements = _planned(x, out, window), prod(window.kernel)
    how = LaidOut(plan.plane, plan.columns, Pair(*out.shape[-2:]))
    size = prod(how.places)
    for first, planes, laid in _laid_out(x, plan, window, 0.0):
        to = backed_ptr(out) + first * size * x.itemsize
        run_typed(
            avg_pool, x.dtype, planes, GRAIN // (size * elements) + 1, laid, plan.offsets, divisors,
            to, how, elements,
        )  # fmt: skip
    return True


def _planned(x: Tensor, out: Tensor, window: Window) -> Plan:
    return planned(window, 1, *x.shape[-2:], *out.shape[-2:])


def _laid_out(
    x: Tensor, plan: Plan, window: Window, fill: float
) -> Iterator[tuple[int, int, Scratch]]:
    """(first plane, number of planes, memory) for parts of x that are laid out, as many planes at
    a time as a cache holds. The memory is used again for the next part.
    """
    (height, width), planes = x.shape[-2:], prod(x.shape[:-2])
    per_chunk = max(1, min(planes, CHUNK // (plan.plane * x.itemsize)))
    laid = Scratch(per_chunk * plan.plane, x.dtype)
    images = alias(x, (planes, 1, height, width), (height * width, 0, width, 1), x.storage_offset())
    for first, n in chunks(planes, per_chunk):
        lay_out(images, first, n, plan, window, laid, fill)
        yield first, n, laid


@lru_cache(maxsize=256)
def _positions(kernel: Pair, dilation: Pair, width: int) -> Table:
    """How far each element of a window is from its corner, in a plane with rows of `width`."""
    rows = np.arange(kernel.h, dtype=np.int64) * dilation.h * width
    columns = np.arange(kernel.w, dtype=np.int64) * dilation.w
    return Table((rows[:, None] + columns).reshape(-1))
