"""The caching allocators of the CUDA backend: one for the memory of each device, one for
page-locked host memory.

`cudaMalloc` takes a millisecond and `cudaFree` waits for the whole device, so nobody wants to call
them for every tensor. The allocator asks for large *segments*, cuts *blocks* from them, and keeps
what comes back. In reading order: `config` (the constants, of today and of 1.0.1), `blocks` (pieces
and the pools of free ones), `segments` (where memory comes from), `caching_allocator` (the
algorithm), `reclaim` (what happens when memory is short) and `errors` (when there is none),
`events` (memory another stream still works on), `guard` (its lock), then what can be seen of it:
`stats`, `history`, `snapshot`. `pinned` is the host side, `devices` the entry.

How the real one differs: `c10/cuda/CUDACachingAllocator.cpp` is one file of 4,500 lines, because it
also has expandable segments, private pools for CUDA graphs, and sharing between processes.
"""

from .caching_allocator import CachingAllocator
from .config import TODAY, V1_0_1, AllocatorConfig
from .devices import allocator_for, pinned_allocator
from .errors import OutOfMemoryError
from .pinned import PinnedAllocator
from .segments import DriverSegments, FakeSegments, Segments

__all__ = [
    "TODAY", "V1_0_1", "AllocatorConfig", "CachingAllocator", "DriverSegments", "FakeSegments",
    "OutOfMemoryError", "PinnedAllocator", "Segments", "allocator_for", "pinned_allocator",
]  # fmt: skip
