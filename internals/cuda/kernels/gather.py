"""Gather and scatter: reading and writing at the positions that an index tensor names along one
dimension (`aten/src/ATen/native/cuda/ScatterGatherKernel.cu`).

There is one thread for each element of the index. It works out its position in all other
dimensions, reads its index, and goes that far along the one dimension. Reading is harmless. Writing
is not: two threads may have the same target, and then which of them writes last is left to chance.
An addition must not be interrupted between reading and writing (`atomic.add`); its order is left to
chance as well, so that sums of floats may differ in the last digits from run to run.

An index out of range fails an assertion on the device; the host learns of it when it next waits.

How the real one differs: it reads several elements at once where alignment allows, and can be made
deterministic by sorting.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .assertion import check
from .copy import offset_of

T = template("T")
C = template("C")  # the dtype to multiply in


@device_function
def checked_index(index: Element, extent: int):
    """`index`, which has to be from 0 to extent - 1: PyTorch allows no negative ones here."""
    check(0 <= index < extent)
    return index


@kernel
def gather(
    out: Elements,
    source: Elements,
    index: Elements,
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    index_strides: tuple[int, ...],
    extent: int,
    step: int,
):
    """out[i] = source[i, but index[i] along the dimension]. That dimension of the source has
    `extent` elements and the stride `step`; in `source_strides` its stride is 0.
    """
    i = cuda.grid(1)
    while i < n:
        at = checked_index(index[offset_of(i, sizes, index_strides)], extent)
        out[offset_of(i, sizes, out_strides)] = source[
            offset_of(i, sizes, source_strides) + at * step
        ]
        i += cuda.gridsize(1)


@kernel
def scatter(
    target: Elements,
    source: Elements,
    index: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    index_strides: tuple[int, ...],
    extent: int,
    step: int,
):
    """target[i, but index[i] along the dimension] = source[i]; which of several wins is left to
    chance.
    """
    i = cuda.grid(1)
    while i < n:
        at = checked_index(index[offset_of(i, sizes, index_strides)], extent)
        target[offset_of(i, sizes, target_strides) + at * step] = source[
            offset_of(i, sizes, source_strides)
        ]
        i += cuda.gridsize(1)


@kernel
def scatter_add(
    target: Elements,
    source: Elements,
    index: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    index_strides: tuple[int, ...],
    extent: int,
    step: int,
    alpha: Element,
):
    """target[i, but index[i] along the dimension] += alpha * source[i], by atomic additions."""
    i = cuda.grid(1)
    while i < n:
        at = checked_index(index[offset_of(i, sizes, index_strides)], extent)
        value = T(alpha * T(source[offset_of(i, sizes, source_strides)]))
        cuda.atomic.add(target, offset_of(i, sizes, target_strides) + at * step, value)
        i += cuda.gridsize(1)


@kernel
def multiply_lines(
    target: Elements,
    source: Elements,
    index: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    index_strides: tuple[int, ...],
    extent: int,
    steps: tuple[int, ...],
    length: int,
):
    """target[i, but index[i] along the dimension] *= source[i]. There is no atomic product, so one
    thread goes along a whole line of the dimension, of `length` indices, and has its targets for
    itself.

    `steps` are the strides of target, source and index along the dimension.
    """
    i = cuda.grid(1)
    while i < n:
        first_target = offset_of(i, sizes, target_strides)
        first_source = offset_of(i, sizes, source_strides)
        first_index = offset_of(i, sizes, index_strides)
        for k in range(length):
            at = first_target + checked_index(index[first_index + k * steps[2]], extent) * steps[0]
            target[at] = T(C(target[at]) * C(source[first_source + k * steps[1]]))
        i += cuda.gridsize(1)
