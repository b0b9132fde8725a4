"""Gives cached memory back when the device has none left (`CUDACachingAllocator.cpp`: release_*,
garbage_collect_*).

Only a segment that is one free block can go back to the device; one with a single live byte in it
cannot, which is the cost of fragmentation. There are three levels, in this order:
`collect_garbage` (with `garbage_collection_threshold`) gives back the segments that have been free
for longest, before the device is asked for more; `release_available` (with `max_split_size_mb`)
gives back just enough of the blocks that are too large to be split; `release_cached` waits for all
pending blocks and gives back everything.

How the real one differs: it first runs callbacks, such as one that drops memory received from other
processes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from .blocks import Block, Pool
from .config import UNLIMITED
from .history import Frames

if TYPE_CHECKING:
    from .caching_allocator import CachingAllocator


def release_cached(allocator: CachingAllocator, frames: Frames | None) -> None:
    """Wait for all pending blocks, then give back every segment that is entirely free."""
    allocator.stats.num_sync_all_streams += 1
    allocator.pending.synchronize()
    for pool in (allocator.large, allocator.small):
        for block in pool.blocks():
            if not block.is_split():
                allocator.release(block, frames)


def release_available(
    allocator: CachingAllocator, pool: Pool, size: int, stream: int, frames: Frames | None
) -> bool:
    """Give back unsplit blocks of `stream` with enough bytes for a request of `size`: the smallest
    single one that suffices, or several, the largest first.

    Returns whether there were enough; without `max_split_size` always False.
    """
    limit = allocator.config.max_split_size
    if limit == UNLIMITED:
        return False
    entries = pool.free.get(stream, [])
    needed = max(size, limit)
    at = bisect_left(entries, (needed,))
    if at < len(entries):
        allocator.release(entries[at][2], frames)
        return True
    # no single block is large enough. `release` removes each from `entries`, which ends the loop
    released = 0
    while released < needed and entries and entries[-1][0] >= limit:
        block = entries[-1][2]
        released += block.size
        allocator.release(block, frames)
    return released >= needed


def collect_garbage(allocator: CachingAllocator, frames: Frames | None) -> None:
    """Give back free large segments that are at least as old as their average, again and again,
    until usage is below the threshold.

    The age of a block is the number of searches its pool has seen since it became free.
    """
    reserved = allocator.stats.reserved.current
    excess = reserved - int(allocator.config.garbage_collection_threshold * allocator.allowed)
    if excess <= 0:
        return
    pool = allocator.large
    candidates = [block for block in pool.blocks() if not block.is_split()]
    reclaimed = 0
    while candidates and reclaimed < excess:
        ages = [_age(pool, block) for block in candidates]
        # the average of those that are left grows younger in each round
        total_age, count = float(sum(ages)), len(candidates)
        threshold = total_age / count
        kept: list[Block] = []
        for block, age in zip(candidates, ages):
            if age >= threshold:
                reclaimed += block.size
                allocator.release(block, frames)
            else:
                kept.append(block)
        if len(kept) == len(candidates):
            return
        candidates = kept


def _age(pool: Pool, block: Block) -> int:
    return pool.searches - block.born
