"""Whether this thread is being profiled, and whom to tell (`aten/src/ATen/record_function.h`).

The profiler sits at the top of the house, in `internals.profiler`; what it must hear of happens
below: the engine runs a node of the graph, a compiled function is called. So this floor keeps one
slot per thread with the recorder, None at all other times, and `recorded(name, scope)`, a block
that the recorder is told of. (Operators need no block: the dispatcher tells of them.)

The hot path does not look at the slot: whoever fills it also closes the fast lane, so `hot.off`
is asked first:

    if hot.off:
        with recorded("prim::FusionGroup", Scope.TORCHSCRIPT_FUNCTION):
            return run(*args)
    return run(*args)

How the real one differs: any number of callbacks, for all threads or for one, may be sampled and
switched on and off; each says which of ten scopes it wants to hear of.
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
    """Who is told. `enter` returns what `exit` is to be given."""

    def enter(self, name: str, scope: Scope, inputs: Any = (), sequence_nr: int = -1) -> Any: ...

    def exit(self, entered: Any) -> None: ...


class Recording(threading.local):
    recorder: Recorder | None = None


recording = Recording()


class recorded:
    """A block that this thread's recorder, if there is one, is told of.

    `inputs` are the geometries of the tensors that go in: the tensors themselves must not be held
    longer than without a profiler.
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
