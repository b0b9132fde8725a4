"""The interface of a device runtime: all that this CUDA backend needs from a device (`cuda.h`, the
driver API; `c10/cuda/CUDAFunctions.h`).

A `Driver` has memory to give out, streams to queue work on, and events to wait for. There are two:
`gpu_driver.GpuDriver` calls NVIDIA's driver for a real GPU, and `simulator.driver.SimulatedDriver`
does the same things on the CPU, deferred and with modelled times. Everything above (the caching
allocator, tensors, streams, kernels) is written against this class and cannot tell which of the two
it has, except by `simulated`.

Pointers and stream handles are ints; stream 0 is the default stream of a device. Work is queued:
`launch`, `copy`, `memset`, `record_event` and `stream_wait_event` return before it is done.

How the real one differs: PyTorch calls the CUDA runtime (`cudaMalloc`, `cudaLaunchKernel`), which
is built on the driver and keeps a current device per thread; here every call names its device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activity import Activity
    from .launch import Repeated

Dim3 = tuple[int, int, int]
COPY_KINDS = ("h2d", "d2h", "d2d")


class AcceleratorError(RuntimeError):
    """A CUDA call or a kernel failed."""


CudaError = AcceleratorError  # the shorter name, used in this package


class IllegalMemoryAccess(CudaError):
    """A kernel accessed an address that is not in any allocated memory."""


class DeviceOutOfMemory(CudaError):
    """The device has no range of free memory that is long enough. The caching allocator turns it
    into `OutOfMemoryError`.
    """


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a device (`cudaDeviceProp`); memory is in bytes. The `repr` is that of
    `torch.cuda.get_device_properties`.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    uuid: str = ""
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    L2_cache_size: int = 0
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    shared_memory_per_block: int = 48 << 10
    regs_per_multiprocessor: int = 65536
    simulated: bool = False

    def __repr__(self) -> str:
        text = (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB"
        )
        return text + (", simulated)" if self.simulated else ")")


class DriverEvent(ABC):
    """A mark in a stream. It is complete when everything queued before it is done."""

    @abstractmethod
    def query(self) -> bool:
        """Whether the device has passed the mark."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has passed the mark. Raises CudaError if work before it failed."""

    @abstractmethod
    def elapsed_ms(self, later: DriverEvent) -> float:
        """Milliseconds from this mark to `later`; both must be complete and have been recorded with
        `timing`.
        """

    @property
    @abstractmethod
    def handle(self) -> int:
        """The number that `torch.cuda.Event.cuda_event` shows."""


class Driver(ABC):
    """A device runtime. All methods may be called from any thread."""

    simulated: bool

    # Devices

    @abstractmethod
    def device_count(self) -> int: ...

    @abstractmethod
    def properties(self, device: int) -> DeviceProperties: ...

    @abstractmethod
    def can_access_peer(self, device: int, peer: int) -> bool:
        """Whether `device` can copy directly from and to `peer`."""

    # Memory

    @abstractmethod
    def malloc(self, device: int, nbytes: int) -> int:
        """The address of `nbytes` (at least 1) of new device memory (`cudaMalloc`). Raises
        DeviceOutOfMemory.
        """

    @abstractmethod
    def free(self, device: int, pointer: int) -> None:
        """Give memory back, once all work of the device is done (`cudaFree`). Raises CudaError for
        an unknown pointer.
        """

    @abstractmethod
    def memory_info(self, device: int) -> tuple[int, int]:
        """Bytes free and in total (`cudaMemGetInfo`)."""

    @abstractmethod
    def host_alloc(self, nbytes: int) -> int:
        """The address of new page-locked host memory, which the copy engines can access by
        themselves (`cudaHostAlloc`).
        """

    @abstractmethod
    def host_free(self, pointer: int) -> None:
        """Give page-locked memory back (`cudaFreeHost`)."""

    @abstractmethod
    def is_pinned(self, pointer: int) -> bool:
        """Whether the host memory at `pointer` is page-locked."""

    @abstractmethod
    def device_of(self, pointer: int) -> int:
        """The index of the device in whose memory `pointer` lies (`cudaPointerGetAttributes`).
        Raises CudaError if it lies in none.
        """

    # Streams and work

    @abstractmethod
    def create_stream(self, device: int, priority: int = 0) -> int:
        """The handle of a new stream that does not wait for the default stream
        (`cudaStreamNonBlocking`).
        """

    @abstractmethod
    def destroy_stream(self, device: int, stream: int) -> None: ...

    @abstractmethod
    def launch(
        self, device: int, stream: int, kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...]
    ) -> None:
        """Queue a kernel. `args`: DeviceArrays, numbers, tuples of ints."""

    def launch_repeated(
        self, again: Repeated, tensors: list[Any], numbers: tuple[Any, ...]
    ) -> None:
        """Queue a repeated launch on the current stream. A driver may keep what it has prepared in
        `again.call` (`launch.py`).
        """
        again.in_full(tensors, numbers)

    @abstractmethod
    def copy(self, device: int, stream: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        """Queue a copy of bytes (`cudaMemcpyAsync`); `kind` is "h2d" (host to device), "d2h" or
        "d2d", which may be between two devices.

        Returns at once if the host's memory is page-locked; otherwise waits until the copy is done.
        """

    @abstractmethod
    def memset(self, device: int, stream: int, pointer: int, byte: int, nbytes: int) -> None:
        """Queue setting `nbytes` bytes to `byte` (`cudaMemsetAsync`)."""

    @abstractmethod
    def record_event(self, device: int, stream: int, timing: bool = False) -> DriverEvent:
        """A mark behind everything queued on the stream so far (`cudaEventRecord`)."""

    @abstractmethod
    def stream_wait_event(self, device: int, stream: int, event: DriverEvent) -> None:
        """Let work queued on the stream from now on start only after `event`, which may be of
        another stream (`cudaStreamWaitEvent`). The host does not wait.
        """

    # Waiting. Each raises CudaError if work has failed since the last call.

    @abstractmethod
    def query_stream(self, device: int, stream: int) -> bool:
        """Whether everything queued on the stream is done."""

    @abstractmethod
    def synchronize_stream(self, device: int, stream: int) -> None: ...

    @abstractmethod
    def synchronize(self, device: int) -> None: ...

    # Watching

    @abstractmethod
    def start_recording(self, recorder: Callable[[Activity], None]) -> None:
        """From now on call `recorder` with every piece of work that is queued, once its times are
        known (`activity.py`).
        """

    @abstractmethod
    def stop_recording(self) -> None:
        """Wait for all devices, report the remaining work, and stop. Raises CudaError if work
        failed.
        """
