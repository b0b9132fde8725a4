"""The memory of a simulated device: an address space that is handed out in ranges, and page-locked
memory of the host.

Device addresses mean nothing to the CPU, as with a real GPU: only the simulator reaches the bytes
behind them, with `view`. They are the same in every run. Ranges are allocated first fit, small ones
at multiples of 512 bytes and large ones at multiples of 2 MiB (a page). So the device itself can be
fragmented: enough free bytes in total, and still no gap that is long enough. That is one reason to
have a caching allocator.

Mirrors nothing in PyTorch: it stands for the driver's own memory manager.

How the real one differs: `cudaMalloc` maps physical pages to fresh virtual addresses, so a range
can consist of free pages from anywhere; small requests share a page of 2 MiB; accesses are checked
only by compute-sanitizer. New memory here is zero, so that outputs are the same in every run; on a
GPU it still has its old contents.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Any, NamedTuple

import numpy as np

from ..backend import explain
from ..driver import DeviceOutOfMemory, IllegalMemoryAccess

BASE = 0x700_0000_0000  # the first address of device 0
DEVICE_STRIDE = 1 << 40  # from the first address of a device to that of the next
SMALL, LARGE = 512, 2 << 20  # alignments in bytes, of small and of large ranges


class Segment(NamedTuple):
    """A range that was handed out, and the bytes behind it."""

    address: int
    nbytes: int
    data: Any


class AddressSpace:
    """The memory of device `device`: `capacity` bytes, at addresses from `base` on."""

    def __init__(self, device: int, capacity: int) -> None:
        self.device, self.capacity = device, capacity
        self.base = BASE + device * DEVICE_STRIDE
        self.used = 0
        self._addresses: list[int] = []  # of the segments, ascending
        self._segments: dict[int, Segment] = {}

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` new bytes, in the first gap that is long enough. Raises
        DeviceOutOfMemory if there is none.
        """
        alignment = LARGE if nbytes >= LARGE else SMALL
        size = -(-nbytes // SMALL) * SMALL
        address = self.base
        # `address` is where the current gap begins, rounded up to the alignment
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
        """The bytes at `pointer` as a numpy array that shares them. Raises IllegalMemoryAccess if
        they do not lie in one range.
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
        """The number of bytes from `pointer` to the end of its range. Raises IllegalMemoryAccess if
        it lies in none.
        """
        segment = self._find(pointer)
        return segment.address + segment.nbytes - pointer

    def __contains__(self, pointer: int) -> bool:
        return self.base <= pointer < self.base + self.capacity

    def _find(self, pointer: int) -> Segment:
        """The range in which `pointer` lies: the last one that starts no later, if it is long
        enough. Raises IllegalMemoryAccess.
        """
        at = bisect_right(self._addresses, pointer) - 1
        if at >= 0:
            segment = self._segments[self._addresses[at]]
            if pointer < segment.address + segment.nbytes:
                return segment
        raise _illegal(f"{pointer:#x} is not an address of memory of cuda:{self.device}")


class PinnedMemory:
    """Page-locked memory of the host. Here it is ordinary memory, 64-byte aligned; only this table
    says that asynchronous copies may use it.
    """

    ALIGNMENT = 64

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}  # by address
        self._addresses: list[int] = []  # ascending
        self._arrays: dict[int, Any] = {}  # they keep the memory alive, by address

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` new bytes. Raises DeviceOutOfMemory if the host has no room."""
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
        """Take a range back. Raises KeyError if none starts there."""
        del self._ends[address]
        del self._arrays[address]
        self._addresses.remove(address)

    def __contains__(self, pointer: int) -> bool:
        at = bisect_right(self._addresses, pointer) - 1
        return at >= 0 and pointer < self._ends[self._addresses[at]]


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _illegal(detail: str) -> IllegalMemoryAccess:
    """The error for an access outside of every range."""
    return IllegalMemoryAccess(
        explain("an illegal memory access was encountered", "cudaErrorIllegalAddress", detail)
    )
