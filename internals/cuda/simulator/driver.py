"""Simulates a CUDA driver on the CPU: all methods of `Driver`, deferred, in simulated time, with
real results.

A call costs the host some simulated microseconds and queues a task; tasks run when the clock passes
them (`schedule.py`). So a copy queued with `non_blocking=True` has not happened yet when the next
line of the program reads its destination, and memory given back too early is really overwritten.

A kernel that fails stops its device: work queued behind it does nothing, and the next call that
waits for the device raises. With CUDA_LAUNCH_BLOCKING=1 every launch waits, so that the error comes
from the launch itself.

Mirrors nothing in PyTorch: it stands for libcuda.

How the real one differs: after a kernel failed, every further call fails until the process ends;
here the device works again once the error was raised, so that a notebook can go on. Calls that only
queue work may report an earlier error, too. A pageable copy to the device returns once the bytes
are in a staging buffer; here the host waits for its end.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from ..activity import Activity
from ..backend import explain
from ..device_array import DeviceArray
from ..driver import (
    COPY_KINDS,
    CudaError,
    DeviceProperties,
    Dim3,
    Driver,
    DriverEvent,
    IllegalMemoryAccess,
)
from .execution import Runner, as_cuda_error, runner
from .memory import AddressSpace, PinnedMemory
from .model import Model
from .schedule import Engine, Queue, Schedule, Task

if TYPE_CHECKING:
    from internals.cuda.language import Kernel

STREAM_HANDLES = 0x5000_0000  # the first handle of a created stream
EVENT_HANDLES = 0x6000_0000  # the first handle of an event
NAME = "Simulated GPU"


class SimulatedDriver(Driver):
    """A driver of `devices` simulated devices with `memory` bytes each. `model` has their times.
    With `numba`, kernels run on numba's simulator rather than in the interpreter.
    """

    simulated = True

    def __init__(
        self,
        devices: int = 1,
        memory: int = 1 << 30,
        model: Model | None = None,
        numba: bool = False,
    ) -> None:
        self.model = model or Model()
        self._run_kernel: Runner = runner(numba)
        self._memory = [AddressSpace(device, memory) for device in range(devices)]
        self._pinned = PinnedMemory()
        # the engines of a device: kernels on all multiprocessors, and a copy in each direction
        slots = {"kernels": self.model.multi_processors, "h2d": 1, "d2h": 1}
        engines = {
            (device, name): Engine(n) for device in range(devices) for name, n in slots.items()
        }
        self.schedule = Schedule(engines, self._finish)
        for device in range(devices):
            self.schedule.queues[device, 0] = Queue(device, 0)
        # the first error of a device that has not been raised yet
        self._failed: dict[int, Exception] = {}
        self._stream_handles, self._event_handles = (
            count(STREAM_HANDLES, 0x10),
            count(EVENT_HANDLES, 0x10),
        )
        self._correlations = count(1)
        self._recorder: Callable[[Activity], None] | None = None
        # the time at which the recording began, and the first correlation that belongs to it
        self._recorded_from = self._first_recorded = 0
        self._lock = threading.RLock()

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

    def host_works(self, nanoseconds: int, name: str = "host") -> None:
        """Let the host be busy elsewhere for `nanoseconds`; the devices go on meanwhile."""
        with self._lock:
            self._call(name, nanoseconds)

    # Memory

    def memory_of(self, device: int) -> AddressSpace:
        """The bytes behind a device's addresses, for the simulator, its kernels and `viz` only."""
        return self._memory[device]

    def malloc(self, device: int, nbytes: int) -> int:
        with self._lock:
            self._call("cudaMalloc", self.model.malloc, device)
            return self._memory[device].allocate(nbytes)

    def free(self, device: int, pointer: int) -> None:
        with self._lock:
            self._wait("cudaFree", self.model.malloc, self.schedule.pending(device), device)
            _release(self._memory[device], pointer)

    def memory_info(self, device: int) -> tuple[int, int]:
        memory = self._memory[device]
        return memory.free_bytes, memory.capacity

    def host_alloc(self, nbytes: int) -> int:
        with self._lock:
            self._call("cudaHostAlloc", self.model.pinned_malloc)
            return self._pinned.allocate(nbytes)

    def host_free(self, pointer: int) -> None:
        with self._lock:
            # a copy on any device may still use the memory
            pending = [
                task
                for device in range(self.device_count())
                for task in self.schedule.pending(device)
            ]
            self._wait("cudaFreeHost", self.model.malloc, pending)
            _release(self._pinned, pointer)

    def is_pinned(self, pointer: int) -> bool:
        return pointer in self._pinned

    def device_of(self, pointer: int) -> int:
        return self._memory.index(self._reachable(pointer, 1))

    # Streams and work

    def create_stream(self, device: int, priority: int = 0) -> int:
        with self._lock:
            self._call("cudaStreamCreateWithPriority", self.model.call, device)
            handle = next(self._stream_handles)
            self.schedule.queues[device, handle] = Queue(device, handle, priority)
            return handle

    def destroy_stream(self, device: int, stream: int) -> None:
        with self._lock:
            last = self._queue(device, stream).last
            self._wait("cudaStreamDestroy", self.model.call, [last] if last else [], device, stream)
            if stream:
                del self.schedule.queues[device, stream]

    def launch(
        self,
        device: int,
        stream: int,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        args: tuple[Any, ...],
    ) -> None:
        # a kernel of this package has a `name`; a plain function has `__name__`
        name = str(getattr(kernel, "name", None) or getattr(kernel, "__name__", kernel))
        blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
        if not 1 <= threads <= 1024 or min(*grid, *block) < 1:
            detail = f"kernel {name}, grid {grid}, block {block}"
            raise CudaError(
                explain("invalid configuration argument", "cudaErrorInvalidConfiguration", detail)
            )
        memory = self._memory[device]
        # the queue must not keep tensors alive: memory freed too early is reused, as on a GPU
        args = tuple(a.queued() if isinstance(a, DeviceArray) else a for a in args)
        task = Task(
            name, "kernel", device, stream,
            lambda: self._run_kernel(kernel, grid, block, args, memory), self.model.kernel(args),
            "kernels", min(blocks, self.model.multi_processors), grid=grid, block=block,
        )  # fmt: skip
        with self._lock:
            self._enqueue("cudaLaunchKernel", task)
            if launch_blocking():
                self.schedule.wait_for(task)
                self._raise_failure(device)

    def copy(self, device: int, stream: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        if kind not in COPY_KINDS:
            raise ValueError(f"copy: kind must be one of {', '.join(COPY_KINDS)}, got '{kind}'")
        if not nbytes:
            return
        with self._lock:
            # None stands for the host; kind is "h2d", "d2h" or "d2d": kind[0] is from, kind[2] to
            target = self._reachable(dst, nbytes) if kind[2] == "d" else None
            source = self._reachable(src, nbytes) if kind[0] == "d" else None
            pinned = kind == "d2d" or self.is_pinned(src if kind == "h2d" else dst)
            name = {"h2d": "Memcpy HtoD", "d2h": "Memcpy DtoH", "d2d": "Memcpy DtoD"}[kind]
            engine, slots = kind, 1
            if kind != "d2d":
                name += " (Pinned)" if pinned else " (Pageable)"
                duration = self.model.host_copy(nbytes, pinned)
            elif target is source:  # within a device it is a kernel that uses all multiprocessors
                duration, engine, slots = (
                    self.model.device_copy(nbytes),
                    "kernels",
                    self.model.multi_processors,
                )
            else:
                name, duration, engine = "Memcpy PtoP", self.model.peer_copy(nbytes), "d2h"

            # runs when the task ends: only then are the source's bytes read
            def transfer() -> None:
                ctypes.memmove(_address(target, dst, nbytes), _address(source, src, nbytes), nbytes)

            task = Task(
                name, kind, device, stream, transfer, duration, engine, slots, nbytes=nbytes
            )
            self._enqueue("cudaMemcpyAsync", task, wait=not pinned)
            if not pinned:
                self._raise_failure(device)

    def memset(self, device: int, stream: int, pointer: int, byte: int, nbytes: int) -> None:
        if not nbytes:
            return
        with self._lock:
            memory = self._reachable(pointer, nbytes)
            task = Task(
                "Memset (Device)", "memset", device, stream,
                lambda: memory.view(pointer, nbytes).fill(byte & 0xFF), self.model.memset(nbytes),
                "kernels", self.model.multi_processors, nbytes=nbytes,
            )  # fmt: skip
            self._enqueue("cudaMemsetAsync", task)

    def spin(self, device: int, stream: int, cycles: int) -> None:
        """Queue a kernel of one block that does nothing for `cycles` of the device's clock."""
        with self._lock:
            duration = int(cycles / self.model.clock_rate)
            task = Task(
                "spin",
                "kernel",
                device,
                stream,
                None,
                duration,
                "kernels",
                grid=(1, 1, 1),
                block=(1, 1, 1),
            )
            self._enqueue("cudaLaunchKernel", task)

    def record_event(self, device: int, stream: int, timing: bool = False) -> DriverEvent:
        with self._lock:
            task = Task("event", "event", device, stream)
            self._enqueue("cudaEventRecord", task)
            return SimulatedEvent(self, task, next(self._event_handles))

    def stream_wait_event(self, device: int, stream: int, event: DriverEvent) -> None:
        assert isinstance(event, SimulatedEvent)
        with self._lock:
            # this task takes no time, but it waits for the event, and the stream waits for it
            after = () if event.task.done else (event.task,)
            self._enqueue(
                "cudaStreamWaitEvent", Task("wait for event", "wait", device, stream, after=after)
            )

    # Waiting

    def query_stream(self, device: int, stream: int) -> bool:
        with self._lock:
            self._call("cudaStreamQuery", self.model.query, device, stream)
            self._raise_failure(device)
            last = self._queue(device, stream).last
            return last is None or last.done

    def synchronize_stream(self, device: int, stream: int) -> None:
        with self._lock:
            last = self._queue(device, stream).last
            self._wait(
                "cudaStreamSynchronize", self.model.call, [last] if last else [], device, stream
            )
            self._raise_failure(device)

    def synchronize(self, device: int) -> None:
        with self._lock:
            self._wait(
                "cudaDeviceSynchronize", self.model.call, self.schedule.pending(device), device
            )
            self._raise_failure(device)

    # Watching

    def start_recording(self, recorder: Callable[[Activity], None]) -> None:
        with self._lock:
            self._recorder, self._recorded_from = recorder, self.schedule.now
            self._first_recorded = next(self._correlations)  # work queued before is not recorded

    def stop_recording(self) -> None:
        with self._lock:
            try:
                for device in range(self.device_count()):
                    self.synchronize(device)
            finally:
                self._recorder = None

    # Calls and tasks

    def _call(
        self, name: str, nanoseconds: int, device: int = 0, stream: int = 0, correlation: int = 0
    ) -> None:
        """Spend `nanoseconds` of the host in driver call `name`, and record the call."""
        start = self.schedule.now
        self.schedule.spend(nanoseconds)
        self._tell_call(name, start, device, stream, correlation)

    def _wait(
        self, name: str, nanoseconds: int, tasks: list[Task], device: int = 0, stream: int = 0
    ) -> None:
        """Let the host wait in driver call `name` until all `tasks` are done."""
        start = self.schedule.now
        self.schedule.spend(nanoseconds)
        for task in tasks:
            self.schedule.wait_for(task)
        self._tell_call(name, start, device, stream)

    def _enqueue(self, name: str, task: Task, wait: bool = False) -> None:
        """Queue `task` in driver call `name`; `wait`: return only when it is done."""
        self._queue(task.device, task.stream)  # raises if there is no such stream
        task.correlation = next(self._correlations)
        after = task.after[0].correlation if task.after else 0
        start = self.schedule.now
        self.schedule.spend(self.model.call)
        self.schedule.enqueue(task)
        if wait:
            self.schedule.wait_for(task)
        self._tell_call(name, start, task.device, task.stream, task.correlation, after)

    def _tell_call(
        self, name: str, start: int, device: int, stream: int, correlation: int = 0, after: int = 0
    ) -> None:
        """Record a call of the host that began at `start` and ends now."""
        if self._recorder is not None:
            zero = self._recorded_from
            end = self.schedule.now - zero
            call = Activity(
                name,
                "host",
                device,
                stream,
                start - zero,
                end,
                correlation=correlation,
                waits_for=after,
            )
            self._recorder(call)

    def _finish(self, task: Task) -> None:
        """Called by the schedule at the end of `task`: lets it take effect, unless an earlier one
        failed on its device, and records it.
        """
        if task.action is not None and task.device not in self._failed:
            try:
                task.action()
            except Exception as error:
                # the launch returned long ago: the next call that waits for the device raises it
                self._failed[task.device] = error
        recorder, zero = self._recorder, self._recorded_from
        if recorder is None or task.kind == "wait" or task.correlation < self._first_recorded:
            return
        assert task.start is not None and task.end is not None
        recorder(
            Activity(
                task.name, task.kind, task.device, task.stream, task.start - zero, task.end - zero,
                task.nbytes, task.grid, task.block, task.correlation,
            )
        )  # fmt: skip

    def _raise_failure(self, device: int) -> None:
        """Raise the error of the device, if it has one. Work queued behind the failed task is
        lost.
        """
        if device in self._failed:
            # first wait for those tasks: they have no effect while the device counts as failed
            for task in self.schedule.pending(device):
                self.schedule.wait_for(task)
            error = self._failed.pop(device)
            raise as_cuda_error(error, asynchronous=not launch_blocking()) from error

    # Checks

    def _queue(self, device: int, stream: int) -> Queue:
        """The queue of a stream. Raises CudaError for an unknown handle."""
        found = self.schedule.queues.get((device, stream))
        if found is None:
            detail = f"cuda:{device} has no stream {stream:#x}"
            raise CudaError(
                explain("invalid resource handle", "cudaErrorInvalidResourceHandle", detail)
            )
        return found

    def _reachable(self, pointer: int, nbytes: int) -> AddressSpace:
        """The device memory in which `nbytes` bytes at `pointer` are allocated. Raises CudaError if
        there is none.
        """
        for memory in self._memory:
            if pointer in memory:
                try:
                    memory.view(pointer, nbytes)
                except IllegalMemoryAccess as error:
                    raise _invalid(str(error).partition("\n")[2]) from None
                return memory
        raise _invalid(f"{pointer:#x} is not an address of device memory")


class SimulatedEvent(DriverEvent):
    """An event: a task that takes no time, in the stream in which it was recorded."""

    def __init__(self, driver: SimulatedDriver, task: Task, handle: int) -> None:
        self.driver, self.task, self._handle = driver, task, handle

    def query(self) -> bool:
        with self.driver._lock:
            self.driver._call(
                "cudaEventQuery", self.driver.model.query, self.task.device, self.task.stream
            )
            return self.task.done

    def synchronize(self) -> None:
        driver, task = self.driver, self.task
        with driver._lock:
            driver._wait(
                "cudaEventSynchronize", driver.model.call, [task], task.device, task.stream
            )
            driver._raise_failure(task.device)

    def elapsed_ms(self, later: DriverEvent) -> float:
        assert isinstance(later, SimulatedEvent)
        if (
            self.task.end is None
            or later.task.end is None
            or not (self.task.done and later.task.done)
        ):
            raise CudaError(explain("device not ready", "cudaErrorNotReady"))
        return (later.task.end - self.task.end) / 1e6  # from nanoseconds

    @property
    def handle(self) -> int:
        return self._handle


def launch_blocking() -> bool:
    """Whether CUDA_LAUNCH_BLOCKING makes every launch wait for its end."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


def _address(memory: AddressSpace | None, pointer: int, nbytes: int) -> int:
    """The CPU's address of the bytes at `pointer` in a device's memory, or in the host's (None)."""
    return pointer if memory is None else int(memory.view(pointer, nbytes).ctypes.data)


def _release(memory: AddressSpace | PinnedMemory, pointer: int) -> None:
    """Take a range back. Raises CudaError if none starts at `pointer`."""
    try:
        memory.release(pointer)
    except KeyError:
        raise _invalid(f"no memory was handed out at {pointer:#x}") from None


def _invalid(detail: str) -> CudaError:
    return CudaError(explain("invalid argument", "cudaErrorInvalidValue", detail))
