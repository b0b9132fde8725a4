"""Copies between any two layouts, and filling (`aten/src/ATen/native/cuda/Copy.cu`, `Fill.cu`).

One thread moves one element, then the one a whole grid further. Where both sides lie in memory in
the same order, neighbouring threads read and write neighbouring addresses, and a warp needs as few
memory transactions as possible. Otherwise each thread works out its own two offsets from its index,
by dividing by the sizes from the last dimension on (`split`).

How the real one differs: it loads four elements at once where alignment allows, and replaces each
division by a multiplication with a precomputed constant (`IntDivider`).
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import by_executor, cuda, device_function, kernel, template

T = template("T")  # the dtype of the target, as a numpy scalar type
# the dtype that `split` divides in; see `launch.counted`
INDEX = template("INDEX", default=np.uint32)


@device_function
def split_by_one_division(i: int, size: int):
    """(i // size, i % size), for numbers that fit INDEX: dividing 64 bits takes a GPU several times
    as long as 32.

    `max` tells the compiler that the divisor is not 0. Without a branch for that case, it merges
    calls with the same operands into one division.
    """
    whole, divisor = INDEX(i), max(INDEX(size), INDEX(1))
    quotient = INDEX(whole // divisor)
    return np.int64(quotient), np.int64(whole - quotient * divisor)


@device_function
def split_as_in_python(i: int, size: int):
    """The same where kernels do not run on a GPU: 64 bits, and no special case for 0."""
    return i // size, i % size


split = by_executor(gpu=split_by_one_division, elsewhere=split_as_in_python)


@device_function
def offset_of(i: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """The offset, in elements, of element number `i` in index order (the last dimension changes
    fastest). `sizes` has at least one dimension.
    """
    offset = 0
    # what the last dimensions leave of `i` is the index along the first: it needs no division
    for k in range(len(sizes) - 1):
        d = len(sizes) - 1 - k
        i, place = split(i, sizes[d])
        offset += place * strides[d]
    return offset + i * strides[0]


@kernel
def copy_contiguous(target: Elements, source: Elements, n: int):
    """target[i] = source[i], converted to T."""
    i = cuda.grid(1)
    while i < n:
        target[i] = T(source[i])
        i += cuda.gridsize(1)


@kernel
def copy_strided(
    target: Elements,
    source: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
):
    """The same through the strides of both sides; a source stride of 0 repeats an element."""
    i = cuda.grid(1)
    while i < n:
        target[offset_of(i, sizes, target_strides)] = T(source[offset_of(i, sizes, source_strides)])
        i += cuda.gridsize(1)


@kernel
def fill_contiguous(target: Elements, value: Element, n: int):
    """target[i] = value."""
    i = cuda.grid(1)
    while i < n:
        target[i] = value
        i += cuda.gridsize(1)


@kernel
def fill_strided(
    target: Elements, value: Element, n: int, sizes: tuple[int, ...], strides: tuple[int, ...]
):
    """The same through strides."""
    i = cuda.grid(1)
    while i < n:
        target[offset_of(i, sizes, strides)] = value
        i += cuda.gridsize(1)
