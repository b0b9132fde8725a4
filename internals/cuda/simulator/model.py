"""The times of a simulated device: a few constants and five formulas.

The numbers have the magnitude of a data-centre GPU on PCIe 4.0, and are round so that you can redo
the sums. The time of a kernel is that of its memory traffic: it is taken to read or write each of
its arrays once. Its arithmetic takes no time.

How the real one differs: there is no model; caches, clocks, other programs and the kernel itself
decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..device_array import DeviceArray


@dataclass(frozen=True)
class Model:
    """Times in nanoseconds, rates in bytes per nanosecond (= GB/s)."""

    call: int = 2_000  # the host's time in a driver call that queues work
    query: int = 1_000  # the host's time in a query
    malloc: int = 100_000  # cudaMalloc and cudaFree call the operating system
    pinned_malloc: int = 200_000  # cudaHostAlloc locks pages
    kernel_start: int = 3_000  # a kernel whose threads do nothing
    copy_start: int = 1_500  # a copy of no bytes
    memory_rate: float = 2_000.0  # HBM
    bus_rate: float = 25.0  # PCIe 4.0 x16, each direction
    pageable_rate: float = 10.0  # the bus, with a copy to page-locked memory first
    peer_rate: float = 100.0  # NVLink
    multi_processors: int = 16
    clock_rate: float = 1.0  # cycles per nanosecond

    def kernel(self, args: Iterable[object]) -> int:
        """A kernel with these arguments, by the bytes of its arrays."""
        nbytes = sum(a.nbytes for a in args if isinstance(a, DeviceArray))
        return self.kernel_start + int(nbytes / self.memory_rate)

    def host_copy(self, nbytes: int, pinned: bool) -> int:
        """A copy between host and device."""
        return self.copy_start + int(nbytes / (self.bus_rate if pinned else self.pageable_rate))

    def device_copy(self, nbytes: int) -> int:
        """A copy within a device: its memory has to read and to write every byte."""
        return self.copy_start + int(2 * nbytes / self.memory_rate)

    def peer_copy(self, nbytes: int) -> int:
        """A copy between two devices."""
        return self.copy_start + int(nbytes / self.peer_rate)

    def memset(self, nbytes: int) -> int:
        """Setting bytes on a device."""
        return self.copy_start + int(nbytes / self.memory_rate)
