"""The bytes that each span allocates and frees, from the allocator's own counter
(`torch/csrc/profiler`, `reportMemoryUsage`).

The allocator counts the bytes in use, and reports every change while its history is recorded. At
each change, and wherever a span begins or ends, the count is compared with the one before: the
difference belongs to the innermost open span. So the sum of all differences always agrees with
`internals.cpu.memory_allocated()`.

Bytes are those of size classes, as everywhere in `internals.cpu`: a tensor of 16 bytes takes 64.

How the real one differs: its allocator reports the requested bytes.
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
    """A change by `bytes`, negative if memory was freed; `total` is the number in use afterwards.

    `time` is in nanoseconds, `span` the innermost open span, `device` -1 for the CPU.
    """

    time: int
    bytes: int
    total: int
    address: int
    span: Span | None
    device: int = -1


class MemoryLog(list[dict[str, Any]]):
    """Replaces the allocator's history: its `append` is called for every event. Events are passed
    on to the history that was recorded before.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.changes: list[Change] = []
        self._outer: list[dict[str, Any]] | None = None
        self._bytes = self._device_bytes = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """A block in which the allocator reports to this log."""
        self._outer = caching_allocator.history
        with caching_allocator.telling(self):
            self._bytes, self._device_bytes = caching_allocator.stats.bytes, bytes_on_devices()
            yield

    def append(self, event: dict[str, Any]) -> None:
        """Called by the allocator after each allocation and release."""
        if self._outer is not None:
            self._outer.append(event)
        self.sample(self.recorder.current, event["address"], devices=False)

    def sample(self, span: Span | None, address: int = 0, devices: bool = True) -> None:
        """Add the changes since the last call to `span`.

        `devices=False` skips GPUs, whose counters take longer to read.
        """
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
    """The bytes in use on all GPUs together; 0 if CUDA is not in use."""
    cuda = sys.modules.get("internals.cuda")
    if cuda is None or not cuda.is_initialized():
        return 0
    return sum(cuda.memory_allocated(device) for device in range(cuda.device_count()))
