"""The connection of lower floors to the profiler (`aten/src/ATen/record_function.h`).

The profiler is on the top floor, in `internals.profiler`; but it records events of lower floors:
the engine runs a node of the graph, a compiled function is called. So here each thread has a slot
for a recorder, which is None when it is not being profiled; and `recorded(name, scope)` is a block
that is reported to the recorder. (Operators need no such block: the dispatcher's observers report
them.)

The hot path does not look at the slot. A profiler that fills it also closes the fast lane, so it is
enough to test `hot.off` first:

    if hot.off:
        with recorded("prim::FusionGroup", Scope.TORCHSCRIPT_FUNCTION):
            return run(*args)
    return run(*args)

How the real one differs: there may be any number of callbacks, for all threads or for one; they may
be sampled, and each is called for some of ten scopes only.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from internals.core.geometry import Geometry


class Scope(IntEnum):
    """The kind of a recorded range (`at::RecordScope`)."""

    FUNCTION = 0  # an operator
    BACKWARD_FUNCTION = 1  # a node of the autograd graph
    TORCHSCRIPT_FUNCTION = 2  # a compiled function, or a part of one
    MODULE = 6  # the call of an nn.Module (PyTorch has LITE_INTERPRETER here)
    USER_SCOPE = 7  # record_function("label")


class Recorder(Protocol):
    """The interface of a recorder: `enter` is called at the beginning of a range, and its result is
    given to `exit` at the end.
    """

    def enter(self, name: str, scope: Scope, inputs: Any = (), sequence_nr: int = -1) -> Any: ...

    def exit(self, entered: Any) -> None: ...


class Recording(threading.local):
    """The recorder of this thread, or None."""

    recorder: Recorder | None = None


recording = Recording()


class recorded:
    """A block that is reported to this thread's recorder, if it has one.

    `inputs` are the geometries of the input tensors. The tensors themselves must not live longer
    than they would without a profiler.
    """

    __slots__ = ("arguments", "entered", "recorder")

    def __init__(
        self, name: str, scope: Scope, inputs: Sequence[Geometry] = (), sequence_nr: int = -1
    ) -> None:
        self.arguments = name, scope, inputs, sequence_nr

    def __enter__(self) -> None:
        self.recorder = recording.recorder
        self.entered = None if self.recorder is None else self.recorder.enter(*self.arguments)

    def __exit__(self, *exception: Any) -> None:
        if self.recorder is not None:
            self.recorder.exit(self.entered)
