"""The recorder, which runs around every call while a profile is taken
(`torch/csrc/autograd/profiler_kineto.cpp`, `onFunctionEnter` and `onFunctionExit`).

A `Span` is one call, or one range: its name, its start and end, and the span that encloses it. The
recorder keeps the innermost open one. The dispatcher passes it each operator call (`call`); ranges
are begun and ended by name (`enter`, `exit`).

Recording should change the times as little as possible. An operator call is made as it would be
without a profiler: the kernel comes from the operator's table, not from the slower, readable path.
And while a CPU kernel runs that calls no other operator, the fast lane (mainly of the allocator) is
open again.

How the real one differs: each thread has a buffer of spans, which are combined at the end. Here
only the thread that started the profile is recorded; backward runs on it too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter_ns as clock
from typing import Any

from internals.core.dispatch_key import BACKEND_MASK, DispatchKey
from internals.core.dispatcher import KernelFunction, OperatorHandle, around_calls, dispatcher, tls
from internals.core.geometry import Geometry
from internals.core.hot import hot
from internals.core.recording import Scope, recording

from .inputs import describe
from .memory import MemoryLog

_CPU = 1 << DispatchKey.CPU
DEEPEST_STACK = 64
_MADE = "internals._generated"  # for code that was generated at run time and has no module
_NOT_SHOWN = ("internals.core", "internals.profiler", "internals._generated", "contextlib", "runpy")


class Span:
    """One call or range. Times are those of `time.perf_counter_ns`; `end` is 0 while it is open.

    `inputs` are the `Input`s, None if they are not recorded; `stack` has the Python frames,
    innermost first. `allocated` and `freed` are the bytes of the CPU allocator in this span but not
    in those within it; `device_bytes` is the same for GPUs, allocated minus freed.
    """

    __slots__ = (
        "name", "overload", "scope", "parent", "start", "end", "inputs", "stack", "sequence_nr",
        "allocated", "freed", "device_bytes", "correlations",
    )  # fmt: skip

    def __init__(
        self, name: str, overload: str, scope: Scope, parent: Span | None, sequence_nr: int = -1
    ) -> None:
        self.name, self.overload, self.scope, self.parent, self.sequence_nr = (
            name,
            overload,
            scope,
            parent,
            sequence_nr,
        )
        self.start = self.end = self.allocated = self.freed = self.device_bytes = 0
        self.inputs: Any = None
        self.stack: tuple[str, ...] = ()
        self.correlations: list[int] = []


class Recorder:
    """Records the calls of this thread between `start` and `stop` in `spans`, by start time.

    shapes: record the sizes of inputs. memory: count bytes, which keeps the fast lane closed.
    stacks: record the source location of each call. `memory_log` is None unless memory is counted.
    """

    def __init__(self, shapes: bool = False, memory: bool = False, stacks: bool = False) -> None:
        self.shapes, self.stacks = shapes, stacks
        self.spans: list[Span] = []
        self.current: Span | None = None
        self.memory_log = MemoryLog(self) if memory else None
        self.thread = threading.get_ident()
        self.begin = self.end = 0
        self._leaves: dict[OperatorHandle, bool] = {}
        self._names: dict[OperatorHandle, tuple[str, str]] = {}
        self._open = ExitStack()

    def start(self) -> None:
        """Begin to record this thread."""
        self._call = tls.around or dispatcher.call_unobserved
        self._alone = tls.around is None  # nothing else intercepts operator calls
        with ExitStack() as stack:
            stack.enter_context(around_calls(self.call))
            if self.memory_log is not None:
                stack.enter_context(self.memory_log.open())
            recording.recorder = self
            stack.callback(setattr, recording, "recorder", None)
            self._open = stack.pop_all()
        self.begin = clock()

    def stop(self) -> None:
        """End the recording, and all spans that are still open."""
        self.end = clock()
        if self.memory_log is not None:
            self.memory_log.sample(self.current)
        while self.current is not None:
            self.exit(self.current)
        self._open.close()
        for span in self.spans:
            span.end = span.end or self.end

    def check_thread(self) -> None:
        """Raise RuntimeError in any thread but the recorded one."""
        if threading.get_ident() != self.thread:
            raise RuntimeError("the profiler must be stopped by the thread that started it")

    def call(self, op: OperatorHandle, args: tuple[Any, ...]) -> Any:
        """Make an operator call, and record it."""
        names = self._names.get(op)
        if names is None:
            name, _, overload = op.name.partition(".")
            names = self._names[op] = name, overload
        outer = self.current
        self.current = span = Span(*names, Scope.FUNCTION, outer)
        self.spans.append(span)
        if self.shapes:
            span.inputs = describe(args)
        if self.stacks:
            span.stack = python_stack()
        if self.memory_log is not None:
            self.memory_log.sample(outer)  # changes until now belong to the enclosing span
        span.start = clock()  # last, so that the bookkeeping above is not part of the time
        try:
            result = self._run(op, args)
        finally:
            span.end = clock()
            if self.memory_log is not None:
                self.memory_log.sample(span)
            self.current = outer
        span.sequence_nr = sequence_nr_of(result)
        return result

    def enter(
        self, name: str, scope: Scope, inputs: Sequence[Geometry] = (), sequence_nr: int = -1
    ) -> Span:
        """Begin a range within the current span, and return it for `exit`."""
        outer = self.current
        span = Span(name, "", scope, outer, -1 if sequence_nr == float("inf") else int(sequence_nr))
        if self.shapes:
            span.inputs = describe(inputs)
        if self.stacks:
            span.stack = python_stack()
        if self.memory_log is not None:
            self.memory_log.sample(outer)
        self.spans.append(span)
        self.current = span
        span.start = clock()
        return span

    def exit(self, span: Span) -> None:
        """End a range, and all spans in it that are still open. Does nothing if it has ended."""
        if span.end:
            return
        now = clock()
        if self.memory_log is not None:
            self.memory_log.sample(self.current)
        while self.current is not None:
            inner, self.current = self.current, self.current.parent
            inner.end = inner.end or now
            if inner is span:
                return
        span.end = now

    def _run(self, op: OperatorHandle, args: tuple[Any, ...]) -> Any:
        """Call the operator, by the fastest path that the current state allows."""
        if hot.off != 1 or not self._alone:
            # something else observes calls, or changes the keys: the general path
            return self._call(op, args)
        keys = op.keys_of(args)
        if not keys & BACKEND_MASK:
            return self._call(op, args)
        kernel = op.table[keys]
        if self.memory_log is None and keys & BACKEND_MASK == _CPU and self._is_leaf(op):
            hot.off -= 1  # open the fast lane: no operator call inside could be missed
            try:
                return kernel(*args)
            finally:
                hot.off += 1
        return kernel(*args)

    def _is_leaf(self, op: OperatorHandle) -> bool:
        """`is_leaf`, computed once for each operator."""
        leaf = self._leaves.get(op)
        if leaf is None:
            leaf = self._leaves[op] = is_leaf(op)
        return leaf


def is_leaf(op: OperatorHandle) -> bool:
    """Whether `op` on the CPU is known to call no other operator: its kernel is one of
    `aten.native`, its derivative a generated one.
    """
    kernels = op.kernels
    if (
        DispatchKey.CPU not in kernels
        or DispatchKey.CompositeImplicitAutograd in kernels
        or op.name in _CALL_OPERATORS
    ):
        return False
    autograd = kernels.get(DispatchKey.Autograd)
    if autograd is not None and not _module(autograd).startswith("internals._generated.autograd_"):
        return False
    where = _module(kernels[DispatchKey.CPU])
    # a generated in-place variant is a leaf if its functional form is: "add_.Tensor", "add.Tensor"
    if where == "internals._generated.variants" and op.schema.is_inplace:
        base = dispatcher.operators.get(
            op.name.replace("_.", ".") if "." in op.name else op.name[:-1]
        )
        return base is not None and is_leaf(base)
    return where.startswith("internals.aten.native.")


# Operators whose kernels in `aten.native` do call other operators.
_CALL_OPERATORS = {
    "aten::isinf", "aten::isfinite", "aten::glu", "aten::glu_backward", "aten::native_dropout",
    "aten::native_dropout_backward", "aten::select_backward", "aten::slice_backward",
    "aten::diagonal_backward", "aten::unfold_backward",
}  # fmt: skip


def _module(kernel: KernelFunction) -> str:
    """The module of a kernel, which may not be imported yet: "module:function"."""
    target = kernel.target
    return (
        target.partition(":")[0]
        if isinstance(target, str)
        else getattr(target, "__module__", "") or ""
    )


def sequence_nr_of(result: object) -> int:
    """The sequence number of the autograd node of a call's result; -1 without one."""
    if isinstance(result, (tuple, list)) and result:
        result = result[0]
    meta = getattr(result, "_autograd_meta", None)
    edge = None if meta is None else meta.edge
    return -1 if edge is None else int(edge[0].sequence_nr)


def python_stack() -> tuple[str, ...]:
    """The frames of the program, innermost first, as "file(line): function".

    Frames of the profiler, the dispatcher and generated code are skipped.
    """
    frame: Any = sys._getframe(2)  # neither this function nor the recorder's
    found: list[str] = []
    while frame is not None and len(found) < DEEPEST_STACK:
        if not frame.f_globals.get("__name__", _MADE).startswith(_NOT_SHOWN):
            found.append(f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back
    return tuple(found)
