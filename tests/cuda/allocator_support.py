"""What the tests of the caching allocator share: what must hold at any moment, and a runner of
random programs.
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from internals.core.allocator import DataPtr
from internals.cuda.allocator import CachingAllocator, FakeSegments, OutOfMemoryError
from internals.cuda.allocator.blocks import Block
from internals.cuda.allocator.config import TODAY, UNLIMITED, AllocatorConfig
from internals.cuda.allocator.segments import FakeEvent
from internals.cuda.allocator.snapshot import chain, heads

KIB, MIB = 1 << 10, 1 << 20


def check_invariants(a: CachingAllocator, segments: FakeSegments) -> None:
    """Blocks tile the segments, neighbours are merged, lists are sorted, and all counts are those
    of the blocks.
    """
    first = heads(a)
    assert {head.pointer: sum(b.size for b in chain(head)) for head in first} == segments.live
    blocks = [block for head in first for block in chain(head)]
    for head in first:
        address = head.pointer
        for block in chain(head):
            assert block.pointer == address, "a gap or an overlap"
            assert block.next is None or block.next.prev is block
            assert (block.stream, block.pool) == (head.stream, head.pool)
            assert block.size % 512 == 0 and block.size > 0
            assert not (block.is_free() and block.next is not None and block.next.is_free()), (
                "free neighbours"
            )
            address += block.size
    check_pools(a, blocks)
    check_counts(a, segments, blocks)


def check_pools(a: CachingAllocator, blocks: list[Block]) -> None:
    for pool in (a.small, a.large):
        in_pool = []
        for stream, entries in pool.free.items():
            keys = [(size, pointer) for size, pointer, _ in entries]
            assert keys == sorted(keys)
            assert all(
                b.size == size and b.pointer == pointer and b.stream == stream
                for size, pointer, b in entries
            )
            in_pool += [b for _, _, b in entries]
        assert {id(b) for b in in_pool} == {id(b) for b in blocks if b.is_free() and b.pool is pool}
    assert {id(b) for b in a.allocated.values()} == {id(b) for b in blocks if b.allocated}
    assert all(pointer == b.pointer for pointer, b in a.allocated.items())
    pending = {id(b) for b in blocks if not b.allocated and not b.is_free()}
    assert {id(b) for b in a.pending.blocks()} == pending


def check_counts(a: CachingAllocator, segments: FakeSegments, blocks: list[Block]) -> None:
    stats = a.memory_stats()
    for name, chosen in (
        ("all", blocks),
        ("small_pool", [b for b in blocks if b.pool.is_small]),
        ("large_pool", [b for b in blocks if not b.pool.is_small]),
    ):
        live = [b for b in chosen if b.allocated]
        active = [b for b in chosen if not b.is_free()]
        parts = [b for b in chosen if b.is_free() and b.is_split()]
        expected = {
            "allocation": len(live),
            "allocated_bytes": sum(b.size for b in live),
            "active": len(active),
            "active_bytes": sum(b.size for b in active),
            "requested_bytes": sum(b.requested for b in active),
            "inactive_split": len(parts),
            "inactive_split_bytes": sum(b.size for b in parts),
            "segment": sum(b.prev is None for b in chosen),
            "reserved_bytes": sum(b.size for b in chosen),
        }
        for key, current in expected.items():
            row = stats[key][name]
            assert row["current"] == current, (name, key)
            assert row["peak"] >= current and row["allocated"] - row["freed"] == current, (
                name,
                key,
            )
    assert stats["reserved_bytes"]["all"]["current"] == segments.in_use
    large = a.config.max_split_size
    assert stats["oversize_allocations"]["current"] == sum(
        b.allocated and b.size >= large for b in blocks
    )
    assert stats["oversize_segments"]["current"] == sum(
        size >= large for size in segments.live.values()
    )


class Book:
    """What peaks and totals have to be, by what is current after every step: of all counts
    "NAME.current" of `stats()`.

    A step may make some go down and up again: then there are totals that grow although nothing has
    changed, and higher peaks.
    """

    def __init__(self, stats: Callable[[], dict[str, int]]) -> None:
        self.stats = stats
        self.peak = self._current()
        self.before = self.since = dict(self.peak)
        self.up = dict.fromkeys(self.peak, 0)

    def _current(self) -> dict[str, int]:
        return {
            k.removesuffix(".current"): v for k, v in self.stats().items() if k.endswith(".current")
        }

    def reset_peak(self) -> None:
        self.peak = self._current()

    def reset_accumulated(self) -> None:
        self.since, self.up = self._current(), dict.fromkeys(self.peak, 0)

    def check(self) -> None:
        """After a step, or a reset."""
        found, now = self.stats(), self._current()
        for name, current in now.items():
            self.up[name] += max(0, current - self.before[name])
            self.peak[name] = max(self.peak[name], current)
            peak, allocated, freed = (
                found.get(f"{name}.{value}") for value in ("peak", "allocated", "freed")
            )
            assert (
                allocated is not None
                and freed is not None
                and allocated - freed == current - self.since[name]
            ), name
            restless = any(
                word in name for word in ("split", "active.", "active_bytes.", "requested")
            )
            assert allocated == self.up[name] or restless and allocated > self.up[name], name
            assert (
                peak is None
                or peak == self.peak[name]
                or "split" in name
                and peak > self.peak[name]
            ), name
        self.before = now


@dataclass
class Live:
    block: Block
    pointer: int
    size: int
    uses: set[int]


class Runner:
    """Random programs over one allocator. It keeps its own book of what is in use, and of what
    other streams still work on.
    """

    def __init__(
        self,
        seed: int,
        config: AllocatorConfig = TODAY,
        capacity: int = 192 * MIB,
        streams: int = 3,
    ) -> None:
        self.random = random.Random(seed)
        self.segments = FakeSegments(capacity)
        self.allocator = CachingAllocator(self.segments, config=config)
        self.streams = streams
        self.live: list[Live] = []
        # start and end of all memory that must not be handed out; sorted
        self.taken: list[tuple[int, int]] = []
        self.waiting: list[tuple[int, int, list[FakeEvent]]] = []
        self.ooms = 0

    def run(self, operations: int, check_every: int) -> None:
        for i in range(operations):
            self.step()
            if i % check_every == 0:
                check_invariants(self.allocator, self.segments)
        self.finish()

    def step(self) -> None:
        dice = self.random.random()
        if dice < 0.48:
            self.malloc(self.size(), self.random.randrange(self.streams))
        elif dice < 0.92 and self.live:
            self.free(self.random.randrange(len(self.live)))
        elif dice < 0.96 and self.live:
            self.record_stream(self.random.choice(self.live), self.random.randrange(self.streams))
        elif dice < 0.998:
            self.segments.finish(self.random.randrange(self.streams))
        else:
            self.allocator.empty_cache()

    def size(self) -> int:
        """Mostly small; some around every border there is."""
        kind = self.random.randrange(10)
        if kind < 5:
            return self.random.randint(1, 20 * KIB)
        if kind < 8:
            return self.random.randint(1, 2 * MIB)
        if kind < 9:
            return self.random.choice((1, 2, 10, 20)) * MIB + self.random.randint(-600, 600)
        return self.random.randint(1, 40 * MIB)

    def malloc(self, nbytes: int, stream: int) -> None:
        a = self.allocator
        self.forget_completed()
        a.pending.process()
        best = expected_fit(a, nbytes, stream)
        ooms = a.stats.num_ooms
        try:
            block = a.malloc(nbytes, stream)
        except OutOfMemoryError:
            assert a.stats.num_ooms == ooms + 1 and best is None
            assert not a.pending, "it waits for everything before it gives up"
            self.waiting.clear()
            self.taken = sorted((x.pointer, x.pointer + x.size) for x in self.live)
            self.ooms += 1
            if self.live:  # make room
                self.free(self.random.randrange(len(self.live)))
            return
        assert best is None or block.pointer == best, "not the best fit"
        if not a.pending:
            self.waiting.clear()
            self.taken = sorted((x.pointer, x.pointer + x.size) for x in self.live)
        assert block.size >= nbytes and block.stream == stream and block.allocated
        self.take(block.pointer, block.pointer + block.size)
        self.live.append(Live(block, block.pointer, block.size, set()))

    def take(self, start: int, end: int) -> None:
        """Note that memory is in use, and that it was not before."""
        at = bisect_left(self.taken, (start, end))
        assert at == 0 or self.taken[at - 1][1] <= start, "overlaps memory that is in use"
        assert at == len(self.taken) or end <= self.taken[at][0], "overlaps memory that is in use"
        insort(self.taken, (start, end))

    def free(self, i: int) -> None:
        self.live[i], self.live[-1] = self.live[-1], self.live[i]
        dying = self.live.pop()
        before = len(self.segments.events)
        self.allocator.free(dying.block)
        events = self.segments.events[before:]
        assert {event.stream[1] for event in events} == dying.uses
        where = (dying.pointer, dying.pointer + dying.size)
        if events:
            self.waiting.append((*where, events))
        else:
            self.taken.remove(where)

    def record_stream(self, live: Live, stream: int) -> None:
        a = self.allocator
        a.record_stream(DataPtr(live.pointer, live.block, a._give_back, a.device), stream)
        if stream != live.block.stream:
            live.uses.add(stream)

    def forget_completed(self) -> None:
        still: list[Any] = []
        for start, end, events in self.waiting:
            if all(event.ready for event in events):
                self.taken.remove((start, end))
            else:
                still.append((start, end, events))
        self.waiting = still

    def finish(self) -> None:
        """Give everything back: nothing must remain."""
        while self.live:
            self.free(len(self.live) - 1)
        self.segments.finish()
        self.allocator.empty_cache()
        check_invariants(self.allocator, self.segments)
        assert not self.segments.live and not self.allocator.pending
        assert self.allocator.stats.reserved.current == 0


def expected_fit(a: CachingAllocator, nbytes: int, stream: int) -> int | None:
    """The address of the block that must serve a request, found by looking at every block there
    is.
    """
    size = a.config.round_size(nbytes)
    fits = [
        (block.size, block.pointer)
        for head in heads(a)
        for block in chain(head)
        if block.is_free()
        and block.size >= size
        and block.stream == stream
        and block.pool.is_small == (size <= a.config.small_size)
    ]
    if not fits:
        return None
    found, pointer = min(fits)
    limit = a.config.max_split_size
    if limit != UNLIMITED and (
        found >= limit if size < limit else found >= size + a.config.max_non_split_rounding
    ):
        return None
    return pointer
