"""`viz.batching`: requests that share runs of a model. Who waited, in which batch they were
computed, who came back with nothing.

A lane for each request, and below them the batches with their rows, on one axis. By order, the axis
is what happened one after the other, without times: the same picture on every machine where the
same things happened. By time, it is milliseconds.

It draws what a `Recorder` of `internals.serving.batching` wrote down. Anything with `events` of the
same attributes will do; nothing of it is imported here.

How the real one differs: Triton's trace has the same instants for each request, as JSON, and no
picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.rooms.chart import number
from viz.scene import Picture
from viz.text import plural, table

ORDERS = ("order", "time")
# What can become of a request: colour, words, sign in the text.
OUTCOMES = {
    "answered": ("copied", "answered", "|"),
    "refused": ("warning", "refused: the line was full", "x"),
    "expired": ("warning", "too late, not computed", "!"),
    "left": ("free", "gave up, not computed", "<"),
    "waiting": ("python", "waits still", "."),
    "running": ("view", "is computed still", "#"),
}
SHORT = {"refused": "refused", "expired": "too late", "left": "gave up"}
WAITING, RUNNING = "python", "view"
TEXT_WIDTH = 72
REQUESTS_AT_MOST = 40


@dataclass
class Asked:
    """A request. `arrived`, `started` and `ended` are numbers of moments, None for what has not
    been.
    """

    number: int
    rows: int
    arrived: int
    started: int | None = None
    ended: int | None = None
    batch: int | None = None
    outcome: str = "waiting"

    @property
    def name(self) -> str:
        return f"request {self.number}"


@dataclass
class Batch:
    """Requests that were run together; `members` are (request, rows) in the order of their rows."""

    number: int
    started: int
    members: list[tuple[int, int]] = field(default_factory=list)
    ended: int | None = None

    @property
    def rows(self) -> int:
        return sum(rows for _, rows in self.members)

    @property
    def name(self) -> str:
        return f"batch {self.number}"


@dataclass
class Moment:
    """Something that happened, to one request or to all of a batch; `at` is milliseconds from the
    first.
    """

    at: float
    kind: str
    requests: list[int]
    batch: int | None = None


@dataclass
class Batching(Picture):
    """The picture of a recording. `by` says what the horizontal axis is."""

    requests: list[Asked]
    batches: list[Batch]
    moments: list[Moment]
    by: str = "order"
    hidden: int = 0

    def title(self) -> str:
        return "viz.batching"

    def place(self, moment: int | None) -> float:
        """Where a moment is on the axis; None is the end of it."""
        if moment is None:
            return self.end
        return self.moments[moment].at if self.by == "time" else float(moment)

    @property
    def end(self) -> float:
        last = self.moments[-1].at if self.moments else 0.0
        return last if self.by == "time" else float(len(self.moments))

    def facts(self) -> list[str]:
        rows = sum(batch.rows for batch in self.batches)
        batches = "1 batch" if len(self.batches) == 1 else f"{len(self.batches)} batches"
        facts = [f"{plural(len(self.requests) + self.hidden, 'request')}, {batches}"]
        if self.batches:
            average = f"{number(round(rows / len(self.batches), 1))} row" + (
                "" if rows == len(self.batches) else "s"
            )
            facts[0] += f" of {average}" + (
                " on average" if len({batch.rows for batch in self.batches}) > 1 else ""
            )
        found = [a.outcome for a in self.requests]
        without = [f"{found.count(kind)} {words}" for kind, words in SHORT.items() if kind in found]
        if without:
            facts.append(
                f"nothing was computed for {sum(map(found.count, SHORT))}: {', '.join(without)}"
            )
        if self.hidden:
            facts.append(f"only the first {len(self.requests)} requests are shown")
        return facts

    def says(self, a: Asked) -> str:
        """ "batch 2", "batch 2 after 9 ms, of which it waited 2 ms", "gave up, not computed"."""
        if a.outcome != "answered":
            return OUTCOMES[a.outcome][1]
        if self.by == "order" or a.started is None:
            return f"batch {a.batch}"
        waited = self.place(a.started) - self.place(a.arrived)
        return (
            f"batch {a.batch}, after {milli(self.place(a.ended) - self.place(a.arrived))} (waited "
            f"{milli(waited)})"
        )

    def text(self) -> str:
        if not self.moments:
            return "batching: nothing happened"
        lines = ["batching", *(f"    {fact}" for fact in self.facts())]
        rows = [
            [a.name, plural(a.rows, "row"), self._strip(a), self.says(a)] for a in self.requests
        ]
        for b in self.batches:
            members = " ".join(str(member) for member, _ in b.members)
            rows.append(
                [b.name, plural(b.rows, "row"), self._bar(b.started, b.ended, "="), f"of {members}"]
            )
        used = {a.outcome for a in self.requests} - {"answered", "waiting", "running"}
        key = ". waits, # is computed, " + "".join(
            f"{OUTCOMES[u][2]} {OUTCOMES[u][1]}, " for u in OUTCOMES if u in used
        )
        axis = (
            f"from left to right: {milli(self.end)}"
            if self.by == "time"
            else "from left to right: the order of events"
        )
        return "\n".join([*lines, table(rows, indent=4), f"    {key}= a batch; {axis}"])

    def _cell(self, at: float) -> int:
        span = self.end or 1.0
        return int(
            at if span <= TEXT_WIDTH and self.by == "order" else at / span * TEXT_WIDTH + 1e-9
        )

    def _bar(self, start: int | None, end: int | None, sign: str) -> str:
        first = self._cell(self.place(start))
        return " " * first + sign * max(1, self._cell(self.place(end)) - first)

    def _strip(self, a: Asked) -> str:
        if a.started is None:
            end = "" if a.ended is None else OUTCOMES[a.outcome][2]
            waits = self._bar(a.arrived, a.ended, ".")
            return (
                waits + end
                if a.outcome != "refused"
                else " " * self._cell(self.place(a.arrived)) + end
            )
        first = self._cell(self.place(a.started))
        waits = self._bar(a.arrived, a.started, ".")[:first].ljust(first)
        return waits + self._bar(a.started, a.ended, "#")[first:]

    def canvas(self) -> Canvas:
        from viz.rooms.batching_canvas import batching_canvas

        return batching_canvas(self)


def batching(recording: Any, by: str = "order") -> Batching:
    """A picture of what a batcher's recorder wrote down; `by` is "order" or "time".

    Raises TypeError for something without events, ValueError for another `by`.
    """
    if by not in ORDERS:
        raise ValueError(f'by must be "order" or "time", got {by!r}')
    return scene(events_of(recording, "viz.batching"), by)


def events_of(recording: Any, who: str) -> list[Any]:
    if not hasattr(recording, "events"):
        raise TypeError(f"{who} draws a batcher's recorder, got {type(recording).__name__}")
    return list(recording.events)


def scene(events: Sequence[Any], by: str = "order", at_most: int = REQUESTS_AT_MOST) -> Batching:
    """The requests, batches and moments of a recording; of very many requests the first
    `at_most`.
    """
    numbers = sorted({event.request for event in events})
    shown = set(numbers[:at_most])
    moments = list(moments_of([event for event in events if event.request in shown]))
    requests: dict[int, Asked] = {}
    batches: dict[int, Batch] = {}
    for n, moment in enumerate(moments):
        for who in moment.requests:
            a = requests.setdefault(who, Asked(who, 1, n))
            if moment.kind == "started":
                a.started, a.batch, a.outcome = n, moment.batch, "running"
            elif moment.kind == "finished":
                a.ended, a.outcome = n, "answered"
            elif moment.kind != "arrived":
                a.ended, a.outcome = n, moment.kind
        if moment.batch is not None and moment.kind == "started":
            batches.setdefault(moment.batch, Batch(moment.batch, n))
        elif moment.batch in batches:
            batches[moment.batch].ended = n
    for event in events:
        if event.kind in ("arrived", "refused") and event.request in requests:
            requests[event.request].rows = event.rows
        elif event.kind == "started" and event.batch in batches:
            batches[event.batch].members.append((event.request, event.rows))
    ordered = [requests[n] for n in sorted(requests)]
    return Batching(ordered, list(batches.values()), moments, by, len(numbers) - len(shown))


def moments_of(events: Iterable[Any]) -> Iterable[Moment]:
    """The events, those of one batch in one moment."""
    current: Moment | None = None
    first: float | None = None
    for event in events:
        first = event.at if first is None else first
        batch = event.batch if event.batch >= 0 else None
        if (
            current is not None
            and batch is not None
            and (current.kind, current.batch) == (event.kind, batch)
        ):
            current.requests.append(event.request)
            continue
        if current is not None:
            yield current
        current = Moment(round((event.at - first) * 1000, 6), event.kind, [event.request], batch)
    if current is not None:
        yield current


def milli(ms: float) -> str:
    """ "20.5 ms", "1.2 s"."""
    return f"{number(round(ms, 2))} ms" if ms < 10_000 else f"{number(round(ms / 1000, 2))} s"
