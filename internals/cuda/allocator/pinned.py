"""The allocator of page-locked ("pinned") host memory
(`aten/src/ATen/core/CachingHostAllocator.h`).

The copy engines of a GPU can access host memory by themselves only if the operating system has
promised not to move it. Such memory comes from `cudaHostAlloc`, which is slow, so blocks are kept.
Sizes are rounded up to a power of two; a free block serves only requests of its own size, and is
never split.

An asynchronous copy is still reading or writing when the call returns. So its stream is noted with
the block (`record_event`), and a block that is given back is free only when the copies on all these
streams are done.

By the rules of 1.0.1 sizes were not rounded, and the smallest free block that is large enough was
taken, however large.

How the real one differs: it has a list and a lock for each size, can wait for events in a thread of
its own, and can cut small blocks from a reserved segment. Its peak of active memory is the sum of
the peaks of the lists, hence too high; here it is exact.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from typing import Any

from internals.core.allocator import Allocator, DataPtr, delete_nothing
from internals.core.device import CPU

from .blocks import Stream
from .config import TODAY, AllocatorConfig
from .events import PendingEvents
from .guard import Guard
from .segments import Segments
from .stats import Stat


class HostBlock:
    """A block of page-locked memory. `uses`: streams with copies from or to it; `events`: how many
    of their marks are outstanding.
    """

    __slots__ = ("pointer", "size", "allocated", "uses", "events")

    def __init__(self, pointer: int, size: int) -> None:
        self.pointer, self.size = pointer, size
        self.allocated, self.events = True, 0
        self.uses: set[Stream] = set()


class PinnedAllocator(Allocator):
    """Page-locked host memory from `segments`, kept by size."""

    name = "CUDAHostAllocator"
    device = CPU

    def __init__(self, segments: Segments, config: AllocatorConfig = TODAY) -> None:
        self.segments, self.config = segments, config
        self.blocks: dict[int, HostBlock] = {}  # by address
        self.free_blocks: list[tuple[int, int, HostBlock]] = []  # (size, order, block), sorted
        self.pending: PendingEvents[HostBlock] = PendingEvents(
            segments.record_event, self._make_free, one_queue=True
        )
        self.stats = HostStats()
        self._returns = 0  # blocks given back so far: it orders free blocks of one size
        self._guard = Guard()

    def allocate(self, nbytes: int) -> DataPtr:
        """Page-locked memory for `nbytes` bytes. Raises the driver's error when there is none
        left.
        """
        if nbytes < 0:
            raise RuntimeError(f"{self.name}: can't allocate {nbytes} bytes: the size is negative")
        if nbytes == 0:
            return DataPtr(0, None, delete_nothing, CPU)
        with self._guard:
            self._free_deferred()
            self.pending.process()
            size = self.round_size(nbytes)
            block = self._take(size) or self._new_block(size)
            block.allocated = True
            self.stats.active_requests.increase(1)
            self.stats.active_bytes.increase(block.size)
            return DataPtr(block.pointer, block, self.free, CPU)

    def free(self, block: HostBlock) -> None:
        """Take a block back; it is free once the copies that use it are done. Raises RuntimeError
        if it is not in use.
        """
        with self._guard.lock:
            self._guard.deferred.append(block)
            if not self._guard.busy:  # else a finalizer runs inside another call
                with self._guard:
                    self._free_deferred()

    def record_event(self, data: DataPtr | int, device: int, stream: int) -> bool:
        """Note that a copy queued on `stream` uses this memory. Returns False if it is not a block
        of this allocator.

        `data` may be an address, that of a block's first byte.
        """
        block = self.blocks.get(data) if isinstance(data, int) else data.context
        if (
            not isinstance(block, HostBlock)
            or self.blocks.get(block.pointer) is not block
            or not block.allocated
        ):
            return False
        with self._guard:
            block.uses.add((device, stream))
        return True

    def empty_cache(self) -> None:
        """Give all free blocks back to the system."""
        with self._guard:
            self._free_deferred()
            self.pending.process()
            while self.free_blocks:
                self._destroy(self.free_blocks.pop()[2])

    def round_size(self, nbytes: int) -> int:
        """The size of the block for `nbytes`: the next power of two, or `nbytes` itself above the
        limits of the configuration.
        """
        config = self.config
        if not config.pinned_power_of_two or nbytes > min(
            config.pinned_max_round_threshold, config.pinned_max_cached_size
        ):
            return nbytes
        return 1 << (nbytes - 1).bit_length()

    def _take(self, size: int) -> HostBlock | None:
        """A free block out of the list, or None. Today: of this very size, the last one given back.
        1.0.1: the smallest that is large enough.
        """
        if self.config.pinned_power_of_two:
            # just before the first entry of a larger size lies the last one of this size
            at = bisect_left(self.free_blocks, (size + 1,)) - 1
            if at < 0 or self.free_blocks[at][0] != size:
                return None
        else:
            at = bisect_left(self.free_blocks, (size,))
            if at == len(self.free_blocks):
                return None
        return self.free_blocks.pop(at)[2]

    def _new_block(self, size: int) -> HostBlock:
        """A block of new page-locked memory."""
        start = time.perf_counter_ns()
        pointer = self.segments.malloc(size)
        self.stats.host_alloc_time.add((time.perf_counter_ns() - start) // 1000)
        block = self.blocks[pointer] = HostBlock(pointer, size)
        self.stats.allocations.increase(1)
        self.stats.allocated_bytes.increase(size)
        return block

    def _free_deferred(self) -> None:
        """Free the blocks given back: at once, or once the streams that use them have passed."""
        while self._guard.deferred:
            block: HostBlock = self._guard.deferred.popleft()
            if not block.allocated or self.blocks.get(block.pointer) is not block:
                raise RuntimeError(
                    f"double free: the pinned block at {block.pointer:#x} is not in use"
                )
            block.allocated = False
            if block.uses:
                uses, block.uses = block.uses, set()
                self.pending.insert(block, uses)
            else:
                self._make_free(block)

    def _make_free(self, block: HostBlock) -> None:
        """Put a block that no stream uses into the list of free ones, or give it back to the system
        if it is too large to be kept.
        """
        self.stats.active_requests.decrease(1)
        self.stats.active_bytes.decrease(block.size)
        if block.size > self.config.pinned_max_cached_size:
            self._destroy(block)
            return
        self._returns += 1
        # later ones sort to the end of their size, where `_take` looks; in 1.0.1 by address
        order = self._returns if self.config.pinned_power_of_two else block.pointer
        insort(self.free_blocks, (block.size, order, block))

    def _destroy(self, block: HostBlock) -> None:
        """Give a block back to the system (`cudaFreeHost`)."""
        del self.blocks[block.pointer]
        start = time.perf_counter_ns()
        self.segments.free(block.pointer)
        self.stats.host_free_time.add((time.perf_counter_ns() - start) // 1000)
        self.stats.allocations.decrease(1)
        self.stats.allocated_bytes.decrease(block.size)

    def memory_stats(self) -> dict[str, Any]:
        """The counts as nested dicts, those of `torch.cuda.host_memory_stats_as_nested_dict`."""
        with self._guard:
            self._free_deferred()
            return self.stats.nested()

    def reset_accumulated_stats(self) -> None:
        with self._guard:
            for part in self.stats.parts():
                part.reset_accumulated()

    def reset_peak_stats(self) -> None:
        with self._guard:
            for part in self.stats.parts():
                part.reset_peak()


class Duration:
    """Microseconds spent in calls of one function: total, longest, shortest, number of calls."""

    __slots__ = ("total", "max", "min", "count")

    def __init__(self) -> None:
        self.total = self.max = self.min = self.count = 0

    def add(self, microseconds: int) -> None:
        self.total += microseconds
        self.count += 1
        self.max = max(self.max, microseconds)
        self.min = min(self.min, microseconds) if self.min else microseconds

    def reset_accumulated(self) -> None:
        self.total = self.count = 0

    def reset_peak(self) -> None:
        self.min = self.max = 0

    def as_dict(self) -> dict[str, Any]:
        average = self.total / self.count if self.count else 0
        return {
            "total": self.total,
            "max": self.max,
            "min": self.min,
            "count": self.count,
            "avg": average,
        }


class HostStats:
    """The counts of a `PinnedAllocator`. `active_*`: blocks that are handed out, or that copies
    still use; `allocations` and `allocated_bytes`: those and the free ones.
    """

    __slots__ = (
        "active_requests",
        "active_bytes",
        "allocations",
        "allocated_bytes",
        "host_alloc_time",
        "host_free_time",
    )

    def __init__(self) -> None:
        self.active_requests, self.active_bytes, self.allocations, self.allocated_bytes = (
            Stat(),
            Stat(),
            Stat(),
            Stat(),
        )
        self.host_alloc_time, self.host_free_time = Duration(), Duration()

    def parts(self) -> list[Stat | Duration]:
        return [getattr(self, name) for name in self.__slots__]

    def nested(self) -> dict[str, Any]:
        return {
            "num_host_alloc": self.allocations.allocated,
            "num_host_free": self.allocations.freed,
            **{name: getattr(self, name).as_dict() for name in self.__slots__},
        }
