"""`internals.cpu`: a window on CPU memory, with the names of `torch.cuda.memory`.

How the real one differs: PyTorch has no such counters for the CPU, because its CPU allocator does
not cache.
"""

from __future__ import annotations

from internals.core.allocator import Allocator, DataPtr
from internals.core.cpu_allocator import (
    CachingAllocator,
    SystemAllocator,
    caching_allocator,
    get_cpu_allocator,
    use_cpu_allocator,
)


def memory_allocated() -> int:
    """Bytes of the blocks that are in use now."""
    return caching_allocator.stats.bytes


def memory_reserved() -> int:
    """Bytes held from the system, in use or cached."""
    return caching_allocator.stats.reserved


memory_stats = caching_allocator.memory_stats
memory_snapshot = caching_allocator.snapshot
empty_cache = caching_allocator.empty_cache
reset_peak_memory_stats = caching_allocator.reset_peak_memory_stats
record_memory_history = caching_allocator.record_history

__all__ = [
    "Allocator", "CachingAllocator", "DataPtr", "SystemAllocator", "empty_cache",
    "get_cpu_allocator", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats",
    "record_memory_history", "reset_peak_memory_stats", "use_cpu_allocator",
]  # fmt: skip
