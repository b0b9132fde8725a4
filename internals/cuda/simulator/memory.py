"""The memory of a simulated device: an address space, handed out in ranges, and page-locked memory
of the host.

Device addresses are numbers that mean nothing to the CPU, as with a real GPU: only the simulator
can look behind them, with `view`. They are the same in every run. Ranges are given out first fit,
small ones at multiples of 512 bytes and large ones at multiples of 2 MiB (a page), so the device
itself can be fragmented: enough bytes in sum and still no range that is long enough. That is one
reason to have a caching allocator.

Mirrors nothing in PyTorch: it stands for the driver's own memory manager.

How the real one differs: `cudaMalloc` maps physical pages to fresh virtual addresses, so a hole can
be filled with pieces from anywhere as long as its pages are free; small requests share a page of 2
MiB; nobody checks accesses unless compute-sanitizer is run. Fresh memory here is zero, so that
outputs are the same in every run; on a GPU it holds what it held.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Any, NamedTuple

import numpy as np

from ..backend import explain
from ..driver import DeviceOutOfMemory, IllegalMemoryAccess

BASE = 0x700_0000_0000
DEVICE_STRIDE = 1 << 40
SMALL, LARGE = 512, 2 << 20  # alignments


class Segment(NamedTuple):
    """A range that was handed out, and the bytes behind it."""

    address: int
    nbytes: int
    data: Any


class AddressSpace:
    """The memory of device `device`, `capacity` bytes of it. Addresses start at `base`."""

    def __init__(self, device: int, capacity: int) -> None:
        self.device, self.capacity = device, capacity
        self.base = BASE + device * DEVICE_STRIDE
        self.used = 0
        self._addresses: list[int] = []  # of the segments, ascending
        self._segments: dict[int, Segment] = {}

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` bytes. Raises DeviceOutOfMemory if no gap is long enough."""
        alignment = LARGE if nbytes >= LARGE else SMALL
        size = -(-nbytes // SMALL) * SMALL
        address = self.base
        for start in self._addresses:
            if address + size <= start:
                break
            segment = self._segments[start]
            address = _round_up(start + _round_up(segment.nbytes, SMALL), alignment)
        if address + size > self.base + self.capacity:
            detail = f"{nbytes} bytes asked for, {self.free_bytes} free in all"
            raise DeviceOutOfMemory(explain("out of memory", "cudaErrorMemoryAllocation", detail))
        insort(self._addresses, address)
        self._segments[address] = Segment(address, nbytes, np.zeros(nbytes, np.uint8))
        self.used += size
        return address

    def release(self, address: int) -> None:
        """Take a range back. Raises KeyError if none starts there."""
        segment = self._segments.pop(address)
        self._addresses.remove(address)
        self.used -= _round_up(segment.nbytes, SMALL)

    @property
    def free_bytes(self) -> int:
        return self.capacity - self.used

    def segments(self) -> list[tuple[int, int]]:
        """Address and bytes of every range that is handed out, by address."""
        return [(address, self._segments[address].nbytes) for address in self._addresses]

    def view(self, pointer: int, nbytes: int) -> Any:
        """The bytes at `pointer`, as a numpy array that shares them. Raises IllegalMemoryAccess if
        they are not one range's.
        """
        if not nbytes:
            return np.empty(0, np.uint8)
        segment = self._find(pointer)
        start = pointer - segment.address
        if start + nbytes > segment.nbytes:
            raise _illegal(
                f"{nbytes} bytes at {pointer:#x}: the range there, {segment.nbytes} bytes at "
                f"{segment.address:#x}, ends before"
            )
        return segment.data[start : start + nbytes]

    def extent(self, pointer: int) -> int:
        """How many bytes there are from `pointer` to the end of its range. Raises
        IllegalMemoryAccess outside of all.
        """
        segment = self._find(pointer)
        return segment.address + segment.nbytes - pointer

    def __contains__(self, pointer: int) -> bool:
        return self.base <= pointer < self.base + self.capacity

    def _find(self, pointer: int) -> Segment:
        at = bisect_right(self._addresses, pointer) - 1
        if at >= 0:
            segment = self._segments[self._addresses[at]]
            if pointer < segment.address + segment.nbytes:
                return segment
        raise _illegal(f"{pointer:#x} is not an address of memory of cuda:{self.device}")


class PinnedMemory:
    """Page-locked memory of the host: here ordinary memory, 64-byte aligned, that is known to be
    good for asynchronous copies.
    """

    ALIGNMENT = 64

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._addresses: list[int] = []
        self._arrays: dict[int, Any] = {}

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` bytes. Raises DeviceOutOfMemory if the host does not have
        them.
        """
        try:
            array = np.zeros(nbytes + self.ALIGNMENT, np.uint8)
        except (MemoryError, ValueError):
            detail = f"{nbytes} bytes of page-locked memory asked for"
            raise DeviceOutOfMemory(
                explain("out of memory", "cudaErrorMemoryAllocation", detail)
            ) from None
        address = _round_up(array.ctypes.data, self.ALIGNMENT)
        insort(self._addresses, address)
        self._ends[address], self._arrays[address] = address + nbytes, array
        return address

    def release(self, address: int) -> None:
        """Raises KeyError if no page-locked range starts there."""
        del self._ends[address]
        del self._arrays[address]
        self._addresses.remove(address)

    def __contains__(self, pointer: int) -> bool:
        at = bisect_right(self._addresses, pointer) - 1
        return at >= 0 and pointer < self._ends[self._addresses[at]]


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _illegal(detail: str) -> IllegalMemoryAccess:
    return IllegalMemoryAccess(
        explain("an illegal memory access was encountered", "cudaErrorIllegalAddress", detail)
    )
