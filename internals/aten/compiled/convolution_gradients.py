"""The gradients of a convolution as products: the eager path of `native/convolution_backward.py` for large ones.

That of the input, where the stride is 1, is a convolution itself: every input pixel collects from the outputs it went into, so
the kernel is turned round and its channels are exchanged. With a larger stride each output's gradient is multiplied with the
weights, and the columns that come out are added up where they overlap (`add_columns`).

That of the weight is a sum over all places p of the output:

    dw[o, c, i, j] = sum over p of g[o, p] * x[c, pixel of p, moved by i and j]

For one kernel row it is the product of a matrix (outputs, places) with a matrix that has a row for each place: the pixels that
the kernel's row lies on, one channel after the other. With the channels of a pixel side by side in memory, as in `channels_last`,
these rows are the image itself again, and a table of offsets says where each begins.

How the real one differs: oneDNN has a kernel for each of the three directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, prod
from typing import Any

import numpy as np

from internals.core.tensor_impl import TensorImpl, array, backed_ptr, empty_contiguous

from ..native.memory_format import empty_as
from . import depthwise, layouts, windows
from . import rearranging as re
from .convolving import convolution, convolve
from .gemm import batched, best_tile, factors, gemm
from .layouts import GRAIN, Window, as_images, chunks, contiguous, fill_columns, image_at, window_of
from .ready import typed
from .scratch import Scratch, Table

PIXELS = 1 << 20  # bytes of images whose places are summed at once
ONE = Window((1, 1), (1, 1), (0, 0), (1, 1))
How = Sequence[Sequence[int]]


def gradients(
    g: TensorImpl, x: TensorImpl, weight: TensorImpl, how: How, transposed: bool, groups: int, mask: Sequence[bool]
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


def input_gradient(g: TensorImpl, weight: TensorImpl, bias: Any, sizes: Sequence[int], how: How, groups: int) -> Any:
    """What the input of a convolution, of `sizes`, gets back for a gradient g: the transposed convolution of g, plus `bias`.

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
            depthwise.gradient_of_input(g, weight, dx, window)
        else:
            _add_columns(g, weight, dx, window, groups)
        if bias is not None:
            array(dx)[...] += array(bias).reshape(-1, 1, 1)
    return out


def _exchanged(weight: TensorImpl, elements: int, groups: int) -> Scratch:
    """Weights (O, C/groups, *K) as (C, O/groups, *K), the kernels turned round."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    turned = Scratch(weight.numel(), weight.dtype)
    blocks = ceil(inputs / re.SIDE)
    typed(re.exchange_channels, re.EXCHANGE_CHANNELS, weight.dtype).parallel(
        groups * blocks, GRAIN // (outputs * elements * re.SIDE) + 1, backed_ptr(weight), turned.data_ptr(), outputs, inputs,
        elements, blocks,
    )  # fmt: skip
    return turned


def _add_columns(g: TensorImpl, weight: TensorImpl, dx: TensorImpl, window: Window, groups: int) -> None:
    """Gradients times weights are what each window gives back to its elements; an element adds up what it gets."""
    (images, outputs, height, width), (_, channels, dx_height, dx_width) = g.shape, dx.shape
    terms, plane = outputs // groups, height * width
    rows = channels // groups * prod(window.kernel)
    blocks = ceil(rows / re.SIDE)
    turned = Scratch(groups * rows * terms, g.dtype)
    typed(re.transpose, re.TRANSPOSE, g.dtype).parallel(
        groups * blocks, GRAIN // (terms * re.SIDE) + 1, backed_ptr(weight), turned.data_ptr(), terms, rows, blocks
    )
    together = min(images, max(1, layouts.CHUNK // (g.itemsize * plane * groups * rows)))
    places = together * plane
    joined = Scratch(outputs * places, g.dtype)
    matrix = Scratch(groups * rows * places, g.dtype)
    for first, n in chunks(images, together):
        fill_columns(g, first, n, (height, width), ONE, joined, places)
        batched(g.dtype, turned.data_ptr(), joined.data_ptr(), matrix.data_ptr(), (groups, rows, terms, places))
        typed(windows.add_columns, windows.ADD_COLUMNS, g.dtype).parallel(
            n * channels, GRAIN // (dx_height * dx_width) + 1, matrix.data_ptr(), image_at(dx, first), *window.kernel, channels,
            height, width, dx_height, dx_width, *window.padding, *window.stride, *window.dilation, places, plane, *dx.stride(),
        )  # fmt: skip


def weight_gradient(g: TensorImpl, x: TensorImpl, like: TensorImpl, how: How, groups: int) -> Any:
    """What a weight, like `like` (O, C/groups, *K), gets back for a gradient g (N, O, *S') and input x (N, C, *S)."""
    dw = empty_contiguous(like.shape, like.dtype)
    if not g.numel():
        array(dw).fill(0)
        return dw
    window, g, x = window_of(tuple(like.shape)[2:], *how), as_images(g), as_images(x)
    if groups > 1 and like.shape[1] == 1:
        depthwise.gradient_of_weight(g, x, dw, window)
        return dw
    (kernel_h, kernel_w), (step_h, step_w), _, (apart_h, apart_w) = window
    (images, outputs, height, width), channels = g.shape, x.shape[1]
    inputs, per_group = channels // groups, outputs // groups
    sizes = [(n - 1) * s + (k - 1) * d + 1 for n, (k, s, _, d) in zip((height, width), zip(*window))]
    row, image = sizes[1] * channels, sizes[0] * sizes[1] * channels
    together = min(images, max(1, PIXELS // (g.itemsize * image)))
    whole_rows = groups == 1 and apart_w == 1  # what a row of the kernel meets is one piece of memory
    piece = kernel_w * inputs if whole_rows else inputs
    tile = best_tile(g.dtype, per_group, piece, exact=True)
    line = kernel_w * inputs
    sums = Scratch(kernel_h * outputs * line, g.dtype)
    pixels = Scratch(together * image, g.dtype)
    joined = Scratch(outputs * together * height * width, g.dtype)
    a, b, c, item = joined.data_ptr(), pixels.data_ptr(), sums.data_ptr(), g.itemsize
    for first, n in chunks(images, together):
        lay_out_pixels(x, first, n, sizes, window, pixels)
        places = n * height * width
        fill_columns(g, first, n, (height, width), ONE, joined, places)
        offsets = _offsets_of_pixels((n, height, width), (image, step_h * row, step_w * channels))
        for group in range(groups):
            left, right, to = (
                address + number * group * item
                for address, number in ((a, per_group * places), (b, inputs), (c, per_group * line))
            )
            f = factors(tile, left, right, offsets, to, per_group, piece, line)._replace(adding=int(first > 0))
            if whole_rows:
                gemm(tile, f._replace(x_matrix=apart_h * row, out_matrix=outputs * line), kernel_h)
                continue
            for i in range(kernel_h):
                moved = f._replace(x=right + i * apart_h * row * item, out=to + i * outputs * line * item)
                gemm(tile, moved._replace(x_matrix=apart_w * channels, out_matrix=inputs), kernel_w)
    typed(re.collect_weights, re.COLLECT_WEIGHTS, g.dtype).parallel(
        outputs, GRAIN // (line * kernel_h) + 1, sums.data_ptr(), backed_ptr(dw), inputs, kernel_h, kernel_w, line,
        outputs * line, inputs,
    )  # fmt: skip
    return dw


def lay_out_pixels(x: TensorImpl, first: int, n: int, sizes: Sequence[int], window: Window, pixels: Scratch) -> None:
    """`n` images of x with a border, the channels of each pixel side by side."""
    _, channels, height, width = x.shape
    typed(re.lay_out_pixels, re.LAY_OUT_PIXELS, x.dtype).parallel(
        n * sizes[0], GRAIN // (sizes[1] * channels) + 1, image_at(x, first), pixels.data_ptr(), channels, *sizes, height, width,
        *window.padding, *x.stride(),
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
        typed(re.sum_channels, re.SUM_CHANNELS, g.dtype).parallel(
            g.shape[1], GRAIN // (images * size) + 1, backed_ptr(g), backed_ptr(db), images, g.shape[1], size
        )
    else:
        np.add.reduce(array(g), (0, *range(2, g.dim())), out=array(db))
    return db
