"""Pooling of row-major images, plane by plane
(`aten/src/ATen/native/cpu/{MaxPool,AvgPool,AdaptiveAvgPool}Kernel.cpp`).

One item of work is a plane: a channel of an image. Its windows are not taken one after the other,
but a row of windows together: for each element of the window, what lies there in all windows of the
row is compared with (or added to) what was found so far. Windows two apart would read every other
element, which vector units do badly; so the planes are first laid out as for a convolution, with a
border and dealt out into phases (`windows.lay_out`). Then the innermost loop runs along memory, and
the compiler makes vector instructions of it; a row of results stays in the first-level cache.

How the real one differs: for row-major images it takes window after window, with a branch for each
element of the maximum; for `channels_last` its innermost loop runs over channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy as np

from internals.core.tensor_impl import TensorImpl, alias, backed_ptr
from internals.machine_code import kernel, template

from .ready import FLOATS, typed
from .scratch import Scratch, Table
from .windows import (
    CHUNK,
    Plan,
    Window,
    behind_inside,
    chunks,
    first_inside,
    lay_out,
    planned,
    window_of,
)

T = template("T")
GRAIN = 1 << 13


@kernel(signature="*T *i8 *i8 *T *i8" + " i8" * 12)
def max_pool(
    begin, end, x, offsets, positions, out, index, elements, plane_size, columns, rows, places,
    width, top, left, step_h, step_w, apart_h, apart_w,
):  # fmt: skip
    """The maxima of windows (rows, places) of planes that are laid out, and their positions in
    planes of `width`.

    NaN is the largest, and the last of it counts; of equal elements the first does, also where
    there is nothing but -inf."""
    for plane in range(begin, end):
        for i in range(rows):
            at, to = plane * plane_size + i * columns, (plane * rows + i) * places
            corner = (i * step_h - top) * width - left
            first_y = first_inside(apart_h, i * step_h - top) * apart_h * width
            for j in range(places):
                out[to + j] = T(-inf)
                index[to + j] = (
                    corner
                    + j * step_w
                    + first_y
                    + first_inside(apart_w, j * step_w - left) * apart_w
                )
            for e in range(elements):
                line, position = at + offsets[e], corner + positions[e]
                for j in range(places):
                    v, best, there = x[line + j], out[to + j], index[to + j]
                    larger = (v > best) | (v != v)
                    out[to + j] = v if larger else best
                    index[to + j] = position + j * step_w if larger else there


@kernel(signature="*T *i8 *T *T" + " i8" * 5)
def avg_pool(begin, end, x, offsets, divisor, out, elements, plane_size, columns, rows, places):
    """The sums of windows (rows, places) of planes that are laid out, each divided by its
    divisor.
    """
    for plane in range(begin, end):
        for i in range(rows):
            at, to = plane * plane_size + i * columns, (plane * rows + i) * places
            for j in range(places):
                out[to + j] = T(0)
            for e in range(elements):
                line = at + offsets[e]
                for j in range(places):
                    out[to + j] += x[line + j]
            for j in range(places):
                out[to + j] = out[to + j] / divisor[i * places + j]


@kernel(signature="*T *i8 *T" + " i8" * 2)
def max_pool_backward(begin, end, g, index, dx, plane_size, windows):
    """Planes of zeros with each gradient added where `index` says. A window whose elements all lie
    in the padding has none.
    """
    for plane in range(begin, end):
        to, at = plane * plane_size, plane * windows
        for i in range(plane_size):
            dx[to + i] = T(0)
        for i in range(windows):
            place = index[at + i]
            if place >= 0 and place < plane_size:
                dx[to + place] += g[at + i]


@kernel(signature="*T *T *T" + " i8" * 10)
def avg_pool_backward(
    begin,
    end,
    g,
    divisor,
    dx,
    kernel_h,
    kernel_w,
    height,
    width,
    rows,
    places,
    top,
    left,
    step_h,
    step_w,
):
    """Planes of zeros with each gradient, over its divisor, added to all elements of its window."""
    for plane in range(begin, end):
        to, at = plane * height * width, plane * rows * places
        for i in range(height * width):
            dx[to + i] = T(0)
        for i in range(rows):
            for h in range(kernel_h):
                y = i * step_h + h - top
                if y >= 0 and y < height:
                    for w in range(kernel_w):
                        shift = w - left
                        first = min(first_inside(step_w, shift), places)
                        line, row = to + y * width + shift, i * places
                        for j in range(first, behind_inside(step_w, shift, width, places)):
                            dx[line + j * step_w] += g[at + row + j] / divisor[row + j]


@kernel(signature="*T *T" + " i8" * 4)
def adaptive_pool(begin, end, x, out, height, width, rows, places):
    """The means of planes (height, width) over rows * places windows that cover them evenly."""
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


@kernel(signature="*T *T" + " i8" * 4)
def adaptive_pool_backward(begin, end, g, dx, height, width, rows, places):
    """Planes of zeros with each gradient added, in equal parts, to the elements of its window."""
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


__all__ = ["Table", "fits", "run", "run_avg_pool", "run_max_pool", "window_of"]


def fits(*tensors: TensorImpl) -> bool:
    """Whether there are kernels for the dtype of the first, and all have elements, in row-major
    order.
    """
    return tensors[0].dtype in FLOATS and all(t.is_contiguous() and t.numel() for t in tensors)


def run(kernel: Any, *args: Any) -> bool:
    """Run a kernel that needs nothing laid out on the planes of tensors; False where numpy has to.

    args: tensors, tables and numbers, as the kernel wants them; the first tells dtype and number of
    planes."""
    found, planes = typed(kernel, args[0].dtype), prod(args[0].shape[:-2])
    if found is not None:
        work = max(a.numel() for a in args if isinstance(a, TensorImpl)) // planes
        found.parallel(planes, GRAIN // (work + 1) + 1, *map(_argument, args))
    return found is not None


def run_max_pool(x: TensorImpl, values: TensorImpl, indices: TensorImpl, window: Window) -> bool:
    """Fill `values` and `indices`; False where numpy has to."""
    found = typed(max_pool, x.dtype)
    if found is None:
        return False
    plan, width, item = _planned(x, values, window), x.shape[-1], x.itemsize
    (kernel_h, kernel_w), stride, padding, dilation = window
    positions = _positions(kernel_h, kernel_w, dilation[0] * width, dilation[1])
    size = prod(values.shape[-2:])
    for first, planes, laid in _laid_out(x, plan, window, -inf):
        found.parallel(
            planes, GRAIN // (size * kernel_h * kernel_w) + 1, laid.data_ptr(),
            plan.offsets.address, positions.address, backed_ptr(values) + first * size * item,
            backed_ptr(indices) + first * size * 8, kernel_h * kernel_w, plan.plane, plan.columns,
            *values.shape[-2:], width, *padding, *stride, *dilation,
        )  # fmt: skip
    return True


def run_avg_pool(x: TensorImpl, divisors: Table, out: TensorImpl, window: Window) -> bool:
    """Fill `out`, dividing by what a table says; False where numpy has to."""
    found = typed(avg_pool, x.dtype)
    if found is None:
        return False
    plan, elements = _planned(x, out, window), prod(window.kernel)
    size = prod(out.shape[-2:])
    for first, planes, laid in _laid_out(x, plan, window, 0.0):
        found.parallel(
            planes, GRAIN // (size * elements) + 1, laid.data_ptr(), plan.offsets.address,
            divisors.address, backed_ptr(out) + first * size * x.itemsize, elements, plan.plane,
            plan.columns, *out.shape[-2:],
        )  # fmt: skip
    return True


def _argument(a: Any) -> int:
    if isinstance(a, TensorImpl):
        return backed_ptr(a)
    return a.address if isinstance(a, Table) else a


def _planned(x: TensorImpl, out: TensorImpl, window: Window) -> Plan:
    return planned(window, 1, *x.shape[-2:], *out.shape[-2:])


def _laid_out(
    x: TensorImpl, plan: Plan, window: Window, fill: float
) -> Iterator[tuple[int, int, Scratch]]:
    """(first plane, number of planes, tensor) of parts of x that are laid out, as many as a cache
    holds.
    """
    (height, width), planes = x.shape[-2:], prod(x.shape[:-2])
    together = max(1, min(planes, CHUNK // (plan.plane * x.itemsize)))
    laid = Scratch(together * plan.plane, x.dtype)
    images = alias(x, (planes, 1, height, width), (height * width, 0, width, 1), x.storage_offset())
    for first, n in chunks(planes, together):
        lay_out(images, first, n, plan, window, laid, fill)
        yield first, n, laid


@lru_cache(maxsize=256)
def _positions(kernel_h: int, kernel_w: int, row: int, step: int) -> Table:
    """How far each element of a window is from its corner in the plane."""
    rows, columns = (
        np.arange(kernel_h, dtype=np.int64) * row,
        np.arange(kernel_w, dtype=np.int64) * step,
    )
    return Table((rows[:, None] + columns).reshape(-1))
