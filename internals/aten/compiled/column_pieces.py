"""What a kernel does with a tile of columns, `left` to `right`: what `pieces.py` does with rows, for neighbours side by side.

What belongs to a column (its largest element, its sum) lies in an array of one number for each, from `here` on. Element j of
row i is x[top + i * stride + j]. Each loop over j runs over neighbours in memory, so it becomes vector instructions without
further ado.

How the real one differs: `vec_softmax_lastdim_kernel` and `vec_softmax` are two kernels in the same way.
"""

from __future__ import annotations

import math

from internals.machine_code import inline, template
from internals.machine_code.vector_math import exp

T = template("T")
W = template("W")


@inline
def larger(a, b):
    """Whether a comes before b in search of a maximum: NaN before all, but not before another NaN."""
    return (a > b) | ((a != a) & (b == b))


@inline
def smaller(a, b):
    return (a < b) | ((a != a) & (b == b))


@inline
def columns_largest(x, largest, here, top, n, stride, left, right):
    for j in range(left, right):
        largest[here + j] = x[top + j]
    for i in range(1, n):
        row = top + i * stride
        for j in range(left, right):
            largest[here + j] = x[row + j] if larger(x[row + j], largest[here + j]) else largest[here + j]


@inline
def columns_exp_sum(x, largest, totals, here, top, n, stride, left, right):
    """The sums of exp(x - largest), as W."""
    for j in range(left, right):
        totals[here + j] = W(0)
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            totals[here + j] += W(exp(x[row + j] - largest[here + j]))


@inline
def columns_softmax(x, out, largest, totals, here, top, n, stride, left, right):
    columns_largest(x, largest, here, top, n, stride, left, right)
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
def columns_log_softmax(x, out, largest, totals, here, top, n, stride, left, right):
    columns_largest(x, largest, here, top, n, stride, left, right)
    columns_exp_sum(x, largest, totals, here, top, n, stride, left, right)
    for j in range(left, right):
        totals[here + j] = math.log(totals[here + j])
    for i in range(n):
        row = top + i * stride
        for j in range(left, right):
            out[row + j] = (x[row + j] - largest[here + j]) - T(totals[here + j])


@inline
def columns_softmax_backward(g, y, out, totals, here, top, n, stride, left, right):
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
def columns_log_softmax_backward(g, y, out, totals, here, top, n, stride, left, right):
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
