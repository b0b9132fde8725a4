"""`internals.cuda.memory`: functions to measure, limit and free a device's memory
(`torch/cuda/memory.py`).

`device` is None for the current device, an index, "cuda:1" or a `torch.device`. Before CUDA is
initialised, the functions that only measure return 0 or {} rather than initialise it.

How the real one differs: it also has pluggable allocators written in C, `MemPool`, managed memory,
and `list_gpu_processes`, which asks NVML.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from internals.core.device import DeviceLike, device

from . import backend
from .allocator import devices
from .allocator.caching_allocator import CachingAllocator
from .allocator.config import parse
from .allocator.devices import allocator_for, pinned_allocator, use_allocator
from .allocator.errors import OutOfMemoryError
from .allocator.stats import flatten
from .device import device_index
from .memory_history import (
    _allocation_traceback,
    _dump_snapshot,
    _get_memory_metadata,
    _record_memory_history,
    _set_memory_metadata,
    _snapshot,
    memory_snapshot,
)
from .memory_summary import memory_summary

__all__ = [
    "OutOfMemoryError", "allocator_for", "caching_allocator_alloc", "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable", "empty_cache", "get_allocator_backend",
    "get_per_process_memory_fraction", "host_memory_stats",
    "host_memory_stats_as_nested_dict", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary", "pinned_allocator", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction", "use_allocator",
    "_allocation_traceback", "_dump_snapshot", "_get_memory_metadata", "_record_memory_history",
    "_set_allocator_settings",
    "_set_memory_metadata", "_snapshot",
]  # fmt: skip


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Bytes of the blocks that tensors use now."""
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: device | None = None) -> int:
    """The peak of `memory_allocated` since the start, or since `reset_peak_memory_stats`."""
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Bytes of the segments that the allocator has from the device, in use or cached."""
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: device | None = None) -> int:
    """The peak of `memory_reserved` since the start, or since `reset_peak_memory_stats`."""
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def memory_cached(device: device | None = None) -> int:
    """`memory_reserved` under its name in 1.0.1. Warns."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: device | None = None) -> int:
    """`max_memory_reserved` under its name in 1.0.1. Warns."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def memory_stats(device: DeviceLike | None = None) -> dict[str, Any]:
    """All counts under keys such as "allocated_bytes.all.peak" (`allocator/stats.py`). {} before
    CUDA is initialised.
    """
    return flatten(memory_stats_as_nested_dict(device))


def memory_stats_as_nested_dict(device: DeviceLike | None = None) -> dict[str, Any]:
    """The counts of `memory_stats` as nested dicts: `stats["allocated_bytes"]["all"]["peak"]`."""
    return _allocator(device).memory_stats() if backend.initialized() else {}


def reset_peak_memory_stats(device: device | None = None) -> None:
    """Set all peaks to the current values."""
    _allocator(device).reset_peak_stats()


def reset_accumulated_memory_stats(device: device | None = None) -> None:
    """Set all sums to 0: "allocated", "freed", the numbers of retries and of errors."""
    _allocator(device).reset_accumulated_stats()


def reset_max_memory_allocated(device: device | None = None) -> None:
    """`reset_peak_memory_stats`, under a name in 1.1 that reset one peak only. Warns."""
    _resets_all("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: device | None = None) -> None:
    """`reset_peak_memory_stats`, under a name in 1.1 that reset one peak only. Warns."""
    _resets_all("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def empty_cache() -> None:
    """Give cached memory back to the devices: all segments that no tensor uses any part of."""
    for allocator in devices.existing().values():
        allocator.empty_cache()


def mem_get_info(device: device | None = None) -> tuple[int, int]:
    """Bytes free on the device, and its bytes in total (`cudaMemGetInfo`). Memory that the
    allocator caches is not free.
    """
    return backend.driver().memory_info(_index(device))


def set_per_process_memory_fraction(fraction: float, device: device | None = None) -> None:
    """Let this process use at most this fraction (0 to 1) of the device's memory. Raises TypeError
    for a non-float, ValueError for a fraction out of range.
    """
    allocator = _allocator(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    allocator.set_memory_fraction(fraction)


def get_per_process_memory_fraction(device: DeviceLike | None = None) -> float:
    """The fraction set by `set_per_process_memory_fraction`; 1.0 if none was set."""
    return _allocator(device).memory_fraction()


# Memory without a tensor


def caching_allocator_alloc(
    size: int, device: DeviceLike | None = None, stream: object = None
) -> int:
    """The address of `size` bytes from the caching allocator, for other libraries. `stream` is a
    Stream or a handle; None is the current one. Raises TypeError for another stream.
    """
    index = _index(device)
    if stream is None:
        stream = backend.current_stream(index)
    handle = getattr(stream, "cuda_stream", stream)
    if not isinstance(handle, int):
        raise TypeError(
            "Invalid type for stream argument, must be `torch.cuda.Stream` or `int` representing a "
            "pointer to an existing stream"
        )
    return allocator_for(index).raw_alloc(size, handle)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free the memory at an address that `caching_allocator_alloc` returned. Raises RuntimeError
    for any other address.
    """
    if not mem_ptr:
        return
    for allocator in devices.existing().values():
        if mem_ptr in allocator.allocated:
            allocator.raw_delete(mem_ptr)
            return
    raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")


def caching_allocator_enable(value: bool = True) -> None:
    """Set whether new memory comes from the cache. If not, each tensor costs a `cudaMalloc` and a
    `cudaFree`.
    """
    if backend.initialized():
        for index in range(backend.device_count()):
            allocator_for(index).enabled = value


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Take new memory directly from the device inside the block, without the cache."""
    before = {index: allocator.enabled for index, allocator in devices.existing().items()}
    caching_allocator_enable(False)
    try:
        yield
    finally:
        for index, allocator in devices.existing().items():
            allocator.enabled = before.get(index, True)


def get_allocator_backend() -> str:
    """The name of the allocator in use: always "native", the caching allocator."""
    return "native"


def _set_allocator_settings(env: str) -> None:
    """Use the options in the text `env` from now on (`allocator/config.py`). Warns, as it is
    deprecated.
    """
    warnings.warn(
        "torch.cuda._set_allocator_settings is deprecated. Use "
        "torch._C._accelerator_setAllocatorSettings instead.",
        FutureWarning,
        stacklevel=2,
    )
    devices.set_config(parse(env))


# Page-locked host memory


def host_memory_stats() -> dict[str, Any]:
    """The counts of the allocator of page-locked memory (`allocator/pinned.py`), under keys such as
    "active_bytes.peak". {} before CUDA is initialised.
    """
    return flatten(host_memory_stats_as_nested_dict())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return pinned_allocator().memory_stats() if backend.initialized() else {}


def reset_accumulated_host_memory_stats() -> None:
    pinned_allocator().reset_accumulated_stats()


def reset_peak_host_memory_stats() -> None:
    pinned_allocator().reset_peak_stats()


def _allocator(device: DeviceLike | None) -> CachingAllocator:
    return allocator_for(_index(device))


def _index(device: DeviceLike | None) -> int:
    return device_index(device, optional=True)


def _renamed(old: str, new: str) -> None:
    text = f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`"
    warnings.warn(text, FutureWarning, stacklevel=3)


def _resets_all(name: str) -> None:
    text = (
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats."
    )
    warnings.warn(text, FutureWarning, stacklevel=3)
