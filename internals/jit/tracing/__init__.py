"""Tracing: a graph is made by running a function once and writing down the operators it calls
(`torch/csrc/jit/frontend/tracer.cpp`).

    api.py                what users call: trace, trace_module
    run.py, traceable.py  one trace, from inputs to graph; what may go in and come out
    recorder.py, rules.py the kernel of the Tracer dispatch key, and what it writes down differently
    state.py              which tensor is which value
    sizes.py              sizes that remember where they came from
    frames.py, warnings.py   names and places from Python's stack, TracerWarning
    python_function.py, script_calls.py   calls of autograd.Function and of script functions
    traced_module.py, fixup_scopes.py, get_attributes.py   modules: one method for each submodule
    check.py, comparison.py  whether a second trace says the same

How the real one differs: it is C++, except for the checker.
"""

from .api import script_if_tracing, trace, trace_module
from .check import TracingCheckError
from .state import TracingState, get_tracing_state, is_tracing
from .traced_module import TopLevelTracedModule, TracedModule
from .warnings import TracerWarning

__all__ = [
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "TracingState",
    "get_tracing_state", "is_tracing", "script_if_tracing", "trace", "trace_module",
]  # fmt: skip
