"""One recording: `Session` installs the recorder and its hooks, `Result` has the events
(`torch/autograd/profiler.py`).

    with internals.autograd.profiler.profile() as prof: ...

`profile` in this file makes one recording, from beginning to end; that of `internals.profiler`
makes as many as its schedule demands.

How the real one differs: several threads may be recorded, and a trace may be requested from outside
while a program runs.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import Any

from . import chrome_trace, devices
from .averages import EventList
from .events import MEMORY, DeviceType, FunctionEvent, events_of
from .ranges import record_modules, record_optimizers
from .recorder import Recorder

_running: list[Recorder] = []
_lock = threading.Lock()


class Result:
    """The events of a recording. `zero` is its beginning, on the clock of `time.perf_counter_ns`.

    `activity` is the recording of devices or None; it began `activity_offset` microseconds later.
    """

    def __init__(self, session: Session) -> None:
        recorder, device = session.recorder, session.device
        self.record_shapes, self.profile_memory = session.record_shapes, session.profile_memory
        self.with_stack, self.with_flops = session.with_stack, session.with_flops
        self.thread, self.zero = threading.get_native_id(), recorder.begin
        self.metadata: dict[str, Any] = {}
        log = recorder.memory_log
        self.memory_changes = [] if log is None else log.changes
        use_device = None if device is None else "cuda"
        spans = recorder.spans if session.use_cpu else []
        events = events_of(spans, self.zero, self.with_flops, self.record_shapes, use_device)
        events += self._outside(use_device)
        self.activity = None if device is None else device.recording
        self.activity_offset = 0.0 if device is None else (device.zero - self.zero) / 1000
        if device is not None:
            by_span = {id(span): event for span, event in zip(spans, events)}
            events += device.events(by_span, self.activity_offset)
        self.events = EventList(
            events, use_device, self.profile_memory, self.with_flops, self.with_stack
        )

    def _outside(self, use_device: str | None) -> list[FunctionEvent]:
        """An event "[memory]" for each change of memory outside of all spans."""
        found = []
        for change in self.memory_changes:
            if change.span is None:
                at = (change.time - self.zero) / 1000
                event = FunctionEvent(0, MEMORY, at, at)
                event.use_device = use_device
                if change.device >= 0:
                    event.self_device_memory_usage = change.bytes
                elif change.bytes > 0:
                    event.bytes_allocated = change.bytes
                else:
                    event.bytes_freed = -change.bytes
                found.append(event)
        return found


class Session:
    """A recording in progress: call `start`, `stop`, and then `result`. There can be only one at a
    time: `start` raises RuntimeError while another one runs.
    """

    def __init__(
        self,
        use_cpu: bool = True,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        self.use_cpu, self.use_cuda = use_cpu, use_cuda
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.recorder = Recorder(record_shapes or with_flops, profile_memory, with_stack)
        self.device: devices.DeviceActivity | None = None
        self._hooks = ExitStack()

    def start(self) -> None:
        """Begin. Raises RuntimeError while another profile is taken."""
        with _lock:
            if _running:
                where = (
                    "this thread"
                    if _running[0].thread == threading.get_ident()
                    else "another thread"
                )
                raise RuntimeError(f"Profiler is already enabled on {where}")
            _running.append(self.recorder)
        # If any step fails, `undo` reverts the earlier ones; otherwise `stop` does that later, in
        # reverse order: the devices first, which includes waiting for them.
        with ExitStack() as undo:
            undo.callback(_running.remove, self.recorder)
            undo.enter_context(record_optimizers(self.recorder))
            if self.with_modules:
                undo.enter_context(record_modules(self.recorder))
            self.recorder.start()
            undo.callback(self.recorder.stop)
            if self.use_cuda:
                self.device = devices.DeviceActivity(self.recorder)
                undo.callback(self.device.stop)
            self._hooks = undo.pop_all()

    def stop(self) -> None:
        """End, after waiting for the devices.

        Raises RuntimeError in a thread other than that of `start`.
        """
        self.recorder.check_thread()
        self._hooks.close()

    @property
    def running(self) -> bool:
        return self.recorder in _running

    def result(self) -> Result:
        return Result(self)


class profile:
    """`torch.autograd.profiler.profile`: records the calls in a block, unless `enabled=False`.

    Afterwards `key_averages()`, `table()`, `function_events`, `total_average()`,
    `export_chrome_trace(path)` and `export_stacks(path)` give the results. `use_device="cuda"`
    (formerly `use_cuda=True`) records devices as well; the other parameters are those of
    `internals.profiler.profile`. Raises RuntimeError when it is entered twice, and while another
    profile is taken.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = True,
        use_cpu: bool = True,
    ) -> None:
        if use_device not in (None, "cuda"):
            raise ValueError(
                f"use_device: devices of kind '{use_device}' cannot be profiled, only 'cuda'"
            )
        self.enabled, self.entered = enabled, False
        wants_cuda = enabled and (use_cuda or use_device == "cuda") and devices.available()
        self._options = (
            use_cpu,
            wants_cuda,
            record_shapes,
            profile_memory,
            with_stack,
            with_flops,
            with_modules,
        )
        self._session: Session | None = None
        self._result: Result | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            self._session = Session(*self._options)
            self._session.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._session is not None:
            self._session.stop()
            self._result = self._session.result()

    @property
    def result(self) -> Result:
        """The result of the recording. Raises RuntimeError before the block has ended."""
        if self._result is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._result

    @property
    def function_events(self) -> EventList:
        return self.result.events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        return self.function_events.table(sort_by, row_limit, **options)

    def total_average(self) -> Any:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        chrome_trace.export(self.result, path)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        export_stacks(self.result, path, metric)

    def __repr__(self) -> str:
        return (
            "<unfinished torch.autograd.profile>"
            if self._result is None
            else repr(list(self._result.events))
        )

    def __str__(self) -> str:
        return (
            "<unfinished torch.autograd.profile>"
            if self._result is None
            else str(self._result.events)
        )


def export_stacks(result: Result, path: str | os.PathLike[str], metric: str) -> None:
    """Write the stacks for a flame graph tool.

    Raises AssertionError if none were recorded, ValueError for an unknown metric.
    """
    if not result.with_stack:
        raise AssertionError("export_stacks() requires with_stack=True")
    chrome_trace.write_text(path, "".join(line + "\n" for line in result.events.stacks(metric)))


__all__ = ["DeviceType", "Result", "Session", "export_stacks", "profile"]
