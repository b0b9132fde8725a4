"""When the device has no memory left: what of the cache is given back (`CUDACachingAllocator.cpp`:
release_*, garbage_collect_*).

Only a segment that is one free block can go back to the device; one with a single live byte in it
cannot, and that is what fragmentation costs. There are three levels: `release_available` gives back
just enough of the blocks that are too large to be split (with `max_split_size_mb`);
`release_cached` waits for all pending blocks and gives back everything; and before it comes to
that, `collect_garbage` (with `garbage_collection_threshold`) gives back what has not been used for
longest.

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
    """Give back every segment that is entirely free, once pending blocks are."""
    allocator.stats.num_sync_all_streams += 1
    allocator.pending.synchronize()
    for pool in (allocator.large, allocator.small):
        for block in pool.blocks():
            if not block.is_split():
                allocator.release(block, frames)


def release_available(
    allocator: CachingAllocator, pool: Pool, size: int, stream: int, frames: Frames | None
) -> bool:
    """Give back enough blocks that are not split for a request of `size`: one, or several from the
    largest on.

    Returns whether that was possible; it never is without `max_split_size`.
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
    released = 0
    while released < needed and entries and entries[-1][0] >= limit:
        block = entries[-1][2]
        released += block.size
        allocator.release(block, frames)
    return released >= needed


def collect_garbage(allocator: CachingAllocator, frames: Frames | None) -> None:
    """Give back large segments that are free and older than the average of them, until usage is
    below the threshold.

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
