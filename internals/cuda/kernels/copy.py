"""Copies between any two layouts, and filling (`aten/src/ATen/native/cuda/Copy.cu`, `Fill.cu`).

One thread moves one element, then the one a whole grid further. Where both sides lie in memory in the same order, neighbours
read and write neighbouring addresses, and a warp needs as few transactions as can be; otherwise each thread works out its own
two offsets from its index, by dividing by the sizes from the last dimension on.

How the real one differs: it loads four elements at once where alignment allows, and divides by multiplying with magic numbers.
"""

from __future__ import annotations

from ..language import cuda, device_function, kernel, template

T = template("T")  # the dtype of the target, as a numpy scalar type


@device_function
def offset_of(i, sizes, strides):
    """Where element number `i`, counted in index order, lies: in elements from the first."""
    offset = 0
    for k in range(len(sizes)):
        d = len(sizes) - 1 - k
        offset += i % sizes[d] * strides[d]
        i //= sizes[d]
    return offset


@kernel
def copy_contiguous(target, source, n):
    """target[i] = source[i], converted."""
    i = cuda.grid(1)
    while i < n:
        target[i] = T(source[i])
        i += cuda.gridsize(1)


@kernel
def copy_strided(target, source, n, sizes, target_strides, source_strides):
    """The same through the strides of both sides; a source stride of 0 repeats an element."""
    i = cuda.grid(1)
    while i < n:
        target[offset_of(i, sizes, target_strides)] = T(source[offset_of(i, sizes, source_strides)])
        i += cuda.gridsize(1)


@kernel
def fill_contiguous(target, value, n):
    """target[i] = value."""
    i = cuda.grid(1)
    while i < n:
        target[i] = value
        i += cuda.gridsize(1)


@kernel
def fill_strided(target, value, n, sizes, strides):
    i = cuda.grid(1)
    while i < n:
        target[offset_of(i, sizes, strides)] = value
        i += cuda.gridsize(1)
