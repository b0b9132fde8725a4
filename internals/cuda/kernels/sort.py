"""Sorting a row in shared memory: Batcher's bitonic sort
(`aten/src/ATen/native/cuda/SortUtils.cuh`).

A sequence that rises and then falls is called bitonic. It is sorted by comparing each element of
its first half with the one half a length further, swapping where they are out of order, and doing
the same in both halves. Sorted pairs, one rising and one falling, make a bitonic four, fours make
eights, and so on: about log2(n)² / 2 rounds with a barrier each. Which elements a round compares
does not depend on the data, so all threads do the same work at the same time.

Each value carries the position it had. As no two positions are equal, neither are two elements:
equal values stay in order, which a bitonic sort by values alone does not guarantee. NaN is larger
than every number. A row is padded to a power of two with elements that come last in either order.

How the real one differs: a warp sorts rows of up to 32 elements, CUB's block radix sort those of up
to 4096, and a segmented radix sort longer ones.
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template

LONGEST = 1024  # elements of a row, as positions and values in shared memory

T = template("T")  # the type to compare in
OUT = template("OUT")  # the type of the values
precedes = template("precedes")  # precedes(a, b): whether value a has to come before b


@kernel
def sort_rows(
    values: Elements, indices: Elements, source: Elements, n: int, size: int, k: int, inner: int
):
    """Sorts (outer, n, inner) along its middle dimension, with a block for each row. `size` is the
    power of two that n is padded to; the first `k` of each row are written, to (outer, k, inner).
    """
    sorted_values = cuda.shared.array(LONGEST, T)
    places = cuda.shared.array(LONGEST, np.int32)
    t, threads, row = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    first = row // inner * n * inner + row % inner
    for i in range(t, size, threads):
        sorted_values[i] = T(source[first + i * inner]) if i < n else T(0)
        places[i] = i
    cuda.syncthreads()

    length = 2  # of the sequences that are sorted after this round
    # each round turns bitonic sequences of `length` into sorted ones: by turns rising and falling,
    # so that two of them make the next bitonic one
    while length <= size:
        distance = length // 2
        while distance > 0:
            for pair in range(t, size // 2, threads):
                # pair // distance * 2 * distance + pair % distance, without dividing: `distance` is
                # a power of two, so that the `&` takes the remainder
                a = 2 * pair - (pair & (distance - 1))
                b = a + distance
                # the bit that is set in every second sequence; in the last round, where `length` is
                # `size`, in none, so that all is rising
                rising = (a & length) == 0
                if (
                    comes_before(sorted_values[b], places[b], sorted_values[a], places[a], n)
                    == rising
                ):
                    value, place = sorted_values[a], places[a]
                    sorted_values[a], places[a] = sorted_values[b], places[b]
                    sorted_values[b], places[b] = value, place
            cuda.syncthreads()
            distance //= 2
        length *= 2

    to = row // inner * k * inner + row % inner
    for i in range(t, k, threads):
        values[to + i * inner] = OUT(sorted_values[i])
        indices[to + i * inner] = places[i]


@device_function
def comes_before(a: Element, i: int, b: Element, j: int, n: int):
    """Whether value a, which was at i, comes before value b, which was at j. Positions from n on
    are padding, and come last.
    """
    if i < n and j < n:
        if precedes(a, b):
            return True
        if precedes(b, a):
            return False
    return i < j


@device_function
def smaller_first(a: Element, b: Element):
    """`precedes` of an ascending sort: NaN, the only value that differs from itself, is last."""
    return a < b or (b != b and a == a)


@device_function
def larger_first(a: Element, b: Element):
    """`precedes` of a descending sort: NaN is first."""
    return a > b or (a != a and b == b)
