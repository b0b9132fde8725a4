"""The caching allocator of one device (`c10/cuda/CUDACachingAllocator.cpp`:
DeviceCachingAllocator).

`malloc(nbytes, stream)`, from the top:

1. Round the size up to a multiple of 512, and choose the pool: small up to 1 MiB, else large.
2. Take the smallest free block of that pool and stream that is large enough.
3. If there is none, ask the device for a segment: 2 MiB for the small pool, 20 MiB for requests
   below 10 MiB, else what is needed, in multiples of 2 MiB. If the device has no memory left, give
   cached segments back and ask again (`reclaim`). If that fails too, raise `OutOfMemoryError`.
4. If the block is too large, hand out its front and keep the rest: in the small pool if at least
   512 bytes remain, in the large one if more than 1 MiB.

`free(block)` puts the block back and merges it with free neighbours, unless other streams still use
it (`events`). Memory goes back to the device only at `empty_cache`, or when step 3 needs it.

A block belongs to the stream it was allocated on, and is handed out again only there. Work on one
stream runs in order, so the new owner's work comes after the old one's without any waiting.

How the real one differs: it also has expandable segments (virtual memory that grows in place),
private pools for CUDA graphs and `MemPool`, memory shared between processes, callbacks that free
memory before giving up, and a hook for profilers.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Collection
from typing import Any

from internals.core.allocator import Allocator, DataPtr, delete_nothing
from internals.core.device import device
from internals.cuda.driver import DeviceOutOfMemory

from . import reclaim, snapshot
from .blocks import Block, Pool, absorb_neighbours, split
from .config import TODAY, UNLIMITED, AllocatorConfig
from .errors import EXABYTE, OutOfMemoryError, Shortage
from .events import PendingEvents
from .guard import Guard, reentered
from .history import ALL, STATE, Frames, History
from .segments import Segments
from .stats import DeviceStats


class CachingAllocator(Allocator):
    """Cuts blocks from segments of device `index`, by the rules of `config` (`TODAY` or `V1_0_1`).

    Example: `a = CachingAllocator(FakeSegments()); p = a.allocate(1000); p.clear();
    a.allocate(700).pointer` is the same address again.
    """

    name = "CUDACachingAllocator"

    def __init__(
        self,
        segments: Segments,
        index: int = 0,
        config: AllocatorConfig = TODAY,
        current_stream: Callable[[], int] = int,
    ) -> None:
        self.segments, self.index, self.current_stream = segments, index, current_stream
        self.device = device("cuda", index)
        self.stats = DeviceStats()
        self.small = Pool(True, self.stats.small_pool)
        self.large = Pool(False, self.stats.large_pool)
        self.allocated: dict[int, Block] = {}  # blocks that the program holds, by address
        self.pending: PendingEvents[Block] = PendingEvents(
            segments.record_event, self._completed, config.one_event_queue
        )
        self.history: History | None = None
        self.allowed = UNLIMITED  # bytes of segments this process may have
        self.enabled = True  # else every allocation is a cudaMalloc
        self._guard = Guard()
        self._lock = self._guard.lock
        self._give_back = self.free  # one object, so that `record_stream` can compare by `is`
        self.configure(config)

    def configure(self, config: AllocatorConfig) -> None:
        """Follow the rules of `config` from now on; blocks that exist stay as they are."""
        self.config = config
        self.pending.one_queue = config.one_event_queue
        self._rounds_plainly = config.rounds_plainly()
        self._limited = config.max_split_size != UNLIMITED

    # Memory for tensors

    def allocate(self, nbytes: int) -> DataPtr:
        """A block for `nbytes` bytes that belongs to the current stream; no memory for 0 bytes.
        Raises OutOfMemoryError.
        """
        if 0 < nbytes < EXABYTE and self.enabled:
            block = self.malloc(nbytes, self.current_stream())
            return DataPtr(block.pointer, block, self._give_back, self.device)
        if nbytes == 0:
            return DataPtr(0, None, delete_nothing, self.device)
        if nbytes < 0:
            raise RuntimeError(f"{self.name}: can't allocate {nbytes} bytes: the size is negative")
        if nbytes >= EXABYTE:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate more than 1EB memory.")
        pointer = self.segments.malloc(nbytes)
        return DataPtr(pointer, pointer, self.segments.free, self.device)

    def record_stream(self, data: DataPtr, stream: int, device: int | None = None) -> None:
        """Note that work on `stream` uses the memory: after it is given back, it is free only when
        that work is done (`Tensor.record_stream`).

        Does nothing for memory of another allocator, or if `stream` is the block's own.
        """
        block = data.context
        home = self.index if device is None else device
        if (
            not isinstance(block, Block)
            or data.deleter is not self._give_back
            or (home, stream) == (self.index, block.stream)
        ):
            return
        with self._guard:
            if block.uses is None:
                block.uses = set()
            block.uses.add((home, stream))

    # The algorithm

    def malloc(self, nbytes: int, stream: int) -> Block:
        """A block of at least `nbytes` (1 or more) that belongs to `stream`. Raises
        OutOfMemoryError.
        """
        history = self.history
        frames = None if history is None else history.gather(STATE)
        guard = self._guard
        with self._lock:  # `with guard:`, written out: this runs for every tensor
            if guard.busy:
                raise reentered()
            guard.busy = True
            try:
                if guard.deferred:
                    self._free_deferred()
                if self.pending.queues:
                    self.pending.process()
                # add 511, clear the lowest nine bits: the next multiple of 512
                size = (
                    (nbytes + 511) & ~511
                    if self._rounds_plainly
                    else self.config.round_size(nbytes)
                )
                pool = self.small if size <= self.config.small_size else self.large
                block = self._best_fit(pool, size, stream) or self._new_segment(
                    pool, size, stream, frames
                )
                self._cut(block, size)
                block.allocated, block.requested, block.frames = True, nbytes, frames
                self.allocated[block.pointer] = block
                size = block.size
                pool.stats.hand_out(size, nbytes)
                if self._limited and size >= self.config.max_split_size:
                    self.stats.oversize_allocations.increase(1)
                if history is not None:
                    history.record("alloc", block.pointer, nbytes, stream, frames)
                return block
            finally:
                guard.busy = False

    def free(self, block: Block) -> None:
        """Take a block back. Raises RuntimeError if it is not in use."""
        history = self.history
        frames = None if history is None else history.gather(ALL)
        guard = self._guard
        with self._lock:
            if guard.busy:  # a finalizer inside this very thread's `malloc` or `free`
                guard.deferred.append(block)
                return
            guard.busy = True
            try:
                self._free(block, frames)
            finally:
                guard.busy = False

    def _best_fit(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Take the smallest free block that is large enough out of its pool. None if there is none,
        or if it may not be split down to `size`.
        """
        if self.allowed != UNLIMITED and self.config.garbage_collection_threshold:
            pool.searches += 1  # the clock by which `collect_garbage` tells the age of blocks
        entries = pool.free.get(stream)
        if not entries:
            return None
        # entries are (size, address, block): (size,) sorts before all of them with that size
        at = bisect_left(entries, (size,))
        if at == len(entries):
            return None
        block = entries[at][2]
        if self._limited and not self._may_serve(block, size):
            return None
        del entries[at]
        return block

    def _may_serve(self, block: Block, size: int) -> bool:
        """Whether `block` may be handed out for `size` bytes, where `max_split_size` is set.

        Blocks of that size or more are never split. So a smaller request must not take one, and a
        large request takes one only if little of it would be wasted.
        """
        if size < self.config.max_split_size:
            return block.size < self.config.max_split_size
        return block.size < size + self.config.max_non_split_rounding

    def _cut(self, block: Block, size: int) -> None:
        """Cut `block` down to `size` bytes and put the rest into the pool, if the rest is large
        enough to be of use. Counts free parts of segments (`split`) either way.
        """
        rest = block.size - size
        was_split = block.prev is not None or block.next is not None
        if block.pool.is_small:
            cut = rest >= self.config.round_small
        else:
            cut = rest > self.config.small_size and size < self.config.max_split_size
        if cut:
            split(block, size)
            # a part left the pool and a smaller one enters; or a whole one left, and a part enters
            block.pool.stats.change_split(*((0, -size) if was_split else (1, rest)))
        elif was_split:
            block.pool.stats.change_split(-1, -block.size)

    def _free(self, block: Block, frames: Frames | None) -> None:
        """Make a block free, or pending if other streams still use it. The caller holds the lock.
        Raises RuntimeError if the block is not in use.
        """
        if self.allocated.get(block.pointer) is not block:
            raise RuntimeError(
                f"invalid device pointer: {block.pointer:#x}: the block is not in use"
            )
        uses = block.uses
        if uses is not None:
            # first, as recording the events may fail: then nothing has changed yet
            self.pending.insert(block, uses)
            block.uses = None
        del self.allocated[block.pointer]
        block.allocated = False
        size = block.size
        if self.history is not None:
            self.history.record(
                "free_requested",
                block.pointer,
                block.requested,
                block.stream,
                frames or block.frames,
            )
        if self._limited and size >= self.config.max_split_size:
            self.stats.oversize_allocations.decrease(1)
        if uses is None:
            block.pool.stats.take_back(size, block.requested)
            self._make_free(block, frames)
        else:
            block.pool.stats.take_back_pending(size)

    def _completed(self, block: Block) -> None:
        """The last stream that used a pending block is done with it."""
        block.pool.stats.complete(block.size, block.requested)
        self._make_free(block, None)

    def _make_free(self, block: Block, frames: Frames | None) -> None:
        """Merge a block with its free neighbours and put it into its pool."""
        if self.history is not None:
            self.history.record(
                "free_completed",
                block.pointer,
                block.requested,
                block.stream,
                frames or block.frames,
            )
        block.frames = None
        if block.prev is None and block.next is None:
            block.pool.insert(block)
            return
        # free parts of segments: the merged ones are gone, and the result is one unless it is whole
        merged, merged_bytes = absorb_neighbours(block)
        block.pool.insert(block)
        still_split = block.prev is not None or block.next is not None
        block.pool.stats.change_split(
            still_split - merged, (block.size if still_split else 0) - merged_bytes
        )

    def _free_deferred(self) -> None:
        """Free the blocks that finalizers gave back while the allocator was busy."""
        deferred = self._guard.deferred
        while deferred:
            self._free(deferred.popleft(), None)

    # Segments

    def _new_segment(self, pool: Pool, size: int, stream: int, frames: Frames | None) -> Block:
        """A new segment as one block that is in no pool, for a request of `size` bytes.

        Tries again after giving back a few cached blocks, and once more after giving back all.
        Raises OutOfMemoryError.
        """
        wanted = self.config.segment_size(size)
        if self.allowed != UNLIMITED and self.config.garbage_collection_threshold:
            reclaim.collect_garbage(self, frames)
        block = self._ask(pool, wanted, stream, frames)
        if block is None and reclaim.release_available(self, pool, size, stream, frames):
            block = self._ask(pool, wanted, stream, frames)
        if block is None:
            reclaim.release_cached(self, frames)
            self.stats.num_alloc_retries += 1
            block = self._ask(pool, wanted, stream, frames)
        if block is None:
            raise self._out_of_memory(wanted, size, stream, frames)
        return block

    def _ask(self, pool: Pool, nbytes: int, stream: int, frames: Frames | None) -> Block | None:
        """A segment of `nbytes` from the device; None if it has no room, or if that is more than
        `allowed`.
        """
        if self.stats.reserved.current + nbytes > self.allowed:
            return None
        try:
            pointer = self.segments.malloc(nbytes)
        except DeviceOutOfMemory:
            return None
        block = Block(pointer, nbytes, stream, pool)
        block.segment_frames = frames
        self.stats.add_segment(pool.stats, nbytes)
        if nbytes >= self.config.max_split_size:
            self.stats.oversize_segments.increase(1)
        if self.history is not None:
            self.history.record("segment_alloc", pointer, nbytes, stream, frames)
        return block

    def release(self, block: Block, frames: Frames | None = None) -> None:
        """Give a segment that is one free block back to the device. If that fails, the block stays
        in its pool.
        """
        if self.history is not None:
            self.history.record(
                "segment_free",
                block.pointer,
                block.size,
                block.stream,
                frames or block.segment_frames,
            )
        self.segments.free(block.pointer)
        block.pool.remove(block)
        self.stats.remove_segment(block.pool.stats, block.size)
        if block.size >= self.config.max_split_size:
            self.stats.oversize_segments.decrease(1)

    def _out_of_memory(
        self, wanted: int, size: int, stream: int, frames: Frames | None
    ) -> OutOfMemoryError:
        """The error for a segment of `wanted` bytes that could not be had for a block of `size`."""
        free, total = self.segments.memory_info()
        if self.history is not None:
            self.history.record("oom", free, size, stream, frames)
        self.stats.num_ooms += 1
        stats = self.stats
        shortage = Shortage(
            self.index,
            wanted,
            total,
            free,
            stats.allocated_bytes(),
            stats.reserved.current,
            self.allowed,
        )
        return shortage.error(self.config.release)

    def empty_cache(self) -> None:
        """Wait for pending blocks, then give every segment that is entirely free back to the
        device.
        """
        frames = None if self.history is None else self.history.gather(ALL)
        with self._guard:
            self._free_deferred()
            reclaim.release_cached(self, frames)

    def set_memory_fraction(self, fraction: float) -> None:
        """Allow segments of at most this fraction of the device's memory in total."""
        _, total = self.segments.memory_info()
        self.allowed = int(fraction * total)

    def memory_fraction(self) -> float:
        return 1.0 if self.allowed == UNLIMITED else self.allowed / self.segments.memory_info()[1]

    # Memory by address (`caching_allocator_alloc`)

    def raw_alloc(self, nbytes: int, stream: int) -> int:
        """The address of a new block; 0 for 0 bytes. Raises OutOfMemoryError."""
        return self.malloc(nbytes, stream).pointer if nbytes else 0

    def raw_delete(self, pointer: int) -> None:
        """Free the block at an address. Raises RuntimeError if none is in use there."""
        block = self.allocated.get(pointer)
        if block is None:
            raise RuntimeError(f"invalid device pointer: {pointer:#x}")
        self.free(block)

    # Statistics, snapshots and history

    def memory_stats(self) -> dict[str, Any]:
        """The counts as nested dicts, those of `torch.cuda.memory_stats_as_nested_dict`."""
        with self._guard:
            self._free_deferred()
            return self.stats.nested(self.config.max_split_size)

    def reset_accumulated_stats(self) -> None:
        with self._guard:
            self.stats.reset_accumulated()

    def reset_peak_stats(self) -> None:
        with self._guard:
            self.stats.reset_peak()

    def snapshot(self) -> list[dict[str, Any]]:
        """All segments and their blocks, in PyTorch's schema: see `snapshot.segments`."""
        with self._guard:
            self._free_deferred()
            return snapshot.segments(self)

    def trace(self) -> list[dict[str, Any]]:
        """The recorded entries, oldest first, in PyTorch's schema; none without
        `record_history`.
        """
        with self._guard:
            return [] if self.history is None else self.history.trace()

    def record_history(
        self,
        enabled: bool = True,
        context: int = ALL,
        python_only: bool = False,
        max_entries: int = sys.maxsize,
        clear: bool = False,
        skipped: Collection[str] = (),
    ) -> None:
        """Start recording what the allocator does (`history`), or stop and drop the entries.
        Starting again keeps earlier entries unless `clear`.
        """
        with self._guard:
            before, self.history = self.history, None
            if enabled:
                self.history = History(context, python_only, max_entries, skipped)
                if before is not None and not clear:
                    self.history.entries.extend(before.entries)
