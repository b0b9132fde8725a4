"""How long things take on a simulated device: a few constants and five formulas.

The numbers are of the order of a data-centre GPU on PCIe 4.0, chosen round so that a reader can
redo the sums. A kernel is taken to be limited by memory: it reads or writes every array it was
given once. Whether it does arithmetic for an hour is not seen.

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

    call: int = 2_000  # the host is in a driver call that queues something
    query: int = 1_000  # ... or asks
    malloc: int = 100_000  # cudaMalloc and cudaFree talk to the operating system
    pinned_malloc: int = 200_000  # cudaHostAlloc locks pages
    kernel_start: int = 3_000  # from a kernel's turn to its last thread, if the threads do nothing
    copy_start: int = 1_500
    memory_rate: float = 2_000.0  # HBM
    bus_rate: float = 25.0  # PCIe 4.0 x16, each direction
    pageable_rate: float = 10.0  # the bus, and a copy to page-locked memory first
    peer_rate: float = 100.0  # NVLink
    multi_processors: int = 16
    clock_rate: float = 1.0  # cycles per nanosecond

    def kernel(self, args: Iterable[object]) -> int:
        nbytes = sum(a.nbytes for a in args if isinstance(a, DeviceArray))
        return self.kernel_start + int(nbytes / self.memory_rate)

    def host_copy(self, nbytes: int, pinned: bool) -> int:
        return self.copy_start + int(nbytes / (self.bus_rate if pinned else self.pageable_rate))

    def device_copy(self, nbytes: int) -> int:
        """Within a device: the same memory is read and written."""
        return self.copy_start + int(2 * nbytes / self.memory_rate)

    def peer_copy(self, nbytes: int) -> int:
        return self.copy_start + int(nbytes / self.peer_rate)

    def memset(self, nbytes: int) -> int:
        return self.copy_start + int(nbytes / self.memory_rate)
