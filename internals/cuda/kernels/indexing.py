"""Indexing with tensors, `x[i, :, j]` (`aten/src/ATen/native/cuda/IndexKernel.cu`).

However many index tensors there are, the offset of an element is a sum of two parts: that of the
dimensions without an index, which follows from strides, and that of the indices. The second part is
the same for all elements that share the indices, so it is computed once: `add_index` sums index
times stride over the index tensors into a table of offsets, with one launch for each. `read`,
`write` and `add` then look it up for each element.

How the real one differs: one kernel reads up to 25 index tensors, each by its own strides, and
there is no table.
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Elements

from ..language import cuda, kernel, template
from .assertion import check
from .copy import offset_of

T = template("T")


@kernel
def add_index(
    offsets: Elements,
    index: Elements,
    n: int,
    sizes: tuple[int, ...],
    index_strides: tuple[int, ...],
    extent: int,
    step: int,
):
    """offsets[i] += index[i] * step, for an index from -extent to extent - 1; a negative one counts
    from the end. `step` is the stride of the dimension that is indexed.
    """
    i = cuda.grid(1)
    while i < n:
        at = np.int64(index[offset_of(i, sizes, index_strides)])
        check(-extent <= at < extent)
        if at < 0:
            at += extent
        offsets[i] += at * step
        i += cuda.gridsize(1)


@kernel
def read(
    out: Elements,
    source: Elements,
    offsets: Elements,
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    offset_strides: tuple[int, ...],
):
    """out[i] = source[offset of i + offsets[i]]: `source_strides` are 0 in the dimensions of the
    indices, `offset_strides` in all others.
    """
    i = cuda.grid(1)
    while i < n:
        at = offset_of(i, sizes, source_strides) + offsets[offset_of(i, sizes, offset_strides)]
        out[offset_of(i, sizes, out_strides)] = source[at]
        i += cuda.gridsize(1)


@kernel
def write(
    target: Elements,
    values: Elements,
    offsets: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    value_strides: tuple[int, ...],
    offset_strides: tuple[int, ...],
):
    """target[offset of i + offsets[i]] = values[i]. Of several values for one position, one
    remains; which one is left to chance.
    """
    i = cuda.grid(1)
    while i < n:
        at = offset_of(i, sizes, target_strides) + offsets[offset_of(i, sizes, offset_strides)]
        target[at] = values[offset_of(i, sizes, value_strides)]
        i += cuda.gridsize(1)


@kernel
def add(
    target: Elements,
    values: Elements,
    offsets: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    value_strides: tuple[int, ...],
    offset_strides: tuple[int, ...],
):
    """The same, but `values` are added, several for one position in an order left to chance."""
    i = cuda.grid(1)
    while i < n:
        at = offset_of(i, sizes, target_strides) + offsets[offset_of(i, sizes, offset_strides)]
        cuda.atomic.add(target, at, T(values[offset_of(i, sizes, value_strides)]))
        i += cuda.gridsize(1)
