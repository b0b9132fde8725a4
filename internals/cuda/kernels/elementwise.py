"""Elementwise kernels of one, two and three operands, for any operation, dtypes and strides
(`cuda/Loops.cuh`, `CUDALoops.cuh`).

A thread takes `WORK` elements, not side by side but a block's width apart: so in each step the 32
threads of a warp read 32 neighbours, which memory serves in one transaction. It reads all of them
before it writes any. The compiler cannot know that `out` and `a` are different memory, so otherwise
each read would wait for the write before it; several reads under way keep the memory busy. Then the
thread goes on by the width of the whole grid, if there are more elements.

The parameters below are filled in when a kernel is bound, like those of a C++ template:
    op        what is done to the elements (`functors.py`)
    call      how it is called: with the elements, and with numbers, which are the same for all
              (`CALLS`)
    place     where element i lies: `dense`, or `strided` for operands with gaps, repetitions or in
              another order
    T         the dtype that is computed in; A, B, C convert an operand to it, and R converts the
              result
    X, Y, Z   the dtypes of the converted operands, which wait in registers
    WORK      the number of elements that a thread has under way

How the real one differs: where all operands are dense and aligned, it reads and writes vectors of 2
to 8 elements at a time; and `OffsetCalculator` replaces each division by a multiplication with a
precomputed constant.
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .copy import offset_of

op, call, place = template("op"), template("call"), template("place")
T, R = template("T"), template("R")
A, B, C = template("A"), template("B"), template("C")
X, Y, Z = template("X"), template("Y"), template("Z")
WORK = template("WORK")


@kernel
def unary(
    out: Elements,
    a: Elements,
    numbers: tuple[Element, ...],
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_strides: tuple[int, ...],
):
    """out[i] = op(a[i])."""
    x = cuda.local.array(WORK, X)  # in registers: its loops are unrolled
    width = cuda.blockDim.x
    i = cuda.blockIdx.x * width * WORK + cuda.threadIdx.x
    while i < n:
        if i + (WORK - 1) * width < n:  # all WORK elements exist
            for k in range(WORK):
                x[k] = A(a[place(i + k * width, sizes, a_strides)])
            for k in range(WORK):
                out[place(i + k * width, sizes, out_strides)] = R(call(x[k], numbers))
        else:  # the end of the tensor: element by element
            for j in range(i, n, width):
                out[place(j, sizes, out_strides)] = R(
                    call(A(a[place(j, sizes, a_strides)]), numbers)
                )
        i += cuda.gridsize(1) * WORK


@kernel
def binary(
    out: Elements,
    a: Elements,
    b: Elements,
    numbers: tuple[Element, ...],
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_strides: tuple[int, ...],
):
    """out[i] = op(a[i], b[i])."""
    x, y = cuda.local.array(WORK, X), cuda.local.array(WORK, Y)
    width = cuda.blockDim.x
    i = cuda.blockIdx.x * width * WORK + cuda.threadIdx.x
    while i < n:
        if i + (WORK - 1) * width < n:
            for k in range(WORK):
                x[k] = A(a[place(i + k * width, sizes, a_strides)])
                y[k] = B(b[place(i + k * width, sizes, b_strides)])
            for k in range(WORK):
                out[place(i + k * width, sizes, out_strides)] = R(call(x[k], y[k], numbers))
        else:
            for j in range(i, n, width):
                u, v = A(a[place(j, sizes, a_strides)]), B(b[place(j, sizes, b_strides)])
                out[place(j, sizes, out_strides)] = R(call(u, v, numbers))
        i += cuda.gridsize(1) * WORK


@kernel
def ternary(
    out: Elements,
    a: Elements,
    b: Elements,
    c: Elements,
    numbers: tuple[Element, ...],
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_strides: tuple[int, ...],
    c_strides: tuple[int, ...],
):
    """out[i] = op(a[i], b[i], c[i])."""
    x, y, z = cuda.local.array(WORK, X), cuda.local.array(WORK, Y), cuda.local.array(WORK, Z)
    width = cuda.blockDim.x
    i = cuda.blockIdx.x * width * WORK + cuda.threadIdx.x
    while i < n:
        if i + (WORK - 1) * width < n:
            for k in range(WORK):
                x[k] = A(a[place(i + k * width, sizes, a_strides)])
                y[k] = B(b[place(i + k * width, sizes, b_strides)])
                z[k] = C(c[place(i + k * width, sizes, c_strides)])
            for k in range(WORK):
                out[place(i + k * width, sizes, out_strides)] = R(call(x[k], y[k], z[k], numbers))
        else:
            for j in range(i, n, width):
                u, v = A(a[place(j, sizes, a_strides)]), B(b[place(j, sizes, b_strides)])
                w = C(c[place(j, sizes, c_strides)])
                out[place(j, sizes, out_strides)] = R(call(u, v, w, numbers))
        i += cuda.gridsize(1) * WORK


@device_function
def dense(i: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """The offset of element i if all operands lie in memory in one order, without gaps: then
    elements are numbered in that order.

    It is unsigned: for a signed index numba adds three instructions that make -1 the last element.
    """
    return np.uint64(i)


@device_function
def strided(i: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """The offset of element i otherwise. The compiler merges the divisions of all operands, because
    they have the same sizes.
    """
    return np.uint64(offset_of(i, sizes, strides))


@device_function
def half_to_single(a: Element):
    """An operand of another dtype, rounded to half precision, for an operation that computes on
    halves in single precision.
    """
    return np.float32(np.float16(a))


# fmt: off
CALLS = {
    "a":    device_function(lambda a, n:       op(a)),
    "a1":   device_function(lambda a, n:       op(a, n[0])),
    "a12":  device_function(lambda a, n:       op(a, n[0], n[1])),
    "a123": device_function(lambda a, n:       op(a, n[0], n[1], n[2])),
    "1a":   device_function(lambda a, n:       op(n[0], a)),
    "1a2":  device_function(lambda a, n:       op(n[0], a, n[1])),
    "ab":   device_function(lambda a, b, n:    op(a, b)),
    "ab1":  device_function(lambda a, b, n:    op(a, b, n[0])),
    "ab12": device_function(lambda a, b, n:    op(a, b, n[0], n[1])),
    "ab123": device_function(lambda a, b, n:   op(a, b, n[0], n[1], n[2])),
    "a1b":  device_function(lambda a, b, n:    op(a, n[0], b)),
    "1ab":  device_function(lambda a, b, n:    op(n[0], a, b)),
    "abc":  device_function(lambda a, b, c, n: op(a, b, c)),
    "abc1": device_function(lambda a, b, c, n: op(a, b, c, n[0])),
    "abc12": device_function(lambda a, b, c, n: op(a, b, c, n[0], n[1])),
}
"""Ways to call `op`: letters are elements, digits numbers. "1a" is 2 - t, "ab1" may be t + alpha *
u or where(t, u, 2).
"""
# fmt: on
