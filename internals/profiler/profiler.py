"""`internals.profiler.profile`: recordings made by a schedule (`torch/profiler/profiler.py`).

Each call of `step()` asks the schedule for the next action and makes the transition: start to warm
up, discard that and start to record, or stop and hand over the trace. Each recording is a new
`Session`, so nothing is carried from one cycle to the next.

How the real one differs: it also has memory timelines, execution traces and metadata of distributed
runs. A profile within a profile stops the outer one with a warning; here it raises an error.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import chrome_trace, devices
from .averages import EventList
from .ranges import record_function
from .scheduling import ProfilerAction, ProfilerActivity, always
from .session import Result, Session, export_stacks

RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Records operators, ranges and the work of devices.

        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
            model(x)
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

        activities       by default the CPU, and CUDA if this process has used it already
        schedule         the action of each step (see `schedule`)
        on_trace_ready   called with the profile after each cycle
        record_shapes    sizes of inputs
        profile_memory   bytes allocated and freed
        with_stack       source locations
        with_flops       operations, estimated
        with_modules     calls of `nn.Module`s as ranges
        acc_events       keep the events of earlier cycles, too

    Raises AssertionError if there is no activity to record, TypeError for another kind of activity,
    RuntimeError while another profile is taken.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        self.activities = _checked_activities(activities)
        self.schedule, self.on_trace_ready = schedule or always, on_trace_ready
        self.record_steps = schedule is not None
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._session: Session | None = None
        self._result: Result | None = None
        self._earlier: list[Any] = []
        self._metadata: dict[str, Any] = {}
        self._step_range: record_function | None = None
        self._started = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0. Raises RuntimeError while another profile is being taken."""
        self._become(ProfilerAction.NONE, self.current_action)
        self._started = True
        self._begin_step()

    def stop(self) -> None:
        """End; a running recording is handed to `on_trace_ready`.

        Raises AssertionError if the profile was not started.
        """
        if not self._started:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._started = False
        self._end_step()
        self._become(self.current_action, None)

    def step(self) -> None:
        """Go to the next step of the schedule; call it after each step of the program."""
        if not self._started:
            return
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._become(before, self.current_action)
        self._begin_step()

    def events(self) -> EventList:
        """The recorded events of the last cycle, by start time; with `acc_events` of all cycles.

        Raises AssertionError before a recording is finished.
        """
        result = self._finished("accessing events")
        if self.acc_events and self._earlier:
            return EventList(
                [*self._earlier, *result.events],
                result.events.use_device,
                self.profile_memory,
                self.with_flops,
            )
        return result.events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events, summed by name. Raises AssertionError before a recording is finished."""
        self._finished("getting key averages")
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def chrome_trace(self) -> dict[str, Any]:
        """The trace of the last cycle as `export_chrome_trace` writes it."""
        result = self._finished("exporting chrome trace")
        result.metadata = self._metadata
        return chrome_trace.chrome_trace(result)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace of the last cycle, for chrome://tracing or ui.perfetto.dev.

        Raises OSError if the file cannot be written.
        """
        chrome_trace.write_text(path, json.dumps(self.chrome_trace()))

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write "frame;frame;frame microseconds" lines. Raises AssertionError without
        `with_stack=True`.
        """
        export_stacks(self._finished("exporting stacks"), path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace, under `key`."""
        self._metadata[key] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON, to the trace. Raises ValueError for invalid JSON."""
        self._metadata[key] = json.loads(value)

    def _become(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """The transition from the action of one step to that of the next; None is the end.

            before             after                       what is done
            RECORD             NONE, WARMUP or the end     save
            RECORD_AND_SAVE    any                         save
            WARMUP             RECORD or RECORD_AND_SAVE   discard the warm-up
            any                NONE or the end             discard a session that is left
            any                any other                   start a session if none is left

        More than one row may apply; they are done from top to bottom. "Save" ends the session,
        keeps its result and calls `on_trace_ready`.
        """
        if before in RECORDING and (
            before is ProfilerAction.RECORD_AND_SAVE or after not in RECORDING
        ):
            self._save()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in RECORDING and before is ProfilerAction.WARMUP:
            self._throw_away()
        if after is None or after is ProfilerAction.NONE:
            self._throw_away()
        elif self._session is None:
            self._session = Session(
                ProfilerActivity.CPU in self.activities, ProfilerActivity.CUDA in self.activities,
                self.record_shapes, self.profile_memory, self.with_stack, self.with_flops,
                self.with_modules,
            )  # fmt: skip
            try:
                self._session.start()
            except BaseException:
                self._session = None
                raise

    def _save(self) -> None:
        """Stop the current recording and keep its result; with `acc_events` that of the cycle
        before, too.
        """
        assert self._session is not None
        if self._result is not None and self.acc_events:
            self._earlier.extend(self._result.events)
        session, self._session = self._session, None
        session.stop()
        self._result = session.result()

    def _throw_away(self) -> None:
        """Stop the current recording, if any, without keeping its result."""
        session, self._session = self._session, None
        if session is not None:
            session.stop()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step_range = record_function(f"ProfilerStep#{self.step_num}")
            self._step_range.__enter__()

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__()
            self._step_range = None

    def _finished(self, purpose: str) -> Result:
        """The result of the last cycle. Raises AssertionError if there is none."""
        if self._result is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self._result


def _checked_activities(
    activities: Iterable[ProfilerActivity] | None,
) -> set[ProfilerActivity]:
    """The activities to record: those that were asked for, without CUDA where there is none; for
    None the supported ones. Raises as `profile`.
    """
    found = set(activities) if activities is not None else supported_activities()
    if not found:
        raise AssertionError("No valid profiler activities found")
    for activity in found:
        if not isinstance(activity, ProfilerActivity):
            raise TypeError(
                "activities: expected ProfilerActivity.CPU or ProfilerActivity.CUDA, got "
                f"{activity!r}"
            )
    if ProfilerActivity.CUDA in found and not devices.available():
        found.discard(ProfilerActivity.CUDA)
        if not found:
            raise AssertionError("No valid profiler activities found")
    return found


def supported_activities() -> set[ProfilerActivity]:
    """The CPU, and CUDA if this process has used it."""
    return (
        {ProfilerActivity.CPU, ProfilerActivity.CUDA}
        if devices.in_use()
        else {ProfilerActivity.CPU}
    )


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None
) -> Callable[[profile], None]:
    """A function for `on_trace_ready`, which writes each trace to
    "`worker_name`.`time`.pt.trace.json" in a folder; the folder is created if necessary.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(Path(dir_name) / f"{worker}.{time.time_ns()}.pt.trace.json")

    return handler
