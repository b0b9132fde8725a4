"""softmax, log_softmax and their gradients: a row at a time
(`aten/src/ATen/native/cuda/SoftMax.cu`).

The lanes of a row go over it three times: for its largest element, for the sum of the exponentials
of what is left when that is subtracted, and to write. After the first time the row is in the cache.
Elements of a row lie `inner` apart: 1 for the last dimension, where the lanes lie along x and read
neighbours; otherwise neighbouring rows are neighbours in memory, and it is the rows of a block that
lie along x.

How the real one differs: rows of up to 1024 elements are kept in the registers of one warp, longer
ones in shared memory, so that each element is read once; it reads 16 bytes at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..language import device_function, kernel, template
from .block_reduction import lane_and_row
from .functors import maximum

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
largest_of_lanes = template("largest_of_lanes")
sum_of_lanes = template("sum_of_lanes")
value = template("value")  # value(x, largest, total): what is written for x
term = template("term")  # term(g, y): what the gradient needs the sum of
gradient = template("gradient")  # gradient(g, y, total)


@kernel
def softmax(out: Elements, source: Elements, rows: int, n: int, inner: int):
    """One row of `n` elements for each `row` of the grid."""
    lane, lanes, row = lane_and_row()
    # beyond the last row: only part of the barriers
    mine = (n - lane + lanes - 1) // lanes if row < rows else 0
    first = row // inner * n * inner + row % inner + lane * inner
    step = lanes * inner

    largest = T(-math.inf)
    for k in range(mine):
        largest = maximum(largest, T(source[first + k * step]))
    largest = largest_of_lanes(largest)

    total = T(0)
    for k in range(mine):
        total += math.exp(T(source[first + k * step]) - largest)
    total = sum_of_lanes(total)

    for k in range(mine):
        at = first + k * step
        out[at] = OUT(value(T(source[at]), largest, total))


@device_function
def share(x: Element, largest: Element, total: Element):
    """softmax."""
    return math.exp(x - largest) / total


@device_function
def log_share(x: Element, largest: Element, total: Element):
    """log_softmax: the logarithm of the sum, not of the quotient."""
    return x - largest - math.log(total)


@kernel
def softmax_backward(
    out: Elements, grad: Elements, result: Elements, rows: int, n: int, inner: int
):
    """The gradient of a row from that of its result, and the result."""
    lane, lanes, row = lane_and_row()
    mine = (n - lane + lanes - 1) // lanes if row < rows else 0
    first = row // inner * n * inner + row % inner + lane * inner
    step = lanes * inner

    total = T(0)
    for k in range(mine):
        at = first + k * step
        total += term(T(grad[at]), T(result[at]))
    total = sum_of_lanes(total)

    for k in range(mine):
        at = first + k * step
        out[at] = OUT(gradient(T(grad[at]), T(result[at]), total))


@device_function
def product(g: Element, y: Element):
    return g * y


@device_function
def softmax_gradient(g: Element, y: Element, total: Element):
    return y * (g - total)


@device_function
def grad_alone(g: Element, y: Element):
    return g


@device_function
def log_softmax_gradient(g: Element, y: Element, total: Element):
    return g - math.exp(y) * total
