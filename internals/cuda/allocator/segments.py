"""Where the caching allocator gets memory from: the calls it makes to the device (`cudaMalloc`,
`cudaFree`, `cudaEventRecord`).

The allocator is an algorithm over *segments*, which are whatever one `malloc` returns. `Segments`
is all it needs to know about a device. `DriverSegments` is a real or simulated device;
`FakeSegments` is a device of which only the book-keeping exists, for tests and pictures: it has a
capacity, hands out made-up addresses, and its events become ready when it is told so.

How the real one differs: it calls the CUDA runtime directly, so its algorithm can only be tested on
a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from internals.cuda.driver import DeviceOutOfMemory, Driver


class StreamEvent(Protocol):
    """A mark in a stream."""

    def query(self) -> bool:
        """Whether everything before the mark is done."""

    def synchronize(self) -> None:
        """Wait until it is."""


class Segments(ABC):
    """Memory, and marks in streams, of one device."""

    @abstractmethod
    def malloc(self, nbytes: int) -> int:
        """The address of `nbytes` of new memory. Raises DeviceOutOfMemory."""

    @abstractmethod
    def free(self, pointer: int) -> None:
        """Give a segment back, once the device is done with it."""

    @abstractmethod
    def memory_info(self) -> tuple[int, int]:
        """Bytes free and in total."""

    @abstractmethod
    def record_event(self, device: int, stream: int) -> StreamEvent:
        """A mark behind the work queued so far on a stream, which may be one of another device."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for everything queued on the device."""


class DriverSegments(Segments):
    """The memory of device `device` of a `Driver`."""

    def __init__(self, driver: Driver, device: int) -> None:
        self.driver, self.device = driver, device

    def malloc(self, nbytes: int) -> int:
        return self.driver.malloc(self.device, nbytes)

    def free(self, pointer: int) -> None:
        self.driver.free(self.device, pointer)

    def memory_info(self) -> tuple[int, int]:
        return self.driver.memory_info(self.device)

    def record_event(self, device: int, stream: int) -> StreamEvent:
        return self.driver.record_event(device, stream, timing=False)

    def synchronize(self) -> None:
        self.driver.synchronize(self.device)


class HostSegments(Segments):
    """Page-locked host memory of a `Driver` (`cudaHostAlloc`)."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def malloc(self, nbytes: int) -> int:
        return self.driver.host_alloc(nbytes)

    def free(self, pointer: int) -> None:
        self.driver.host_free(pointer)

    def memory_info(self) -> tuple[int, int]:
        raise NotImplementedError("how much memory the host has is for the operating system to say")

    def record_event(self, device: int, stream: int) -> StreamEvent:
        return self.driver.record_event(device, stream, timing=False)

    def synchronize(self) -> None:
        for device in range(self.driver.device_count()):
            self.driver.synchronize(device)


class FakeEvent:
    """An event of `FakeSegments`: ready when told so, or after it was asked `patience` times."""

    __slots__ = ("stream", "ready", "patience")

    def __init__(self, stream: tuple[int, int], patience: int | None) -> None:
        self.stream, self.ready, self.patience = stream, False, patience

    def query(self) -> bool:
        if not self.ready and self.patience is not None:
            self.ready = self.patience <= 0
            self.patience -= 1
        return self.ready

    def synchronize(self) -> None:
        self.ready = True


class FakeSegments(Segments):
    """A device without memory: `capacity` bytes of addresses from `base` on.

    Addresses that were given back are given out again, to a segment of the same size, so that a
    stale pointer meets a new owner. `patience`: how many times an event says "not yet"; None: until
    `finish` is called.
    """

    def __init__(
        self, capacity: int = 1 << 30, base: int = 0x7_0000_0000_00, patience: int | None = None
    ) -> None:
        self.capacity, self.patience = capacity, patience
        self.next = base
        self.live: dict[int, int] = {}
        self.returned: dict[int, list[int]] = {}
        self.in_use = 0
        self.events: list[FakeEvent] = []

    def malloc(self, nbytes: int) -> int:
        if self.in_use + nbytes > self.capacity:
            raise DeviceOutOfMemory(f"{nbytes} bytes wanted, {self.capacity - self.in_use} free")
        again = self.returned.get(nbytes)
        if again:
            pointer = again.pop()
        else:
            pointer = self.next
            self.next += -(-nbytes // 512) * 512
        self.live[pointer] = nbytes
        self.in_use += nbytes
        return pointer

    def free(self, pointer: int) -> None:
        nbytes = self.live.pop(pointer)
        self.in_use -= nbytes
        self.returned.setdefault(nbytes, []).append(pointer)

    def memory_info(self) -> tuple[int, int]:
        return self.capacity - self.in_use, self.capacity

    def record_event(self, device: int, stream: int) -> FakeEvent:
        event = FakeEvent((device, stream), self.patience)
        self.events.append(event)
        return event

    def finish(self, stream: int | None = None, device: int = 0) -> None:
        """All work queued so far on `stream` (None: on every stream) is done."""
        for event in self.events:
            event.ready |= stream is None or event.stream == (device, stream)
        self.events = [event for event in self.events if not event.ready]

    def synchronize(self) -> None:
        self.finish()
