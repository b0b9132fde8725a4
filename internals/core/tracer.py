"""Whether this thread is tracing, and whom to tell (`torch/csrc/jit/frontend/tracer.h`,
`isTracing`).

The tracer sits at the top of the house, in `internals.jit.tracing`; what it must hear of happens
below: user code asks a tensor for its size, or makes a Python number of it. So this floor keeps one
slot per thread. It holds the `TracingState` while user code runs under a trace, and None at all
other times, also while an operator that was just recorded does its work.

The hot path does not look at the slot: whoever fills it also closes the fast lane
(`hot.detour()`), so `hot.off` is asked first.

How the real one differs: an integer argument that was computed from a size is remembered aside, by
argument name, in the `ArgumentStash`, because the kernel's `int64_t` has no room for it. Here the
int itself knows: it is a `TracedInt`.
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
    """`state` is an `internals.jit.tracing.state.TracingState` or None."""

    state: Any = None


tracer = Tracer()


class TracedInt(int):
    """An int on its way into an operator that knows which value of the graph it came from."""

    value: Any

    def __new__(cls, number: int, value: Any) -> TracedInt:
        self = super().__new__(cls, number)
        self.value = value
        return self


class TracedFloat(float):
    """The same for a float."""

    value: Any

    def __new__(cls, number: float, value: Any) -> TracedFloat:
        self = super().__new__(cls, number)
        self.value = value
        return self


def warn_if_tracing(what: str, why: str = PYTHON_DATAFLOW) -> None:
    """Give a TracerWarning that begins with `what` if this thread is tracing."""
    if hot.off and tracer.state is not None:
        tracer.state.warn(what + why)
