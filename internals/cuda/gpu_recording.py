"""Times the work of a real GPU, with a pair of events around each piece (`torch/csrc/profiler`).

The device's clock is read through events, as milliseconds since a first event; the host has its own
clock. The first event is recorded when the device has nothing to do. The host waits for it and
reads its own clock at that moment, so that both clocks can be drawn on one axis.

How the real one differs: Kineto gets the times from CUPTI, which does not delay the stream; events
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
    """Calls `recorder` with each call of the host when it returns, and with the devices' work in
    `finish`, when its times are known.
    """

    def __init__(self, driver: GpuDriver, recorder: Callable[[Activity], None]) -> None:
        self.driver, self.recorder = driver, recorder
        self._work: list[tuple[Activity, GpuEvent, GpuEvent]] = []
        self._correlations = count(1)
        self._host_zero = time.perf_counter_ns()
        # for each device its first event, and the nanoseconds on the host's clock at that moment
        self._zero: dict[int, tuple[GpuEvent, int]] = {}
        for device in driver.contexts():
            self._begin(device)

    def work(self, name: str, activity: Activity, queue: Callable[[], Any]) -> None:
        """Call `queue`, which queues work of a device: `activity`, as yet without times. `name` is
        the host's call.
        """
        activity = replace(activity, correlation=next(self._correlations))
        if activity.device not in self._zero:
            self._begin(activity.device)
        start = self._mark(activity.device, activity.stream)
        self.host(name, activity.device, activity.stream, queue, activity.correlation)
        self._work.append((activity, start, self._mark(activity.device, activity.stream)))

    def host(
        self, name: str, device: int, stream: int, call: Callable[[], Any], correlation: int = 0
    ) -> Any:
        """The result of `call()`, recorded as the host's call `name`."""
        start = time.perf_counter_ns()
        try:
            return call()
        finally:
            times = start - self._host_zero, time.perf_counter_ns() - self._host_zero
            self.recorder(Activity(name, "host", device, stream, *times, correlation=correlation))

    def finish(self) -> None:
        """Wait for all devices and report their work with its times."""
        for device in self._zero:
            self.driver.synchronize(device)
        for activity, start, end in self._work:
            zero, offset = self._zero[activity.device]
            # milliseconds since the device's first event, on the host's axis of nanoseconds
            begin, stop = (offset + round(zero.elapsed_ms(mark) * 1e6) for mark in (start, end))
            self.recorder(replace(activity, start_ns=begin, end_ns=stop))

    def _begin(self, device: int) -> None:
        """Record the first event of a device, and the host's time when the device passed it."""
        self.driver.enter(device)
        self.driver.call("cuCtxSynchronize")
        zero = self._mark(device, 0)
        self.driver.call("cuEventSynchronize", zero.event)
        self._zero[device] = zero, time.perf_counter_ns() - self._host_zero

    def _mark(self, device: int, stream: int) -> GpuEvent:
        """A timing event on a stream, which is not recorded as a call itself."""
        from .gpu_driver import GpuEvent

        event = GpuEvent(self.driver, device, timing=True)
        self.driver.call("cuEventRecord", event.event, stream)
        return event
