"""The out-of-memory error and its texts (`c10/cuda/CUDACachingAllocator.cpp`,
`c10/util/Exception.h`).

How the real one differs: it asks NVML which processes use the device and says so ("Process 4711 has
3.00 GiB memory in use."). Its advice to set expandable_segments, kept here, works only there.
"""

from __future__ import annotations

from dataclasses import dataclass

from .config import UNLIMITED

EXABYTE = 1 << 60  # requests from here on are refused before the device is asked

ADVICE = (
    " If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
    "fragmentation.  See documentation for Memory Management  "
    "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
)


class OutOfMemoryError(RuntimeError):
    """There is no memory left on the device, even after everything cached was given back."""


OutOfMemoryError.__module__ = "internals"  # so that tracebacks say internals.OutOfMemoryError


@dataclass(frozen=True)
class Shortage:
    """The state of a device that could not give `wanted` bytes. All are bytes but `device`, its
    index.

    `free` and `total` are the device's; `reserved` is in segments, of which `allocated` is handed
    out; `allowed` limits `reserved`.
    """

    device: int
    wanted: int
    total: int
    free: int
    allocated: int
    reserved: int
    allowed: int = UNLIMITED

    def error(self, release: str) -> OutOfMemoryError:
        return OutOfMemoryError(self.text_1_0_1() if release == "1.0.1" else self.text())

    def text(self) -> str:
        """Today's text of the error."""
        allowed = "" if self.allowed == UNLIMITED else f"{format_size(self.allowed)} allowed; "
        return (
            f"CUDA out of memory. Tried to allocate {format_size(self.wanted)}. GPU {self.device} "
            f"has a total capacity of {format_size(self.total)} of which {format_size(self.free)} "
            f"is free. {allowed}Of the allocated memory {format_size(self.allocated)} is allocated "
            f"by PyTorch, and {format_size(self.reserved - self.allocated)} is reserved by PyTorch "
            f"but unallocated.{ADVICE}"
        )

    def text_1_0_1(self) -> str:
        """The text in PyTorch 1.0.1."""
        return (
            f"CUDA out of memory. Tried to allocate {format_size(self.wanted)} (GPU {self.device}; "
            f"{format_size(self.total)} total capacity; {format_size(self.allocated)} already "
            f"allocated; {format_size(self.free)} free; "
            f"{format_size(self.reserved - self.allocated)} cached)"
        )


def format_size(nbytes: int) -> str:
    """Bytes with a unit and two decimals. The next unit is for more than one of it, so 1 MiB is
    "1024.00 KiB".
    """
    if nbytes <= 1 << 10:
        return f"{nbytes} bytes"
    if nbytes <= 1 << 20:
        return f"{nbytes / (1 << 10):.2f} KiB"
    if nbytes <= 1 << 30:
        return f"{nbytes / (1 << 20):.2f} MiB"
    return f"{nbytes / (1 << 30):.2f} GiB"
