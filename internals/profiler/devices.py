"""The work of GPUs, real or simulated, while a profile is taken (Kineto and CUPTI in PyTorch).

`internals.cuda.record_activity` records it; here it is assigned to the calls that queued it.

Every call of the driver has a correlation number, which the work it queues has too. The call
happens within some span, and that span gets the time of the work as its device time.

The times of a real GPU are on the host's clock. Those of a simulated one are on its own, modelled
clock: they can be compared with each other, but not with the time of the Python code that does the
simulation.

How the real one differs: callbacks of the driver do this, at any depth of streams and graphs.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import AbstractContextManager
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any

from .events import DeviceType, FunctionEvent, Kernel
from .recorder import Recorder, Span

if TYPE_CHECKING:
    from internals.cuda.activity import Activity


class DeviceActivity:
    """Records the devices from its construction to `stop`.

    `recording` has the activities; `zero` is when their clock started, in nanoseconds of
    `time.perf_counter_ns`.
    """

    def __init__(self, recorder: Recorder) -> None:
        from internals.cuda import backend
        from internals.cuda.activity import record_activity

        self._recorder = recorder
        self._numbers: dict[int, Span] = {}  # correlation number → the span of the driver's call
        backend.driver()
        self.zero = clock()
        self._block: AbstractContextManager[Any] = record_activity(self._found)
        self.recording = self._block.__enter__()

    def _found(self, activity: Activity) -> None:
        """Called for each new activity: remember in which span the driver was called."""
        if activity.kind == "host" and activity.correlation and self._recorder.current is not None:
            self._numbers[activity.correlation] = self._recorder.current

    def stop(self) -> None:
        """End the recording, after waiting for all devices."""
        self._block.__exit__(None, None, None)

    def events(self, spans: dict[int, FunctionEvent], offset: float) -> list[FunctionEvent]:
        """An event for each piece of work, and a `Kernel` in the event of the call that queued it.

        `spans` has the events of the calls, by the `id()` of their spans. `offset` is the start of
        the devices' clock, in microseconds of the profile.
        """
        found = []
        for number, activity in enumerate(self.recording.activities):
            if activity.kind in ("host", "event"):
                continue
            start, end = offset + activity.start_ns / 1000, offset + activity.end_ns / 1000
            # negative ids, as those of calls are positive
            event = FunctionEvent(-1 - number, activity.name, start, end, activity.stream)
            event.device_type, event.device_index, event.use_device = (
                DeviceType.CUDA,
                activity.device,
                "cuda",
            )
            event.device_resource_id = activity.stream
            found.append(event)
            call = spans.get(id(self._numbers.get(activity.correlation)))
            if call is not None:
                call.kernels.append(
                    Kernel(activity.name, activity.device, activity.duration_ns / 1000)
                )
        return found


def in_use() -> bool:
    """Whether this process has used CUDA already."""
    cuda = sys.modules.get("internals.cuda")
    return cuda is not None and bool(cuda.is_initialized())


def available() -> bool:
    """Whether there is a device to record, real or (if requested) simulated. Warns if not."""
    from internals.cuda import backend

    try:
        backend.driver()
    except AssertionError:
        warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=4)
        return False
    return True
