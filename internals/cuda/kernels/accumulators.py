"""The accumulators of a reduction: one, two or three numbers (the `arg_t` of
`aten/src/ATen/native/cuda/Reduce.cuh`).

A sum needs one number. The position of the largest element needs the element too, and a variance
needs a mean, a sum of squares and a count (Welford). For each of the three there are four
functions, with which threads hand accumulators to each other: allocate slots, `put` one into a
slot, `get` it from there, and `shuffle` it from lane to lane of a warp. The function that launches
a reduction picks one of the three by name: `block_reduction.accumulator("pair", float32, int64)`
has the four functions for these types, from which `block_total` makes a reduction over a block.

A slot is the same position in up to three arrays, in shared memory or, for partial results, in
global memory. An accumulator with fewer parts is given 0 for the arrays that it does not need.

How the real one differs: there an accumulator is a struct, and an array of structs needs none of
this.
"""

from __future__ import annotations

from typing import TypeAlias

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, template

T = template("T")  # the numpy scalar type of the numbers
S = template("S")  # that of the second part of a pair

Pair: TypeAlias = tuple[Element, Element]
"""An accumulator of two numbers."""
Triple: TypeAlias = tuple[Element, Element, Element]
"""An accumulator of three numbers."""

THREADS = 256  # the largest block that reduces
WARPS = THREADS // 32
WARP = 0xFFFFFFFF  # one bit a lane: all 32 take part


@device_function
def number_slots():
    """Shared memory with a slot for every thread of the block."""
    slots = cuda.shared.array(THREADS, T)
    return slots, 0, 0


@device_function
def put_number(first: Elements, second: Elements, third: Elements, at: int, acc: Element):
    """Stores `acc` in slot `at`. `second` and `third` are 0, and unused."""
    first[at] = acc


@device_function
def get_number(first: Elements, second: Elements, third: Elements, at: int):
    """The accumulator in slot `at`."""
    return first[at]


@device_function
def shuffle_number(acc: Element, distance: int):
    """The accumulator of the lane `distance` further, read from its register."""
    return cuda.shfl_down_sync(WARP, acc, distance)


@device_function
def pair_slots():
    """Slots for pairs: two arrays, which may differ in dtype (a value and its int64 position)."""
    first = cuda.shared.array(THREADS, T)
    # on a line of its own: numba's simulator tells shared arrays apart by the line they are on
    second = cuda.shared.array(THREADS, S)
    return first, second, 0


@device_function
def put_pair(first: Elements, second: Elements, third: Elements, at: int, acc: Pair):
    first[at] = acc[0]
    second[at] = acc[1]


@device_function
def get_pair(first: Elements, second: Elements, third: Elements, at: int):
    return first[at], second[at]


@device_function
def shuffle_pair(acc: Pair, distance: int):
    return cuda.shfl_down_sync(WARP, acc[0], distance), cuda.shfl_down_sync(WARP, acc[1], distance)


@device_function
def triple_slots():
    """Slots for triples: three arrays of one dtype."""
    first = cuda.shared.array(THREADS, T)
    second = cuda.shared.array(THREADS, T)
    third = cuda.shared.array(THREADS, T)
    return first, second, third


@device_function
def put_triple(first: Elements, second: Elements, third: Elements, at: int, acc: Triple):
    first[at] = acc[0]
    second[at] = acc[1]
    third[at] = acc[2]


@device_function
def get_triple(first: Elements, second: Elements, third: Elements, at: int):
    return first[at], second[at], third[at]


@device_function
def shuffle_triple(acc: Triple, distance: int):
    return (
        cuda.shfl_down_sync(WARP, acc[0], distance),
        cuda.shfl_down_sync(WARP, acc[1], distance),
        cuda.shfl_down_sync(WARP, acc[2], distance),
    )
