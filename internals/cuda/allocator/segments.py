"""The source of the caching allocator's memory: the calls that it makes to the device
(`cudaMalloc`, `cudaFree`, `cudaEventRecord`).

The allocator is an algorithm over *segments*: each is the memory that one `malloc` returned.
`Segments` is all it knows about a device. `DriverSegments` is a real or simulated device.
`FakeSegments`, for tests and pictures, has no memory at all: it has a capacity, hands out made-up
addresses, and its events complete when `finish` is called.

How the real one differs: it calls the CUDA runtime directly, so its algorithm can only be tested on
a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from internals.cuda.driver import DeviceOutOfMemory, Driver


class StreamEvent(Protocol):
    """A mark in a stream: it is passed when everything queued before it is done."""

    def query(self) -> bool:
        """Whether the mark was passed. Does not wait."""

    def synchronize(self) -> None:
        """Wait until the mark is passed."""


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
        """A mark behind the work queued so far on a stream, which may be of another device."""

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
    """An event of `FakeSegments`: ready once `finish` was called, or after `patience` queries that
    said no.
    """

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
    """A device without memory: `capacity` bytes of made-up addresses from `base` on.

    Addresses that were given back are handed out again, to a segment of the same size, so that a
    test can see a stale pointer meet a new owner. `patience`: how often an event says that it is
    not ready; None: until `finish` is called.
    """

    def __init__(
        self, capacity: int = 1 << 30, base: int = 0x7_0000_0000_00, patience: int | None = None
    ) -> None:
        self.capacity, self.patience = capacity, patience
        self.next = base
        self.live: dict[int, int] = {}  # bytes of each segment, by address
        self.returned: dict[int, list[int]] = {}  # addresses given back, by bytes
        self.in_use = 0
        self.events: list[FakeEvent] = []

    def malloc(self, nbytes: int) -> int:
        if self.in_use + nbytes > self.capacity:
            raise DeviceOutOfMemory(f"{nbytes} bytes wanted, {self.capacity - self.in_use} free")
        used_before = self.returned.get(nbytes)
        if used_before:
            pointer = used_before.pop()
        else:
            pointer = self.next
            self.next += -(-nbytes // 512) * 512  # rounded up: cudaMalloc aligns, too
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
        """Complete all work queued so far on `stream` (None: on every stream of every device)."""
        for event in self.events:
            event.ready |= stream is None or event.stream == (device, stream)
        self.events = [event for event in self.events if not event.ready]

    def synchronize(self) -> None:
        self.finish()
