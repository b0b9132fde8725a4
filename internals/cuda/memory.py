"""`internals.cuda.memory`: how much memory is in use, by whom, and what to do about it
(`torch/cuda/memory.py`).

`device` is None for the current device, an index, "cuda:1" or a `torch.device`. What only asks
answers 0 or {} before CUDA is initialised, as there is nothing to see.

How the real one differs: pluggable allocators written in C, `MemPool`, managed memory, and
`list_gpu_processes`, which asks NVML.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from internals.core.device import DeviceLike, device

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
    """Bytes of the blocks in the hands of tensors now."""
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: device | None = None) -> int:
    """The most that `memory_allocated` ever was, or since `reset_peak_memory_stats`."""
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Bytes of the segments held from the device, in use or cached."""
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: device | None = None) -> int:
    """The most that `memory_reserved` ever was, or since `reset_peak_memory_stats`."""
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def memory_cached(device: device | None = None) -> int:
    """`memory_reserved` by its name of 1.0.1."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: device | None = None) -> int:
    """`max_memory_reserved` by its name of 1.0.1."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def memory_stats(device: DeviceLike | None = None) -> dict[str, Any]:
    """All counts, by keys such as "allocated_bytes.all.peak": see `allocator/stats.py`. {} before
    CUDA is initialised.
    """
    return flatten(memory_stats_as_nested_dict(device))


def memory_stats_as_nested_dict(device: DeviceLike | None = None) -> dict[str, Any]:
    return _allocator(device).memory_stats() if backend.initialized() else {}


def reset_peak_memory_stats(device: device | None = None) -> None:
    """Let all peaks start again from what is in use now."""
    _allocator(device).reset_peak_stats()


def reset_accumulated_memory_stats(device: device | None = None) -> None:
    """Let all sums ("allocated", "freed", the numbers of retries and of errors) start again from
    0.
    """
    _allocator(device).reset_accumulated_stats()


def reset_max_memory_allocated(device: device | None = None) -> None:
    """`reset_peak_memory_stats` by its name of 1.1."""
    _resets_all("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: device | None = None) -> None:
    """`reset_peak_memory_stats` by its name of 1.1."""
    _resets_all("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def empty_cache() -> None:
    """Give all memory that no tensor uses back to the device, as far as segments are entirely
    free.
    """
    for allocator in devices.existing().values():
        allocator.empty_cache()


def mem_get_info(device: device | None = None) -> tuple[int, int]:
    """Bytes free on the device and in total (`cudaMemGetInfo`). What the allocator caches is not
    free.
    """
    return backend.driver().memory_info(_index(device))


def set_per_process_memory_fraction(fraction: float, device: device | None = None) -> None:
    """Have at most this part (0 to 1) of the device's memory. Raises TypeError if not a float,
    ValueError if out of range.
    """
    allocator = _allocator(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    allocator.set_memory_fraction(fraction)


def get_per_process_memory_fraction(device: DeviceLike | None = None) -> float:
    return _allocator(device).memory_fraction()


# Memory without a tensor


def caching_allocator_alloc(
    size: int, device: DeviceLike | None = None, stream: object = None
) -> int:
    """The address of `size` bytes, for other libraries. `stream` is a Stream or a handle; None is
    the current one.
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
    """Give back what `caching_allocator_alloc` returned. Raises RuntimeError for any other
    address.
    """
    if not mem_ptr:
        return
    for allocator in devices.existing().values():
        if mem_ptr in allocator.allocated:
            allocator.raw_delete(mem_ptr)
            return
    raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")


def caching_allocator_enable(value: bool = True) -> None:
    """Whether new memory is cut from the cache; else each tensor is a `cudaMalloc` and a
    `cudaFree`.
    """
    if backend.initialized():
        for index in range(backend.device_count()):
            allocator_for(index).enabled = value


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Within: `caching_allocator_enable(False)`."""
    before = {index: allocator.enabled for index, allocator in devices.existing().items()}
    caching_allocator_enable(False)
    try:
        yield
    finally:
        for index, allocator in devices.existing().items():
            allocator.enabled = before.get(index, True)


def get_allocator_backend() -> str:
    """The name of the allocator in use: "native" is this one."""
    return "native"


def _set_allocator_settings(env: str) -> None:
    """Follow other options from now on: see `allocator/config.py`."""
    warnings.warn(
        "torch.cuda._set_allocator_settings is deprecated. Use "
        "torch._C._accelerator_setAllocatorSettings instead.",
        FutureWarning,
        stacklevel=2,
    )
    devices.set_config(parse(env))


# Page-locked host memory


def host_memory_stats() -> dict[str, Any]:
    """The counts of the allocator of page-locked memory: see `allocator/pinned.py`."""
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
