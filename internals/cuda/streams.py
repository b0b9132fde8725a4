"""Queues of work and marks in them: `Stream`, `Event`, the current stream (`torch/cuda/streams.py`,
`c10/cuda/CUDAStream.cpp`).

Work on one stream runs in order. Work on two streams runs in any order, or at once, unless one
waits for an event of the other:

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())      # the next line needs the work queued so far
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)      # the work queued from now on needs y

Creating a stream is expensive, so `Stream()` hands out the streams of a pool in turn, 32 for each
device and priority: the 33rd is the first again.

How the real one differs: events can be shared with other processes, streams can be captured into
graphs, and `blocking` decides whether a waiting thread sleeps.
"""

from __future__ import annotations

import threading

from internals.core.device import DeviceLike, device as Device

from . import backend
from .device import device_index, exchange_device
from .driver import DriverEvent

POOL = 32  # streams in the pool of a device and priority
PRIORITIES = 4  # 0, and -1 to -3, which are more urgent

_pools: dict[tuple[int, int], list[int]] = {}  # handles, by (device, priority)
_taken: dict[tuple[int, int], int] = {}  # how often a stream of the pool was handed out
_lock = threading.Lock()


class Stream:
    """A queue of work on a device.

    `device`: the device, None for the current one; `priority`: 0, or down to -3 for more urgent
    work.

    Attributes: `device`, `cuda_stream` (the handle), `priority`, `stream_id`, `device_index`,
    `device_type`.
    """

    __slots__ = ("device", "cuda_stream", "priority", "_outer", "__weakref__")

    device: Device
    cuda_stream: int
    priority: int
    _outer: list[StreamContext]

    def __init__(self, device: DeviceLike | None = None, priority: int = 0) -> None:
        index = device_index(device, optional=True)
        if index < 0:
            index = backend.current_device()
        backend.check_index(index)
        _fill(self, index, *_from_pool(index, max(min(priority, 0), 1 - PRIORITIES)))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the most urgent priority."""
        return 0, 1 - PRIORITIES

    @property
    def stream_id(self) -> int:
        return self.cuda_stream

    @property
    def device_index(self) -> int:
        return int(self.device.index or 0)

    @property
    def device_type(self) -> int:
        return 1  # c10::DeviceType::CUDA

    def wait_event(self, event: Event) -> None:
        """Let work queued from now on start only after `event`. The host does not wait."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let work queued from now on start only after all work queued on `stream` so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, behind everything queued so far, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether everything queued is done."""
        return backend.driver().query_stream(self.device_index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait until everything queued is done. Raises CudaError if work failed."""
        backend.driver().synchronize_stream(self.device_index, self.cuda_stream)

    def __enter__(self) -> Stream:
        # a stack of contexts, as `with` blocks of one stream may be nested
        context = StreamContext(self)
        context.__enter__()
        self._outer.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        self._outer.pop().__exit__()

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol of NVIDIA's cuda-core: a version and the handle."""
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return (self.device, self.cuda_stream) == (other.device, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Stream device={self.device} "
            f"cuda_stream={self.cuda_stream:#x}{_simulated()}>"
        )


class ExternalStream(Stream):
    """A stream that another library created, by its handle. That library keeps it alive."""

    __slots__ = ()

    def __init__(self, stream_ptr: int, device: DeviceLike | None = None) -> None:
        _fill(self, device_index(device, optional=True), stream_ptr, 0)


class Event:
    """A mark in a stream.

    `enable_timing`: whether `elapsed_time` can be called; `blocking`: how `synchronize` waits,
    which makes no difference here. The driver's event is created when this one is first recorded;
    from then on it belongs to the device of that stream.
    """

    __slots__ = ("enable_timing", "blocking", "_mark", "_device", "__weakref__")

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if interprocess:
            raise NotImplementedError(
                "Event: interprocess=True is not supported here: events stay in their process"
            )
        if external:
            raise NotImplementedError(
                "Event: external=True is not supported here: there are no CUDA graphs"
            )
        self.enable_timing, self.blocking = enable_timing, blocking
        self._mark: DriverEvent | None = None
        self._device: Device | None = None

    @property
    def device(self) -> Device | None:
        """The device on which it was recorded; None before."""
        return self._device

    @property
    def cuda_event(self) -> int:
        """The handle; 0 before the event is recorded."""
        return 0 if self._mark is None else self._mark.handle

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind everything queued on `stream` so far (None: the current one). It
        replaces an earlier mark.

        Raises RuntimeError for a stream of another device than before.
        """
        stream = current_stream() if stream is None else stream
        if self._device is not None and self._device is not stream.device:
            raise RuntimeError(
                f"Event device {self._device.index} does not match recording stream's device "
                f"{stream.device_index}."
            )
        self._device = stream.device
        self._mark = backend.driver().record_event(
            stream.device_index, stream.cuda_stream, self.enable_timing
        )

    def wait(self, stream: Stream | None = None) -> None:
        """Let work queued on `stream` from now on (None: the current one) start only after the
        mark. The host does not wait.
        """
        if self._mark is not None:
            stream = current_stream() if stream is None else stream
            backend.driver().stream_wait_event(stream.device_index, stream.cuda_stream, self._mark)

    def query(self) -> bool:
        """Whether the device has passed the mark; True if there is none."""
        return self._mark is None or self._mark.query()

    def synchronize(self) -> None:
        """Wait until the device has passed the mark. Raises CudaError if work failed."""
        if self._mark is not None:
            self._mark.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to that of `end_event`; modelled on the simulator.

        Raises ValueError if one of them has no `enable_timing` or was not recorded, RuntimeError if
        the device has not passed one yet.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._mark is None or end_event._mark is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self._mark.query() and end_event._mark.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return self._mark.elapsed_ms(end_event._mark)

    def __repr__(self) -> str:
        if self._mark is None:
            return "<torch.cuda.Event uninitialized>"
        return f"<torch.cuda.Event {self.cuda_event:#x}{_simulated()}>"


class StreamContext:
    """Makes `stream` and its device current inside a `with` block. None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, int] | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            index = self.stream.device_index
            # the device that was current, and the stream that was current on the new device
            self._before = exchange_device(index), backend.current_stream(index)
            backend.set_stream(index, self.stream.cuda_stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None and self._before is not None:
            device, handle = self._before
            backend.set_stream(self.stream.device_index, handle)
            exchange_device(device)


def stream(stream: Stream | None) -> StreamContext:
    """A context in which work goes to `stream`: `with torch.cuda.stream(s):`."""
    return StreamContext(stream)


def current_stream(device: DeviceLike | None = None) -> Stream:
    """The stream to which this thread's work on `device` goes (None: on the current device)."""
    index = _checked(device)
    return _stream(index, backend.current_stream(index))


def default_stream(device: DeviceLike | None = None) -> Stream:
    """The default stream of `device`, on which every thread starts."""
    return _stream(_checked(device), 0)


def set_stream(stream: Stream | None) -> None:
    """Make `stream` and its device current for this thread. None changes nothing."""
    if stream is not None:
        backend.set_device(stream.device_index)
        backend.set_stream(stream.device_index, stream.cuda_stream)


def get_stream_from_external(data_ptr: int, device: DeviceLike | None = None) -> Stream:
    """The stream of another library with the handle `data_ptr`."""
    return _stream(_checked(device), data_ptr)


def _checked(device: DeviceLike | None) -> int:
    """The index of `device` (None: the current one). Raises CudaError if it does not exist."""
    index = device_index(device, optional=True)
    backend.check_index(index)
    return index


def _stream(index: int, handle: int) -> Stream:
    """A `Stream` for a handle. `__init__` is passed over, as it would take one from the pool."""
    return _fill(Stream.__new__(Stream), index, handle, _priority_of(index, handle))


def _fill(stream: Stream, index: int, handle: int, priority: int) -> Stream:
    stream.device, stream.cuda_stream, stream.priority = Device("cuda", index), handle, priority
    stream._outer = []
    return stream


def _from_pool(index: int, priority: int) -> tuple[int, int]:
    """The handle of the next stream of the pool, which is filled on first use, and `priority`."""
    with _lock:
        key = index, priority
        pool = _pools.get(key)
        if pool is None:
            driver = backend.driver()
            pool = _pools[key] = [driver.create_stream(index, priority) for _ in range(POOL)]
            _taken[key] = 0
        handle = pool[_taken[key] % POOL]
        _taken[key] += 1
        return handle, priority


def _priority_of(index: int, handle: int) -> int:
    """The priority of a stream of the pools; 0 for any other."""
    return next((p for (d, p), pool in _pools.items() if d == index and handle in pool), 0)


def _simulated() -> str:
    return " simulated" if backend.driver().simulated else ""


def _forget() -> None:
    """Drop the pools: their streams belong to the old driver."""
    with _lock:
        _pools.clear()
        _taken.clear()


backend.on_change(_forget)
