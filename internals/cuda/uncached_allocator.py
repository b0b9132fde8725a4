"""Device memory without a cache: every request is a `cudaMalloc`, every return a `cudaFree`, which waits for the device.

What `PYTORCH_NO_CUDA_MEMORY_CACHING=1` asks for (`uncached_allocate` in `c10/cuda/CUDACachingAllocator.cpp`): slow, and the way
to let compute-sanitizer see every allocation.

How the real one differs: not in this.
"""

from __future__ import annotations

from typing import Any

from internals.core.allocator import Allocator, DataPtr, delete_nothing
from internals.core.device import device

from . import backend


class UncachedAllocator(Allocator):
    """Straight to the driver of device `index`."""

    name = "UncachedAllocator"

    def __init__(self, index: int) -> None:
        self.index = index
        self.device = device("cuda", index)

    def allocate(self, nbytes: int) -> DataPtr:
        """`nbytes` bytes from the driver; the null pointer for 0. Raises DeviceOutOfMemory when the device has no more."""
        if nbytes == 0:
            return DataPtr(0, None, delete_nothing, self.device)
        driver = backend.driver()
        pointer = driver.malloc(self.index, nbytes)

        def free(context: Any) -> None:
            driver.free(self.index, pointer)

        return DataPtr(pointer, pointer, free, self.device)
