"""The profiler: how much time and memory each call takes (`torch/profiler`).

    with internals.profiler.profile(record_shapes=True) as prof:
        with internals.profiler.record_function("forward"):
            model(x)
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("trace.json")        # for chrome://tracing or ui.perfetto.dev;
                                                  # viz.flame(prof) draws it

or, for a whole program, `python -m internals.profiler program.py`.

The parts, in the order in which a recording uses them:

    recorder.py      records each call                   inputs.py        its arguments
    ranges.py        labels, modules, optimizers         memory.py        bytes allocated and freed
    devices.py       work of GPUs                        flops.py         operations, estimated
    events.py        calls as a tree                     averages.py      sums by name
    table.py         as a table                          chrome_trace.py  as a file for viewers
    session.py       one recording                       scheduling.py    which steps to record
    profiler.py      recordings by a schedule            overhead.py      the cost of recording
    formatting.py    times and bytes as text             __main__.py      a whole program

Without a profile there is no cost: starting one closes the fast lane (`internals.core.hot`), and
only the slower path calls the recorder. A recorded call takes a few microseconds longer than an
unrecorded one (`overhead()` measures how many), and compiled functions do not reuse memory in
place.

How the real one differs: Kineto records all threads, Python's own calls and the events of CUPTI, at
a cost of less than a microsecond per call.
"""

from __future__ import annotations

from internals.core.recording import Scope

from .averages import EventList, FunctionEventAvg
from .events import DeviceType, FunctionEvent, Kernel
from .overhead import overhead
from .profiler import profile, supported_activities, tensorboard_trace_handler
from .ranges import record_function
from .scheduling import ProfilerAction, ProfilerActivity, schedule

__all__ = [
    "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Kernel", "ProfilerAction",
    "ProfilerActivity", "Scope", "overhead", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
