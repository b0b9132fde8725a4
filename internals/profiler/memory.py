"""Who took and gave back how many bytes, by the allocator's own counter (`torch/csrc/profiler`,
`reportMemoryUsage`).

The allocator keeps one number, the bytes in use, and tells of every change while its history is
recorded. At each change, and wherever a span begins or ends, the number is compared with what it
was: the difference belongs to the innermost open span. So what is counted here adds up to what
`internals.cpu.memory_allocated()` says, whatever happened between.

Bytes are those of size classes, as everywhere in `internals.cpu`: a tensor of 16 bytes takes 64.

How the real one differs: the allocator reports what was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any, NamedTuple

from internals.core.cpu_allocator import caching_allocator

if TYPE_CHECKING:
    from .recorder import Recorder, Span


class Change(NamedTuple):
    """The bytes in use became more or, if negative, less: `total` is what they were then. `device`
    is -1 for the CPU.
    """

    time: int
    bytes: int
    total: int
    address: int
    span: Span | None
    device: int = -1


class MemoryLog(list[dict[str, Any]]):
    """Takes the place of the allocator's history: what is appended to it is told to a history kept
    before it, too.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.changes: list[Change] = []
        self._outer: list[dict[str, Any]] | None = None
        self._bytes = self._device_bytes = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Listen to the allocator."""
        self._outer = caching_allocator.history
        with caching_allocator.telling(self):
            self._bytes, self._device_bytes = caching_allocator.stats.bytes, bytes_on_devices()
            yield

    def append(self, event: dict[str, Any]) -> None:
        """The allocator has done something."""
        if self._outer is not None:
            self._outer.append(event)
        self.sample(self.recorder.current, event["address"], devices=False)

    def sample(self, span: Span | None, address: int = 0, devices: bool = True) -> None:
        """Charge `span` with what has changed since the last time."""
        now = caching_allocator.stats.bytes
        if now != self._bytes:
            change, self._bytes = now - self._bytes, now
            self.changes.append(Change(clock(), change, now, address, span))
            if span is not None:
                if change > 0:
                    span.allocated += change
                else:
                    span.freed -= change
        if devices and (there := bytes_on_devices()) != self._device_bytes:
            change, self._device_bytes = there - self._device_bytes, there
            self.changes.append(Change(clock(), change, there, 0, span, 0))
            if span is not None:
                span.device_bytes += change


def bytes_on_devices() -> int:
    """The bytes in use on all GPUs together; 0 as long as nobody has used one."""
    cuda = sys.modules.get("internals.cuda")
    if cuda is None or not cuda.is_initialized():
        return 0
    return sum(cuda.memory_allocated(device) for device in range(cuda.device_count()))
