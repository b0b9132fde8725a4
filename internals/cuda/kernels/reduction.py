"""One kernel for every reduction (`aten/src/ATen/native/cuda/Reduce.cuh`).

A tensor is seen as rows of `n` elements; each row becomes one result. The lanes of a row divide its
elements among them, each with accumulators of its own, and combine these at the end. What is
accumulated, and how, are template parameters: `reduction_functors.py` fills them for sums,
extremes, variances, norms.

If rows are long but few, a row is also divided among blocks (`gridDim.y`). They write their
accumulators to memory, and a second launch of the same kernel reduces those: then `absorb` gets
parts instead of elements, and `write` finishes the result.

How the real one differs: it reads four elements with one instruction where alignment allows, and
the block that is last to write its part goes on to reduce the parts, which saves the second launch.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .block_reduction import lane_and_row
from .copy import offset_of

identity = template("identity")  # identity(): the accumulator of no elements
# absorb(acc, source, second, third, at, i, parameter): acc with one element, or one part, taken in
absorb = template("absorb")
combine = template("combine")  # combine(acc, acc)
total = template("total")  # total(acc): over the lanes of the row
write = template("write")  # write(out, second, third, at, acc, parameter)
# reach(i, gone, gone_strides): how far element i of a row is from its first
reach = template("reach")
fold = template("fold")  # fold(acc, x, i, parameter): acc with x, element number i, taken in
get, put = template("get"), template("put")


@kernel
def reduce(
    out: Elements,
    out2: Elements,
    out3: Elements,
    source: Elements,
    source2: Elements,
    source3: Elements,
    rows: int,
    n: int,
    parameter: Elements,
    kept: tuple[int, ...],
    kept_strides: tuple[int, ...],
    gone: tuple[int, ...],
    gone_strides: tuple[int, ...],
):
    """out[row] = all elements of the row, reduced. `kept` are the sizes of the dimensions that
    number the rows, `gone` of those that are reduced, within a row.

    Each thread has four accumulators, so that four loads and four additions are under way at a
    time, instead of each waiting for the one before.
    """
    lane, lanes, row = lane_and_row()
    acc, acc1, acc2, acc3 = identity(), identity(), identity(), identity()
    if row < rows:
        base = offset_of(row, kept, kept_strides)
        step = lanes * cuda.gridDim.y
        i = cuda.blockIdx.y * lanes + lane
        while i + 3 * step < n:
            j, k, m = i + step, i + 2 * step, i + 3 * step
            acc = absorb(
                acc, source, source2, source3, base + reach(i, gone, gone_strides), i, parameter
            )
            acc1 = absorb(
                acc1, source, source2, source3, base + reach(j, gone, gone_strides), j, parameter
            )
            acc2 = absorb(
                acc2, source, source2, source3, base + reach(k, gone, gone_strides), k, parameter
            )
            acc3 = absorb(
                acc3, source, source2, source3, base + reach(m, gone, gone_strides), m, parameter
            )
            i += 4 * step
        while i < n:
            acc = absorb(
                acc, source, source2, source3, base + reach(i, gone, gone_strides), i, parameter
            )
            i += step
        acc = combine(combine(acc, acc1), combine(acc2, acc3))
    acc = total(acc)  # outside of the `if`, as all threads have to reach its barriers
    if lane == 0 and row < rows:
        write(out, out2, out3, cuda.blockIdx.y * rows + row, acc, parameter)


@device_function
def absorb_element(
    acc: Element,
    source: Elements,
    second: Elements,
    third: Elements,
    at: int,
    i: int,
    parameter: Element,
):
    """`absorb` of the first launch: takes in the element at offset `at`."""
    return fold(acc, source[at], i, parameter)


@device_function
def absorb_part(
    acc: Element,
    source: Elements,
    second: Elements,
    third: Elements,
    at: int,
    i: int,
    parameter: Element,
):
    """`absorb` of the second launch: takes in the accumulator of a block."""
    return combine(acc, get(source, second, third, at))


@device_function
def write_part(
    out: Elements, second: Elements, third: Elements, at: int, acc: Element, parameter: Element
):
    """`write` of the first launch, if there is a second: stores the accumulator itself."""
    put(out, second, third, at, acc)


@device_function
def evenly(i: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """`offset_of` for a single dimension, without a division."""
    return i * strides[0]
