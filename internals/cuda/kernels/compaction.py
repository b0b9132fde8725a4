"""Which elements are true? Their positions, one after the other (stream compaction;
`aten/src/ATen/native/cuda/Nonzero.cu`).

Every thread knows whether its element is chosen, none knows where to write it: that depends on how
many chosen ones come before. Three launches find out.

    count     every block counts the chosen elements of its tile
    scan      one block adds the counts up: how many come before each block, and how many there are
              in all
    write     every block scans its tile (`scan.py`); the place of an element is what comes before
              its block plus what comes before it in the block

The host has to know how many there are to allocate the result. It waits for that number, and with
it for everything the stream has still to do: `nonzero` and indexing with a mask are among the few
operators that synchronise.

How the real one differs: CUB's `DeviceSelect` needs one pass, in which a block waits only for the
sum of those before it (decoupled look-back).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import cuda, kernel
from . import scan
from .assertion import check
from .copy import offset_of, split
from .functors import add

if TYPE_CHECKING:
    from internals.machine_code.records import Elements

before_in_block = scan.before_in_block.bind(T=np.int64, FIRST=0, combine=add)


@kernel
def count(
    counts: Elements, mask: Elements, n: int, sizes: tuple[int, ...], strides: tuple[int, ...]
):
    """counts[b]: how many of the elements of block b, one a thread, are not zero."""
    i = cuda.grid(1)
    chosen = np.int64(0)
    if i < n and mask[offset_of(i, sizes, strides)] != 0:
        chosen = np.int64(1)
    _, total = before_in_block(chosen)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = total


@kernel
def scan_exclusive(sums: Elements, counts: Elements, n: int):
    """sums[i]: the counts before i added up; sums[n]: all of them. One block, which goes through
    them tile by tile.
    """
    carry = np.int64(0)
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
    """positions[k]: the number, in index order, of the k-th element that is not zero."""
    i = cuda.grid(1)
    chosen = np.int64(0)
    if i < n and mask[offset_of(i, sizes, strides)] != 0:
        chosen = np.int64(1)
    place, _ = before_in_block(chosen)
    if chosen:
        at = before[cuda.blockIdx.x] + place
        check(at < before[cuda.blockIdx.x + 1])  # there are no more than were counted
        positions[at] = i


@kernel
def coordinates(
    out: Elements, positions: Elements, n: int, sizes: tuple[int, ...], stride: int, step: int
):
    """Row k of `out`: position k as one index a dimension."""
    k = cuda.grid(1)
    while k < n:
        at = positions[k]
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
    """Position i, as often as the counts say: thread i fills `out`, of `total` elements, from
    before[i] to before[i + 1].
    """
    i = cuda.grid(1)
    while i < n:
        check(0 <= before[i] <= before[i + 1] <= total and before[n] == total)
        for k in range(before[i], before[i + 1]):
            out[k] = i
        i += cuda.gridsize(1)
