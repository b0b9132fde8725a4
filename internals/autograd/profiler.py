"""`internals.autograd.profiler`: the profiler under its first name (`torch/autograd/profiler.py`).

It lives in `internals.profiler`; this module is one of its two doors.

How the real one differs: `emit_nvtx` and `emit_itt`, which mark ranges for NVIDIA's and Intel's
tools.
"""

from __future__ import annotations

from internals.profiler.averages import EventList, FunctionEventAvg
from internals.profiler.events import FunctionEvent
from internals.profiler.ranges import record_function
from internals.profiler.session import profile

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]
