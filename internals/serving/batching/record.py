"""Records the events in one batcher with their times: for pictures, and for tests about order.

A `Recorder` is attached to a batcher, which tells it every event; without one nothing is kept. It
may be attached while requests wait: those that arrived before are not recorded.

How the real one differs: Triton has tracing (`TRITONSERVER_InferenceTrace`), with the same events,
for every request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["arrived", "refused", "left", "expired", "started", "finished"]


class Event(NamedTuple):
    """One event. `request` and `batch` are numbers from 0, -1 if there is none; `at` is in seconds
    on the loop's clock.
    """

    at: float
    kind: Kind
    request: int = -1
    batch: int = -1
    rows: int = 0


@dataclass
class Recorder:
    """The events in order; "started" and "finished" occur once for each request of a batch."""

    events: list[Event] = field(default_factory=list)
    requests: int = 0
    batches: int = 0
    # id of a request that waits or runs -> its number
    numbers: dict[int, int] = field(default_factory=dict)

    def arrived(self, at: float, who: object, rows: int) -> None:
        self.numbers[id(who)] = self.requests
        self.events.append(Event(at, "arrived", self.requests, rows=rows))
        self.requests += 1

    def refused(self, at: float, rows: int) -> None:
        self.events.append(Event(at, "refused", self.requests, rows=rows))
        self.requests += 1

    def gone(self, at: float, who: object, kind: Kind) -> None:
        self._note(at, kind, [who])

    def started(self, at: float, who: list[object], rows: list[int]) -> int:
        """Records the start of a batch, and returns its number for `finished`."""
        batch = self.batches
        self.batches += 1
        self.events += [
            Event(at, "started", self.numbers[id(one)], batch, n)
            for one, n in zip(who, rows)
            if id(one) in self.numbers
        ]
        return batch

    def finished(self, at: float, who: list[object], batch: int) -> None:
        self._note(at, "finished", who, batch)

    def _note(self, at: float, kind: Kind, who: list[object], batch: int = -1) -> None:
        """Records the last event of requests, and forgets them, as their ids may be reused."""
        numbers = [self.numbers.pop(id(one)) for one in who if id(one) in self.numbers]
        self.events += [Event(at, kind, number, batch) for number in numbers]
