"""Rearranges images for products and pooling: with a border, in phases, as columns of windows.

A `Window` says how a kernel moves over an image. A `Plan` follows from it and the sizes: which
phases are needed, how large their planes are, and how far each element of the kernel is from where
its window begins. Plans are kept, as a network asks for the same ones again and again.

- `lay_out` copies images with a border around them. A convolution with stride 2 takes every other
  row and column; so that these lie side by side, the image is split into phases: even rows and
  columns, even rows and odd columns, and so on.
- `fill_columns` writes every window as a column of a matrix (im2col). To the loop, `spread_out`,
  that is the same, with a phase for each element of the kernel. `add_columns` adds such columns up
  into images again (col2im).
- `cut_out` takes the result from rows that are longer than its own, and adds the bias.

All read and write images by strides, in elements, so any memory order will do.

How the real one differs: a oneDNN `primitive_desc` holds such decisions, and is kept in a cache
likewise; `aten/src/ATen/native/im2col.h` has templates in C++, with the same loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import Tensor, alias, array, backed_ptr, empty_contiguous
from internals.machine_code import inline, kernel, template
from internals.machine_code.records import Indices, Values

from .entries import run_typed
from .scratch import Scratch, Table

T = template("T")  # the dtype
CHUNK = 1 << 22  # bytes of copies and sums that are worked on at once
GRAIN = 1 << 14  # the fewest elements that are worth a thread


class Pair(NamedTuple):
    """A number along the height and one along the width."""

    h: int
    w: int


class Window(NamedTuple):
    """How a kernel moves over an image."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


class Strides(NamedTuple):
    """How far neighbours in a batch of images (N, C, H, W) lie apart, in elements."""

    n: int
    c: int
    h: int
    w: int


class Plan(NamedTuple):
    """How images of one size are laid out and read."""

    phases: Table  # the (row, column) of each phase that is needed
    parts: int  # how many phases these are
    rows: int  # the size of a phase's plane
    columns: int
    offsets: Table  # of the kernel's elements from the window's first, channel after channel
    places: int  # how many sums are computed for each output channel
    needs_no_copy: bool  # whether the image itself has this layout, so needs no copy

    @property
    def plane(self) -> int:
        """Elements of all phases of a channel."""
        return self.parts * self.rows * self.columns


@lru_cache(maxsize=256)
def planned(
    window: Window, channels: int, height: int, width: int, out_height: int, out_width: int
) -> Plan:
    """The plan for images (height, width) that give results (out_height, out_width)."""
    kernel, stride, padding, dilation = window
    # the rows, and the columns, of a window that the kernel's elements lie on
    where = [[i * d for i in range(k)] for k, d in zip(kernel, dilation)]
    # row w of a window is row w // stride of phase w % stride
    used = [sorted({w % s for w in along}) for along, s in zip(where, stride)]
    rows, columns = (
        along[-1] // s + n for along, s, n in zip(where, stride, (out_height, out_width))
    )
    parts, plane = len(used[0]) * len(used[1]), rows * columns

    def offset(i: int, j: int) -> int:
        phase = used[0].index(i % stride[0]) * len(used[1]) + used[1].index(j % stride[1])
        return phase * plane + i // stride[0] * columns + j // stride[1]

    of_kernel = np.array([offset(i, j) for i in where[0] for j in where[1]], np.int64)
    offsets = (np.arange(channels, dtype=np.int64)[:, None] * (parts * plane) + of_kernel).reshape(
        -1
    )
    needs_no_copy = stride == (1, 1) and padding == (0, 0) and (rows, columns) == (height, width)
    phases = np.array([(r, c) for r in used[0] for c in used[1]], np.int64)
    return Plan(
        Table(phases),
        parts,
        rows,
        columns,
        Table(offsets),
        (out_height - 1) * columns + out_width,  # up to the last place of the last row
        needs_no_copy,
    )


def lay_out(
    x: Tensor, first: int, n: int, plan: Plan, window: Window, laid: Scratch, fill: float = 0.0
) -> None:
    """Fill `laid` (n, C, phases, rows, columns) with images of x from `first` on, with a border of
    `fill`, in phases."""
    plane = plan.rows * plan.columns
    steps = x.shape[1] * plan.plane, plane
    _spread_out(x, first, n, plan.phases, (plan.rows, plan.columns), window, laid, steps, fill)


def fill_columns(
    x: Tensor,
    first: int,
    n: int,
    places: tuple[int, int],
    window: Window,
    matrix: Scratch,
    row: int,
) -> None:
    """Fill `matrix` (C * kernel elements, n * places) with the windows of `n` images of x as
    columns. Its rows lie `row` elements apart.
    """
    elements = _elements(window.kernel, window.dilation)
    _spread_out(x, first, n, elements, places, window, matrix, (prod(places), row), 0.0)


def _spread_out(
    x: Tensor, first: int, n: int, phases: Table, places: tuple[int, int], window: Window,
    out: Scratch, steps: tuple[int, int], fill: float,
) -> None:  # fmt: skip
    """Run `spread_out` on images first..first + n of x. In `out`, images and phases lie `steps`
    apart."""
    _, channels, *image = x.shape
    how = Spread(
        channels,
        phases.size // 2,
        Pair(*image),
        Pair(*places),
        window,
        Strides(*x.stride()),
        *steps,
    )
    grain = GRAIN // (how.phases * prod(places) + 1) + 1
    run_typed(spread_out, x.dtype, n * channels, grain, image_at(x, first), out, phases, how, fill)


@lru_cache(maxsize=256)
def _elements(kernel: tuple[int, int], dilation: tuple[int, int]) -> Table:
    """The (row, column) of each element of a kernel."""
    where = [(i * dilation[0], j * dilation[1]) for i in range(kernel[0]) for j in range(kernel[1])]
    return Table(np.array(where, np.int64))


def cut_out(
    sums: Scratch, bias: Tensor | None, out: Tensor, first: int, n: int, steps: tuple[int, int, int]
) -> None:
    """Fill `n` images of `out` (N, C, H, W) with sums plus bias; images, channels and rows of the
    sums lie `steps` apart."""
    _, channels, *image = out.shape
    how = Cut(channels, Pair(*image), *steps, Strides(*out.stride()))
    to = image_at(out, first)
    grain = GRAIN // prod(image) + 1
    run_typed(
        cut_planes,
        out.dtype,
        n * channels,
        grain,
        sums,
        bias,
        to,
        bias is not None,
        how,
    )


def window_of(kernel: Sequence[int], *how: Sequence[int]) -> Window:
    """The window of a kernel, stride, padding and dilation of one or two numbers each. One
    dimension becomes a window of height 1."""
    # the first of each pair where there is one number: kernel 1, stride 1, padding 0, dilation 1
    pairs = ((plain, *v) if len(v) == 1 else v for plain, v in zip((1, 1, 0, 1), (kernel, *how)))
    return Window(*(Pair(*pair) for pair in pairs))


def as_images(t: Tensor) -> Tensor:
    """(N, C, L) as (N, C, 1, L), without a copy; (N, C, H, W) as it is."""
    if t.dim() == 4:
        return t
    (n, c, length), (n_step, c_step, step) = t.shape, t.stride()
    found: Tensor = alias(
        t, (n, c, 1, length), (n_step, c_step, step * length, step), t.storage_offset()
    )
    return found


def contiguous(t: Tensor) -> Tensor:
    """The tensor, or a copy whose elements lie in order."""
    if t.is_contiguous():
        return t
    copy: Tensor = empty_contiguous(t.shape, t.dtype)
    array(copy)[...] = array(t)
    return copy


def chunks(count: int, per_chunk: int) -> Iterator[tuple[int, int]]:
    """(first, number) of each part of 0..count, with `per_chunk` in all parts but the last."""
    return ((first, min(per_chunk, count - first)) for first in range(0, count, per_chunk))


def image_at(t: Tensor, number: int) -> int:
    """The address of an image."""
    return backed_ptr(t) + number * t.stride(0) * t.itemsize


@inline
def first_inside(stride: int, shift: int) -> Any:
    """The least j >= 0 for which j * stride + shift >= 0."""
    return 0 if shift >= 0 else (stride - 1 - shift) // stride


@inline
def end_inside(stride: int, shift: int, size: int, count: int) -> Any:
    """The least j, of `count` at most, for which j * stride + shift >= size."""
    if shift >= size:
        return 0
    return min(count, (size - 1 - shift) // stride + 1)


class Spread(NamedTuple):
    """The sizes for `spread_out`."""

    channels: int
    phases: int  # of each plane of x
    image: Pair  # the size of a plane of x
    places: Pair  # the size of a phase
    window: Window
    x: Strides
    image_step: int  # how far images lie apart in the result
    phase_step: int  # and phases


@kernel
def spread_out(
    begin: int, end: int, x: Values, out: Values, phase: Indices, how: Spread, fill: float
) -> None:
    """Each plane of x as several phases: element (i, j) of phase (r, c) is the one in row i *
    stride + r - padding, and in such a column, or `fill` outside the image. One item of work is a
    plane.
    """
    (height, width), (rows, columns) = how.image, how.places
    _, stride, padding, _ = how.window
    for plane in range(begin, end):
        n, c = plane // how.channels, plane % how.channels
        source = n * how.x.n + c * how.x.c
        for p in range(how.phases):
            shift_h, shift_w = phase[2 * p] - padding.h, phase[2 * p + 1] - padding.w
            target = n * how.image_step + (c * how.phases + p) * how.phase_step
            first = min(first_inside(stride.w, shift_w), columns)
            last = max(first, end_inside(stride.w, shift_w, width, columns))
            for i in range(rows):
                y = i * stride.h + shift_h
                to = target + i * columns
                if y < 0 or y >= height:
                    for j in range(columns):
                        out[to + j] = T(fill)
                else:
                    at = source + y * how.x.h + shift_w * how.x.w
                    for j in range(first):
                        out[to + j] = T(fill)
                    if stride.w * how.x.w == 1:  # a loop of its own, which becomes a memcpy
                        for j in range(first, last):
                            out[to + j] = x[at + j]
                    else:
                        for j in range(first, last):
                            out[to + j] = x[at + j * stride.w * how.x.w]
                    for j in range(last, columns):
                        out[to + j] = T(fill)


class Cut(NamedTuple):
    """The sizes for `cut_planes`."""

    channels: int
    image: Pair  # the size of a plane of the result
    image_step: int  # how far images lie apart in the sums
    channel_step: int
    row_step: int
    out: Strides


@kernel
def cut_planes(
    begin: int, end: int, sums: Values, bias: Values, out: Values, has_bias: int, how: Cut
) -> None:
    """out = sums, whose rows are longer than the result's, plus the bias of the channel. One item
    of work is a plane."""
    height, width = how.image
    for plane in range(begin, end):
        n, c = plane // how.channels, plane % how.channels
        at = n * how.image_step + c * how.channel_step
        to = n * how.out.n + c * how.out.c
        b = bias[c] if has_bias else T(0)
        for i in range(height):
            if how.out.w == 1:
                for j in range(width):
                    out[to + i * how.out.h + j] = sums[at + i * how.row_step + j] + b
            else:
                for j in range(width):
                    out[to + i * how.out.h + j * how.out.w] = sums[at + i * how.row_step + j] + b


class Columns(NamedTuple):
    """The sizes for `add_columns`."""

    window: Window
    channels: int
    places: Pair  # of windows in an image
    image: Pair
    row_step: int  # how far rows of the columns lie apart
    image_step: int
    out: Strides


@kernel
def add_columns(begin: int, end: int, x: Values, out: Values, how: Columns) -> None:
    """out (N, C, H, W): planes of zeros, to which the elements of the columns x (C * kernel
    elements, N * places) are added where `fill_columns` reads them. One item of work is a plane."""
    kernel, stride, padding, dilation = how.window
    (height, width), (rows, places) = how.image, how.places
    for plane in range(begin, end):
        n, c = plane // how.channels, plane % how.channels
        to = n * how.out.n + c * how.out.c
        for i in range(height):
            for j in range(width):
                out[to + i * how.out.h + j * how.out.w] = T(0)
        # row (c, element) of the columns goes to one shifted plane; first..last are inside
        for element in range(kernel.h * kernel.w):
            shift_h = element // kernel.w * dilation.h - padding.h
            shift_w = element % kernel.w * dilation.w - padding.w
            first = min(first_inside(stride.w, shift_w), places)
            last = max(first, end_inside(stride.w, shift_w, width, places))
            at = (c * kernel.h * kernel.w + element) * how.row_step + n * how.image_step
            for i in range(rows):
                y = i * stride.h + shift_h
                if y >= 0 and y < height:
                    row = to + y * how.out.h + shift_w * how.out.w
                    if stride.w * how.out.w == 1:
                        for j in range(first, last):
                            out[row + j] += x[at + i * places + j]
                    else:
                        for j in range(first, last):
                            out[row + j * stride.w * how.out.w] += x[at + i * places + j]
