"""The driver for a real GPU, as far as it can be tested without one: on a binding that notes what
it is asked, and against the signatures of the true binding. `test_on_the_gpu_*` need the hardware.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import threading
from enum import IntEnum
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from internals.cuda import backend, gpu_driver
from internals.cuda.activity import Activity
from internals.cuda.driver import CudaError, DeviceOutOfMemory, Driver, IllegalMemoryAccess
from internals.cuda.gpu_driver import GpuDriver, availability
from internals.cuda.language import kernel


@kernel
def nothing(n):  # type: ignore[no-untyped-def]
    pass


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class Attributes:
    """Each attribute of a device stands for its own name."""

    def __getattr__(self, name: str) -> str:
        return name.removeprefix("CU_DEVICE_ATTRIBUTE_")


class FakeBinding:
    """Two devices. Every call is noted; `fails` says which are to fail, and how."""

    CUresult = Status
    CUdevice_attribute = Attributes()
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails: dict[str, Status] = {}
        self.pinned: set[int] = set()
        self.handles = count(1000)

    def __getattr__(self, name: str) -> Any:
        def function(*args: Any) -> tuple[Any, ...]:
            self.calls.append((name, *args))
            status = self.fails.get(name, Status.CUDA_SUCCESS)
            results = getattr(self, f"_{name}", lambda *a: ())(*args)
            if results == (None,):
                status = Status.CUDA_ERROR_INVALID_VALUE
            return status, *results

        if not name.startswith("cu"):
            raise AttributeError(name)
        return function

    def _cuDeviceGetCount(self) -> tuple[int]:
        return (2,)

    def _cuDevicePrimaryCtxRetain(self, device: int) -> tuple[str]:
        return (f"context {device}",)

    def _fresh(self, *args: Any) -> tuple[int]:
        return (next(self.handles),)

    _cuMemAlloc = _cuMemHostAlloc = _cuStreamCreateWithPriority = _cuEventCreate = _fresh
    _cuModuleLoadData = _cuModuleGetFunction = _fresh

    def _cuDeviceGetAttribute(self, name: str, device: int) -> tuple[int]:
        return (
            {
                "COMPUTE_CAPABILITY_MAJOR": 9,
                "MULTIPROCESSOR_COUNT": 132,
                "L2_CACHE_SIZE": 50 << 20,
            }.get(name, 0),
        )

    def _cuDeviceGetName(self, length: int, device: int) -> tuple[bytes]:
        return (b"NVIDIA X".ljust(length, b"\0"),)

    def _cuDeviceTotalMem(self, device: int) -> tuple[int]:
        return (80 << 30,)

    def _cuDeviceGetUuid(self, device: int) -> tuple[Any]:
        return (SimpleNamespace(bytes=bytes(range(16))),)

    def _cuMemGetInfo(self) -> tuple[int, int]:
        return 5, 10

    def _cuPointerGetAttribute(self, attribute: int, pointer: int) -> tuple[int | None]:
        return (pointer // 10000,) if attribute == 9 else (1,)

    def _cuMemHostGetFlags(self, pointer: int) -> tuple[int | None]:
        return (1 if pointer in self.pinned else None,)

    def _cuEventElapsedTime(self, start: int, end: int) -> tuple[float]:
        return ((end - start) / 100,)

    def _cuGetErrorString(self, status: Status) -> tuple[bytes]:
        return (
            {2: b"out of memory", 700: b"an illegal memory access was encountered"}.get(
                status, b"invalid argument"
            ),
        )


@pytest.fixture
def binding() -> FakeBinding:
    return FakeBinding()


@pytest.fixture
def driver(binding: FakeBinding) -> GpuDriver:
    made = GpuDriver(binding)
    assert binding.calls == [("cuInit", 0), ("cuDeviceGetCount",)]
    made.enter(0)
    made.enter(1)
    binding.calls.clear()
    return made


def test_it_defines_all_that_a_driver_has(driver: GpuDriver) -> None:
    assert not GpuDriver.__abstractmethods__ and isinstance(driver, Driver)
    assert not driver.simulated and driver.device_count() == 2


def test_properties(driver: GpuDriver) -> None:
    assert repr(driver.properties(1)) == (
        "_CudaDeviceProperties(name='NVIDIA X', major=9, minor=0, total_memory=81920MB, "
        "multi_processor_count=132, uuid=00010203-0405-0607-0809-0a0b0c0d0e0f, pci_bus_id=0, "
        "pci_device_id=0, pci_domain_id=0, L2_cache_size=50MB)"
    )


def test_memory(driver: GpuDriver, binding: FakeBinding) -> None:
    pointer = driver.malloc(1, 4096)
    assert binding.calls == [("cuCtxSetCurrent", "context 1"), ("cuMemAlloc", 4096)]
    binding.calls.clear()
    driver.free(1, pointer)
    assert binding.calls == [
        ("cuCtxSetCurrent", "context 1"),
        ("cuCtxSynchronize",),
        ("cuMemFree", pointer),
    ]
    assert driver.memory_info(0) == (5, 10)
    binding.calls.clear()
    driver.host_free(driver.host_alloc(64))
    assert binding.calls[1] == ("cuMemHostAlloc", 64, 1) and binding.calls[3][0] == "cuMemFreeHost"


@pytest.mark.parametrize("pinned", [True, False])
def test_copies_wait_unless_the_hosts_side_is_pinned(
    driver: GpuDriver, binding: FakeBinding, pinned: bool
) -> None:
    if pinned:
        binding.pinned.add(77)
    driver.copy(0, 5, 1234, 77, 8, "h2d")
    driver.copy(0, 5, 77, 1234, 8, "d2h")
    work = [
        call for call in binding.calls if call[0] not in ("cuCtxSetCurrent", "cuMemHostGetFlags")
    ]
    wait = [] if pinned else [("cuStreamSynchronize", 5)]
    assert work == [
        ("cuMemcpyHtoDAsync", 1234, 77, 8, 5),
        *wait,
        ("cuMemcpyDtoHAsync", 77, 1234, 8, 5),
        *wait,
    ]


def test_copies_within_and_between_devices(driver: GpuDriver, binding: FakeBinding) -> None:
    driver.copy(0, 5, 11, 22, 8, "d2d")
    driver.copy(0, 5, 10011, 22, 8, "d2d")
    copies = [call for call in binding.calls if "Memcpy" in call[0]]
    assert copies == [
        ("cuMemcpyDtoDAsync", 11, 22, 8, 5),
        ("cuMemcpyPeerAsync", 10011, "context 1", 22, "context 0", 8, 5),
    ]
    assert [call for call in binding.calls if call[0] == "cuCtxSetCurrent"][-1] == (
        "cuCtxSetCurrent",
        "context 0",
    )
    binding.calls.clear()
    driver.copy(0, 5, 11, 22, 0, "d2d")
    driver.memset(0, 5, 11, 0, 0)
    assert binding.calls == []
    with pytest.raises(ValueError, match="kind must be one of"):
        driver.copy(0, 0, 0, 0, 1, "up")


def test_streams_and_events(driver: GpuDriver, binding: FakeBinding) -> None:
    stream = driver.create_stream(0, -2)
    # 1: does not wait for the default stream
    assert binding.calls[-1] == ("cuStreamCreateWithPriority", 1, -2)
    driver.memset(0, stream, 99, 0x1FF, 16)
    assert binding.calls[-1] == ("cuMemsetD8Async", 99, 0xFF, 16, stream)
    event = driver.record_event(0, stream)
    assert binding.calls[-2:] == [("cuEventCreate", 2), ("cuEventRecord", event.handle, stream)]
    driver.stream_wait_event(1, 7, event)
    assert binding.calls[-2:] == [
        ("cuCtxSetCurrent", "context 1"),
        ("cuStreamWaitEvent", 7, event.handle, 0),
    ]
    assert event.query() and driver.query_stream(0, stream)
    binding.fails = {
        "cuEventQuery": Status.CUDA_ERROR_NOT_READY,
        "cuStreamQuery": Status.CUDA_ERROR_NOT_READY,
    }
    assert not event.query() and not driver.query_stream(0, stream)
    event.synchronize()
    assert binding.calls[-1] == ("cuEventSynchronize", event.handle)
    driver.destroy_stream(0, stream)
    assert binding.calls[-2:] == [("cuStreamSynchronize", stream), ("cuStreamDestroy", stream)]


def test_events_are_used_again(driver: GpuDriver, binding: FakeBinding) -> None:
    first = driver.record_event(0, 0, timing=True)
    handle = first.handle
    assert ("cuEventCreate", 0) in binding.calls
    del first
    other, again = driver.record_event(0, 0), driver.record_event(0, 0, timing=True)
    assert again.handle == handle != other.handle


def test_two_threads_may_want_the_last_spare_event(driver: GpuDriver) -> None:
    class TakenByAnother(list[Any]):
        """Whoever looks whether there is an event finds one, and it is gone."""

        def __bool__(self) -> bool:
            return True

    driver._spare_events[0, False] = TakenByAnother()
    assert driver.record_event(0, 0).handle >= 1000


@pytest.mark.parametrize(
    "status, error, text",
    [
        (Status.CUDA_ERROR_OUT_OF_MEMORY, DeviceOutOfMemory, "CUDA error: out of memory\n"),
        (
            Status.CUDA_ERROR_ILLEGAL_ADDRESS,
            IllegalMemoryAccess,
            "CUDA error: an illegal memory access was encountered\n",
        ),
        (Status.CUDA_ERROR_INVALID_VALUE, CudaError, "CUDA error: invalid argument\n"),
    ],
)
def test_errors(
    driver: GpuDriver, binding: FakeBinding, status: Status, error: type[CudaError], text: str
) -> None:
    binding.fails = {"cuMemAlloc": status, "cuStreamQuery": status}
    with pytest.raises(error, match=f"^{text}Search for `{status.name}'"):
        driver.malloc(0, 1)
    with pytest.raises(error, match=text):
        driver.query_stream(0, 0)


def test_launches(driver: GpuDriver, binding: FakeBinding, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[Any] = []
    call = SimpleNamespace(
        name="k", function=7, pointer=8, lock=threading.Lock(), fill=filled.append
    )
    launching = SimpleNamespace(
        call_for=lambda driver, device, kernel, args: (call, [*args, device])
    )
    monkeypatch.setattr(gpu_driver, "_launching", lambda: launching)
    kernel = SimpleNamespace(name="k")
    driver.launch(1, 9, kernel, (4, 3, 2), (32, 5, 1), (5,))
    assert filled == [[5, 1]] and not call.lock.locked()
    assert binding.calls[-2:] == [
        ("cuCtxSetCurrent", "context 1"), ("cuLaunchKernel", 7, 4, 3, 2, 32, 5, 1, 0, 9, 8, 0),
    ]  # fmt: skip
    found: list[Activity] = []
    driver.start_recording(found.append)
    driver.launch(1, 9, kernel, (4, 3, 2), (32, 5, 1), (5,))
    driver.stop_recording()
    assert [a.name for a in found] == ["cudaLaunchKernel", "k"] and found[1].grid == (4, 3, 2)
    binding.fails = {"cuLaunchKernel": Status.CUDA_ERROR_INVALID_VALUE}
    with pytest.raises(CudaError, match="invalid argument"):
        driver.launch(0, 0, kernel, (1, 1, 1), (32, 1, 1), (5,))
    assert not call.lock.locked()


def test_loading_a_kernel(
    driver: GpuDriver, binding: FakeBinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    launching = gpu_driver._launching()
    monkeypatch.setattr(
        launching, "cubin", lambda kernel, args, cc: (kernel.name, b"code of %d.%d" % cc)
    )
    for number in (5, 6, 7.0):
        driver.launch(1, 9, nothing, (1, 1, 1), (32, 1, 1), (number,))
    code = ("cuModuleLoadData", b"code of 9.0"), ("cuModuleGetFunction", 1000, b"nothing")
    assert [call for call in binding.calls if call[0].startswith("cuModule")][:2] == list(code)
    functions = [call[1] for call in binding.calls if call[0] == "cuLaunchKernel"]
    assert functions == [1001, 1001, 1003]  # once for each combination of types
    binding.fails = {"cuModuleLoadData": Status.CUDA_ERROR_INVALID_VALUE}
    with pytest.raises(CudaError, match="invalid argument"):
        driver.launch(1, 9, nothing, (1, 1, 1), (32, 1, 1), (True,))

    def fail(*args: Any) -> None:
        raise ValueError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION: it does not link")

    monkeypatch.setattr(launching, "cubin", fail)
    with pytest.raises(
        CudaError, match="CUDA error: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: it does not link"
    ):
        driver.launch(1, 9, nothing, (1, 1, 1), (32, 1, 1), (True,))


def test_recordings_are_made_of_pairs_of_events(driver: GpuDriver, binding: FakeBinding) -> None:
    found: list[Activity] = []
    driver.start_recording(found.append)
    driver.memset(1, 3, 99, 0, 16)
    driver.synchronize(1)
    assert [a.name for a in found] == ["cudaMemsetAsync", "cudaDeviceSynchronize"]
    driver.stop_recording()
    work = [a for a in found if a.kind == "memset"]
    # Each device has a first event, 1000 and 1001; the next two enclose the memset. The fake clock
    # gives 0.01 ms for each.
    (memset,) = work
    assert (memset.device, memset.stream, memset.correlation, memset.duration_ns) == (
        1,
        3,
        1,
        10_000,
    )
    assert (
        memset.start_ns > 10_000
    )  # since the first event of its device, which came a little after the recording's beginning
    binding.calls.clear()
    driver.memset(1, 3, 99, 0, 16)
    assert [name for name, *_ in binding.calls] == ["cuCtxSetCurrent", "cuMemsetD8Async"]


def test_every_name_that_is_used_exists_in_the_true_binding() -> None:
    """And takes as many arguments as it is given."""
    true = pytest.importorskip("cuda.bindings.driver", reason="needs the package cuda-bindings")
    source = inspect.getsource(gpu_driver) + inspect.getsource(
        inspect.getmodule(gpu_driver.GpuRecording)
    )  # type: ignore[arg-type]
    names = {
        *re.findall(r'"(cu[A-Z]\w+)"', source),
        "cuMemHostGetFlags",
        "cuPointerGetAttribute",
        "cuGetErrorString",
    }
    assert len(names) > 25
    for name in names:
        assert callable(getattr(true, name)), name
    arity = {
        "cuMemAlloc": 1, "cuMemFree": 1, "cuMemHostAlloc": 2, "cuMemFreeHost": 1,
        "cuMemcpyHtoDAsync": 4, "cuMemcpyDtoHAsync": 4,
        "cuMemcpyDtoDAsync": 4, "cuMemcpyPeerAsync": 6, "cuMemsetD8Async": 4,
        "cuStreamCreateWithPriority": 2,
        "cuStreamWaitEvent": 3, "cuEventRecord": 2, "cuEventElapsedTime": 2, "cuEventCreate": 1,
        "cuPointerGetAttribute": 2,
        "cuMemHostGetFlags": 1,
        "cuDeviceGetAttribute": 2, "cuDeviceGetName": 2, "cuDevicePrimaryCtxRetain": 1,
        "cuCtxSetCurrent": 1,
        "cuLaunchKernel": 11,
    }  # fmt: skip
    for name, n in arity.items():
        signature = getattr(true, name).__doc__.strip().splitlines()[0]
        assert len(signature.partition("(")[2].split(",")) == n, signature
    for name in re.findall(r'attribute\("(\w+)"\)', source):
        assert hasattr(true.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), name
    assert int(true.CUstream_flags.CU_STREAM_NON_BLOCKING) == gpu_driver.NON_BLOCKING
    assert int(true.CUevent_flags.CU_EVENT_DISABLE_TIMING) == gpu_driver.DISABLE_TIMING
    assert int(true.CU_MEMHOSTALLOC_PORTABLE) == gpu_driver.PORTABLE
    assert {int(getattr(true.CUresult, s.name)) for s in Status} == {int(s) for s in Status}


def test_availability_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = availability.__wrapped__
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert plain() == (0, "NUMBA_ENABLE_CUDASIM is set, so numba would not compile for it")
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM")

    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert plain() == (0, "there is no NVIDIA driver on this system")
    silent = SimpleNamespace(cuInit=lambda flags: 100, cuDeviceGetCount=lambda n: 0)
    monkeypatch.setattr(backend, "_cuda_asked", False)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: silent)
    assert plain() == (0, "the NVIDIA driver finds no device, error 100")


@pytest.mark.gpu
def test_on_the_gpu_bytes_go_there_and_back() -> None:
    driver = backend.driver()
    n = 1 << 20
    pointer, other = driver.malloc(0, n), driver.malloc(0, n)
    source = np.arange(n, dtype=np.uint8)
    target = np.zeros(n, np.uint8)
    stream = driver.create_stream(0, -1)
    driver.copy(0, stream, pointer, source.ctypes.data, n, "h2d")
    driver.copy(0, stream, other, pointer, n, "d2d")
    driver.copy(0, stream, target.ctypes.data, other, n, "d2h")
    assert (target == source).all()
    driver.destroy_stream(0, stream)
    driver.free(0, pointer)
    driver.free(0, other)


@pytest.mark.gpu
def test_on_the_gpu_pinned_memory_events_and_properties() -> None:
    driver = backend.driver()
    pinned, pageable = driver.host_alloc(4096), np.zeros(4096, np.uint8)
    assert (
        driver.is_pinned(pinned)
        and driver.is_pinned(pinned + 4095)
        and not driver.is_pinned(pageable.ctypes.data)
    )
    start = driver.record_event(0, 0, timing=True)
    end = driver.record_event(0, 0, timing=True)
    end.synchronize()
    assert start.query() and end.query() and start.elapsed_ms(end) >= 0
    driver.host_free(pinned)
    p = driver.properties(0)
    free, total = driver.memory_info(0)
    assert p.name and p.multi_processor_count > 0 and 0 < free <= total <= p.total_memory
    with pytest.raises(DeviceOutOfMemory):
        driver.malloc(0, 1 << 50)


@pytest.mark.gpu
def test_on_the_gpu_recordings_have_times() -> None:
    from internals.cuda import record_activity

    driver = backend.driver()
    pointer = driver.malloc(0, 1 << 24)
    with record_activity() as recording:
        driver.memset(0, 0, pointer, 1, 1 << 24)
    driver.free(0, pointer)
    (memset,) = recording.of_kind("memset")
    assert not recording.simulated and 0 <= memset.start_ns < memset.end_ns
