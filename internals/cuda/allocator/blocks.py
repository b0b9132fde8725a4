"""Blocks, and the pools of free ones (`c10/cuda/CUDACachingAllocator.cpp`: Block, BlockPool).

A *segment* is what one `cudaMalloc` returned. It is cut into *blocks*, which know their neighbours:
`prev` and `next` chain the blocks of a segment in the order of their addresses, without a gap. A
block is handed out, or pending (given back, but a stream still works on it), or free. No two
neighbours are both free: they are merged at once.

A free block lies in a pool, in the list of its stream, sorted by size and then by address. So
bisection finds the best fit, the smallest block that is large enough; among blocks of equal size it
finds the lowest address.

How the real one differs: the pool is one red-black tree (`std::set`) ordered by stream, size and
address. Here it is a sorted list for each stream. Inserting shifts the list's pointers, but in C:
up to some ten thousand blocks that is faster than a tree in Python.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any

from .stats import PoolStats

Stream = tuple[int, int]  # device, handle


class Block:
    """A range of device memory.

    `requested`: the bytes asked for; `stream`: the handle of the stream it belongs to; `uses`:
    other streams that work on it (`record_stream`); `events`: how many of their marks are
    outstanding; `frames`: the stack that allocated it; `segment_frames`: the stack that allocated
    the segment (in its first block); `born`: how many searches its pool had seen when it was put
    there.
    """

    __slots__ = (
        "pointer", "size", "requested", "stream", "pool", "allocated", "prev", "next", "uses",
        "events", "frames", "segment_frames", "born",
    )  # fmt: skip

    prev: Block | None
    next: Block | None
    uses: set[Stream] | None
    frames: Any
    segment_frames: Any

    def __init__(self, pointer: int, size: int, stream: int, pool: Pool) -> None:
        self.pointer, self.size, self.stream, self.pool = pointer, size, stream, pool
        self.requested = self.events = self.born = 0
        self.allocated = False
        self.prev = self.next = self.uses = self.frames = self.segment_frames = None

    def is_split(self) -> bool:
        """Whether it is only a part of its segment, and so cannot go back to the device."""
        return self.prev is not None or self.next is not None

    def is_free(self) -> bool:
        return not self.allocated and self.events == 0 and self.uses is None

    def __repr__(self) -> str:
        state = "allocated" if self.allocated else "free" if self.is_free() else "pending"
        return f"Block({self.pointer:#x}, size={self.size}, stream={self.stream}, {state})"


Entry = tuple[int, int, Block]  # size, address, block


class Pool:
    """The free blocks of one size class: up to 1 MiB (`is_small`), or larger. `stats` are its
    counts.
    """

    __slots__ = ("is_small", "free", "stats", "searches")

    def __init__(self, is_small: bool, stats: PoolStats) -> None:
        self.is_small, self.stats = is_small, stats
        self.free: dict[int, list[Entry]] = {}  # by stream
        self.searches = 0  # the clock of garbage collection

    def insert(self, block: Block) -> None:
        block.born = self.searches
        entries = self.free.get(block.stream)
        if entries is None:
            entries = self.free[block.stream] = []
        # no two blocks have the same address, so the blocks themselves are never compared
        insort(entries, (block.size, block.pointer, block))

    def remove(self, block: Block) -> None:
        entries = self.free[block.stream]
        # a pair sorts directly before the triple that begins with it: bisection finds the entry
        del entries[bisect_left(entries, (block.size, block.pointer))]

    def blocks(self) -> Iterator[Block]:
        """All of them, by stream, size and address. The pool may change meanwhile."""
        for stream in sorted(self.free):
            for _, _, block in list(self.free[stream]):
                yield block


def split(block: Block, size: int) -> Block:
    """Cut a block that is in no pool: it keeps the first `size` bytes. The rest becomes a new block
    that is put into the pool and returned.
    """
    rest = Block(block.pointer + size, block.size - size, block.stream, block.pool)
    rest.prev, rest.next = block, block.next
    if rest.next is not None:
        rest.next.prev = rest
    block.next, block.size = rest, size
    block.pool.insert(rest)
    return rest


def absorb_neighbours(block: Block) -> tuple[int, int]:
    """Merge a block that is in no pool with its free neighbours, which leave the pool. Returns
    their number and their bytes.
    """
    count = nbytes = 0
    before, after = block.prev, block.next
    # the conditions are those of `is_free`, written out for speed
    if before is not None and not before.allocated and before.events == 0 and before.uses is None:
        before.pool.remove(before)
        # the block now begins where `before` did, and may have become the first of the segment
        block.pointer, block.prev, block.segment_frames = (
            before.pointer,
            before.prev,
            before.segment_frames,
        )
        if block.prev is not None:
            block.prev.next = block
        count, nbytes = 1, before.size
    if after is not None and not after.allocated and after.events == 0 and after.uses is None:
        after.pool.remove(after)
        block.next = after.next
        if block.next is not None:
            block.next.prev = block
        count += 1
        nbytes += after.size
    block.size += nbytes
    return count, nbytes
