"""What a client saw: for each request when what happened, for each piece of the conversation what
it was.

`exchange` fills a `Recording`, `viz.exchange` draws it. Times are milliseconds since the beginning.

How the real one differs: browsers keep the same (the network tab, `PerformanceResourceTiming`:
startTime, requestStart, responseStart, responseEnd), without the server's side, which they cannot
see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .work import Headers


@dataclass(frozen=True)
class Ask:
    """A request to be made: `ms` of work and `size` bytes of answer.

    `at`: when it is made; `read_at`: when the client begins to read the answer (HTTP/2 only), both
    in milliseconds.
    """

    name: str
    ms: float = 0
    size: int = 100
    at: float = 0
    read_at: float = 0

    @property
    def path(self) -> str:
        return f"/{self.name}?ms={self.ms:g}&bytes={self.size}"


@dataclass
class Course:
    """What became of a request. `begun` and `ready` are the server's: when it started to work, and
    when it had the answer.

    `stream` is the HTTP/2 stream; on HTTP/1.1, which has none, the how-manieth request of its
    connection it was.
    """

    name: str
    asked: float
    connection: int = 0
    stream: int = 0
    sent: float | None = None
    begun: float | None = None
    ready: float | None = None
    first: float | None = None
    done: float | None = None
    status: int = 0
    body: bytes = b""
    behind: str = ""  # the request that had the connection, or the line, before it

    @property
    def waited(self) -> float:
        """For how long nobody worked on it and nothing of it was under way, as far as one can tell:
        done - asked - work.
        """
        if self.done is None or self.begun is None or self.ready is None:
            return 0.0
        return round(self.done - self.asked - (self.ready - self.begun), 6)


@dataclass(frozen=True)
class Piece:
    """Something on the wire, seen from the client. `kind` is a frame's name, or "head" and "body"
    for HTTP/1.1.

    `number`: in which order the pieces came; `name`: of the request it belongs to, "" for the
    connection's own.
    """

    number: int
    time: float
    connection: int
    sent: bool
    kind: str
    stream: int
    nbytes: int
    name: str = ""
    flags: tuple[str, ...] = ()
    headers: Headers = ()
    raw: bytes = field(default=b"", repr=False)


@dataclass
class Recording:
    """A whole exchange: `over` says which protocol and how, `courses` are in the order in which
    they were asked for.
    """

    over: str
    virtual: bool = True
    courses: list[Course] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    connections: int = 0

    def __getitem__(self, name: str) -> Course:
        """The course of that request. Raises KeyError."""
        for course in self.courses:
            if course.name == name:
                return course
        raise KeyError(
            f"no request is called {name!r}; there are {', '.join(c.name for c in self.courses)}"
        )

    def __iter__(self) -> Iterator[Course]:
        return iter(self.courses)

    def order(self) -> list[str]:
        """The names in the order in which the answers were complete."""
        last = {p.name: p.number for p in self.pieces if not p.sent}
        finished = [c for c in self.courses if c.done is not None]
        return [c.name for c in sorted(finished, key=lambda c: (c.done, last.get(c.name, 0)))]

    def of_kind(self, *kinds: str, sent: bool | None = None) -> list[Piece]:
        """The pieces of these kinds (of all, if none is named), of one direction or both."""
        return [p for p in self.pieces if (not kinds or p.kind in kinds) and sent in (None, p.sent)]

    def nbytes(self, *kinds: str, sent: bool | None = None) -> int:
        """How many bytes those are on the wire."""
        return sum(p.nbytes for p in self.of_kind(*kinds, sent=sent))


class Recorder:
    """Fills a recording. `now` says what time it is, in milliseconds."""

    def __init__(self, recording: Recording, asks: Iterable[Ask], now: Clock) -> None:
        self.recording, self.now = recording, now
        self._courses = {ask.name: Course(ask.name, float(ask.at)) for ask in asks}
        recording.courses = list(self._courses.values())

    def new_connection(self) -> int:
        self.recording.connections += 1
        return self.recording.connections

    def course(self, name: str) -> Course | None:
        return self._courses.get(name)

    def sent(self, name: str, connection: int, stream: int, behind: str = "") -> None:
        course = self._courses[name]
        course.sent, course.connection, course.stream, course.behind = (
            self.now(),
            connection,
            stream,
            behind,
        )

    def piece(
        self,
        connection: int,
        sent: bool,
        kind: str,
        stream: int,
        nbytes: int,
        name: str = "",
        flags: tuple[str, ...] = (),
        headers: Headers = (),
        raw: bytes = b"",
    ) -> None:
        number = len(self.recording.pieces)
        self.recording.pieces.append(
            Piece(
                number,
                self.now(),
                connection,
                sent,
                kind,
                stream,
                nbytes,
                name,
                flags,
                headers,
                raw,
            )
        )
        course = self._courses.get(name)
        if (
            course is not None
            and not sent
            and course.first is None
            and kind in ("head", "body", "HEADERS", "DATA")
        ):
            course.first = self.now()

    def finished(self, name: str, status: int, body: bytes) -> None:
        course = self._courses[name]
        course.done, course.status, course.body = self.now(), status, body


class Clock:
    """Milliseconds since it was made, on the clock of the loop that runs."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()

    def __call__(self) -> float:
        return round(1000 * (self._loop.time() - self._start), 6)
