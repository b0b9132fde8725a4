"""Drives a real GPU: every method of `Driver` is one or two calls of NVIDIA's driver API
(`c10/cuda/CUDAFunctions.cpp`).

The calls go through `cuda.bindings`, which numba.cuda uses too. Both use the same primary context
of each device, so memory and streams made here can be given to kernels that numba compiles. Each
call first makes the context of its device current.

`availability()` tells whether there is a GPU. It asks NVML, which does not initialise CUDA, and
only without NVML the driver.

How the real one differs: PyTorch uses the runtime API, whose calls find the context by themselves,
and its kernels are in the library; here a kernel is compiled when it is first launched.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import importlib.util
import os
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import nvml
from .activity import Activity
from .backend import current_device, current_stream, explain, forks_are_bad
from .device_array import flat
from .driver import (
    COPY_KINDS,
    CudaError,
    DeviceOutOfMemory,
    DeviceProperties,
    Dim3,
    Driver,
    DriverEvent,
    IllegalMemoryAccess,
)
from .gpu_recording import GpuRecording

if TYPE_CHECKING:
    from .launch import Repeated

# flags of cuda.h: CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING, CU_MEMHOSTALLOC_PORTABLE
NON_BLOCKING, DISABLE_TIMING, PORTABLE = 1, 2, 1


class Availability(NamedTuple):
    """The number of GPUs that can be used, and the reason if it is 0."""

    devices: int
    reason: str


@functools.cache
def availability() -> Availability:
    """The GPUs that can be used. Asks NVML, and if that does not answer the driver itself, as
    `torch.cuda.device_count` does.
    """
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return Availability(0, "NUMBA_ENABLE_CUDASIM is set, so numba would not compile for it")
    try:
        libcuda = ctypes.CDLL(library_name())
    except OSError:
        return Availability(0, "there is no NVIDIA driver on this system")
    count, status = nvml.device_count(), 0
    if count is None:
        forks_are_bad()  # cuInit cannot be undone, and its state does not survive a fork
        found = ctypes.c_int(0)
        status = libcuda.cuInit(0) or libcuda.cuDeviceGetCount(ctypes.byref(found))
        count = 0 if status else found.value
    if not count:
        return Availability(0, f"the NVIDIA driver finds no device, error {status}")
    if (
        importlib.util.find_spec("numba_cuda") is None
        or importlib.util.find_spec("cuda.bindings") is None
    ):
        return Availability(
            0, "there is one, but not what compiles for it: pip install 'numba-cuda[cu13]'"
        )
    return Availability(count, "")


def library_name() -> str:
    """The file name of the driver's library, `libcuda`."""
    return "nvcuda.dll" if os.name == "nt" else ctypes.util.find_library("cuda") or "libcuda.so.1"


class GpuDriver(Driver):
    """The GPUs of this machine. `binding` is the module `cuda.bindings.driver`, or a test's
    substitute for it.
    """

    simulated = False

    def __init__(self, binding: Any = None) -> None:
        if binding is None:
            binding = importlib.import_module("cuda.bindings.driver")
        self._binding = binding
        # looked up once, as every launch needs them
        self._set_current, self._launch_kernel = binding.cuCtxSetCurrent, binding.cuLaunchKernel
        self.call("cuInit", 0)
        self._count = int(self.call("cuDeviceGetCount"))
        self._contexts: dict[int, Any] = {}
        self._properties: dict[int, DeviceProperties] = {}
        self._spare_events: dict[tuple[int, bool], list[Any]] = {}
        self._recording: GpuRecording | None = None
        self._lock = threading.Lock()

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of the driver. Returns its result, or a tuple of its results. Raises
        CudaError, or a subclass, if it fails.
        """
        status, *results = getattr(self._binding, name)(*args)
        if int(status):
            raise self._error(status)
        return results[0] if len(results) == 1 else tuple(results)

    def contexts(self) -> list[int]:
        """The devices in use, those with a context. A context takes some hundred megabytes, so each
        is created when it is first needed.
        """
        return list(self._contexts)

    def enter(self, device: int) -> None:
        """Make the primary context of `device` the current one of this thread."""
        context = self._contexts.get(device)
        if context is None:
            with self._lock:
                context = self._contexts.get(device)
                if context is None:
                    context = self._contexts[device] = self.call("cuDevicePrimaryCtxRetain", device)
        (status,) = self._set_current(context)
        if status:
            raise self._error(status)

    # Devices

    def device_count(self) -> int:
        return self._count

    def properties(self, device: int) -> DeviceProperties:
        found = self._properties.get(device)
        if found is None:
            found = self._properties[device] = self._ask_properties(device)
        return found

    def _ask_properties(self, device: int) -> DeviceProperties:
        """The properties of a device, asked of the driver one by one."""

        def attribute(name: str) -> int:
            code = getattr(self._binding.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(self.call("cuDeviceGetAttribute", code, device))

        return DeviceProperties(
            name=bytes(self.call("cuDeviceGetName", 256, device)).split(b"\0")[0].decode(),
            major=attribute("COMPUTE_CAPABILITY_MAJOR"),
            minor=attribute("COMPUTE_CAPABILITY_MINOR"),
            total_memory=int(self.call("cuDeviceTotalMem", device)),
            multi_processor_count=attribute("MULTIPROCESSOR_COUNT"),
            uuid=str(uuid.UUID(bytes=bytes(self.call("cuDeviceGetUuid", device).bytes))),
            pci_bus_id=attribute("PCI_BUS_ID"),
            pci_device_id=attribute("PCI_DEVICE_ID"),
            pci_domain_id=attribute("PCI_DOMAIN_ID"),
            L2_cache_size=attribute("L2_CACHE_SIZE"),
            warp_size=attribute("WARP_SIZE"),
            max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
            max_threads_per_multi_processor=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            shared_memory_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
            regs_per_multiprocessor=attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        )

    def can_access_peer(self, device: int, peer: int) -> bool:
        return device != peer and bool(self.call("cuDeviceCanAccessPeer", device, peer))

    # Memory

    def malloc(self, device: int, nbytes: int) -> int:
        self.enter(device)
        return int(self._host("cudaMalloc", device, 0, "cuMemAlloc", nbytes))

    def free(self, device: int, pointer: int) -> None:
        self.enter(device)
        # cudaFree waits for the device; cuMemFree need not, and work may still use the memory
        self._host("cudaFree", device, 0, "cuCtxSynchronize")
        self.call("cuMemFree", pointer)

    def memory_info(self, device: int) -> tuple[int, int]:
        self.enter(device)
        free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def host_alloc(self, nbytes: int) -> int:
        device = current_device()
        self.enter(device)
        return int(self._host("cudaHostAlloc", device, 0, "cuMemHostAlloc", nbytes, PORTABLE))

    def host_free(self, pointer: int) -> None:
        device = current_device()
        self.enter(device)
        self._host("cudaFreeHost", device, 0, "cuMemFreeHost", pointer)

    def is_pinned(self, pointer: int) -> bool:
        self.enter(current_device())
        return self._is_pinned(pointer)

    def _is_pinned(self, pointer: int) -> bool:
        # The call fails for memory that `cuMemHostAlloc` did not allocate. The memory type of the
        # pointer would not tell: where kernels can read pageable memory (HMM, Grace Hopper), that
        # may be reported as host memory, too, and a copy from it would not be waited for.
        status, *_ = self._binding.cuMemHostGetFlags(pointer)
        return not int(status)

    # Streams and work

    def create_stream(self, device: int, priority: int = 0) -> int:
        self.enter(device)
        return int(self.call("cuStreamCreateWithPriority", NON_BLOCKING, priority))

    def destroy_stream(self, device: int, stream: int) -> None:
        self.enter(device)
        self.call("cuStreamSynchronize", stream)
        if stream:
            self.call("cuStreamDestroy", stream)

    def launch(
        self, device: int, stream: int, kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...]
    ) -> None:
        self.enter(device)
        call, numbers = _launching().call_for(self, device, kernel, args)
        self._launch(device, stream, call, grid, block, numbers)

    def launch_repeated(
        self, again: Repeated, tensors: list[Any], numbers: tuple[Any, ...]
    ) -> None:
        device = tensors[0]._geometry.device.index
        self.enter(device)
        call, launch = again.call, again.launch
        if call is None or call.driver is not self:  # the first time, or on another driver
            first = (*map(flat, tensors), numbers)
            call = again.call = _launching().RepeatedCall(self, device, again, first)
        values = call.changing(tensors, numbers)
        self._launch(device, current_stream(device), call, launch.grid, launch.block, values)

    def _launch(
        self, device: int, stream: int, call: Any, grid: Dim3, block: Dim3, numbers: list[Any]
    ) -> None:
        """Write `numbers` as the parameters of `call`, and queue its kernel."""
        with call.lock:  # two threads share the memory of the parameters until the launch returns
            call.fill(numbers)
            # the 0 behind the block is the dynamic shared memory, the last 0 means no extra options
            if self._recording is None:
                (status,) = self._launch_kernel(
                    call.function, *grid, *block, 0, stream, call.pointer, 0
                )
                if status:
                    raise self._error(status)
                return
            work = functools.partial(
                self.call,
                "cuLaunchKernel",
                call.function,
                *grid,
                *block,
                0,
                stream,
                call.pointer,
                0,
            )
            activity = Activity(call.name, "kernel", device, stream, 0, 0, 0, grid, block)
            self._recording.work("cudaLaunchKernel", activity, work)

    def copy(self, device: int, stream: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        if kind not in COPY_KINDS:
            raise ValueError(f"copy: kind must be one of {', '.join(COPY_KINDS)}, got '{kind}'")
        if not nbytes:
            return
        self.enter(device)
        # "pinned" here: the host need not wait. Pageable memory may be freed or changed at any time
        pinned = kind == "d2d" or self._is_pinned(src if kind == "h2d" else dst)
        name = {"h2d": "Memcpy HtoD", "d2h": "Memcpy DtoH", "d2d": "Memcpy DtoD"}[kind]
        function = {
            "h2d": "cuMemcpyHtoDAsync",
            "d2h": "cuMemcpyDtoHAsync",
            "d2d": "cuMemcpyDtoDAsync",
        }[kind]
        args: tuple[Any, ...] = (dst, src, nbytes, stream)
        if kind != "d2d":
            name += " (Pinned)" if pinned else " (Pageable)"
        elif self._count > 1 and (to := self.device_of(dst)) != (source := self.device_of(src)):
            # both contexts must exist; the last one entered stays current
            for other in (to, source, device):
                self.enter(other)
            name, function = "Memcpy PtoP", "cuMemcpyPeerAsync"
            args = (dst, self._contexts[to], src, self._contexts[source], nbytes, stream)
        activity = Activity(name, kind, device, stream, 0, 0, nbytes)
        self._work("cudaMemcpyAsync", activity, lambda: self.call(function, *args))
        if not pinned:
            self._host("cudaStreamSynchronize", device, stream, "cuStreamSynchronize", stream)

    def memset(self, device: int, stream: int, pointer: int, byte: int, nbytes: int) -> None:
        if not nbytes:
            return
        self.enter(device)
        activity = Activity("Memset (Device)", "memset", device, stream, 0, 0, nbytes)
        self._work(
            "cudaMemsetAsync",
            activity,
            lambda: self.call("cuMemsetD8Async", pointer, byte & 0xFF, nbytes, stream),
        )

    def record_event(self, device: int, stream: int, timing: bool = False) -> GpuEvent:
        self.enter(device)
        event = GpuEvent(self, device, timing)
        self._host("cudaEventRecord", device, stream, "cuEventRecord", event.event, stream)
        return event

    def stream_wait_event(self, device: int, stream: int, event: DriverEvent) -> None:
        assert isinstance(event, GpuEvent)
        self.enter(device)
        self._host(
            "cudaStreamWaitEvent", device, stream, "cuStreamWaitEvent", stream, event.event, 0
        )

    # Waiting

    def query_stream(self, device: int, stream: int) -> bool:
        self.enter(device)
        return self._ready("cuStreamQuery", stream)

    def synchronize_stream(self, device: int, stream: int) -> None:
        self.enter(device)
        self._host("cudaStreamSynchronize", device, stream, "cuStreamSynchronize", stream)

    def synchronize(self, device: int) -> None:
        self.enter(device)
        self._host("cudaDeviceSynchronize", device, 0, "cuCtxSynchronize")

    # Watching

    def start_recording(self, recorder: Callable[[Activity], None]) -> None:
        self._recording = GpuRecording(self, recorder)

    def stop_recording(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.finish()

    def _work(self, name: str, activity: Activity, queue: Callable[[], Any]) -> None:
        """Queue work by calling `queue`; while recording, between two events that time it."""
        if self._recording is None:
            queue()
        else:
            self._recording.work(name, activity, queue)

    def _host(self, name: str, device: int, stream: int, function: str, *args: Any) -> Any:
        """The result of a call that queues no work of its own; recorded as `name`."""
        if self._recording is None:
            return self.call(function, *args)
        return self._recording.host(name, device, stream, lambda: self.call(function, *args))

    # Helpers

    def take_event(self, device: int, timing: bool) -> Any:
        """An event of the driver, a used one if possible: creating one takes longer."""
        try:
            return self._spare_events[device, timing].pop()
        except (KeyError, IndexError):
            # not `if spare: pop()`: another thread may take the last one in between
            return self.call("cuEventCreate", 0 if timing else DISABLE_TIMING)

    def give_event_back(self, device: int, timing: bool, event: int) -> None:
        self._spare_events.setdefault((device, timing), []).append(event)

    def _ready(self, function: str, handle: int) -> bool:
        """Whether a stream or an event is complete, by a query that does not wait. Raises CudaError
        if work failed.
        """
        (status,) = getattr(self._binding, function)(handle)
        if int(status) == int(self._binding.CUresult.CUDA_ERROR_NOT_READY):
            return False
        if int(status):
            raise self._error(status)
        return True

    def device_of(self, pointer: int) -> int:
        attribute = self._binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self.call("cuPointerGetAttribute", attribute, pointer))

    def _error(self, status: Any) -> CudaError:
        """The error for a status of the driver, with PyTorch's text."""
        codes = self._binding.CUresult
        classes = {
            int(codes.CUDA_ERROR_OUT_OF_MEMORY): DeviceOutOfMemory,
            int(codes.CUDA_ERROR_ILLEGAL_ADDRESS): IllegalMemoryAccess,
        }
        text = self._binding.cuGetErrorString(status)[1]
        message = text.decode() if isinstance(text, bytes) else f"error {int(status)}"
        return classes.get(int(status), CudaError)(
            explain(message, getattr(status, "name", str(status)))
        )


@functools.cache
def _launching() -> Any:
    """The module that compiles kernels and packs their arguments. Imported on first use, as it is
    the only one here that needs numba.
    """
    from . import gpu_launch

    return gpu_launch


class GpuEvent(DriverEvent):
    """An event of the driver, which goes back to the spare ones when this object dies."""

    def __init__(self, driver: GpuDriver, device: int, timing: bool) -> None:
        self.driver, self.device, self.timing = driver, device, timing
        self.event = driver.take_event(device, timing)

    def query(self) -> bool:
        self.driver.enter(self.device)
        return self.driver._ready("cuEventQuery", self.event)

    def synchronize(self) -> None:
        self.driver.enter(self.device)
        self.driver._host("cudaEventSynchronize", self.device, 0, "cuEventSynchronize", self.event)

    def elapsed_ms(self, later: DriverEvent) -> float:
        assert isinstance(later, GpuEvent)
        self.driver.enter(self.device)
        return float(self.driver.call("cuEventElapsedTime", self.event, later.event))

    @property
    def handle(self) -> int:
        return int(self.event)

    def __del__(self) -> None:
        event = getattr(self, "event", None)  # None if creating it failed in __init__
        if event is not None:
            self.driver.give_event_back(self.device, self.timing, event)
