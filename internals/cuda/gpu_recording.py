"""When things ran on a real GPU: a pair of events around each piece of work
(`torch/csrc/profiler`).

The device's clock is read by events that it passes, as milliseconds since a first event; the host's
clock is its own. The first event is recorded when the device has nothing to do, and the host waits
for it and looks at its clock: from then on the two can be drawn on one axis.

How the real one differs: Kineto has the times from CUPTI, which costs the stream nothing; events
between small kernels keep them some microseconds apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from .activity import Activity

if TYPE_CHECKING:
    from .gpu_driver import GpuDriver, GpuEvent


class GpuRecording:
    """Tells `recorder` of the host's calls as they return, and of the devices' work when it is
    over.
    """

    def __init__(self, driver: GpuDriver, recorder: Callable[[Activity], None]) -> None:
        self.driver, self.recorder = driver, recorder
        self._work: list[tuple[Activity, GpuEvent, GpuEvent]] = []
        self._correlations = count(1)
        self._host_zero = time.perf_counter_ns()
        # for each device an event, and when it was passed
        self._zero: dict[int, tuple[GpuEvent, int]] = {}
        for device in driver.contexts():
            self._begin(device)

    def work(self, name: str, activity: Activity, queue: Callable[[], Any]) -> None:
        """Queue work of a device in the host's call `name`."""
        activity = replace(activity, correlation=next(self._correlations))
        if activity.device not in self._zero:
            self._begin(activity.device)
        start = self._mark(activity.device, activity.stream)
        self.host(name, activity.device, activity.stream, queue, activity.correlation)
        self._work.append((activity, start, self._mark(activity.device, activity.stream)))

    def host(
        self, name: str, device: int, stream: int, call: Callable[[], Any], correlation: int = 0
    ) -> Any:
        """The host's call `name`."""
        start = time.perf_counter_ns()
        try:
            return call()
        finally:
            times = start - self._host_zero, time.perf_counter_ns() - self._host_zero
            self.recorder(Activity(name, "host", device, stream, *times, correlation=correlation))

    def finish(self) -> None:
        """Wait for all devices and tell of their work."""
        for device in self._zero:
            self.driver.synchronize(device)
        for activity, start, end in self._work:
            zero, offset = self._zero[activity.device]
            begin, stop = (offset + round(zero.elapsed_ms(mark) * 1e6) for mark in (start, end))
            self.recorder(replace(activity, start_ns=begin, end_ns=stop))

    def _begin(self, device: int) -> None:
        """Find out how late it is on the device's clock."""
        self.driver.enter(device)
        self.driver.call("cuCtxSynchronize")
        zero = self._mark(device, 0)
        self.driver.call("cuEventSynchronize", zero.event)
        self._zero[device] = zero, time.perf_counter_ns() - self._host_zero

    def _mark(self, device: int, stream: int) -> GpuEvent:
        from .gpu_driver import GpuEvent

        event = GpuEvent(self.driver, device, timing=True)
        self.driver.call("cuEventRecord", event.event, stream)
        return event
