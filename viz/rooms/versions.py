"""`viz.versions`: who bumped a version counter, and when.

A tensor, its views and its detached aliases share one counter. Every in-place operator adds one to
it; a node that keeps the tensor for backward remembers the count, and compares before it uses the
tensor. The picture has one lane for each counter, and one row for each thing that happened to it:
writes, with the names of the operator and of the tensor it was applied to; keeping by nodes; and
the checks in backward with their outcome.

How the real one differs: PyTorch shows `t._version` and the final error, nothing in between.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.text import corrected


@dataclass
class Event:
    """Something that happened to the counter of lane `lane`.

    `kind`: "write" (by operator `what`, applied to `through`; both are empty when it was no
    operator), "unseen" (a write that this counter did not count), "keep" (node `what` keeps the
    tensor as `through`) or "check" (node `what` is about to use it). For a write `before` and
    `after` are the versions around it; otherwise the version that was kept, and the one now.
    `outcome` of a check: "ok", "refused", "released" or "not reached". `line` is the reader's line
    of code that led to it.
    """

    kind: str
    lane: int
    what: str
    through: str
    before: int
    after: int
    outcome: str = ""
    line: str = ""
    node: int = 0  # which node: several may have the same name


@dataclass
class Lane:
    """One counter: the names of the tensors that share it, and its value at the start and at the
    end.
    """

    names: list[str]
    start: int
    end: int = 0

    @property
    def title(self) -> str:
        return ", ".join(self.names)


@dataclass
class Versions(Picture):
    """The record; it grows while the `with` block runs."""

    lanes: list[Lane] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._recorder: Any = None
        self._given: dict[str, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Versions:
        from internals.core.dispatcher import observe_calls
        from viz.rooms.versions_record import Recorder

        self._recorder = Recorder()
        self._recorder.name(self._given)
        self._given = {}
        self._stack.enter_context(observe_calls(self._recorder.observe))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._stack.close()
        self._recorder.close()
        self.lanes, self.events = self._recorder.shown()
        self._recorder = None

    def watch(self, **names: Any) -> None:
        """Name more tensors, such as those made inside the block. Raises RuntimeError outside of
        it.
        """
        if self._recorder is None:
            raise RuntimeError(
                corrected(
                    "watch(name=tensor) belongs inside the block",
                    "log = viz.versions(); log.watch(t=t)",
                    "with viz.versions() as log: log.watch(t=t)",
                )
            )
        self._recorder.name(names)

    def text(self) -> str:
        from viz.rooms.versions_writers import versions_text

        return versions_text(self)

    def canvas(self) -> Canvas:
        from viz.rooms.versions_writers import versions_canvas

        return versions_canvas(self)


def versions(**names: Any) -> Versions:
    """Record what happens to the version counters of these tensors in a `with` block; then the
    value is the picture.

    `log.watch(y=y)` names tensors made inside the block; what happened to them before is in the
    record too. Without any names every tensor that was written to is shown. Operators take the
    readable path through the dispatcher meanwhile.

    Raises TypeError for what is not a tensor of `internals`.

    >>> with viz.versions(a=a) as log:          # doctest: +SKIP
    ...     y = a.tanh()
    ...     log.watch(y=y)
    ...     y.add_(2.0)
    >>> log                                     # doctest: +SKIP
    """
    from internals import Tensor

    for name, t in names.items():
        if not isinstance(t, Tensor):
            raise TypeError(
                corrected(
                    f"viz.versions: {name!r} must be a tensor, got {type(t).__name__}",
                    f"viz.versions({name}={t!r:.40})",
                    f"viz.versions({name}=torch.tensor({t!r:.40}))",
                )
            )
    picture = Versions()
    picture._given = dict(names)
    return picture
