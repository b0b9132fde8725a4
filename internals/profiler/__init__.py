"""Where the time goes: `torch.profiler`.

    with internals.profiler.profile(record_shapes=True) as prof:
        with internals.profiler.record_function("forward"):
            model(x)
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("trace.json")        # for chrome://tracing or ui.perfetto.dev;
                                                  # viz.flame(prof) draws it

or, for a whole program, `python -m internals.profiler program.py`.

The parts, in the order in which they are met:

    recorder.py      what happens around each call       inputs.py        what goes into it
    ranges.py        labels, modules, optimizers         memory.py        who takes how many bytes
    devices.py       work of GPUs                        flops.py         operations, estimated
    events.py        calls as a tree                     averages.py      added up by name
    table.py         as a table                          chrome_trace.py  as a file for viewers
    session.py       one recording                       scheduling.py    which steps to record
    profiler.py      recordings by a schedule            overhead.py      what recording costs here
    formatting.py    times and bytes as text             __main__.py      a whole program

While no profile is taken, nobody pays: a profile closes the fast lane (`internals.core.hot`), and
the way that is left leads past the recorder. A recorded call takes a few microseconds longer than
an unrecorded one (`overhead()` measures how many), and in-place reuse of memory in compiled
functions is off.

How the real one differs: Kineto records all threads, Python's own calls and what CUPTI reports, at
a fraction of a microsecond.
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
