"""Requests of one shape, waiting in line for a batch.

Only tensors that agree in everything but the first size can be joined, so there is a lane for each
such kind. A lane knows how many rows wait in it and when it is due: when its first request has
waited `max_delay`, or earlier if one in it is in a hurry.

Mirrors `PriorityQueue` and `PolicyQueue` of Triton's `scheduler_utils.cc`.

How the real one differs: Triton has one queue for each priority. A request of another shape ends
the batch there, unless its input allows "ragged batching": then elements are put one behind the
other, and the model is told where each begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from internals import Tensor

from ..inference import InferRequest


@dataclass(slots=True, eq=False)
class Waiting:
    """A request in line: `future` will have its outputs. `due`: when it should start at the latest,
    on the loop's clock.
    """

    request: InferRequest
    rows: int
    nbytes: int
    arrived: float
    due: float
    future: asyncio.Future[dict[str, Tensor]]
    lane: Lane | None = None


@dataclass(slots=True, eq=False)
class Lane:
    """Those who wait, in order of arrival. A dict, because whoever gives up leaves from the
    middle.
    """

    key: Hashable
    line: dict[Waiting, None] = field(default_factory=dict)
    rows: int = 0
    due: float = float("inf")

    def add(self, waiting: Waiting) -> None:
        waiting.lane = self
        self.line[waiting] = None
        self.rows += waiting.rows
        self.due = min(self.due, waiting.due)

    def remove(self, waiting: Waiting) -> None:
        del self.line[waiting]
        waiting.lane = None
        self.rows -= waiting.rows
        self.due = min((other.due for other in self.line), default=float("inf"))

    def ready(self, now: float, max_batch: int) -> bool:
        """Whether a batch should start: it is full, or somebody has waited long enough."""
        return self.rows >= max_batch or self.due <= now

    def take(self, max_batch: int) -> list[Waiting]:
        """The first in line, as many as fit; a request with more rows than that goes alone."""
        taken = list(first_that_fit(self.line, max_batch))
        for waiting in taken:
            del self.line[waiting]
            waiting.lane = None
            self.rows -= waiting.rows
        self.due = min((other.due for other in self.line), default=float("inf"))
        return taken


def first_that_fit(line: dict[Waiting, None], max_batch: int) -> Iterator[Waiting]:
    rows = 0
    for waiting in line:
        rows += waiting.rows
        if rows > max_batch and rows != waiting.rows:
            return
        yield waiting


def lane_key(inputs: dict[str, Tensor], pad: bool) -> Hashable:
    """What two requests have to share in order to run together: names, dtypes, and sizes but the
    first (with `pad`: how many).
    """
    return tuple((name, t.dtype, t.dim() if pad else t.shape[1:]) for name, t in inputs.items())


def rows_of(inputs: dict[str, Tensor]) -> int | None:
    """The first size that all inputs share, or None: such a request has no rows and runs alone."""
    sizes = {t.shape[0] if t.dim() else 0 for t in inputs.values()}
    rows = sizes.pop() if len(sizes) == 1 else 0
    return rows or None
