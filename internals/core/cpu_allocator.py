"""CPU memory: aligned blocks from the system, and a cache of them by size class
(`c10/core/CPUAllocator.cpp`).

`SystemAllocator` calls the operating system for every request. Its memory is aligned to 64 bytes,
so that no vector load crosses the boundary of a cache line. `CachingAllocator` is on top of it and
keeps freed blocks in one free list per *size class* (multiples of 64 bytes up to 1 KiB, then four
classes per doubling), so a small tensor costs a `list.pop` instead of a call of the system. With
each block it also keeps the last numpy header over it, which the next tensor of the same geometry
uses again.

Any thread may allocate and free, without a lock: `list.pop` gives a block to one thread only, and a
block is complete before it is in a list. See `Stats` for the counters.

How the real one differs: PyTorch's default CPU allocator does not cache at all; malloc does. In
Python a call of malloc through ctypes takes longer than adding two small tensors, so a cache is
worthwhile. PyTorch's CUDA allocator caches too, but splits and merges blocks.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .allocator import Allocator, DataPtr, check_nbytes
from .hot import hot

ALIGNMENT = 64
# blocks up to 1 MiB are always kept; larger ones only while the cache is below MAX_CACHED
SMALL = 1 << 20
MAX_CACHED = 1 << 29


class Block(DataPtr):
    """A `DataPtr` that goes back to its size class instead of to the system.

    - `size`, `requested`: the bytes of its size class, and those that were asked for.
    - `free_list`: the list of free blocks of its class.
    - `array`, `geometry`: the last numpy header over it, and the geometry that was made for.
    - `active`: whether it is in use now. `uses`: how many times it was allocated.
    """

    __slots__ = ("size", "requested", "free_list", "array", "geometry", "active", "uses")

    size: int
    requested: int
    free_list: list[Block]
    array: Any
    geometry: Any
    active: bool
    uses: int

    def clear(self) -> None:
        self.deleter(self)


class Stats:
    """Running counters of a `CachingAllocator`, for what cannot be counted from its blocks.
    `reserved` bytes come from the system, `bytes` of them are in use; `retired` counts uses of
    blocks that went back to the system.

    Threads share them without a lock: `stats.bytes += size` reads, adds and writes without
    interruption, because CPython lets another thread run only at calls, at the beginning of
    functions and at the end of a loop's body. So a statement that changes a counter calls nothing,
    not even `max`; tests/threads/test_threads.py reads the bytecode.
    """

    __slots__ = (
        "bytes", "peak_bytes", "retired_bytes", "retired_blocks",
        "reserved", "peak_reserved", "total_reserved", "segments", "total_segments",
    )  # fmt: skip

    def __init__(self) -> None:
        self.bytes = self.peak_bytes = self.retired_bytes = self.retired_blocks = 0
        self.reserved = self.peak_reserved = self.total_reserved = self.segments = (
            self.total_segments
        ) = 0


class SystemAllocator(Allocator):
    """No cache: `posix_memalign` and `free` (`_aligned_malloc`, `_aligned_free` on Windows)."""

    name = "SystemAllocator"

    def allocate(self, nbytes: int) -> DataPtr:
        check_nbytes(nbytes)  # ctypes.c_size_t takes 2**64 for 0
        if nbytes == 0:
            return DataPtr(0, None, system_free)
        pointer = system_allocate(nbytes)
        return DataPtr(pointer, pointer, system_free)


class CachingAllocator(Allocator):
    """Free lists by size class over an upstream allocator.

    Example: `alloc = CachingAllocator(); p = alloc.allocate(100); p.clear();
    alloc.allocate(120).pointer` is the same address again, because 100 and 120 bytes share the
    class of 128.
    """

    name = "CachingAllocator"

    def __init__(self, upstream: Allocator | None = None) -> None:
        self.upstream = upstream or SystemAllocator()
        self.free_lists: dict[int, list[Block]] = {}
        # every block that came from upstream and has not gone back, by address
        self.blocks: dict[int, Block] = {}
        self.stats = Stats()
        self.history: list[dict[str, Any]] | None = None
        self._logs: list[list[dict[str, Any]]] = []

    def allocate(self, nbytes: int) -> DataPtr:
        """A block of the size class of `nbytes`: a free one, or a new one from upstream."""
        if nbytes <= 0:
            return self.upstream.allocate(nbytes)
        free = self.free_list(nbytes)
        try:  # not `if free`: another thread may pop the last block between the test and the pop
            block, hit = free.pop(), True
        except IndexError:
            hit = False
        if not hit:
            block = self._grow(round_size(nbytes), free)
        block.requested, block.active = nbytes, True
        block.uses += 1
        stats = self.stats
        stats.bytes = n = stats.bytes + block.size
        if n > stats.peak_bytes:
            stats.peak_bytes = n
        if self.history is not None:
            self._record("cache_hit" if hit else "alloc", block)
        return block

    def release(self, block: Block) -> None:
        """Puts a block back into its free list, or, if it is large and the cache is full, frees it.
        Raises RuntimeError if it is already free.
        """
        if not block.active:
            raise RuntimeError(
                f"double free: the block of {block.size} bytes at {block.pointer:#x} is not in use"
            )
        block.active = False
        self.stats.bytes -= block.size
        if block.size > SMALL and self.stats.reserved - self.stats.bytes > MAX_CACHED:
            self._give_back(block)
        else:
            if self.history is not None:
                self._record("cache_return", block)
            block.free_list.append(block)  # from here on it may be another thread's

    def free_list(self, nbytes: int) -> list[Block]:
        """The free list that serves requests of `nbytes` bytes."""
        size = round_size(nbytes)
        found = self.free_lists.get(size)
        return self.free_lists.setdefault(size, []) if found is None else found

    def empty_cache(self) -> None:
        """Frees all cached blocks; those in use stay."""
        for free in list(self.free_lists.values()):
            with suppress(IndexError):
                while True:
                    self._give_back(free.pop())

    def snapshot(self) -> list[dict[str, Any]]:
        """A dict for every block, in the order of addresses: `address`, `size` of its class,
        `requested` bytes, `state` "active" or "cached".
        """
        return [
            {
                "address": b.pointer,
                "size": b.size,
                "requested": b.requested,
                "state": "active" if b.active else "cached",
            }
            for b in sorted(self.blocks.values(), key=lambda b: b.pointer)
        ]

    def memory_stats(self) -> dict[str, int]:
        """The counters, under the keys of `torch.cuda.memory_stats()`; bytes are those of the size
        classes.

        There is no peak of the numbers of blocks and segments. While other threads allocate, the
        counters may be of slightly different moments.
        """
        s = self.stats
        # a copy: other threads may add blocks meanwhile
        blocks = list(self.blocks.values())
        in_use = sum(b.active for b in blocks)
        uses = s.retired_blocks + sum(b.uses for b in blocks)
        used_bytes = s.retired_bytes + sum(b.uses * b.size for b in blocks)
        table = {  # (current, peak, allocated, freed), the last two since the beginning
            "allocation": (in_use, None, uses, uses - in_use),
            "allocated_bytes": (s.bytes, s.peak_bytes, used_bytes, used_bytes - s.bytes),
            "segment": (s.segments, None, s.total_segments, s.total_segments - s.segments),
            "reserved_bytes": (
                s.reserved,
                s.peak_reserved,
                s.total_reserved,
                s.total_reserved - s.reserved,
            ),
        }
        names = ("current", "peak", "allocated", "freed")
        return {
            f"{stat}.all.{n}": v
            for stat, row in table.items()
            for n, v in zip(names, row)
            if v is not None
        }

    def reset_peak_memory_stats(self) -> None:
        """Lets the peaks start again at the current numbers of bytes."""
        s = self.stats
        s.peak_bytes, s.peak_reserved = s.bytes, s.reserved

    @contextmanager
    def record_history(self) -> Iterator[list[dict[str, Any]]]:
        """Collects a dict for each event while the block runs: `action`, `address`, `size`.

        Actions are "alloc" (new from the system), "cache_hit", "cache_return" and "segment_free"
        (back to the system).
        """
        events: list[dict[str, Any]] = []
        with self.telling(events), hot.detour():
            yield events

    @contextmanager
    def telling(self, log: list[dict[str, Any]]) -> Iterator[None]:
        """Appends the events of all threads to `log` while the block runs. An outer block gets none
        of them until this one ends.
        """
        with _lock:
            self._logs.append(log)
            self.history = log
        try:
            yield
        finally:
            with _lock:  # threads may end in another order than they began
                self._logs = [other for other in self._logs if other is not log]
                self.history = self._logs[-1] if self._logs else None

    def _grow(self, size: int, free: list[Block]) -> Block:
        """A new block of `size` bytes from upstream, for the free list `free`. If there is no
        memory, the cache is emptied and it is tried again.
        """
        if size > _limit.nbytes:
            raise RuntimeError(
                f"DefaultCPUAllocator: can't allocate {size} bytes for {_limit.reason}, which gets "
                f"at most {_limit.nbytes}"
            )
        try:
            memory = self.upstream.allocate(size)
        except RuntimeError:
            self.empty_cache()
            memory = self.upstream.allocate(size)
        block = Block(memory.pointer, memory, self.release)
        block.size, block.free_list, block.array, block.geometry, block.uses = (
            size,
            free,
            None,
            None,
            0,
        )
        block.requested, block.active = size, True
        if size <= SMALL and self is caching_allocator:
            block.recycle = free  # `Storage.__del__` puts it there without calling `release`
        self.blocks[block.pointer] = block
        s = self.stats
        s.segments += 1
        s.total_segments += 1
        s.reserved = n = s.reserved + size
        s.total_reserved += size
        if n > s.peak_reserved:
            s.peak_reserved = n
        return block

    def _give_back(self, block: Block) -> None:
        """Frees a block that is in no free list any more."""
        del self.blocks[block.pointer]
        self.stats.retired_blocks += block.uses
        self.stats.retired_bytes += block.uses * block.size
        self.stats.segments -= 1
        self.stats.reserved -= block.size
        if self.history is not None:
            self._record("segment_free", block)
        block.array = block.geometry = block._memory = None
        block.context.clear()

    def _record(self, action: str, block: Block) -> None:
        history = self.history
        if history is not None:  # another thread may have ended it since the caller looked
            history.append({"action": action, "address": block.pointer, "size": block.size})


def round_size(nbytes: int) -> int:
    """The size class of a request in bytes: the next multiple of 64 up to 1 KiB, then one of four
    classes per doubling, such as 1280, 1536, 1792 and 2048.
    """
    if nbytes <= 1024:
        return (nbytes + 63) & ~63
    # A quarter of the largest power of two below `nbytes`. To round up to a multiple of a power of
    # two, add one less than it and clear the lower bits.
    step = 1 << ((nbytes - 1).bit_length() - 3)
    return (nbytes + step - 1) & ~(step - 1)


def _system_functions() -> tuple[Callable[[int], int], Callable[[Any], None]]:
    """The functions of the C library that allocate aligned memory and free it."""
    if sys.platform == "win32":
        # without types ctypes would pass and return 32-bit ints
        crt = ctypes.cdll.msvcrt
        crt._aligned_malloc.argtypes, crt._aligned_malloc.restype = (
            [ctypes.c_size_t, ctypes.c_size_t],
            ctypes.c_void_p,
        )
        crt._aligned_free.argtypes, crt._aligned_free.restype = [ctypes.c_void_p], None

        def allocate_windows(nbytes: int) -> int:
            return crt._aligned_malloc(nbytes, ALIGNMENT) or _out_of_memory(nbytes)

        return allocate_windows, crt._aligned_free

    libc = ctypes.CDLL(None)
    libc.posix_memalign.argtypes = [
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_size_t,
        ctypes.c_size_t,
    ]
    libc.posix_memalign.restype = ctypes.c_int
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None

    def allocate_posix(nbytes: int) -> int:
        pointer = ctypes.c_void_p()
        if libc.posix_memalign(ctypes.byref(pointer), ALIGNMENT, nbytes) or pointer.value is None:
            _out_of_memory(nbytes)
        return pointer.value or 0

    return allocate_posix, libc.free


def _out_of_memory(nbytes: int) -> int:
    """Raises PyTorch's error for a failed allocation."""
    raise RuntimeError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. "
        "Error code 12 (Cannot allocate memory)"
    )


system_allocate, _raw_free = _system_functions()


def system_free(pointer: int) -> None:
    """Gives memory from `system_allocate` back to the system."""
    _raw_free(pointer)


class _Limit(threading.local):
    """The largest block that a thread gets from the system, and the reason, for the error."""

    nbytes, reason = sys.maxsize, ""


_lock, _limit = threading.Lock(), _Limit()
caching_allocator = CachingAllocator()
_current: Allocator = caching_allocator


def get_cpu_allocator() -> Allocator:
    """The allocator that new CPU storages come from."""
    return _current


@contextmanager
def limited_blocks(nbytes: int, reason: str) -> Iterator[None]:
    """Limits the blocks that this thread gets from the system to `nbytes` inside the `with` block.
    A larger request raises a RuntimeError that names `reason`.
    """
    outer = _limit.nbytes, _limit.reason
    _limit.nbytes, _limit.reason = min(nbytes, outer[0]), reason
    try:
        yield
    finally:
        _limit.nbytes, _limit.reason = outer


@contextmanager
def use_cpu_allocator(allocator: Allocator) -> Iterator[Allocator]:
    """Makes `allocator` the one for new CPU storages inside the block, in all threads
    (`c10::SetCPUAllocator`). Existing storages keep theirs.
    """
    global _current
    outer, _current = _current, allocator
    try:
        with hot.detour():
            yield allocator
    finally:
        _current = outer
