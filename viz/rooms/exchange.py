"""`viz.exchange`: requests and answers of one client, a lane for each request. What waits behind
what, which frames came when.

By time, a lane shows what became of its request: not begun, at work, ready, arriving; below it each
piece that came. By order, the axis is the wire itself: a column for each piece, in the lane of its
request. Answers that take turns look like stairs.

It draws what `apparatus.two_https` records. Anything with the same attributes will do; nothing of
it is imported here.

How the real one differs: the network tab of a browser draws the first of the two, without the
server's side; Wireshark lists the second, frame by frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.rooms.chart import number
from viz.scene import Picture
from viz.text import plural, table

STRETCHES = {
    "queued": ("free", "no connection is free", "."),
    "waiting": ("python", "sent, not begun", "-"),
    "working": ("view", "at work", "#"),
    "ready": ("shared", "ready, not there yet", "+"),
    "arriving": ("copied", "from its first byte to its last", "="),
}
# For each kind of piece: colour, letter. Kinds of HTTP/1.1 are in lower case, HTTP/2's frames in
# upper case.
PIECES = {
    "head": ("shared", "H"),
    "body": ("copied", "D"),
    "HEADERS": ("shared", "H"),
    "CONTINUATION": ("shared", "C"),
    "DATA": ("copied", "D"),
    "WINDOW_UPDATE": ("ready", "W"),
    "PREFACE": ("free", "P"),
    "SETTINGS": ("free", "S"),
    "PING": ("free", "I"),
    "GOAWAY": ("warning", "G"),
    "RST_STREAM": ("warning", "R"),
}
OTHER = ("free", "?")
ORDERS = ("time", "order")
TEXT_WIDTH = 60
PIECES_AT_MOST = 210


@dataclass
class Stretch:
    """What was going on with a request from `start` to `end`, in milliseconds."""

    kind: str
    start: float
    end: float


@dataclass
class Mark:
    """One piece on the wire. `lane` is -1 for what belongs to the connection and to no request."""

    number: int
    time: float
    lane: int
    connection: int
    sent: bool
    kind: str
    stream: int
    nbytes: int
    ends: bool = False

    @property
    def look(self) -> tuple[str, str]:
        return PIECES.get(self.kind, OTHER)

    @property
    def tip(self) -> str:
        who = "client" if self.sent else "server"
        end = ", the last of its stream" if self.ends else ""
        return (
            f"{self.kind} from the {who} at {milli(self.time)}: {plural(self.nbytes, 'byte')}{end}"
        )


@dataclass
class Lane:
    """One request. `behind` names the one before it that had to be answered first."""

    name: str
    where: str
    stretches: list[Stretch]
    done: float | None
    behind: str = ""

    @property
    def outcome(self) -> str:
        """ "110 ms, behind slow"."""
        if self.done is None:
            return "no answer"
        return milli(self.done) + (f", behind {self.behind}" if self.behind else "")


@dataclass
class Exchange(Picture):
    """The picture of a recording. `by` says what the horizontal axis is: "time" or "order"."""

    over: str
    lanes: list[Lane]
    marks: list[Mark]
    by: str = "time"
    virtual: bool = True
    hidden: int = 0
    connections: list[int] = field(default_factory=list)

    def title(self) -> str:
        return "viz.exchange"

    @property
    def end(self) -> float:
        times = [s.end for lane in self.lanes for s in lane.stretches] + [
            m.time for m in self.marks
        ]
        return max(times, default=0.0)

    def facts(self) -> list[str]:
        done = [lane for lane in self.lanes if lane.done is not None]
        last = max((lane.done or 0.0 for lane in done), default=0.0)
        up, down = (sum(m.nbytes for m in self.marks if m.sent is sent) for sent in (True, False))
        many = plural(len(self.lanes), "request")
        facts = [
            f"{self.over}: {many}, {len(done)} answered"
            + (f", the last after {milli(last)}" if done else "")
        ]
        if not self.hidden:
            facts.append(
                f"{plural(up, 'byte')} sent, {plural(down, 'byte')} received in "
                f"{plural(len(self.marks), 'piece')}"
            )
        if not self.virtual:
            facts.append("times are measured, and differ from run to run")
        return facts

    def text(self) -> str:
        lines = ["exchange", *(f"    {fact}" for fact in self.facts())]
        if self.by == "order":
            return "\n".join(lines + self._in_order())
        wide = max((len(lane.name) for lane in self.lanes), default=0)
        lines += [f"    {lane.name.ljust(wide)}  {self._strip(lane)}" for lane in self.lanes]
        used = {s.kind for lane in self.lanes for s in lane.stretches}
        lines.append(
            " " * (wide + 6)
            + ", ".join(f"{sign} {what}" for k, (_, what, sign) in STRETCHES.items() if k in used)
        )
        rows = [[lane.name, lane.where, *self._times(lane), lane.outcome] for lane in self.lanes]
        return "\n".join([*lines, table(rows, ["", "", "at work (ms)", "done"], indent=4)])

    def _times(self, lane: Lane) -> list[str]:
        work = [s for s in lane.stretches if s.kind == "working"]
        return [f"{number(work[0].start)} to {number(work[0].end)}" if work else "-"]

    def _strip(self, lane: Lane) -> str:
        cells = [" "] * TEXT_WIDTH
        per = self.end / TEXT_WIDTH or 1.0
        for s in lane.stretches:
            first = min(TEXT_WIDTH - 1, round(s.start / per))
            for n in range(first, min(TEXT_WIDTH, max(first + 1, round(s.end / per)))):
                cells[n] = STRETCHES[s.kind][2]
        return "".join(cells).rstrip()

    def _in_order(self) -> list[str]:
        """A line for each connection and each request, a column for each piece; those of the client
        in lower case.
        """
        rows: list[list[str]] = []
        for connection in self.connections:
            rows.append(
                self._row(
                    f"connection {connection}",
                    [m for m in self.marks if m.lane < 0 and m.connection == connection],
                )
            )
        for n, lane in enumerate(self.lanes):
            rows.append(self._row(lane.name, [m for m in self.marks if m.lane == n]))
        used = {m.kind: m.look[1] for m in self.marks}
        key = ", ".join(
            f"{used[kind]} {kind}"
            for kind in (*PIECES, *sorted(set(used) - set(PIECES)))
            if kind in used
        )
        more = [f"    ({plural(self.hidden, 'piece')} more not shown)"] if self.hidden else []
        return [
            table([r for r in rows if r[1].strip(".")], indent=4),
            f"    {key}; from the client in lower case",
            *more,
        ]

    def _row(self, name: str, mine: list[Mark]) -> list[str]:
        cells = ["."] * len(self.marks)
        for at, mark in enumerate(self.marks):
            if mark in mine:
                cells[at] = mark.look[1].lower() if mark.sent else mark.look[1]
        return [name, "".join(cells), plural(sum(m.nbytes for m in mine), "byte")]

    def canvas(self) -> Canvas:
        from viz.rooms.exchange_canvas import by_order, by_time

        return by_time(self) if self.by == "time" else by_order(self)


def exchange(recording: Any, by: str = "time") -> Exchange:
    """A picture of what `apparatus.two_https.exchange` recorded; `by` is "time" or "order".

    Raises TypeError for something that is no such recording, ValueError for another `by`.
    """
    if by not in ORDERS:
        raise ValueError(f'by must be "time" or "order", got {by!r}')
    if not (hasattr(recording, "courses") and hasattr(recording, "pieces")):
        raise TypeError(
            "viz.exchange draws a recording with courses and pieces, got "
            f"{type(recording).__name__}"
        )
    lane_of = {course.name: n for n, course in enumerate(recording.courses)}
    many = recording.connections > 1
    lanes = [
        Lane(
            c.name,
            _where(c, recording.over, many),
            list(_stretches(c)),
            c.done,
            _behind(c, recording.courses),
        )
        for c in recording.courses
    ]
    marks = [
        Mark(
            p.number, p.time, lane_of.get(p.name, -1), p.connection, p.sent, p.kind, p.stream,
            p.nbytes, "END_STREAM" in p.flags
        )
        for p in recording.pieces
    ]  # fmt: skip
    hidden = max(0, len(marks) - PIECES_AT_MOST) if by == "order" else 0
    marks = marks[: len(marks) - hidden]
    connections = sorted({m.connection for m in marks})
    return Exchange(recording.over, lanes, marks, by, recording.virtual, hidden, connections)


def _where(course: Any, over: str, many: bool) -> str:
    if course.sent is None:
        return ""
    place = f"stream {course.stream}" if over.startswith("HTTP/2") else f"no. {course.stream}"
    return f"connection {course.connection}, {place}" if many else place


def _stretches(course: Any) -> Iterable[Stretch]:
    """From asked to done, cut where something changed; what took no time is left out."""
    times = [course.asked, course.sent, course.begun, course.ready, course.first, course.done]
    for kind, start, end in zip(STRETCHES, times, times[1:]):
        if start is not None and end is not None and end > start:
            yield Stretch(kind, start, end)


def _behind(course: Any, courses: list[Any]) -> str:
    """The request before it on the same connection, if that was answered only after this one had
    been asked for.
    """
    before = next((c for c in courses if c.name == course.behind), None)
    return (
        before.name
        if before is not None and (before.done is None or before.done > course.asked)
        else ""
    )


def milli(ms: float) -> str:
    """ "20.5 ms", "1.2 s"."""
    return f"{number(round(ms, 1))} ms" if ms < 10_000 else f"{number(round(ms / 1000, 1))} s"
