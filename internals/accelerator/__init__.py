"""Names for the accelerator, of whatever kind it is (`torch/accelerator/__init__.py`, `memory.py`).

Every function asks `internals.cuda`. A simulated GPU counts as a device, but not as an available
one.

How the real one differs: a build of PyTorch has at most one of CUDA, MPS, XPU and others, and these
functions serve any of them.
"""

from __future__ import annotations

from typing import Any

from internals import cuda
from internals.core.device import device
from internals.cuda import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    synchronize,
)

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a real accelerator that tensors can live on."""
    return cuda.is_available()


def device_count() -> int:
    """How many devices there are, real or simulated."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Any:
    """The `device` of the accelerator, without an index; None if there is none.

    With `check_available` a simulated one does not count.
    """
    found = is_available() if check_available else device_count() > 0
    return device("cuda") if found else None


def current_device_index() -> int:
    """The index of the current device."""
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Make a device the current one: an index, a string or a `device`."""
    cuda.set_device(device)


def current_stream(device: device | None = None, /) -> cuda.Stream:
    """The stream to which work for a device goes now."""
    return cuda.current_stream(device)


def set_stream(stream: cuda.Stream) -> None:
    """Send the work of this thread to `stream`; its device becomes the current one."""
    cuda.set_device(stream.device)
    cuda.set_stream(stream)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """The device's memory in bytes: (free, total)."""
    return cuda.mem_get_info(device_index)


class device_index:
    """A context manager that makes another device the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.index = device
        self._outer = -1

    def __enter__(self) -> None:
        if self.index is not None:
            self._outer = cuda.current_device()
            cuda.set_device(self.index)

    def __exit__(self, *exception: object) -> None:
        if self.index is not None:
            cuda.set_device(self._outer)


current_device_idx, set_device_idx = current_device_index, set_device_index
