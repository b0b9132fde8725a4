"""Stream compaction: the positions of all elements that are not zero, one after the other
(`aten/src/ATen/native/cuda/Nonzero.cu`).

Every thread knows whether its element is chosen, but not where to write its position: that depends
on how many chosen ones come before. Three launches find out.

    count     every block counts the chosen elements of its tile
    scan      one block adds the counts up: how many come before each block, and how many there are
              in all
    write     every block scans its tile (`scan.py`); an element is written where the number of
              those before its block, plus those before it in the block, says

The host has to know how many there are to allocate the result. It waits for that number, and so
for all work that was queued before it: `nonzero` and indexing with a mask are among the few
operators that synchronise.

How the real one differs: CUB's `DeviceSelect` needs one pass, in which a block waits only for the
sum of those before it (decoupled look-back).
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Elements

from ..language import cuda, kernel
from . import scan
from .assertion import check
from .copy import offset_of, split
from .functors import add

before_in_block = scan.before_in_block.bind(T=np.int64, FIRST=0, combine=add)


@kernel
def count(
    counts: Elements, mask: Elements, n: int, sizes: tuple[int, ...], strides: tuple[int, ...]
):
    """counts[b]: how many of the elements of block b, one a thread, are not zero."""
    i = cuda.grid(1)
    # threads beyond n count 0 rather than return: the scan needs every thread at its barriers
    chosen = np.int64(0)
    if i < n and mask[offset_of(i, sizes, strides)] != 0:
        chosen = np.int64(1)
    _, total = before_in_block(chosen)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = total


@kernel
def scan_exclusive(sums: Elements, counts: Elements, n: int):
    """sums[i]: the sum of counts[:i], so that sums[n] is the sum of all n. One block goes through
    them tile by tile.
    """
    carry = np.int64(0)  # the sum of the tiles before this one
    first = 0
    while first < n:
        i = first + cuda.threadIdx.x
        value = np.int64(0)
        if i < n:
            value = np.int64(counts[i])
        before, total = before_in_block(value)
        if i < n:
            sums[i] = carry + before
        carry += total
        first += cuda.blockDim.x
    if cuda.threadIdx.x == 0:
        sums[n] = carry


@kernel
def write_positions(
    positions: Elements,
    before: Elements,
    mask: Elements,
    n: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
):
    """positions[k]: the number, in index order, of the k-th element that is not zero. `before` are
    the `sums` of `scan_exclusive`, one a block.
    """
    i = cuda.grid(1)
    chosen = np.int64(0)
    if i < n and mask[offset_of(i, sizes, strides)] != 0:
        chosen = np.int64(1)
    place, _ = before_in_block(chosen)
    if chosen:
        at = before[cuda.blockIdx.x] + place
        # fails if the mask was written to after `count`: else this would overwrite the next block
        check(at < before[cuda.blockIdx.x + 1])
        positions[at] = i


@kernel
def coordinates(
    out: Elements, positions: Elements, n: int, sizes: tuple[int, ...], stride: int, step: int
):
    """Row k of `out` (n, dimensions): position k as one index for each dimension. `stride` and
    `step` are the strides of `out` along its rows and columns.
    """
    k = cuda.grid(1)
    while k < n:
        at = positions[k]
        # from the last dimension on, whose index changes fastest
        for j in range(len(sizes)):
            d = len(sizes) - 1 - j
            at, index = split(at, sizes[d])
            out[k * stride + d * step] = index
        k += cuda.gridsize(1)


@kernel
def take(
    out: Elements,
    source: Elements,
    positions: Elements,
    n: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    step: int,
):
    """out[k] = the element of `source` at position k."""
    k = cuda.grid(1)
    while k < n:
        out[k * step] = source[offset_of(positions[k], sizes, strides)]
        k += cuda.gridsize(1)


@kernel
def repeat_positions(out: Elements, before: Elements, n: int, total: int):
    """Each position i as often as its count says (`repeat_interleave`): thread i fills `out`, of
    `total` elements, from before[i] to before[i + 1].
    """
    i = cuda.grid(1)
    while i < n:
        # `total` may come from the caller (`output_size`): it must be what the counts add up to
        check(0 <= before[i] <= before[i + 1] <= total and before[n] == total)
        for k in range(before[i], before[i + 1]):
            out[k] = i
        i += cuda.gridsize(1)
