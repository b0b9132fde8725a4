"""The gradients of a convolution as matrix products: the eager path of
`native/convolution_backward.py` for large ones.

The input's gradient is a convolution itself where the stride is 1: every input pixel collects from
the outputs it went into, so the kernel is flipped and its channels are exchanged. With a larger
stride each output's gradient is multiplied by the weights, and the resulting columns are added up
where they overlap (`add_columns`).

The weight's gradient is a sum over all places p of the output:

    dw[o, c, i, j] = sum over p of g[o, p] * x[c, pixel of p, moved by i and j]

For one kernel row it is the product of a matrix (outputs, places) with a matrix that has a row for
each place: the pixels under the kernel's row, with all channels of each. Where the channels of a
pixel are neighbours in memory, as in `channels_last`, each of these rows is a piece of the image,
and a table of offsets says where it begins.

Where every output channel has one input channel (depthwise), there is nothing to add up over
channels, hence no matrix product: each gradient, times a weight, is given back to the pixel it came
from, and a weight's gradient is the sum over all places of gradient times pixel.

The loops stand at the end. Those that reorder an array make jumps in memory, either where they read
or where they write. They handle sixteen neighbours at a time, so that all numbers of a cache line
are used before the next one is fetched.

How the real one differs: oneDNN has a kernel for each of the three directions, others for depthwise
convolutions, and writes the code of a reorder for each pair of layouts when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import Tensor, array, empty_contiguous
from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED
from internals.machine_code.records import Elements, Indices, Values

from ..native.memory_format import empty_as
from . import windows
from .convolving import convolution, convolve
from .entries import run_typed
from .gemm import batched, best_tile, factors, gemm
from .row_functions import SUM_CHUNK, chunk_sum
from .scratch import Scratch, Table
from .windows import (
    GRAIN,
    Columns,
    Pair,
    Plan,
    Strides,
    Window,
    add_columns,
    as_images,
    chunks,
    contiguous,
    end_inside,
    fill_columns,
    first_inside,
    image_at,
    lay_out,
    planned,
    window_of,
)

PIXELS = 1 << 20  # bytes of images that are laid out and summed at once
SIDE = 16  # neighbours that a reordering loop handles at a time
T = template("T")  # the dtype
ONE = Window(Pair(1, 1), Pair(1, 1), Pair(0, 0), Pair(1, 1))  # 1x1: columns are the pixels
How = Sequence[Sequence[int]]  # stride, padding, dilation


def gradients(
    g: Tensor,
    x: Tensor,
    weight: Tensor,
    how: How,
    transposed: bool,
    groups: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(gradient of x, of weight, of bias), given the output's gradient g; None for those that
    `mask` does not ask for. With `transposed` they are those of a transposed convolution."""
    dx = dw = db = None
    if mask[0] and transposed:
        dx = convolution(g, weight, None, x.shape, how, groups)
    elif mask[0]:
        dx = input_gradient(g, weight, None, x.shape, how, groups)
    if mask[1]:
        # a transposed convolution is the gradient of one: g and x have changed places
        small, large = (x, g) if transposed else (g, x)
        dw = weight_gradient(small, large, weight, how, groups)
    if mask[2]:
        db = bias_gradient(g)
    return dx, dw, db


def input_gradient(
    g: Tensor, weight: Tensor, bias: Tensor | None, sizes: Sequence[int], how: How, groups: int
) -> Any:
    """The gradient of a convolution's input, of `sizes`, given the output's gradient g: the
    transposed convolution of g, plus `bias`.

    `how` is stride, padding and dilation of the convolution."""
    out = empty_as(g, sizes)
    if not out.numel():
        return out
    window = window_of(tuple(weight.shape)[2:], *how)
    # the padding that the convolution of g needs to come out with the size of the input
    reach = [(k - 1) * d - p for k, d, p in zip(window.kernel, window.dilation, window.padding)]
    g, weight, dx = as_images(g), contiguous(weight), as_images(out)
    if window.stride == (1, 1) and min(reach) >= 0:
        flipped = Window(window.kernel, Pair(1, 1), Pair(*reach), window.dilation)
        exchanged = _swapped(weight, prod(window.kernel), groups)
        convolve(g, exchanged.address, bias, dx, flipped, groups)
    else:
        if groups > 1 and weight.shape[1] == 1 and dx.is_contiguous():
            depthwise_dx(g, weight, dx, window)
        else:
            _add_columns(g, weight, dx, window, groups)
        if bias is not None:
            array(dx)[...] += array(bias).reshape(-1, 1, 1)
    return out


def _swapped(weight: Tensor, elements: int, groups: int) -> Scratch:
    """Weights (O, C/groups, *K) as (C, O/groups, *K), with the kernels flipped."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    swapped = Scratch(weight.numel(), weight.dtype)
    blocks = ceil(inputs / SIDE)
    sizes = outputs, inputs, elements, blocks
    grain = GRAIN // (outputs * elements * SIDE) + 1
    run_typed(swap_channels, weight.dtype, groups * blocks, grain, weight, swapped, sizes)
    return swapped


def _add_columns(g: Tensor, weight: Tensor, dx: Tensor, window: Window, groups: int) -> None:
    """Fill `dx` (N, C, *image): the product of weights and gradients has what each window gives
    back to its elements, and each element adds up what it gets.
    """
    (images, outputs, *size), (_, channels, *image) = g.shape, dx.shape
    terms, plane = outputs // groups, prod(size)
    rows = channels // groups * prod(window.kernel)
    blocks = ceil(rows / SIDE)
    transposed = Scratch(groups * rows * terms, g.dtype)  # weights, (groups, rows, terms)
    grain = GRAIN // (terms * SIDE) + 1
    run_typed(transpose, g.dtype, groups * blocks, grain, weight, transposed, terms, rows, blocks)
    per_chunk = min(images, max(1, windows.CHUNK // (g.itemsize * plane * groups * rows)))
    places = per_chunk * plane
    g_matrix = Scratch(outputs * places, g.dtype)  # gradients, (groups, terms, places)
    matrix = Scratch(groups * rows * places, g.dtype)  # their product, (groups, rows, places)
    sizes = channels, Pair(*size), Pair(*image)
    how = Columns(window, *sizes, places, plane, Strides(*dx.stride()))
    for first, n in chunks(images, per_chunk):
        fill_columns(g, first, n, Pair(*size), ONE, g_matrix, places)
        addresses = transposed.address, g_matrix.address, matrix.address
        batched(g.dtype, *addresses, (groups, rows, terms, places))
        run_typed(
            add_columns, g.dtype, n * channels, GRAIN // prod(image) + 1, matrix,
            image_at(dx, first), how,
        )  # fmt: skip


def weight_gradient(g: Tensor, x: Tensor, like: Tensor, how: How, groups: int) -> Any:
    """The gradient of a weight, of the shape of `like` (O, C/groups, *K), given the output's
    gradient g (N, O, *S') and the input x (N, C, *S).
    """
    dw = empty_contiguous(like.shape, like.dtype)
    if not g.numel():
        array(dw).fill(0)
        return dw
    window, g, x = window_of(tuple(like.shape)[2:], *how), as_images(g), as_images(x)
    if groups > 1 and like.shape[1] == 1:
        depthwise_dw(g, x, dw, window)
        return dw
    (kernel_h, kernel_w), (stride_h, stride_w), _, (dilation_h, dilation_w) = window
    (images, outputs, height, width), channels = g.shape, x.shape[1]
    inputs, per_group = channels // groups, outputs // groups
    # the rows and columns of the padded image that windows lie on
    sizes = [
        (n - 1) * s + (k - 1) * d + 1 for n, (k, s, _, d) in zip((height, width), zip(*window))
    ]
    row, image = sizes[1] * channels, sizes[0] * sizes[1] * channels
    per_chunk = min(images, max(1, PIXELS // (g.itemsize * image)))
    # the pixels under a kernel's row are one piece of memory, unless other groups' channels or
    # skipped pixels lie between them
    whole_rows = groups == 1 and dilation_w == 1
    piece = kernel_w * inputs if whole_rows else inputs
    # exact: `gemm` repeats the last row to fill a tile, and that would be added twice
    tile = best_tile(g.dtype, per_group, piece, exact=True)
    line = kernel_w * inputs
    sums = Scratch(kernel_h * outputs * line, g.dtype)  # (kernel_h, O, kernel_w, inputs)
    pixels = Scratch(per_chunk * image, g.dtype)  # (images, *sizes, C)
    g_matrix = Scratch(outputs * per_chunk * height * width, g.dtype)  # (O, places)
    a, b, c, item = g_matrix.address, pixels.address, sums.address, g.itemsize
    for first, n in chunks(images, per_chunk):
        _lay_out_pixels(x, first, n, sizes, window, pixels)
        places = n * height * width
        fill_columns(g, first, n, (height, width), ONE, g_matrix, places)
        offsets = _offsets_of_pixels(
            (n, height, width), (image, stride_h * row, stride_w * channels)
        )
        for group in range(groups):
            left, right, to = (
                address + number * group * item
                for address, number in ((a, per_group * places), (b, inputs), (c, per_group * line))
            )
            # (outputs, places) @ (places, piece), added to the sums of the images before
            f = factors(tile, left, right, offsets, to, per_group, piece, line)._replace(
                adding=int(first > 0)
            )
            if whole_rows:  # one product for each kernel row; below, for each kernel element
                gemm(
                    tile, f._replace(x_matrix=dilation_h * row, out_matrix=outputs * line), kernel_h
                )
                continue
            for i in range(kernel_h):
                moved = f._replace(
                    x=right + i * dilation_h * row * item, out=to + i * outputs * line * item
                )
                gemm(
                    tile,
                    moved._replace(x_matrix=dilation_w * channels, out_matrix=inputs),
                    kernel_w,
                )
    sizes_of_sums = inputs, kernel_h, kernel_w, line, outputs * line, inputs
    grain = GRAIN // (line * kernel_h) + 1
    run_typed(collect_weights, g.dtype, outputs, grain, sums, dw, sizes_of_sums)
    return dw


def _lay_out_pixels(
    x: Tensor, first: int, n: int, sizes: Sequence[int], window: Window, pixels: Scratch
) -> None:
    """Fill `pixels` (n, *sizes, C): images of x from `first` on, with their border of zeros."""
    _, channels, *image = x.shape
    how = Pixels(channels, Pair(*sizes), Pair(*image), window.padding, Strides(*x.stride()))
    grain = GRAIN // (sizes[1] * channels) + 1
    run_typed(lay_out_pixels, x.dtype, n * sizes[0], grain, image_at(x, first), pixels, how)


@lru_cache(maxsize=64)
def _offsets_of_pixels(sizes: tuple[int, ...], steps: tuple[int, ...]) -> Table:
    """Where the window of each place begins, for places of `sizes` (images, height, width), which
    lie `steps` apart in the pixels."""
    image, row, column = (np.arange(n, dtype=np.int64) * step for n, step in zip(sizes, steps))
    return Table((image[:, None, None] + row[:, None] + column).reshape(-1))


def bias_gradient(g: Tensor) -> Any:
    """The sum of each channel of g (N, C, *S), of shape (C,)."""
    db = empty_contiguous((g.shape[1],), g.dtype)
    images, size = g.shape[0], prod(g.shape[2:])
    if g.is_contiguous() and g.numel():
        channels, grain = g.shape[1], GRAIN // (images * size) + 1
        run_typed(sum_channels, g.dtype, channels, grain, g, db, images, channels, size)
    else:
        np.add.reduce(array(g), (0, *range(2, g.dim())), out=array(db))
    return db


class Depthwise(NamedTuple):
    """The sizes of a depthwise convolution, as its kernels take them."""

    window: Window
    outputs: int
    channels: int
    image: Pair  # the size of a plane of the input
    places: Pair  # the size of a plane of the gradient
    g: Strides


@kernel
def depthwise_input_gradient(
    begin: int, end: int, g: Values, weight: Values, dx: Values, how: Depthwise
) -> None:
    """dx (N, C, H, W): planes of zeros to which the gradients, times weights, are added. One item
    of work is a plane."""
    kernel, stride, padding, dilation = how.window
    (height, width), (rows, places) = how.image, how.places
    multiple = how.outputs // how.channels
    for plane in range(begin, end):
        n, c, to = plane // how.channels, plane % how.channels, plane * height * width
        for i in range(height * width):
            dx[to + i] = T(0)
        for o in range(c * multiple, c * multiple + multiple):
            for e in range(kernel.h * kernel.w):
                w = weight[o * kernel.h * kernel.w + e]
                # element e of the window at place (i, j) lies on the pixel (i * stride.h + shift_h,
                # j * stride.w + shift_w), which is inside for rows y and for j in first..last
                shift_h = e // kernel.w * dilation.h - padding.h
                shift_w = e % kernel.w * dilation.w - padding.w
                first = min(first_inside(stride.w, shift_w), places)
                last = max(first, end_inside(stride.w, shift_w, width, places))
                for i in range(rows):
                    y, at = i * stride.h + shift_h, n * how.g.n + o * how.g.c + i * how.g.h
                    if y >= 0 and y < height:
                        row = to + y * width + shift_w
                        for j in range(first, last):
                            dx[row + j * stride.w] += w * g[at + j * how.g.w]


@kernel
def depthwise_weight_gradient(
    begin: int, end: int, x: Values, offsets: Indices, g: Values, dw: Values, how: Depthwise,
    images: int, plane_size: int, columns: int, adding: int,
) -> None:  # fmt: skip
    """dw[o, e], the sum over all places of gradient times pixel, or added to it; x is laid out, in
    planes with rows of `columns`. One item of work is an output channel."""
    (rows, places), elements = how.places, how.window.kernel.h * how.window.kernel.w
    for o in range(begin, end):
        source = o // (how.outputs // how.channels) * plane_size
        for e in range(elements):
            total = 0.0
            for n in range(images):
                for i in range(rows):
                    at = source + n * how.channels * plane_size + offsets[e] + i * columns
                    from_ = n * how.g.n + o * how.g.c + i * how.g.h
                    total += row_product(x, at, g, from_, how.g.w, places)
            dw[o * elements + e] = dw[o * elements + e] + T(total) if adding else T(total)


@inline(fastmath=SUM_MAY_BE_REORDERED)
def row_product(x: Elements, at: int, g: Elements, from_: int, step: int, n: int) -> Any:
    """The sum of x[at + j] * g[from_ + j * step] for n numbers."""
    total = T(0)
    if step == 1:  # a loop of its own, as vector loads need neighbours
        for j in range(n):
            total += x[at + j] * g[from_ + j]
    else:
        for j in range(n):
            total += x[at + j] * g[from_ + j * step]
    return total


def depthwise_dx(g: Tensor, weight: Tensor, dx: Tensor, window: Window) -> None:
    """Fill `dx` (N, C, H, W), which is row-major, given the output's gradient g (N, O, H', W')."""
    how = _depthwise(g, dx, window)
    planes, grain = dx.shape[0] * how.channels, _depthwise_grain(1, how)
    run_typed(depthwise_input_gradient, g.dtype, planes, grain, g, weight, dx, how)


def depthwise_dw(g: Tensor, x: Tensor, dw: Tensor, window: Window) -> None:
    """Fill `dw` (O, 1, *K), given the output's gradient g (N, O, H', W') and the input x (N, C, H,
    W)."""
    how = _depthwise(g, x, window)
    for first, n, plan, laid in _laid_out(x, g, window):
        run_typed(
            depthwise_weight_gradient, g.dtype, how.outputs, _depthwise_grain(n, how), laid,
            plan.offsets, image_at(g, first), dw, how, n, plan.plane, plan.columns, first > 0,
        )  # fmt: skip


def _depthwise(g: Tensor, x: Tensor, window: Window) -> Depthwise:
    (_, channels, *image), (_, outputs, *places) = x.shape, g.shape
    return Depthwise(window, outputs, channels, Pair(*image), Pair(*places), Strides(*g.stride()))


def _depthwise_grain(images: int, how: Depthwise) -> int:
    return GRAIN // (images * prod(how.places) * prod(how.window.kernel)) + 1


def _laid_out(x: Tensor, out: Tensor, window: Window) -> Iterator[tuple[int, int, Plan, Scratch]]:
    """(first image, number of images, plan, memory) for parts of x, laid out for an output of the
    size of `out`. The memory is used again for the next part."""
    images, channels = x.shape[:2]
    plan = planned(window, 1, *x.shape[2:], *out.shape[2:])
    per_chunk = max(1, min(images, windows.CHUNK // (channels * plan.plane * x.itemsize)))
    laid = Scratch(per_chunk * channels * plan.plane, x.dtype)
    for first, n in chunks(images, per_chunk):
        lay_out(x, first, n, plan, window, laid)
        yield first, n, plan, laid


@kernel
def swap_channels(
    begin: int, end: int, x: Values, out: Values, outputs: int, inputs: int, elements: int,
    blocks: int,
) -> None:  # fmt: skip
    """Weights (groups, outputs, inputs, elements) as (groups, inputs, outputs, elements), with the
    elements in reverse.

    One item of work is a block of `SIDE` inputs of a group."""
    for item in range(begin, end):
        group, first = item // blocks, item % blocks * SIDE
        base = group * outputs * inputs * elements
        for o in range(outputs):
            for i in range(first, min(first + SIDE, inputs)):
                at, to = base + (o * inputs + i) * elements, base + (i * outputs + o) * elements
                for e in range(elements):
                    out[to + e] = x[at + elements - 1 - e]


@kernel
def transpose(
    begin: int, end: int, x: Values, out: Values, rows: int, columns: int, blocks: int
) -> None:
    """Matrices (n, rows, columns) as (n, columns, rows). One item of work is a block of `SIDE`
    columns of one matrix."""
    for item in range(begin, end):
        matrix, first = item // blocks, item % blocks * SIDE
        base = matrix * rows * columns
        for r in range(rows):
            for c in range(first, min(first + SIDE, columns)):
                out[base + c * rows + r] = x[base + r * columns + c]


class Pixels(NamedTuple):
    """The sizes for `lay_out_pixels`."""

    channels: int
    size: Pair  # of the images with their border
    image: Pair  # of the images without it
    padding: Pair
    x: Strides


@kernel
def lay_out_pixels(begin: int, end: int, x: Values, out: Values, how: Pixels) -> None:
    """Images (N, C, H, W) as (N, *size, C), with zeros around them.

    One item of work is a row of `size`."""
    (rows, columns), (height, width), (top, left) = how.size, how.image, how.padding
    channels = how.channels
    for item in range(begin, end):
        n, y = item // rows, item % rows - top
        to = item * columns * channels
        if y < 0 or y >= height:  # above or below the image
            for j in range(columns * channels):
                out[to + j] = T(0)
        else:  # zeros on the left, zeros on the right, then the pixels between them
            for j in range(min(left, columns) * channels):
                out[to + j] = T(0)
            for j in range(min(left + width, columns) * channels, columns * channels):
                out[to + j] = T(0)
            at = n * how.x.n + y * how.x.h
            for first in range(0, channels, SIDE):
                last = min(first + SIDE, channels)
                for j in range(min(width, columns - left)):
                    for c in range(first, last):
                        out[to + (left + j) * channels + c] = x[at + c * how.x.c + j * how.x.w]


@kernel
def collect_weights(
    begin: int, end: int, x: Values, out: Values, inputs: int, kernel_h: int, kernel_w: int,
    x_output: int, x_h: int, x_w: int,
) -> None:  # fmt: skip
    """Gradients of weights (kernel_h, outputs, kernel_w, inputs), the order of the products, as
    (outputs, inputs, kernel_h, kernel_w).

    One item of work is an output."""
    for o in range(begin, end):
        to = o * inputs * kernel_h * kernel_w
        for h in range(kernel_h):
            for w in range(kernel_w):
                at = o * x_output + h * x_h + w * x_w
                for c in range(inputs):
                    out[to + (c * kernel_h + h) * kernel_w + w] = x[at + c]


@kernel
def sum_channels(
    begin: int, end: int, x: Values, out: Values, images: int, channels: int, size: int
) -> None:
    """The sums of the channels of x (images, channels, size). One item of work is a channel."""
    for c in range(begin, end):
        total = 0.0  # in double precision; each chunk is summed in the dtype of x
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, SUM_CHUNK):
                total += chunk_sum(x, first, min(SUM_CHUNK, at + size - first))
        out[c] = T(total)
