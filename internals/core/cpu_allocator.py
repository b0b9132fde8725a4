"""CPU memory: aligned blocks from the system, and a cache of them by size class
(`c10/core/CPUAllocator.cpp`).

`SystemAllocator` asks the operating system for every request: 64-byte aligned, so that a vector
load never straddles a cache line. `CachingAllocator` sits on top and keeps returned blocks in one
free list per *size class* (multiples of 64 bytes up to 1 KiB, then four classes per doubling), so a
small tensor costs a `list.pop` instead of a system call. It also keeps, with each block, the numpy
array header last used to look at it: the next tensor of the same geometry finds its header ready.

Any thread may allocate and give back, without a lock: a block belongs to whoever popped it from its
list, which one thread only can do, and is complete before others see it. See `Stats` for the
counters.

How the real one differs: PyTorch's default CPU allocator does not cache at all; it leaves that to
malloc, which is written in C. In Python a system call through ctypes costs more than an addition,
so the cache decides. PyTorch's CUDA allocator caches in the same spirit, but splits and merges
blocks.
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

    `size` is the size of the class in bytes, `requested` what was asked for; `array` and `geometry`
    are the numpy header kept ready and the geometry it was made for; `active` says whether the
    block is in use at the moment, `uses` how often it was handed out.
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
    """Running counters of a `CachingAllocator`. What can be counted from the blocks themselves is
    not kept here.

    Threads share them without a lock: `stats.bytes += size` reads, adds and writes in one go,
    because CPython lets another thread run only where something is called, a function begins or a
    loop goes round. So a statement that changes a counter calls nothing, not even `max`;
    tests/threads/test_threads.py reads the bytecode.
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
    """`posix_memalign` and `free` (`_aligned_malloc` and `_aligned_free` on Windows), nothing
    kept.
    """

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
        # every block taken from upstream and not given back, by address
        self.blocks: dict[int, Block] = {}
        self.stats = Stats()
        self.history: list[dict[str, Any]] | None = None
        self._logs: list[list[dict[str, Any]]] = []

    def allocate(self, nbytes: int) -> DataPtr:
        if nbytes <= 0:
            return self.upstream.allocate(nbytes)
        free = self.free_list(nbytes)
        try:  # who looks first and pops then may find that another thread was quicker
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
        """Take a block back. Raises RuntimeError if it was already free."""
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
        """Give every cached block back to the system; blocks in use stay."""
        for free in list(self.free_lists.values()):
            with suppress(IndexError):
                while True:
                    self._give_back(free.pop())

    def snapshot(self) -> list[dict[str, Any]]:
        """Every block held, by address: `address`, `size` of its class, `requested` bytes, `state`
        "active" or "cached".
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
        """Counters under the keys of `torch.cuda.memory_stats()`; bytes are those of the size
        classes.

        The numbers of blocks and segments have no peak: it is not kept. While other threads
        allocate, they are of slightly different moments.
        """
        s = self.stats
        blocks = list(self.blocks.values())
        in_use = sum(b.active for b in blocks)
        uses = s.retired_blocks + sum(b.uses for b in blocks)
        used_bytes = s.retired_bytes + sum(b.uses * b.size for b in blocks)
        table = {
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
        s = self.stats
        s.peak_bytes, s.peak_reserved = s.bytes, s.reserved

    @contextmanager
    def record_history(self) -> Iterator[list[dict[str, Any]]]:
        """Collect one dict per event while the block runs: `action`, `address`, `size`.

        Actions: "alloc" (new from the system), "cache_hit", "cache_return", "segment_free" (given
        back to the system).
        """
        events: list[dict[str, Any]] = []
        with self.telling(events), hot.detour():
            yield events

    @contextmanager
    def telling(self, log: list[dict[str, Any]]) -> Iterator[None]:
        """Append an event to `log` for whatever any thread does; those told before hear nothing
        until the block ends.
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
            block.recycle = free
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
        if history is not None:  # it may have ended just now
            history.append({"action": action, "address": block.pointer, "size": block.size})


def round_size(nbytes: int) -> int:
    """The size class of a request: a multiple of 64 bytes up to 1 KiB, then four classes per
    doubling.
    """
    if nbytes <= 1024:
        return (nbytes + 63) & ~63
    step = 1 << ((nbytes - 1).bit_length() - 3)
    return (nbytes + step - 1) & ~(step - 1)


def _system_functions() -> tuple[Callable[[int], int], Callable[[Any], None]]:
    if sys.platform == "win32":
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
    raise RuntimeError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. "
        "Error code 12 (Cannot allocate memory)"
    )


system_allocate, _raw_free = _system_functions()


def system_free(pointer: int) -> None:
    """Give memory from `system_allocate` back to the system."""
    _raw_free(pointer)


class _Limit(threading.local):
    """The largest block that a thread gets from the system, and whose limit that is."""

    nbytes, reason = sys.maxsize, ""


_lock, _limit = threading.Lock(), _Limit()
caching_allocator = CachingAllocator()
_current: Allocator = caching_allocator


def get_cpu_allocator() -> Allocator:
    """The allocator that new CPU storages come from."""
    return _current


@contextmanager
def limited_blocks(nbytes: int, reason: str) -> Iterator[None]:
    """Inside the block, this thread gets no new memory of more than `nbytes` in one piece:
    RuntimeError, which names `reason`.
    """
    outer = _limit.nbytes, _limit.reason
    _limit.nbytes, _limit.reason = min(nbytes, outer[0]), reason
    try:
        yield
    finally:
        _limit.nbytes, _limit.reason = outer


@contextmanager
def use_cpu_allocator(allocator: Allocator) -> Iterator[Allocator]:
    """Let new CPU storages come from `allocator` inside the block, in all threads
    (`c10::SetCPUAllocator`); old ones keep theirs."""
    global _current
    outer, _current = _current, allocator
    try:
        with hot.detour():
            yield allocator
    finally:
        _current = outer
