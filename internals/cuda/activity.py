"""A recording of a device's work: which kernel or copy ran when, on which stream (`torch/profiler`,
Kineto).

    with internals.cuda.record_activity() as recording:
        y = x.to("cuda", non_blocking=True) * 2
    for activity in recording: ...
    recording.export_chrome_trace("trace.json")      # for chrome://tracing, Perfetto, or
                                                     # viz.timeline

A kernel or a copy is one `Activity`, with the times at which the device began and ended it. The
host's call that queued it is another, of kind "host", with the same `correlation`. If the host's
call is long before the work, the device is behind; if the call itself is long, the host waited.

On the simulator all times are modelled.

How the real one differs: torch.profiler also records operators and Python stacks. It reads the
GPU's times from CUPTI, which costs less than the pair of events around each piece of work here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import backend

KINDS = ("kernel", "h2d", "d2h", "d2d", "memset", "event", "host")
CATEGORIES = {
    "kernel": "kernel",
    "memset": "gpu_memset",
    "event": "cuda_event",
    "host": "cuda_runtime",
}
COPY = "gpu_memcpy"
HOST = 1000  # the host's process number in the trace; a GPU's is its index


@dataclass(frozen=True)
class Activity:
    """A piece of a device's work, or a call of the host. Times are nanoseconds since the recording
    began.

    `kind` is one of `KINDS`; `grid` and `block` are a kernel's, `nbytes` a copy's. Work and the
    call that queued it have the same `correlation`. `waits_for` is the correlation of the event
    that a stream was told to wait for, if the device had not reached that yet; always 0 on a real
    GPU, which does not report it.
    """

    name: str
    kind: str
    device: int
    stream: int
    start_ns: int
    end_ns: int
    nbytes: int = 0
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    correlation: int = 0
    waits_for: int = 0

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class Recording:
    """The activities of a part of a program, in the order in which they began. `simulated`: whether
    their times are modelled. `devices`: the properties of each (`_describe`).
    """

    def __init__(self, simulated: bool, devices: list[dict[str, Any]]) -> None:
        self.simulated, self.devices = simulated, devices
        self._found: list[Activity] = []

    def add(self, activity: Activity) -> None:
        self._found.append(activity)

    @property
    def activities(self) -> list[Activity]:
        return sorted(
            self._found, key=lambda a: (a.start_ns, a.end_ns, a.correlation, a.kind != "host")
        )

    def of_kind(self, *kinds: str) -> list[Activity]:
        """The activities of these kinds. Raises ValueError for an unknown kind."""
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"an activity is of kind {', '.join(KINDS)}; got '{kind}'")
        return [a for a in self.activities if a.kind in kinds]

    def stream_numbers(self) -> dict[tuple[int, int], int]:
        """A small number for each (device, stream): 0 for default streams, then by handle."""
        numbers: dict[tuple[int, int], int] = {}
        for device, stream in sorted({(a.device, a.stream) for a in self._found}):
            used = [n for (d, _), n in numbers.items() if d == device]
            numbers[device, stream] = max(used, default=0) + 1 if stream else 0
        return numbers

    def chrome_trace(self) -> dict[str, Any]:
        """The recording in the format of chrome://tracing, with the names in torch.profiler's
        traces.
        """
        numbers = self.stream_numbers()
        events: list[dict[str, Any]] = []
        for a in self.activities:
            events.extend(_events(a, numbers[a.device, a.stream]))
        return {
            "schemaVersion": 1,
            "deviceProperties": self.devices,
            "displayTimeUnit": "ms",
            "simulated": self.simulated,
            "traceEvents": [*_headings(numbers, self.simulated), *events],
        }

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, for chrome://tracing or ui.perfetto.dev. Raises OSError if
        that cannot be done.
        """
        from internals.profiler.chrome_trace import write_text

        write_text(path, json.dumps(self.chrome_trace(), indent=1))

    def __iter__(self) -> Iterator[Activity]:
        return iter(self.activities)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        counts = [
            f"{n} {kind}" for kind in KINDS if (n := sum(a.kind == kind for a in self._found))
        ]
        simulated = "; simulated, times are modelled" if self.simulated else ""
        return f"<Recording: {', '.join(counts) or 'nothing'}{simulated}>"


@contextmanager
def record_activity(listener: Callable[[Activity], None] | None = None) -> Iterator[Recording]:
    """Record the work of all devices inside the block. Its end waits for all of them, as in
    torch.profiler.

    `listener` is called with each activity as it is found: with a host's call at once, with a
    device's work later.
    """
    driver = backend.driver()
    recording = Recording(
        driver.simulated, [_describe(driver, d) for d in range(driver.device_count())]
    )

    def found(activity: Activity) -> None:
        recording.add(activity)
        if listener is not None:
            listener(activity)

    driver.start_recording(found)
    try:
        yield recording
    finally:
        driver.stop_recording()


def _events(a: Activity, stream: int) -> Iterator[dict[str, Any]]:
    """An activity as an event of the trace, and its end of the arrow that leads from the host's
    call to the device's work.
    """
    where = {"pid": HOST, "tid": 0} if a.kind == "host" else {"pid": a.device, "tid": stream}
    start = a.start_ns / 1000  # the format counts in microseconds
    details: dict[str, Any] = {"device": a.device, "stream": stream, "correlation": a.correlation}
    if a.grid is not None and a.block is not None:
        details |= {"grid": list(a.grid), "block": list(a.block)}
    if a.waits_for:
        details["waits for"] = a.waits_for
    if a.nbytes:
        details["bytes"] = a.nbytes
        if a.duration_ns:
            details["memory bandwidth (GB/s)"] = round(a.nbytes / a.duration_ns, 3)
    # the phases of the format: "X" is an event with a duration, "s" and "f" start and finish an
    # arrow, "bp": "e" ties the arrow's end to the event around it
    yield {
        "ph": "X", "cat": CATEGORIES.get(a.kind, COPY), "name": a.name, **where,
        "ts": start, "dur": a.duration_ns / 1000, "args": details,
    }  # fmt: skip
    if a.correlation and a.kind != "event":
        ends = {"ph": "s"} if a.kind == "host" else {"ph": "f", "bp": "e"}
        yield {**ends, "id": a.correlation, "cat": "ac2g", "name": "ac2g", **where, "ts": start}


def _headings(numbers: dict[tuple[int, int], int], simulated: bool) -> Iterator[dict[str, Any]]:
    """Metadata events ("M") that name the rows: the host, each GPU, each of its streams."""

    def named(what: str, name: str, **where: int) -> dict[str, Any]:
        return {"ph": "M", "name": what, "ts": 0, **where, "args": {"name": name}}

    yield named("process_name", "python", pid=HOST, tid=0)
    yield named("thread_name", "CUDA calls", pid=HOST, tid=0)
    label = " (simulated)" if simulated else ""
    for device in sorted({device for device, _ in numbers}):
        yield named("process_name", f"GPU {device}{label}", pid=device, tid=0)
    for (device, _), stream in numbers.items():
        yield named("thread_name", f"stream {stream}", pid=device, tid=stream)


def _describe(driver: Any, device: int) -> dict[str, Any]:
    """The properties of a device under the names that torch.profiler's traces have."""
    p = driver.properties(device)
    return {
        "id": device,
        "name": p.name,
        "totalGlobalMem": p.total_memory,
        "computeMajor": p.major,
        "computeMinor": p.minor,
        "maxThreadsPerBlock": p.max_threads_per_block,
        "warpSize": p.warp_size,
        "numSms": p.multi_processor_count,
    }
