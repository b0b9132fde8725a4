"""Lanes: queues of requests with the same shape, which wait for a batch.

Only tensors that agree in everything but the first size can be joined, so there is a lane for each
such kind. A lane knows the number of its rows and when it is due: when its first request has waited
`max_delay`, or earlier if a request in it has a close deadline.

Mirrors `PriorityQueue` and `PolicyQueue` of Triton's `scheduler_utils.cc`.

How the real one differs: Triton has one queue for each priority. A request of another shape ends
the batch there, unless its input allows "ragged batching": then elements are concatenated, and the
model gets the offset of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from internals import Tensor

from ..inference import InferRequest


@dataclass(slots=True, eq=False)
class Waiting:
    """A waiting request; `future` will have its outputs. `due` is the latest time at which it
    should start, on the loop's clock in seconds.
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
    """The waiting requests of one kind, in order of arrival. `line` is a dict, as a request that is
    cancelled leaves from the middle.
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
        """Whether a batch should start: it is full, or a request has waited long enough."""
        return self.rows >= max_batch or self.due <= now

    def take(self, max_batch: int) -> list[Waiting]:
        """Removes the first requests that fit into `max_batch` rows. A request with more rows than
        that is taken alone.
        """
        taken = list(first_that_fit(self.line, max_batch))
        for waiting in taken:
            del self.line[waiting]
            waiting.lane = None
            self.rows -= waiting.rows
        self.due = min((other.due for other in self.line), default=float("inf"))
        return taken


def first_that_fit(line: dict[Waiting, None], max_batch: int) -> Iterator[Waiting]:
    """Yields requests from the front until the next does not fit, but always the first one."""
    rows = 0
    for waiting in line:
        rows += waiting.rows
        if rows > max_batch and rows != waiting.rows:
            return
        yield waiting


def lane_key(inputs: dict[str, Tensor], pad: bool) -> Hashable:
    """The kind of a request: the names and dtypes of its inputs, and all sizes but the first (with
    `pad` only their number). Requests with equal keys can run together.
    """
    return tuple((name, t.dtype, t.dim() if pad else t.shape[1:]) for name, t in inputs.items())


def rows_of(inputs: dict[str, Tensor]) -> int | None:
    """The first size, if all inputs share it and it is not 0; else None: the request has no rows,
    and runs alone.
    """
    sizes = {t.shape[0] if t.dim() else 0 for t in inputs.values()}
    rows = sizes.pop() if len(sizes) == 1 else 0
    return rows or None
