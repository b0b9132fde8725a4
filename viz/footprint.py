"""Which bytes a view touches: exactly for small views, as densities for large ones, without walking
their elements.

A view is an address, sizes and byte strides; element (i, j, ...) is at address + i*stride_0 +
j*stride_1 + ... Everything here works on those numbers alone and never reads the memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

RUNS_AT_MOST = 4096


@dataclass(frozen=True)
class Footprint:
    """Sizes and byte strides from an address, elements of `itemsize` bytes."""

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    def bounds(self) -> tuple[int, int]:
        """The first byte touched and one past the last; an empty range when there are no
        elements.
        """
        if self.numel == 0:
            return self.address, self.address
        reach = [(n - 1) * s for n, s in zip(self.sizes, self.strides)]
        low = self.address + sum(r for r in reach if r < 0)
        return low, self.address + sum(r for r in reach if r > 0) + self.itemsize

    def addresses(self) -> list[int]:
        """Where each element begins, in index order (the last dimension fastest). For small
        views.
        """
        steps = [[i * s for i in range(n)] for n, s in zip(self.sizes, self.strides)]
        return [self.address + sum(at) for at in product(*steps)]

    def first_addresses(self, count: int) -> list[int]:
        """The addresses of the first `count` elements in index order."""
        found = []
        for flat in range(min(count, self.numel)):
            at = self.address
            for n, s in zip(reversed(self.sizes), reversed(self.strides)):
                flat, i = divmod(flat, n)
                at += i * s
            found.append(at)
        return found

    def repeats(self) -> int:
        """How often each byte is looked at because of dimensions of stride 0."""
        return prod(n for n, s in zip(self.sizes, self.strides) if s == 0 and n > 1)

    def runs(self) -> list[tuple[int, int, float]]:
        """Stretches (start, end, share of their bytes that are touched), at most a few thousand.

        Dimensions are merged where one continues the other, so a contiguous view is one run of
        share 1. If there are still too many runs, those of the closest-lying dimensions are drawn
        as one of a lower share.
        """
        if self.numel == 0:
            return []
        dims = sorted((abs(s), n) for n, s in zip(self.sizes, self.strides) if n > 1 and s != 0)
        length, share = self.itemsize, 1.0
        while dims and (dims[0][0] <= length or prod(n for _, n in dims) > RUNS_AT_MOST):
            stride, n = dims.pop(0)
            span = (n - 1) * stride + length
            share = min(1.0, share * n * length / span)
            length = span
        low = self.bounds()[0]
        starts = np.zeros(1, dtype=np.int64)
        for stride, n in dims:
            starts = (starts[:, None] + np.arange(n) * stride).ravel()
        return [(low + at, low + at + length, share) for at in sorted(starts.tolist())]

    def coverage(self, start: int, end: int, buckets: int) -> list[float]:
        """For each of `buckets` equal parts of [start, end): the share of its bytes that the view
        touches.
        """
        width = (end - start) / buckets
        touched = [0.0] * buckets
        for low, high, share in self.runs():
            first, last = (
                int((low - start) / width),
                min(buckets - 1, int((high - start - 1e-9) / width)),
            )
            for b in range(max(0, first), last + 1):
                overlap = min(high, start + (b + 1) * width) - max(low, start + b * width)
                touched[b] += max(0.0, overlap) * share
        return [min(1.0, t / width) for t in touched]

    def as_array(self) -> np.ndarray:
        """A numpy array of the same geometry at the same place, to reason about; nothing is
        read.
        """
        low, high = self.bounds()
        memory = (ctypes.c_ubyte * (high - low)).from_address(low)
        kind = np.dtype((np.void, self.itemsize))
        return np.ndarray(self.sizes, kind, memoryview(memory), self.address - low, self.strides)


def share_bytes(a: Footprint, b: Footprint) -> bool:
    """Whether some byte is touched by both. Exact: interleaved views do not share."""
    if a.numel == 0 or b.numel == 0:
        return False
    (a_low, a_high), (b_low, b_high) = a.bounds(), b.bounds()
    if a_high <= b_low or b_high <= a_low:
        return False
    try:
        return np.shares_memory(a.as_array(), b.as_array(), max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True  # their ranges overlap, and nobody can say quickly that they do not meet


def row_major(sizes: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The byte strides of a contiguous array."""
    strides, step = [], itemsize
    for n in reversed(sizes):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
