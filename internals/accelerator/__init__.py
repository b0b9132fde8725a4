"""`internals.accelerator`: the device there is besides the CPU, whatever its kind
(`torch/accelerator/__init__.py`, `memory.py`).

Everything is a question to `internals.cuda`. A simulated GPU counts as a device, but not as an
available one.

How the real one differs: it finds CUDA, MPS, XPU and others, of which a build of PyTorch has one at
most.
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
    """The `device` of the accelerator, without an index; None if there is none (with
    `check_available`: no real one).
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
    """The stream that work for a device goes to now."""
    return cuda.current_stream(device)


def set_stream(stream: cuda.Stream) -> None:
    """Let work of this thread go to `stream`; its device becomes the current one."""
    cuda.set_device(stream.device)
    cuda.set_stream(stream)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Bytes free on the device, and in total."""
    return cuda.mem_get_info(device_index)


class device_index:
    """A block in which another device is the current one; nothing happens for None."""

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
