"""The gradients of a depthwise convolution, in which every output channel has one input channel (`native/Convolution.cpp`).

There is nothing to add up over channels, so these are no matrix products. Each gradient, times a weight, is given back to the
pixel it came from; and a weight's gradient is the sum over all places of gradient times pixel, the image being laid out with its
border, in phases (`windows.lay_out`), so that a row of places is a piece of memory.

The convolution itself, and the gradient of its input where the stride is 1, are a product after all (`convolving`), with one row.

How the real one differs: oneDNN has kernels of its own for depthwise convolutions, in blocks of 16 channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from internals.core.tensor_impl import TensorImpl, backed_ptr
from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED

from .layouts import CHUNK, GRAIN, Plan, Window, chunks, image_at, lay_out, planned
from .ready import typed
from .scratch import Scratch
from .windows import behind_inside, first_inside

INPUT_GRADIENT = "*T *T *T" + " i8" * 18
WEIGHT_GRADIENT = "*T *i8 *T *T" + " i8" * 13
T = template("T")


@kernel
def input_gradient(
    begin, end, g, weight, dx, kernel_h, kernel_w, outputs, channels, rows, places, height, width, top, left, step_h, step_w,
    apart_h, apart_w, g_n, g_c, g_h, g_w,
):  # fmt: skip
    """Planes (height, width) of zeros to which the gradients of (rows, places) are added, times weights. An item is a plane."""
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


@kernel
def weight_gradient(
    begin, end, x, offsets, g, dw, elements, outputs, channels, plane_size, columns, rows, places, images, g_n, g_c, g_h, g_w,
    adding,
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


def gradient_of_input(g: TensorImpl, weight: TensorImpl, dx: TensorImpl, window: Window) -> None:
    """Fill `dx` (N, C, H, W), which is row-major, with what it gets back for a gradient g (N, O, H', W')."""
    (images, channels, height, width), (outputs, rows, places) = dx.shape, g.shape[1:]
    typed(input_gradient, INPUT_GRADIENT, g.dtype).parallel(
        images * channels, GRAIN // (rows * places * prod(window.kernel)) + 1, backed_ptr(g), backed_ptr(weight), backed_ptr(dx),
        *window.kernel, outputs, channels, rows, places, height, width, *window.padding, *window.stride, *window.dilation,
        *g.stride(),
    )  # fmt: skip


def gradient_of_weight(g: TensorImpl, x: TensorImpl, dw: TensorImpl, window: Window) -> None:
    """Fill `dw` (O, 1, *K) with what it gets back for a gradient g (N, O, H', W') and input x (N, C, H, W)."""
    outputs, rows, places = g.shape[1:]
    for first, n, plan, laid in _laid_out(x, g, window):
        typed(weight_gradient, WEIGHT_GRADIENT, g.dtype).parallel(
            outputs, GRAIN // (n * rows * places * prod(window.kernel)) + 1, laid.data_ptr(), plan.offsets.address,
            image_at(g, first), backed_ptr(dw), prod(window.kernel), outputs, x.shape[1], plan.plane, plan.columns, rows, places,
            n, *g.stride(), first > 0,
        )  # fmt: skip


def _laid_out(x: TensorImpl, out: TensorImpl, window: Window) -> Iterator[tuple[int, int, Plan, Scratch]]:
    """(first image, number of images, plan, tensor) of parts of x that are laid out for an output like `out`."""
    images, channels = x.shape[:2]
    plan = planned(window, 1, *x.shape[2:], *out.shape[2:])
    together = max(1, min(images, CHUNK // (channels * plan.plane * x.itemsize)))
    laid = Scratch(together * channels * plan.plane, x.dtype)
    for first, n in chunks(images, together):
        lay_out(x, first, n, plan, window, laid)
        yield first, n, plan, laid
