"""The caching allocator of one device (`c10/cuda/CUDACachingAllocator.cpp`:
DeviceCachingAllocator).

`malloc(nbytes, stream)`, from the top:

1. Round the size up to a multiple of 512, and choose the pool: small up to 1 MiB, else large.
2. Take the smallest free block of that pool and stream that is large enough.
3. None? Ask the device for a segment: 2 MiB for the small pool, 20 MiB for requests below 10 MiB,
   else what is needed, in multiples of 2 MiB. If the device has none, give cached segments back and
   ask again (`reclaim`); then it is `OutOfMemoryError`.
4. If the block is too large, hand out its front and keep the rest: always in the small pool, in the
   large one if more than 1 MiB remains.

`free(block)` puts the block back and merges it with free neighbours, unless other streams still use
it (`events`). Nothing goes back to the device before somebody needs it or says `empty_cache`.

A block belongs to the stream it was allocated on, and is handed out only there again: work on one
stream runs in order, so the new owner's work comes after the old one's, without waiting for
anything.

How the real one differs: expandable segments (virtual memory that grows in place), private pools
for CUDA graphs and `MemPool`, memory shared between processes, callbacks that free memory before
giving up, a hook for profilers.
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
        self.allocated: dict[int, Block] = {}  # blocks in the hands of the program, by address
        self.pending: PendingEvents[Block] = PendingEvents(
            segments.record_event, self._completed, config.one_event_queue
        )
        self.history: History | None = None
        self.allowed = UNLIMITED  # bytes of segments this process may have
        self.enabled = True  # else every allocation is a cudaMalloc
        self._guard = Guard()
        self._lock = self._guard.lock
        self._give_back = self.free
        self.configure(config)

    def configure(self, config: AllocatorConfig) -> None:
        """Follow other rules from now on."""
        self.config = config
        self.pending.one_queue = config.one_event_queue
        self._rounds_plainly = config.rounds_plainly()
        self._limited = config.max_split_size != UNLIMITED

    # Memory for tensors

    def allocate(self, nbytes: int) -> DataPtr:
        """A block for `nbytes` bytes, on the current stream. Raises OutOfMemoryError."""
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
        """Work on another stream uses the memory: once given back, it must wait for that
        (`Tensor.record_stream`).

        Memory from elsewhere is ignored, and so is the stream that the block belongs to.
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
        with self._lock:
            if guard.busy:
                raise reentered()
            guard.busy = True
            try:
                if guard.deferred:
                    self._free_deferred()
                if self.pending.queues:
                    self.pending.process()
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
            if guard.busy:
                guard.deferred.append(block)
                return
            guard.busy = True
            try:
                self._free(block, frames)
            finally:
                guard.busy = False

    def _best_fit(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Take the smallest free block that is large enough out of its pool."""
        if self.allowed != UNLIMITED and self.config.garbage_collection_threshold:
            pool.searches += 1
        entries = pool.free.get(stream)
        if not entries:
            return None
        at = bisect_left(entries, (size,))
        if at == len(entries):
            return None
        block = entries[at][2]
        if self._limited and not self._may_serve(block, size):
            return None
        del entries[at]
        return block

    def _may_serve(self, block: Block, size: int) -> bool:
        """Blocks that are never split are kept for requests of about their size."""
        if size < self.config.max_split_size:
            return block.size < self.config.max_split_size
        return block.size < size + self.config.max_non_split_rounding

    def _cut(self, block: Block, size: int) -> None:
        """Leave `size` bytes of a block, and put the rest into the pool, if it is worth it."""
        rest = block.size - size
        was_split = block.prev is not None or block.next is not None
        if block.pool.is_small:
            cut = rest >= self.config.round_small
        else:
            cut = rest > self.config.small_size and size < self.config.max_split_size
        if cut:
            split(block, size)
            block.pool.stats.change_split(*((0, -size) if was_split else (1, rest)))
        elif was_split:
            block.pool.stats.change_split(-1, -block.size)

    def _free(self, block: Block, frames: Frames | None) -> None:
        if self.allocated.get(block.pointer) is not block:
            raise RuntimeError(
                f"invalid device pointer: {block.pointer:#x}: the block is not in use"
            )
        uses = block.uses
        if uses is not None:
            # first of all: the device may refuse, and then nothing has happened
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
        merged, merged_bytes = absorb_neighbours(block)
        block.pool.insert(block)
        still_split = block.prev is not None or block.next is not None
        block.pool.stats.change_split(
            still_split - merged, (block.size if still_split else 0) - merged_bytes
        )

    def _free_deferred(self) -> None:
        deferred = self._guard.deferred
        while deferred:
            self._free(deferred.popleft(), None)

    # Segments

    def _new_segment(self, pool: Pool, size: int, stream: int, frames: Frames | None) -> Block:
        """A whole new segment as one block, which is in no pool. Gives cached memory back where
        that helps.
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
        """Give a segment that is one free block back to the device. It stays where it is if the
        device refuses.
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
        """Have at most this part of the device's memory."""
        _, total = self.segments.memory_info()
        self.allowed = int(fraction * total)

    def memory_fraction(self) -> float:
        return 1.0 if self.allowed == UNLIMITED else self.allowed / self.segments.memory_info()[1]

    # Memory by address (`caching_allocator_alloc`)

    def raw_alloc(self, nbytes: int, stream: int) -> int:
        """The address of a block; 0 for 0 bytes."""
        return self.malloc(nbytes, stream).pointer if nbytes else 0

    def raw_delete(self, pointer: int) -> None:
        """Give the block at an address back. Raises RuntimeError if there is none in use."""
        block = self.allocated.get(pointer)
        if block is None:
            raise RuntimeError(f"invalid device pointer: {pointer:#x}")
        self.free(block)

    # What can be seen

    def memory_stats(self) -> dict[str, Any]:
        """The counts, nested, as `torch.cuda.memory_stats_as_nested_dict`."""
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
        """What was written down since `record_history`, in PyTorch's schema."""
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
        """Start writing down what happens (`history`), or stop and forget it. What was written
        before is kept unless `clear`.
        """
        with self._guard:
            before, self.history = self.history, None
            if enabled:
                self.history = History(context, python_only, max_entries, skipped)
                if before is not None and not clear:
                    self.history.entries.extend(before.entries)
