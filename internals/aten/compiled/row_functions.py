"""The work of a kernel on one row: `row_sum`, `row_largest`, ... of n elements from `start` on,
`stride` apart.

They are inlined, so a kernel that calls one with stride 1 gets a loop that LLVM can turn into
vector instructions. Two kinds of loop need help for that:

A sum is a chain of additions, each waiting for the one before. A function that allows another order
(`SUM_MAY_BE_REORDERED`) gets many chains at a time. The numbers are added up in double precision,
so that for float32 the order hardly changes the result; float64 numbers are added up in blocks.

LLVM makes no vector instructions of a search for the largest float in which NaN wins. But the bits
of a float, read as an integer, order as the float does, if all bits but the sign are flipped in
negative ones: `key`. The keys of NaNs, of either sign, lie beyond those of the infinities. So the
largest and the smallest key, as integers, tell the result and whether there was a NaN.

For columns, `columns_softmax`, ... do a tile of them, `left` to `right`. The numbers that belong to
columns (largest elements, sums) lie in arrays with one number for each, from `here` on. Element j
of row i is x[top + i * stride + j]: each loop over j runs over neighbours in memory, so LLVM makes
vector instructions of it without help.

How the real one differs: the same loops stand in `vec_reduce_all` and `RowwiseMoments`
(`aten/src/ATen/native/cpu`), with vectors spelled out; `cascade_sum` adds float32 in single
precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import float32, float64, int32, int64

from internals.machine_code import inline, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED
from internals.machine_code.records import Elements
from internals.machine_code.vector_math import exp

# the dtype of the elements, and of the arithmetic where it is not in double precision
T = template("T")
W = template("W")  # the dtype of sums: float64 for floats, int64 for integers
key = template("key")  # the integer that orders as an element does
from_key = template("from_key")  # back from the integer
term = template("term")  # maps each element before it is added
BLOCK = 1024  # elements that are added up in any order, as W
# elements that are added up in any order, as T, before their sum is added to others in double
# precision
SUM_CHUNK = 512


@inline
def chunk_of_row(unit: int, n: int, chunk: int, chunks: int, outer_stride: int) -> Any:
    """(first element, number of elements) of chunk `unit`; each row of n has `chunks` chunks."""
    row = unit // chunks
    first = (unit - row * chunks) * chunk
    return row * outer_stride + first, min(chunk, n - first)


@inline
def tile_of_columns(unit: int, inner: int, tile: int, tiles: int) -> Any:
    """(the block, first column, end column) of tile `unit`; each block of `inner` columns has
    `tiles` tiles."""
    block = unit // tiles
    left = (unit - block * tiles) * tile
    return block, left, min(left + tile, inner)


@inline
def identity(v: float) -> Any:
    """A `term` for sums, and the `key` of integers."""
    return v


@inline
def square(v: float) -> Any:
    """The `term` of norms of order 2."""
    return v * v


@inline
def magnitude(v: float) -> Any:
    """The `term` of norms of order 1."""
    return abs(v)


@inline
def row_sum(x: Elements, start: int, n: int, stride: int) -> Any:
    """The sum of term(x), as a W."""
    total = W(0)
    for first in range(0, n, BLOCK):
        total += block_sum(x, start + first * stride, min(BLOCK, n - first), stride)
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_sum(x: Elements, start: int, n: int, stride: int) -> Any:
    """`row_sum` of a block, in any order."""
    total = W(0)
    for i in range(n):
        total += term(W(x[start + i * stride]))
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def chunk_sum(x: Elements, at: int, n: int) -> Any:
    """The sum of n elements, as a T."""
    total = T(0)
    for i in range(n):
        total += x[at + i]
    return total


@inline
def row_product(x: Elements, start: int, n: int, stride: int) -> Any:
    """The product of the elements, as a W."""
    total = W(1)
    for first in range(0, n, BLOCK):
        total *= block_product(x, start + first * stride, min(BLOCK, n - first), stride)
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_product(x: Elements, start: int, n: int, stride: int) -> Any:
    """`row_product` of a block, in any order."""
    total = W(1)
    for i in range(n):
        total *= W(x[start + i * stride])
    return total


@inline
def float32_key(v: float) -> Any:
    """The integer that orders as a float32 does."""
    b = float32(v).view(int32)
    # b >> 31 is -1, all ones, for a negative number, else 0: flips all bits but the sign, or none
    return int32(b ^ int32(int32(b >> int32(31)) & int32(0x7FFFFFFF)))


@inline
def float64_key(v: float) -> Any:
    """The integer that orders as a float64 does."""
    b = float64(v).view(int64)
    return b ^ ((b >> 63) & 0x7FFFFFFFFFFFFFFF)


@inline
def float32_from_key(largest: int, smallest: int, wanted: int) -> Any:
    """The float of the key `wanted`, or NaN if one of the two extreme keys is a NaN's: 0x7F800000
    is the key of inf, -0x7F800001 that of -inf."""
    k = int32(wanted)
    v = int32(k ^ int32(int32(k >> int32(31)) & int32(0x7FFFFFFF))).view(float32)
    return float32(math.nan) if largest > 0x7F800000 or smallest < -0x7F800001 else v


@inline
def float64_from_key(largest: int, smallest: int, wanted: int) -> Any:
    """`float32_from_key` for float64."""
    v = int64(wanted ^ ((wanted >> 63) & 0x7FFFFFFFFFFFFFFF)).view(float64)
    return (
        float64(math.nan) if largest > 0x7FF0000000000000 or smallest < -0x7FF0000000000001 else v
    )


@inline
def integer_from_key(largest: int, smallest: int, wanted: int) -> Any:
    """The integer itself: it is its own key, and there is no NaN."""
    return T(wanted)


@inline
def row_largest(x: Elements, start: int, n: int, stride: int) -> Any:
    """The largest of at least one element; NaN if there is one. +0 counts as larger than -0."""
    largest, smallest = row_extreme_keys(x, start, n, stride)
    return from_key(largest, smallest, largest)


@inline
def row_smallest(x: Elements, start: int, n: int, stride: int) -> Any:
    """The smallest of at least one element; NaN if there is one."""
    largest, smallest = row_extreme_keys(x, start, n, stride)
    return from_key(largest, smallest, smallest)


@inline
def row_extreme_keys(x: Elements, start: int, n: int, stride: int) -> Any:
    """(the largest key, the smallest key) of at least one element."""
    largest = key(x[start])
    smallest = largest
    for i in range(n):
        k = key(x[start + i * stride])
        largest = max(largest, k)
        smallest = min(smallest, k)
    return largest, smallest


@inline
def row_mean(x: Elements, start: int, n: int, stride: int) -> Any:
    """The mean of term(x), as a W."""
    return row_sum(x, start, n, stride) / W(n)


@inline
def row_squared_distances(x: Elements, start: int, n: int, stride: int, center: float) -> Any:
    """The sum of (x - center)^2, as a W. Around the mean, and divided by n, it is the variance."""
    total = W(0)
    for first in range(0, n, BLOCK):
        total += block_squared_distances(
            x, start + first * stride, min(BLOCK, n - first), stride, center
        )
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_squared_distances(x: Elements, start: int, n: int, stride: int, center: float) -> Any:
    """`row_squared_distances` of a block, in any order."""
    total = W(0)
    for i in range(n):
        distance = W(x[start + i * stride]) - center
        total += distance * distance
    return total


@inline
def row_exp_sum(x: Elements, start: int, n: int, stride: int, shift: float) -> Any:
    """The sum of exp(x - shift), as a W."""
    total = W(0)
    for first in range(0, n, BLOCK):
        total += W(block_exp_sum(x, start + first * stride, min(BLOCK, n - first), stride, shift))
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_exp_sum(x: Elements, start: int, n: int, stride: int, shift: float) -> Any:
    """`row_exp_sum` of a block, in any order, as a T."""
    total = T(0)
    for i in range(n):
        total += exp(x[start + i * stride] - shift)
    return total


@inline
def row_exp(x: Elements, out: Elements, start: int, n: int, stride: int, shift: float) -> Any:
    """Write exp(x - shift) to `out`. Returns their sum, as a W."""
    total = W(0)
    for first in range(0, n, BLOCK):
        total += W(block_exp(x, out, start + first * stride, min(BLOCK, n - first), stride, shift))
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_exp(x: Elements, out: Elements, start: int, n: int, stride: int, shift: float) -> Any:
    """`row_exp` of a block; the sum is a T."""
    total = T(0)
    for i in range(n):
        e = exp(x[start + i * stride] - shift)
        out[start + i * stride] = e
        total += e
    return total


@inline
def row_softmax(x: Elements, out: Elements, start: int, n: int, stride: int) -> Any:
    """out = exp(x) divided by its sum. The largest element is subtracted first: it changes nothing
    in the quotient, and exp cannot overflow."""
    total = row_exp(x, out, start, n, stride, row_largest(x, start, n, stride))
    factor = T(W(1) / total)
    for i in range(n):
        out[start + i * stride] *= factor


@inline
def row_log_softmax(x: Elements, out: Elements, start: int, n: int, stride: int) -> Any:
    """out = the logarithm of softmax: x - largest - log of the sum of exp(x - largest)."""
    largest = row_largest(x, start, n, stride)
    log_total = T(math.log(row_exp_sum(x, start, n, stride, largest)))
    for i in range(n):
        out[start + i * stride] = (x[start + i * stride] - largest) - log_total


@inline
def row_product_sum(x: Elements, y: Elements, start: int, n: int, stride: int) -> Any:
    """The sum of x * y, as a W."""
    total = W(0)
    for first in range(0, n, BLOCK):
        total += block_product_sum(x, y, start + first * stride, min(BLOCK, n - first), stride)
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def block_product_sum(x: Elements, y: Elements, start: int, n: int, stride: int) -> Any:
    """`row_product_sum` of a block, in any order."""
    total = W(0)
    for i in range(n):
        total += W(x[start + i * stride]) * W(y[start + i * stride])
    return total


@inline
def row_softmax_backward(
    g: Elements, y: Elements, out: Elements, start: int, n: int, stride: int
) -> Any:
    """out = y * (g - the sum of g * y), the gradient of x for y = softmax(x)."""
    total = T(row_product_sum(g, y, start, n, stride))
    for i in range(n):
        out[start + i * stride] = y[start + i * stride] * (g[start + i * stride] - total)


@inline
def row_log_softmax_backward(
    g: Elements, y: Elements, out: Elements, start: int, n: int, stride: int
) -> Any:
    """out = g - exp(y) * (the sum of g), the gradient of x for y = log_softmax(x)."""
    total = T(row_sum(g, start, n, stride))
    for i in range(n):
        out[start + i * stride] = g[start + i * stride] - exp(y[start + i * stride]) * total


# Columns


@inline
def larger(a: float, b: float) -> Any:
    """Whether a replaces b in the search for a maximum; a NaN does, unless b is one too."""
    return (a > b) | ((a != a) & (b == b))


@inline
def smaller(a: float, b: float) -> Any:
    """`larger` for a minimum."""
    return (a < b) | ((a != a) & (b == b))


@inline
def columns_largest(
    x: Elements, largest: Elements, here: int, top: int, n: int, stride: int, left: int, right: int
) -> Any:
    """The largest elements of columns; NaN where there is one."""
    for j in range(left, right):
        largest[here + j] = x[top + j]
    for i in range(1, n):
        row = top + i * stride
        for j in range(left, right):
            largest[here + j] = (
                x[row + j] if larger(x[row + j], largest[here + j]) else largest[here + j]
            )


@inline
def columns_exp_sum(
    x: Elements,
    largest: Elements,
    totals: Elements,
    here: int,
    top: int,
    n: int,
    stride: int,
    left: int,
    right: int,
) -> Any:
    """The sums of exp(x - largest), as W."""
    for j in range(left, right):
        totals[here + j] = W(0)
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            totals[here + j] += W(exp(x[row + j] - largest[here + j]))


@inline
def columns_softmax(
    x: Elements,
    out: Elements,
    largest: Elements,
    totals: Elements,
    here: int,
    top: int,
    n: int,
    stride: int,
    left: int,
    right: int,
) -> Any:
    """`row_softmax` of columns, whose largest elements and sums are written on the way."""
    columns_largest(x, largest, here, top, n, stride, left, right)
    # exponentials and their sums, then the quotients
    for j in range(left, right):
        totals[here + j] = W(0)
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            e = exp(x[row + j] - largest[here + j])
            out[row + j] = e
            totals[here + j] += W(e)
    for j in range(left, right):
        totals[here + j] = W(1) / totals[here + j]
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            out[row + j] *= T(totals[here + j])


@inline
def columns_log_softmax(
    x: Elements,
    out: Elements,
    largest: Elements,
    totals: Elements,
    here: int,
    top: int,
    n: int,
    stride: int,
    left: int,
    right: int,
) -> Any:
    """`row_log_softmax` of columns."""
    columns_largest(x, largest, here, top, n, stride, left, right)
    columns_exp_sum(x, largest, totals, here, top, n, stride, left, right)
    for j in range(left, right):  # one logarithm a column
        totals[here + j] = math.log(totals[here + j])
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            out[row + j] = (x[row + j] - largest[here + j]) - T(totals[here + j])


@inline
def columns_softmax_backward(
    g: Elements,
    y: Elements,
    out: Elements,
    totals: Elements,
    here: int,
    top: int,
    n: int,
    stride: int,
    left: int,
    right: int,
) -> Any:
    """`row_softmax_backward` of columns."""
    for j in range(left, right):
        totals[here + j] = W(0)
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            totals[here + j] += W(g[row + j]) * W(y[row + j])
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            out[row + j] = y[row + j] * (g[row + j] - T(totals[here + j]))


@inline
def columns_log_softmax_backward(
    g: Elements,
    y: Elements,
    out: Elements,
    totals: Elements,
    here: int,
    top: int,
    n: int,
    stride: int,
    left: int,
    right: int,
) -> Any:
    """`row_log_softmax_backward` of columns."""
    for j in range(left, right):
        totals[here + j] = W(0)
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            totals[here + j] += W(g[row + j])
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            out[row + j] = g[row + j] - exp(y[row + j]) * T(totals[here + j])


KEYS: dict[Any, dict[str, Any]] = {
    np.float32: {"key": float32_key, "from_key": float32_from_key},
    np.float64: {"key": float64_key, "from_key": float64_from_key},
}


def keys_for(T: type) -> dict[str, Any]:
    """The `key` and `from_key` of a numpy type, for `bind`."""
    return KEYS.get(T, {"key": identity, "from_key": integer_from_key})
