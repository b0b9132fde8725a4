"""The gradients of a convolution as products: the eager path of `native/convolution_backward.py`
for large ones.

That of the input, where the stride is 1, is a convolution itself: every input pixel collects from
the outputs it went into, so the kernel is turned round and its channels are exchanged. With a
larger stride each output's gradient is multiplied with the weights, and the columns that come out
are added up where they overlap (`add_columns`).

That of the weight is a sum over all places p of the output:

    dw[o, c, i, j] = sum over p of g[o, p] * x[c, pixel of p, moved by i and j]

For one kernel row it is the product of a matrix (outputs, places) with a matrix that has a row for
each place: the pixels that the kernel's row lies on, one channel after the other. With the channels
of a pixel side by side in memory, as in `channels_last`, these rows are the image itself again, and
a table of offsets says where each begins.

Where every output channel has one input channel (depthwise), there is nothing to add up over
channels, so these are no matrix products: each gradient, times a weight, is given back to the pixel
it came from, and a weight's gradient is the sum over all places of gradient times pixel.

The loops are at the end. Those that write arrays in other orders jump where they read or where they
write; it is done for sixteen neighbours at a time, so that of every cache line that is fetched all
numbers are used before the next is.

How the real one differs: oneDNN has a kernel for each of the three directions, others for depthwise
convolutions, and writes the code of a reorder for each pair of layouts when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, prod
from typing import Any

import numpy as np

from internals.core.tensor_impl import TensorImpl, array, backed_ptr, empty_contiguous
from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED

from ..native.memory_format import empty_as
from . import windows
from .convolving import convolution, convolve
from .gemm import batched, best_tile, factors, gemm
from .pieces import PIECE, piece_sum
from .ready import typed
from .scratch import Scratch, Table
from .windows import (
    GRAIN,
    Plan,
    Window,
    as_images,
    behind_inside,
    chunks,
    contiguous,
    fill_columns,
    first_inside,
    image_at,
    lay_out,
    planned,
    window_of,
)

PIXELS = 1 << 20  # bytes of images whose places are summed at once
SIDE = 16
T = template("T")
ONE = Window((1, 1), (1, 1), (0, 0), (1, 1))
How = Sequence[Sequence[int]]


def gradients(
    g: TensorImpl,
    x: TensorImpl,
    weight: TensorImpl,
    how: How,
    transposed: bool,
    groups: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(gradient of x, of weight, of bias); None for those that `mask` does not ask for."""
    dx = dw = db = None
    if mask[0] and transposed:
        dx = convolution(g, weight, None, x.shape, how, groups)
    elif mask[0]:
        dx = input_gradient(g, weight, None, x.shape, how, groups)
    if mask[1]:
        small, large = (x, g) if transposed else (g, x)
        dw = weight_gradient(small, large, weight, how, groups)
    if mask[2]:
        db = bias_gradient(g)
    return dx, dw, db


def input_gradient(
    g: TensorImpl, weight: TensorImpl, bias: Any, sizes: Sequence[int], how: How, groups: int
) -> Any:
    """What the input of a convolution, of `sizes`, gets back for a gradient g: the transposed
    convolution of g, plus `bias`.

    `how` is stride, padding and dilation of the convolution."""
    out = empty_as(g, sizes)
    if not out.numel():
        return out
    window = window_of(tuple(weight.shape)[2:], *how)
    reach = [(k - 1) * d - p for k, d, p in zip(window.kernel, window.dilation, window.padding)]
    g, weight, dx = as_images(g), contiguous(weight), as_images(out)
    if window.stride == (1, 1) and min(reach) >= 0:
        turned = Window(window.kernel, (1, 1), (reach[0], reach[1]), window.dilation)
        exchanged = _exchanged(weight, prod(window.kernel), groups)
        convolve(g, exchanged.data_ptr(), bias, dx, turned, groups)
    else:
        if groups > 1 and weight.shape[1] == 1 and dx.is_contiguous():
            depthwise_dx(g, weight, dx, window)
        else:
            _add_columns(g, weight, dx, window, groups)
        if bias is not None:
            array(dx)[...] += array(bias).reshape(-1, 1, 1)
    return out


def _exchanged(weight: TensorImpl, elements: int, groups: int) -> Scratch:
    """Weights (O, C/groups, *K) as (C, O/groups, *K), the kernels turned round."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    turned = Scratch(weight.numel(), weight.dtype)
    blocks = ceil(inputs / SIDE)
    typed(exchange_channels, weight.dtype).parallel(
        groups * blocks, GRAIN // (outputs * elements * SIDE) + 1, backed_ptr(weight),
        turned.data_ptr(), outputs, inputs, elements, blocks,
    )  # fmt: skip
    return turned


def _add_columns(
    g: TensorImpl, weight: TensorImpl, dx: TensorImpl, window: Window, groups: int
) -> None:
    """Gradients times weights are what each window gives back to its elements; an element adds up
    what it gets.
    """
    (images, outputs, height, width), (_, channels, dx_height, dx_width) = g.shape, dx.shape
    terms, plane = outputs // groups, height * width
    rows = channels // groups * prod(window.kernel)
    blocks = ceil(rows / SIDE)
    turned = Scratch(groups * rows * terms, g.dtype)
    typed(transpose, g.dtype).parallel(
        groups * blocks,
        GRAIN // (terms * SIDE) + 1,
        backed_ptr(weight),
        turned.data_ptr(),
        terms,
        rows,
        blocks,
    )
    together = min(images, max(1, windows.CHUNK // (g.itemsize * plane * groups * rows)))
    places = together * plane
    joined = Scratch(outputs * places, g.dtype)
    matrix = Scratch(groups * rows * places, g.dtype)
    for first, n in chunks(images, together):
        fill_columns(g, first, n, (height, width), ONE, joined, places)
        batched(
            g.dtype,
            turned.data_ptr(),
            joined.data_ptr(),
            matrix.data_ptr(),
            (groups, rows, terms, places),
        )
        typed(windows.add_columns, g.dtype).parallel(
            n * channels, GRAIN // (dx_height * dx_width) + 1, matrix.data_ptr(),
            image_at(dx, first), *window.kernel, channels, height, width, dx_height, dx_width,
            *window.padding, *window.stride, *window.dilation, places, plane, *dx.stride(),
        )  # fmt: skip


def weight_gradient(g: TensorImpl, x: TensorImpl, like: TensorImpl, how: How, groups: int) -> Any:
    """What a weight, like `like` (O, C/groups, *K), gets back for a gradient g (N, O, *S') and
    input x (N, C, *S).
    """
    dw = empty_contiguous(like.shape, like.dtype)
    if not g.numel():
        array(dw).fill(0)
        return dw
    window, g, x = window_of(tuple(like.shape)[2:], *how), as_images(g), as_images(x)
    if groups > 1 and like.shape[1] == 1:
        depthwise_dw(g, x, dw, window)
        return dw
    (kernel_h, kernel_w), (step_h, step_w), _, (apart_h, apart_w) = window
    (images, outputs, height, width), channels = g.shape, x.shape[1]
    inputs, per_group = channels // groups, outputs // groups
    sizes = [
        (n - 1) * s + (k - 1) * d + 1 for n, (k, s, _, d) in zip((height, width), zip(*window))
    ]
    row, image = sizes[1] * channels, sizes[0] * sizes[1] * channels
    together = min(images, max(1, PIXELS // (g.itemsize * image)))
    # what a row of the kernel meets is one piece of memory
    whole_rows = groups == 1 and apart_w == 1
    piece = kernel_w * inputs if whole_rows else inputs
    tile = best_tile(g.dtype, per_group, piece, exact=True)
    line = kernel_w * inputs
    sums = Scratch(kernel_h * outputs * line, g.dtype)
    pixels = Scratch(together * image, g.dtype)
    joined = Scratch(outputs * together * height * width, g.dtype)
    a, b, c, item = joined.data_ptr(), pixels.data_ptr(), sums.data_ptr(), g.itemsize
    for first, n in chunks(images, together):
        _lay_out_pixels(x, first, n, sizes, window, pixels)
        places = n * height * width
        fill_columns(g, first, n, (height, width), ONE, joined, places)
        offsets = _offsets_of_pixels((n, height, width), (image, step_h * row, step_w * channels))
        for group in range(groups):
            left, right, to = (
                address + number * group * item
                for address, number in ((a, per_group * places), (b, inputs), (c, per_group * line))
            )
            f = factors(tile, left, right, offsets, to, per_group, piece, line)._replace(
                adding=int(first > 0)
            )
            if whole_rows:
                gemm(tile, f._replace(x_matrix=apart_h * row, out_matrix=outputs * line), kernel_h)
                continue
            for i in range(kernel_h):
                moved = f._replace(
                    x=right + i * apart_h * row * item, out=to + i * outputs * line * item
                )
                gemm(tile, moved._replace(x_matrix=apart_w * channels, out_matrix=inputs), kernel_w)
    typed(collect_weights, g.dtype).parallel(
        outputs, GRAIN // (line * kernel_h) + 1, sums.data_ptr(), backed_ptr(dw), inputs, kernel_h,
        kernel_w, line, outputs * line, inputs,
    )  # fmt: skip
    return dw


def _lay_out_pixels(
    x: TensorImpl, first: int, n: int, sizes: Sequence[int], window: Window, pixels: Scratch
) -> None:
    """`n` images of x with a border, the channels of each pixel side by side."""
    _, channels, height, width = x.shape
    typed(lay_out_pixels, x.dtype).parallel(
        n * sizes[0], GRAIN // (sizes[1] * channels) + 1, image_at(x, first), pixels.data_ptr(),
        channels, *sizes, height, width, *window.padding, *x.stride(),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _offsets_of_pixels(sizes: tuple[int, ...], steps: tuple[int, ...]) -> Table:
    """Where the window of each place begins, for places (images, height, width)."""
    image, row, column = (np.arange(n, dtype=np.int64) * step for n, step in zip(sizes, steps))
    return Table((image[:, None, None] + row[:, None] + column).reshape(-1))


def bias_gradient(g: TensorImpl) -> Any:
    """The sum of each channel of g (N, C, *S)."""
    db = empty_contiguous((g.shape[1],), g.dtype)
    images, size = g.shape[0], prod(g.shape[2:])
    if g.is_contiguous() and g.numel():
        typed(sum_channels, g.dtype).parallel(
            g.shape[1],
            GRAIN // (images * size) + 1,
            backed_ptr(g),
            backed_ptr(db),
            images,
            g.shape[1],
            size,
        )
    else:
        np.add.reduce(array(g), (0, *range(2, g.dim())), out=array(db))
    return db


@kernel(signature="*T *T *T" + " i8" * 18)
def depthwise_input_gradient(
    begin, end, g, weight, dx, kernel_h, kernel_w, outputs, channels, rows, places, height, width,
    top, left, step_h, step_w, apart_h, apart_w, g_n, g_c, g_h, g_w,
):  # fmt: skip
    """Planes (height, width) of zeros to which the gradients of (rows, places) are added, times
    weights. An item is a plane."""
    multiple = outputs // channels
    for plane in range(begin, end):
        n, c, to = plane // channels, plane % channels, plane * height * width
        for i in range(height * width):
            dx[to + i] = T(0)
        for o in range(c * multiple, c * multiple + multiple):
            for e in range(kernel_h * kernel_w):
                w = weight[o * kernel_h * kernel_w + e]
                shift_h, shift_w = e // kernel_w * apart_h - top, e % kernel_w * apart_w - left
                first = min(first_inside(step_w, shift_w), places)
                last = max(first, behind_inside(step_w, shift_w, width, places))
                for i in range(rows):
                    y, at = i * step_h + shift_h, n * g_n + o * g_c + i * g_h
                    if y >= 0 and y < height:
                        row = to + y * width + shift_w
                        for j in range(first, last):
                            dx[row + j * step_w] += w * g[at + j * g_w]


@kernel(signature="*T *i8 *T *T" + " i8" * 13)
def depthwise_weight_gradient(
    begin, end, x, offsets, g, dw, elements, outputs, channels, plane_size, columns, rows, places,
    images, g_n, g_c, g_h, g_w, adding,
):  # fmt: skip
    """One item of work is an output channel; x is laid out."""
    for o in range(begin, end):
        source = o // (outputs // channels) * plane_size
        for e in range(elements):
            total = 0.0
            for n in range(images):
                for i in range(rows):
                    at = source + n * channels * plane_size + offsets[e] + i * columns
                    total += row_product(x, at, g, n * g_n + o * g_c + i * g_h, g_w, places)
            dw[o * elements + e] = dw[o * elements + e] + T(total) if adding else T(total)


@inline(fastmath=SUM_MAY_BE_REORDERED)
def row_product(x: Any, at: int, g: Any, from_: int, step: int, n: int) -> Any:
    total = T(0)
    if step == 1:
        for j in range(n):
            total += x[at + j] * g[from_ + j]
    else:
        for j in range(n):
            total += x[at + j] * g[from_ + j * step]
    return total


def depthwise_dx(g: TensorImpl, weight: TensorImpl, dx: TensorImpl, window: Window) -> None:
    """Fill `dx` (N, C, H, W), which is row-major, with what it gets back for a gradient g (N, O,
    H', W')."""
    (images, channels, height, width), (outputs, rows, places) = dx.shape, g.shape[1:]
    typed(depthwise_input_gradient, g.dtype).parallel(
        images * channels, GRAIN // (rows * places * prod(window.kernel)) + 1, backed_ptr(g),
        backed_ptr(weight), backed_ptr(dx), *window.kernel, outputs, channels, rows, places, height,
        width, *window.padding, *window.stride, *window.dilation, *g.stride(),
    )  # fmt: skip


def depthwise_dw(g: TensorImpl, x: TensorImpl, dw: TensorImpl, window: Window) -> None:
    """Fill `dw` (O, 1, *K) with what it gets back for a gradient g (N, O, H', W') and input x (N,
    C, H, W)."""
    outputs, rows, places = g.shape[1:]
    for first, n, plan, laid in _laid_out(x, g, window):
        typed(depthwise_weight_gradient, g.dtype).parallel(
            outputs, GRAIN // (n * rows * places * prod(window.kernel)) + 1, laid.data_ptr(),
            plan.offsets.address, image_at(g, first), backed_ptr(dw), prod(window.kernel), outputs,
            x.shape[1], plan.plane, plan.columns, rows, places, n, *g.stride(), first > 0,
        )  # fmt: skip


def _laid_out(
    x: TensorImpl, out: TensorImpl, window: Window
) -> Iterator[tuple[int, int, Plan, Scratch]]:
    """(first image, number of images, plan, tensor) of parts of x that are laid out for an output
    like `out`."""
    images, channels = x.shape[:2]
    plan = planned(window, 1, *x.shape[2:], *out.shape[2:])
    together = max(1, min(images, windows.CHUNK // (channels * plan.plane * x.itemsize)))
    laid = Scratch(together * channels * plan.plane, x.dtype)
    for first, n in chunks(images, together):
        lay_out(x, first, n, plan, window, laid)
        yield first, n, plan, laid


@kernel(signature="*T *T" + " i8" * 4)
def exchange_channels(begin, end, x, out, outputs, inputs, elements, blocks):
    """Weights (groups, outputs, inputs, elements) as (groups, inputs, outputs, elements), the
    elements backwards.

    One item of work is a block of `SIDE` inputs of a group."""
    for item in range(begin, end):
        group, first = item // blocks, item % blocks * SIDE
        base = group * outputs * inputs * elements
        for o in range(outputs):
            for i in range(first, min(first + SIDE, inputs)):
                at, to = base + (o * inputs + i) * elements, base + (i * outputs + o) * elements
                for e in range(elements):
                    out[to + e] = x[at + elements - 1 - e]


@kernel(signature="*T *T" + " i8" * 3)
def transpose(begin, end, x, out, rows, columns, blocks):
    """Matrices (n, rows, columns) as (n, columns, rows). One item of work is a block of `SIDE`
    columns of one."""
    for item in range(begin, end):
        matrix, first = item // blocks, item % blocks * SIDE
        base = matrix * rows * columns
        for r in range(rows):
            for c in range(first, min(first + SIDE, columns)):
                out[base + c * rows + r] = x[base + r * columns + c]


@kernel(signature="*T *T" + " i8" * 11)
def lay_out_pixels(
    begin, end, x, out, channels, rows, columns, height, width, top, left, x_n, x_c, x_h, x_w
):
    """Images (n, channels, height, width) as (n, rows, columns, channels), with zeros around from
    `top` and `left` on.

    One item of work is a row of an image."""
    for item in range(begin, end):
        n, y = item // rows, item % rows - top
        to = item * columns * channels
        if y < 0 or y >= height:
            for j in range(columns * channels):
                out[to + j] = T(0)
        else:
            for j in range(min(left, columns) * channels):
                out[to + j] = T(0)
            for j in range(min(left + width, columns) * channels, columns * channels):
                out[to + j] = T(0)
            at = n * x_n + y * x_h
            for first in range(0, channels, SIDE):
                last = min(first + SIDE, channels)
                for j in range(min(width, columns - left)):
                    for c in range(first, last):
                        out[to + (left + j) * channels + c] = x[at + c * x_c + j * x_w]


@kernel(signature="*T *T" + " i8" * 6)
def collect_weights(begin, end, x, out, inputs, kernel_h, kernel_w, x_output, x_h, x_w):
    """Gradients of weights, in the order kernel row, output, kernel column, input, as (outputs,
    inputs, kernel_h, kernel_w).

    One item of work is an output."""
    for o in range(begin, end):
        to = o * inputs * kernel_h * kernel_w
        for h in range(kernel_h):
            for w in range(kernel_w):
                at = o * x_output + h * x_h + w * x_w
                for c in range(inputs):
                    out[to + (c * kernel_h + h) * kernel_w + w] = x[at + c]


@kernel(signature="*T *T" + " i8" * 3)
def sum_channels(begin, end, x, out, images, channels, size):
    """The sums of the channels of x (images, channels, size). One item of work is a channel."""
    for c in range(begin, end):
        total = 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, PIECE):
                total += piece_sum(x, first, min(PIECE, at + size - first))
        out[c] = T(total)
