"""The connection of lower floors to the tracer (`torch/csrc/jit/frontend/tracer.h`, `isTracing`).

The tracer is on the top floor, in `internals.jit.tracing`; but it records events of lower floors:
user code reads the size of a tensor, or makes a Python number of it. So here each thread has a
slot. It has the `TracingState` while user code runs under a trace, and None otherwise, also while
an operator that was just recorded computes.

The hot path does not look at the slot. A tracer that fills it also closes the fast lane
(`hot.detour()`), so it is enough to test `hot.off` first.

How the real one differs: the graph value of an integer argument that was computed from a size is
kept apart, by argument name, in the `ArgumentStash`, since an `int64_t` has no room for it. Here
the int itself has it: it is a `TracedInt`.
"""

from __future__ import annotations

import threading
from typing import Any

from .hot import hot

PYTHON_DATAFLOW = (
    " might cause the trace to be incorrect. We can't record the data flow of Python values, so "
    "this value will be treated as a constant in the future. This means that the trace might not "
    "generalize to other inputs!"
)
CONSTRUCTOR = (
    " results are registered as constants in the trace. You can safely ignore this warning if you "
    "use this function to create tensors out of constant variables that would be the same every "
    "time you call this function. In any other case, this might cause the trace to be incorrect."
)
RESIZE = (
    " can't be represented in the JIT at the moment, so we won't connect any uses of this value "
    "with its current trace. If you happen to use it again, it will show up as a constant in the "
    "graph. Consider using `view` or `reshape` to make it traceable."
)


class Tracer(threading.local):
    """The slot of this thread: an `internals.jit.tracing.state.TracingState`, or None."""

    state: Any = None


tracer = Tracer()


class TracedInt(int):
    """An int that is an operator's argument, with the `value` of the graph that it came from."""

    value: Any

    def __new__(cls, number: int, value: Any) -> TracedInt:
        self = super().__new__(cls, number)
        self.value = value
        return self


class TracedFloat(float):
    """A float that is an operator's argument, with the `value` of the graph that it came from."""

    value: Any

    def __new__(cls, number: float, value: Any) -> TracedFloat:
        self = super().__new__(cls, number)
        self.value = value
        return self


def warn_if_tracing(what: str, why: str = PYTHON_DATAFLOW) -> None:
    """Gives a TracerWarning, `what` followed by `why`, if this thread is tracing."""
    if hot.off and tracer.state is not None:
        tracer.state.warn(what + why)
