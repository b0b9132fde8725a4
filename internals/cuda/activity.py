"""What ran when, on which stream: a recording of a device's work (`torch/profiler`, Kineto).

    with internals.cuda.record_activity() as recording:
        y = x.to("cuda", non_blocking=True) * 2
    for activity in recording: ...
    recording.export_chrome_trace("trace.json")      # for chrome://tracing, Perfetto, or
                                                     # viz.timeline

A kernel or a copy is one `Activity` with the time at which the device began and ended it; the
host's call that queued it is another one, of kind "host", with the same `correlation`. Where the
second is long before the first, the device is behind; where a host call is long, the host waited.

How the real one differs: torch.profiler also records operators and Python stacks, reads the GPU's
times from CUPTI, and costs less than the pairs of events that a real GPU's times are taken from
here; on the simulator all times are modelled.
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
HOST = 1000  # the row of the host; GPUs have their index


@dataclass(frozen=True)
class Activity:
    """One thing that a device did, or a call in which the host was. Times in nanoseconds since the
    recording began.

    `kind` is one of `KINDS`; `grid` and `block` are a kernel's, `nbytes` a copy's; `correlation` is
    the same for work and for the call that queued it. `waits_for` is the correlation of the event
    that a stream was told to wait for, if that was still to come (0 on a real GPU, where nobody
    knows).
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
    """The activities of a stretch of a program, in order of their beginning. `simulated`: their
    times are modelled.
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
        """Only these kinds. Raises ValueError for one that does not exist."""
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"an activity is of kind {', '.join(KINDS)}; got '{kind}'")
        return [a for a in self.activities if a.kind in kinds]

    def stream_numbers(self) -> dict[tuple[int, int], int]:
        """A small number for each (device, stream): 0 for default streams, then by handle."""
        numbers: dict[tuple[int, int], int] = {}
        for device, stream in sorted({(a.device, a.stream) for a in self._found}):
            taken = [n for (d, _), n in numbers.items() if d == device]
            numbers[device, stream] = max(taken, default=0) + 1 if stream else 0
        return numbers

    def chrome_trace(self) -> dict[str, Any]:
        """The recording in the format of chrome://tracing, with the names that torch.profiler's
        traces have.
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
    """Record what the devices do within. All devices are waited for at the end, as torch.profiler
    does.

    `listener` is told of each activity as it is found: of the host's calls while they are being
    made, of the rest later.
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
    """An activity as an event of the trace, and an arrow from the host's call to the device's
    work.
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
    yield {
        "ph": "X", "cat": CATEGORIES.get(a.kind, COPY), "name": a.name, **where,
        "ts": start, "dur": a.duration_ns / 1000, "args": details,
    }  # fmt: skip
    if a.correlation and a.kind != "event":
        ends = {"ph": "s"} if a.kind == "host" else {"ph": "f", "bp": "e"}
        yield {**ends, "id": a.correlation, "cat": "ac2g", "name": "ac2g", **where, "ts": start}


def _headings(numbers: dict[tuple[int, int], int], simulated: bool) -> Iterator[dict[str, Any]]:
    """The names of the rows: the host, each GPU, each of its streams."""

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
