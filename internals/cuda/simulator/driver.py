"""A CUDA driver on the CPU: everything `Driver` promises, deferred, in simulated time, with real results.

A call costs the host some simulated microseconds and queues a task; the tasks run when the clock passes them (`schedule.py`). So a
copy that was queued with `non_blocking=True` has not happened yet when the next line of the program reads its destination, and
memory that is given back too early is really overwritten. Kernels are run by `interpreter.run`, or by numba's own simulator.

A kernel that fails stops its device: what is queued behind it does nothing, and the next call that waits for the device raises. With
CUDA_LAUNCH_BLOCKING=1 every launch waits, so that the error comes from the launch itself.

Mirrors nothing in PyTorch: it stands for libcuda.

How the real one differs: after a kernel failed every further call fails, until the process ends; here the device works again once
the error was raised, so that a notebook can show it. Pageable copies to the device return once the bytes are in a staging buffer;
here the host waits for their end. Calls that only queue may report an earlier error as well.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import numpy as np

from ..backend import explain
from ..device_array import DeviceArray
from ..driver import COPY_KINDS, CudaError, DeviceProperties, Dim3, Driver, DriverEvent, IllegalMemoryAccess
from .memory import AddressSpace, PinnedMemory
from .model import Model
from .schedule import Engine, Queue, Schedule, Task

STREAM_HANDLES = 0x5000_0000  # created streams get handles from here on, events from EVENT_HANDLES
EVENT_HANDLES = 0x6000_0000
NAME = "Simulated GPU"

ASYNCHRONOUS = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."
    "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)


class SimulatedDriver(Driver):
    """`devices` simulated devices with `memory` bytes each. `numba`: kernels run on numba's simulator instead of the interpreter."""

    simulated = True

    def __init__(self, devices: int = 1, memory: int = 1 << 30, model: Model | None = None, numba: bool = False) -> None:
        self.model = model or Model()
        self._run_kernel = _numba_runner() if numba else _interpret
        self._memory = [AddressSpace(device, memory) for device in range(devices)]
        self._pinned = PinnedMemory()
        engines = {}
        for device in range(devices):
            engines[device, "kernels"] = Engine(self.model.multi_processors)
            engines[device, "h2d"] = Engine(1)
            engines[device, "d2h"] = Engine(1)
        self.schedule = Schedule(engines, self._execute)
        self._faults: dict[int, Exception] = {}
        self._stream_handles, self._event_handles = count(STREAM_HANDLES, 0x10), count(EVENT_HANDLES, 0x10)
        self._lock = threading.RLock()
        for device in range(devices):
            self.schedule.queues[device, 0] = Queue(device, 0)

    # Devices

    def device_count(self) -> int:
        return len(self._memory)

    def properties(self, device: int) -> DeviceProperties:
        return DeviceProperties(
            name=NAME,
            major=9,
            minor=0,
            total_memory=self._memory[device].capacity,
            multi_processor_count=self.model.multi_processors,
            uuid=f"00000000-0000-0000-0000-{device:012}",
            pci_bus_id=device,
            L2_cache_size=4 << 20,
            simulated=True,
        )

    def can_access_peer(self, device: int, peer: int) -> bool:
        return device != peer

    @property
    def now(self) -> int:
        """The host's clock: modelled nanoseconds since the driver was made."""
        return self.schedule.now

    def host_works(self, nanoseconds: int) -> None:
        """Let the host be busy with something else for that long; the devices go on meanwhile."""
        with self._lock:
            self.schedule.spend(nanoseconds)

    # Memory

    def memory_of(self, device: int) -> AddressSpace:
        """What only the simulator, its kernels and pictures may look at."""
        return self._memory[device]

    def malloc(self, device: int, nbytes: int) -> int:
        with self._lock:
            self.schedule.spend(self.model.malloc)
            return self._memory[device].allocate(nbytes)

    def free(self, device: int, pointer: int) -> None:
        with self._lock:
            self._wait(device)
            self.schedule.spend(self.model.malloc)
            self._release(self._memory[device], pointer)

    def memory_info(self, device: int) -> tuple[int, int]:
        memory = self._memory[device]
        return memory.free_bytes, memory.capacity

    def host_alloc(self, nbytes: int) -> int:
        with self._lock:
            self.schedule.spend(self.model.pinned_malloc)
            return self._pinned.allocate(nbytes)

    def host_free(self, pointer: int) -> None:
        with self._lock:
            for device in range(self.device_count()):
                self._wait(device)
            self.schedule.spend(self.model.malloc)
            self._release(self._pinned, pointer)

    def is_pinned(self, pointer: int) -> bool:
        return pointer in self._pinned

    # Streams and work

    def create_stream(self, device: int, priority: int = 0) -> int:
        with self._lock:
            self.schedule.spend(self.model.call)
            handle = next(self._stream_handles)
            self.schedule.queues[device, handle] = Queue(device, handle, priority)
            return handle

    def destroy_stream(self, device: int, stream: int) -> None:
        with self._lock:
            self.schedule.wait_for(self._queue(device, stream).last)
            if stream:
                del self.schedule.queues[device, stream]

    def launch(self, device: int, stream: int, kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...]) -> None:
        threads = block[0] * block[1] * block[2]
        if not 1 <= threads <= 1024 or min(grid) < 1:
            detail = f"kernel {_name(kernel)}, grid {grid}, block {block}"
            raise CudaError(explain("invalid configuration argument", "cudaErrorInvalidConfiguration", detail))
        task = Task(
            _name(kernel), "kernel", device, stream, lambda: self._run_kernel(kernel, grid, block, args, self._memory[device]),
            self.model.kernel(args), "kernels", min(grid[0] * grid[1] * grid[2], self.model.multi_processors),
            grid=grid, block=block,
        )  # fmt: skip
        with self._lock:
            self._enqueue(task)
            if launch_blocking():
                self.schedule.wait_for(task)
                self._report(device)

    def copy(self, device: int, stream: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        if kind not in COPY_KINDS:
            raise ValueError(f"copy: kind must be one of {', '.join(COPY_KINDS)}, got '{kind}'")
        if not nbytes:
            return
        with self._lock:
            to, source = self._device_of(dst, kind[2] == "d"), self._device_of(src, kind[0] == "d")
            host = src if kind == "h2d" else dst if kind == "d2h" else None
            pinned = host is None or host in self._pinned
            if kind == "d2d":
                peer = to is not source
                duration, engine = self.model.device_copy(nbytes, peer), "d2h" if peer else "kernels"
                slots = 1 if peer else self.model.multi_processors
            else:
                duration, engine, slots = self.model.host_copy(nbytes, pinned), kind, 1
            for memory, pointer in ((to, dst), (source, src)):
                if memory is not None:
                    self._check(memory, pointer, nbytes)

            def transfer() -> None:
                ctypes.memmove(_address(to, dst, nbytes), _address(source, src, nbytes), nbytes)

            name = f"Memcpy {_COPY_NAMES[kind]}" if host is None else f"Memcpy {_COPY_NAMES[kind]}{_PAGES[pinned]}"
            task = Task(name, kind, device, stream, transfer, duration, engine, slots, nbytes=nbytes)
            self._enqueue(task)
            if not pinned:
                self.schedule.wait_for(task)
                self._report(device)

    def memset(self, device: int, stream: int, pointer: int, byte: int, nbytes: int) -> None:
        if not nbytes:
            return
        with self._lock:
            memory = self._memory[device]
            self._check(memory, pointer, nbytes)
            self._enqueue(
                Task(
                    "Memset (Device)", "memset", device, stream, lambda: memory.view(pointer, nbytes).fill(byte & 0xFF),
                    self.model.memset(nbytes), "kernels", self.model.multi_processors, nbytes=nbytes,
                )
            )  # fmt: skip

    def record_event(self, device: int, stream: int, timing: bool = False) -> DriverEvent:
        with self._lock:
            handle = next(self._event_handles)
            task = self._enqueue(Task("record event", "event", device, stream))
            return SimulatedEvent(self, task, timing, handle)

    def stream_wait_event(self, device: int, stream: int, event: DriverEvent) -> None:
        assert isinstance(event, SimulatedEvent)
        with self._lock:
            after = () if event.task.done else (event.task,)
            self._enqueue(Task("wait for event", "wait", device, stream, after=after))

    # Waiting

    def query_stream(self, device: int, stream: int) -> bool:
        with self._lock:
            self.schedule.spend(self.model.query)
            self._report(device)
            last = self._queue(device, stream).last
            return last is None or last.done

    def synchronize_stream(self, device: int, stream: int) -> None:
        with self._lock:
            self.schedule.spend(self.model.call)
            self.schedule.wait_for(self._queue(device, stream).last)
            self._report(device)

    def synchronize(self, device: int) -> None:
        with self._lock:
            self.schedule.spend(self.model.call)
            self._wait(device)
            self._report(device)

    def _wait(self, device: int) -> None:
        for task in self.schedule.pending(device):
            self.schedule.wait_for(task)

    # How tasks run

    def _enqueue(self, task: Task) -> Task:
        self._queue(task.device, task.stream)
        self.schedule.spend(self.model.call)
        return self.schedule.enqueue(task)

    def _execute(self, task: Task) -> None:
        if task.action is not None and task.device not in self._faults:
            try:
                task.action()
            except Exception as error:  # whatever went wrong in a kernel is found out when somebody waits for it
                self._faults[task.device] = error
        if self.recorder is not None and task.kind != "wait":
            self._tell(task)

    def _report(self, device: int) -> None:
        """Raise what went wrong on the device since the last time."""
        error = self._faults.pop(device, None)
        if error is None:
            return
        suffix = "" if launch_blocking() else ASYNCHRONOUS
        if isinstance(error, CudaError):
            raise type(error)(f"{error}{suffix}") from error
        detail = f"{type(error).__name__}: {error}"
        raise CudaError(explain("unspecified launch failure", "cudaErrorLaunchFailure", detail) + suffix) from error

    def _tell(self, task: Task) -> None:
        from ..activity import Activity

        assert self.recorder is not None and task.start is not None and task.end is not None
        self.recorder(
            Activity(
                task.name, task.kind, task.device, task.stream, task.start, task.end, task.nbytes, task.grid, task.block,
                task.enqueued,
            )
        )  # fmt: skip

    # Checks

    def _queue(self, device: int, stream: int) -> Queue:
        found = self.schedule.queues.get((device, stream))
        if found is None:
            detail = f"cuda:{device} has no stream {stream:#x}"
            raise CudaError(explain("invalid resource handle", "cudaErrorInvalidResourceHandle", detail))
        return found

    def _device_of(self, pointer: int, on_device: bool) -> AddressSpace | None:
        """The memory that `pointer` points to; None for the host's."""
        if not on_device:
            return None
        for memory in self._memory:
            if pointer in memory:
                return memory
        raise _invalid(f"{pointer:#x} is not an address of device memory")

    @staticmethod
    def _check(memory: AddressSpace, pointer: int, nbytes: int) -> None:
        try:
            memory.view(pointer, nbytes)
        except IllegalMemoryAccess as error:
            raise _invalid(str(error).partition("\n")[2]) from None

    @staticmethod
    def _release(memory: AddressSpace | PinnedMemory, pointer: int) -> None:
        try:
            memory.release(pointer)
        except KeyError:
            raise _invalid(f"no memory was handed out at {pointer:#x}") from None


class SimulatedEvent(DriverEvent):
    """A task of no duration in the stream it was recorded in."""

    def __init__(self, driver: SimulatedDriver, task: Task, timing: bool, handle: int) -> None:
        self.driver, self.task, self.timing, self._handle = driver, task, timing, handle

    def query(self) -> bool:
        with self.driver._lock:
            self.driver.schedule.spend(self.driver.model.query)
            return self.task.done

    def synchronize(self) -> None:
        with self.driver._lock:
            self.driver.schedule.spend(self.driver.model.call)
            self.driver.schedule.wait_for(self.task)
            self.driver._report(self.task.device)

    def elapsed_ms(self, later: DriverEvent) -> float:
        assert isinstance(later, SimulatedEvent)
        if self.task.end is None or later.task.end is None:
            raise CudaError(explain("device not ready", "cudaErrorNotReady"))
        return (later.task.end - self.task.end) / 1e6

    @property
    def handle(self) -> int:
        return self._handle


def launch_blocking() -> bool:
    """Whether CUDA_LAUNCH_BLOCKING asks for every launch to wait for its end."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


_COPY_NAMES = {"h2d": "HtoD", "d2h": "DtoH", "d2d": "DtoD"}
_PAGES = {True: " (Pinned)", False: " (Pageable)"}
Runner = Callable[[Any, Dim3, Dim3, tuple[Any, ...], AddressSpace], None]


def _interpret(kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...], memory: AddressSpace) -> None:
    from ..interpreter import run

    run(kernel, grid, block, args, memory=memory)


def _numba_runner() -> Runner:
    from .numba_simulator import run

    return run


def _address(memory: AddressSpace | None, pointer: int, nbytes: int) -> int:
    """Where the CPU finds the bytes at `pointer`."""
    return pointer if memory is None else int(memory.view(pointer, nbytes).ctypes.data)


def _name(kernel: Any) -> str:
    return str(getattr(kernel, "name", None) or getattr(kernel, "__name__", kernel))


def _invalid(detail: str) -> CudaError:
    return CudaError(explain("invalid argument", "cudaErrorInvalidValue", detail))


def arrays(args: Iterable[Any], memory: AddressSpace) -> list[Any]:
    """The arguments of a launch, with numpy arrays that share the device's bytes in place of DeviceArrays."""
    found = []
    for a in args:
        if isinstance(a, DeviceArray):
            strides = [s * a.dtype.itemsize for s in a.strides]
            a = np.ndarray(a.sizes, a.dtype.np, memory.view(a.pointer, a.nbytes), 0, strides)
        found.append(a)
    return found
