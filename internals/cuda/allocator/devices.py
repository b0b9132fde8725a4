"""The allocator of each device, and the one of page-locked memory (`NativeCachingAllocator`,
`getHostAllocator`).

They are made when somebody first asks, over the driver in use then, with the options of the
environment. With PYTORCH_NO_CUDA_MEMORY_CACHING in it nothing is cached: slow, and the way to let
compute-sanitizer see every allocation.

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

_lock = threading.Lock()
_allocators: dict[int, CachingAllocator] = {}
_pinned: PinnedAllocator | None = None
_config: AllocatorConfig | None = None


def allocator_for(index: int) -> CachingAllocator:
    """The allocator that new memory of device `index` comes from. Raises CudaError for a device
    that is not there.
    """
    return _allocators.get(index) or _make(index)


def pinned_allocator() -> PinnedAllocator:
    """The allocator that page-locked memory comes from."""
    global _pinned
    if _pinned is None:
        driver = backend.driver()
        with _lock:
            if _pinned is None:
                _pinned = PinnedAllocator(HostSegments(driver), config())
    return _pinned


def existing() -> dict[int, CachingAllocator]:
    """The allocators that are there already, by device."""
    return dict(sorted(_allocators.items()))


def config() -> AllocatorConfig:
    """The rules for allocators to come: those of the environment, unless `set_config` was
    called.
    """
    global _config
    if _config is None:
        _config = from_environment()
    return _config


def set_config(config: AllocatorConfig) -> None:
    """Let all allocators, those that are there and those to come, follow `config`."""
    global _config
    _config = config
    for allocator in existing().values():
        allocator.configure(config)
    if _pinned is not None:
        _pinned.config = config


@contextmanager
def use_allocator(allocator: CachingAllocator) -> Iterator[CachingAllocator]:
    """Let new memory of its device come from `allocator` inside the block; what was handed out goes
    back where it came from.
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
    """Another driver took over: what is still out goes back to the old allocators, and new memory
    comes from new ones.
    """
    global _pinned
    _allocators.clear()
    _pinned = None


backend.on_change(_forget)
