"""Arrays of a convolution in other orders: weights with their channels exchanged, images pixel by pixel.

The gradients of a convolution are products too (`convolution_gradients`), of matrices whose numbers lie in another order. In
each of these loops either what is read or what is written jumps. It is done for sixteen neighbours at a time, so that of every
cache line that is fetched all numbers are used before the next is.

How the real one differs: oneDNN calls this a reorder, and writes the code for each pair of layouts when it is first needed.
"""

from __future__ import annotations

from typing import Any

from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED

EXCHANGE_CHANNELS = "*T *T" + " i8" * 4
TRANSPOSE = "*T *T" + " i8" * 3
LAY_OUT_PIXELS = "*T *T" + " i8" * 11
COLLECT_WEIGHTS = "*T *T" + " i8" * 6
SUM_CHANNELS = "*T *T" + " i8" * 3
T = template("T")
SIDE = 16
PIECE = 512  # elements that are added up in any order, before their sum is added to others in double precision


@kernel
def exchange_channels(begin, end, x, out, outputs, inputs, elements, blocks):
    """Weights (groups, outputs, inputs, elements) as (groups, inputs, outputs, elements), the elements backwards.

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
def transpose(begin, end, x, out, rows, columns, blocks):
    """Matrices (n, rows, columns) as (n, columns, rows). One item of work is a block of `SIDE` columns of one."""
    for item in range(begin, end):
        matrix, first = item // blocks, item % blocks * SIDE
        base = matrix * rows * columns
        for r in range(rows):
            for c in range(first, min(first + SIDE, columns)):
                out[base + c * rows + r] = x[base + r * columns + c]


@kernel
def lay_out_pixels(begin, end, x, out, channels, rows, columns, height, width, top, left, x_n, x_c, x_h, x_w):
    """Images (n, channels, height, width) as (n, rows, columns, channels), with zeros around from `top` and `left` on.

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


@kernel
def collect_weights(begin, end, x, out, inputs, kernel_h, kernel_w, x_output, x_h, x_w):
    """Gradients of weights, in the order kernel row, output, kernel column, input, as (outputs, inputs, kernel_h, kernel_w).

    One item of work is an output."""
    for o in range(begin, end):
        to = o * inputs * kernel_h * kernel_w
        for h in range(kernel_h):
            for w in range(kernel_w):
                at = o * x_output + h * x_h + w * x_w
                for c in range(inputs):
                    out[to + (c * kernel_h + h) * kernel_w + w] = x[at + c]


@kernel
def sum_channels(begin, end, x, out, images, channels, size):
    """The sums of the channels of x (images, channels, size). One item of work is a channel."""
    for c in range(begin, end):
        total = 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, PIECE):
                total += piece_sum(x, first, min(PIECE, at + size - first))
        out[c] = T(total)


@inline(fastmath=SUM_MAY_BE_REORDERED)
def piece_sum(x: Any, at: int, n: int) -> Any:
    """The sum of n elements."""
    total = T(0)
    for i in range(n):
        total += x[at + i]
    return total
