"""softmax, log_softmax and their gradients: a row at a time
(`aten/src/ATen/native/cuda/SoftMax.cu`).

The lanes of a row go over it three times: for its largest element, for the sum of exp(x - largest),
and to write. Subtracting the largest changes no quotient, and keeps the exponentials from
overflowing. After the first time the row is in the cache.

The tensor is (outer, n, inner), and the elements of a row lie `inner` apart. For the last dimension
that is 1: then the lanes lie along x and read neighbours. Otherwise neighbouring rows are
neighbours in memory, so the rows of a block lie along x.

How the real one differs: it keeps rows of up to 1024 elements in the registers of one warp, longer
ones in shared memory, so that each element is read once; it reads 16 bytes at a time.
"""

from __future__ import annotations

import math

from internals.machine_code.records import Element, Elements

from ..language import device_function, kernel, template
from .block_reduction import lane_and_row
from .functors import maximum

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
largest_of_lanes = template("largest_of_lanes")
sum_of_lanes = template("sum_of_lanes")
value = template("value")  # value(x, largest, total): what is written for x
term = template("term")  # term(g, y): `total` is its sum over the row
gradient = template("gradient")  # gradient(g, y, total): what is written


@kernel
def softmax(out: Elements, source: Elements, rows: int, n: int, inner: int):
    """Each row of `n` elements, by the lanes of one row of the grid. `value` makes it softmax or
    log_softmax.
    """
    lane, lanes, row = lane_and_row()
    # how many elements this lane has; 0 beyond the last row, whose threads only take part in the
    # barriers
    elements = (n - lane + lanes - 1) // lanes if row < rows else 0
    # row = (outer, inner): the offset of this lane's first element
    first = row // inner * n * inner + row % inner + lane * inner
    step = lanes * inner

    largest = T(-math.inf)
    for k in range(elements):
        largest = maximum(largest, T(source[first + k * step]))
    largest = largest_of_lanes(largest)

    total = T(0)
    for k in range(elements):
        total += math.exp(T(source[first + k * step]) - largest)
    total = sum_of_lanes(total)

    for k in range(elements):
        at = first + k * step
        out[at] = OUT(value(T(source[at]), largest, total))


@device_function
def share(x: Element, largest: Element, total: Element):
    """`value` of softmax."""
    return math.exp(x - largest) / total


@device_function
def log_share(x: Element, largest: Element, total: Element):
    """`value` of log_softmax. The logarithm is taken of the sum: a quotient may underflow to 0,
    whose logarithm is -inf.
    """
    return x - largest - math.log(total)


@kernel
def softmax_backward(
    out: Elements, grad: Elements, result: Elements, rows: int, n: int, inner: int
):
    """The gradient of the input, row by row, from the gradient of the result and the result. `term`
    and `gradient` make it that of softmax or log_softmax.
    """
    lane, lanes, row = lane_and_row()
    elements = (n - lane + lanes - 1) // lanes if row < rows else 0
    first = row // inner * n * inner + row % inner + lane * inner
    step = lanes * inner

    total = T(0)
    for k in range(elements):
        at = first + k * step
        total += term(T(grad[at]), T(result[at]))
    total = sum_of_lanes(total)

    for k in range(elements):
        at = first + k * step
        out[at] = OUT(gradient(T(grad[at]), T(result[at]), total))


@device_function
def product(g: Element, y: Element):
    """`term` of softmax."""
    return g * y


@device_function
def softmax_gradient(g: Element, y: Element, total: Element):
    """`gradient` of softmax: y * (g - sum(g * y))."""
    return y * (g - total)


@device_function
def grad_alone(g: Element, y: Element):
    """`term` of log_softmax."""
    return g


@device_function
def log_softmax_gradient(g: Element, y: Element, total: Element):
    """`gradient` of log_softmax: g - softmax * sum(g), where softmax is exp(y)."""
    return g - math.exp(y) * total
