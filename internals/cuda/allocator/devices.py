"""The allocator of each device, and the allocator of page-locked memory (`NativeCachingAllocator`,
`getHostAllocator`).

Each is made when it is first asked for, over the driver in use then, with the options of the
environment. If PYTORCH_NO_CUDA_MEMORY_CACHING is set there, nothing is cached: that is slow, but
compute-sanitizer then sees every allocation.

How the real one differs: all of them are made when CUDA is initialised, and live until the process
ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from internals.cuda import backend

from .caching_allocator import CachingAllocator
from .config import AllocatorConfig, from_environment
from .pinned import PinnedAllocator
from .segments import DriverSegments, HostSegments

_lock = threading.Lock()  # held while an allocator is made
_allocators: dict[int, CachingAllocator] = {}
_pinned: PinnedAllocator | None = None
_config: AllocatorConfig | None = None


def allocator_for(index: int) -> CachingAllocator:
    """The allocator that new memory of device `index` comes from, made if need be. Raises CudaError
    if there is no such device.
    """
    return _allocators.get(index) or _make(index)


def pinned_allocator() -> PinnedAllocator:
    """The allocator that page-locked memory comes from."""
    global _pinned
    if _pinned is None:
        driver = backend.driver()
        with _lock:
            if _pinned is None:  # another thread may have made it while this one waited
                _pinned = PinnedAllocator(HostSegments(driver), config())
    return _pinned


def existing() -> dict[int, CachingAllocator]:
    """The allocators made so far, by device."""
    return dict(sorted(_allocators.items()))


def config() -> AllocatorConfig:
    """The rules for new allocators: those of the environment, unless `set_config` was called."""
    global _config
    if _config is None:
        _config = from_environment()
    return _config


def set_config(config: AllocatorConfig) -> None:
    """Let all allocators follow `config`, those made so far and new ones."""
    global _config
    _config = config
    for allocator in existing().values():
        allocator.configure(config)
    if _pinned is not None:
        _pinned.config = config


@contextmanager
def use_allocator(allocator: CachingAllocator) -> Iterator[CachingAllocator]:
    """Let new memory of its device come from `allocator` inside the block. Memory goes back to the
    allocator it came from, at any time.
    """
    index = allocator.index
    before = allocator_for(index)
    _allocators[index] = allocator
    try:
        yield allocator
    finally:
        if _allocators.get(index) is allocator:  # else another driver has taken over
            _allocators[index] = before


def _make(index: int) -> CachingAllocator:
    """Make the allocator of a device, unless another thread has made it meanwhile."""
    backend.check_index(index)
    driver = backend.driver()
    with _lock:
        if index not in _allocators:
            stream = partial(backend.current_stream, index)
            allocator = CachingAllocator(DriverSegments(driver, index), index, config(), stream)
            allocator.enabled = "PYTORCH_NO_CUDA_MEMORY_CACHING" not in os.environ
            _allocators[index] = allocator
        return _allocators[index]


def _forget() -> None:
    """Drop all allocators, since another driver took over. Tensors hold on to the old ones, to
    which their memory goes back; new memory comes from new ones.
    """
    global _pinned
    _allocators.clear()
    _pinned = None


backend.on_change(_forget)
