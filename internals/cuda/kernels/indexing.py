"""Indexing with tensors, `x[i, :, j]` (`aten/src/ATen/native/cuda/IndexKernel.cu`).

However many index tensors there are, an element of the result is found in two parts: where its
dimensions without an index stand, which is a matter of strides, and where its indices send it. The
second part is the same for all elements that share the indices, so it is worked out once:
`add_index` sums index times stride over the index tensors into a table of offsets, with one launch
for each. Reading and writing then take two look-ups an element.

How the real one differs: up to 25 index tensors are read in one kernel, each by its own strides;
nothing is put in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import cuda, kernel, template
from .assertion import check
from .copy import offset_of

if TYPE_CHECKING:
    from internals.machine_code.records import Elements

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
    from the end.
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
    """Of several values for one place, one is left there."""
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
    """Several values for one place are all added, in an order left to chance."""
    i = cuda.grid(1)
    while i < n:
        at = offset_of(i, sizes, target_strides) + offsets[offset_of(i, sizes, offset_strides)]
        cuda.atomic.add(target, at, T(values[offset_of(i, sizes, value_strides)]))
        i += cuda.gridsize(1)
