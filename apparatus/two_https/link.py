"""A line between client and server: so many bytes a millisecond, so long on the way, and now and
then a segment is lost.

    link = Link(delay=20, rate=100, lose=3)
    exchange(asks, over="http/2", link=link)

On loopback bytes arrive at once. This is a proxy on loopback that holds them back: it reads real
bytes from one side, cuts them into segments of at most 1,460, lets the connections take turns, and
writes each to the other side when its time has come. TCP promises its reader *all* bytes in order.
So when a segment is lost, those behind it wait until it has been sent again, however complete they
are. That is what `lose` does, and `segments` tells afterwards for each how long it lay there
(`held`).

How the real one differs: this is a model of the parts that matter here. A real TCP also begins
slowly and doubles (slow start), sends less after a loss, and resends after a time that it measures.
The system's own handshake on loopback takes no time, so the link asks a round trip for it
(`handshake`); TLS would be one or two more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from .wire import Listener, Wire, connect, listen

SEGMENT = 1460


@dataclass
class Segment:
    """Bytes `start` to `start + nbytes` of one direction of a connection. Times in milliseconds
    since the link was opened.

    `due`: when it would have been there on its own; `arrived`: when its reader got it.
    """

    connection: int
    down: bool  # from server to client
    start: int
    nbytes: int
    due: float
    arrived: float
    lost: bool = False

    @property
    def held(self) -> float:
        """How long it waited for segments before it, in milliseconds."""
        return 0.0 if self.lost else round(self.arrived - self.due, 6)


@dataclass
class Link:
    """How the line is: `delay` one way in ms, `rate` in bytes a millisecond (0: no limit),
    `handshake` in round trips.

    `lose`: which segment from the server is lost the first time, counted from 1 over all
    connections; it takes `resend` ms more.
    """

    delay: float = 0
    rate: float = 0
    handshake: float = 1
    lose: int = 0
    resend: float = 200
    segments: list[Segment] = field(default_factory=list, repr=False)

    def open(self, port: int) -> Listener:
        """The line to the server at `port`: `async with link.open(port) as line: line.port`."""
        self.segments.clear()
        return listen(_Line(self, port).serve)


class _Line:
    """What runs: for each direction a `_Way`, which connections share."""

    def __init__(self, link: Link, port: int) -> None:
        self._link, self._port = link, port
        self._ways = {down: _Way(link, down) for down in (False, True)}
        self._connections = 0

    async def serve(self, client: Wire) -> None:
        self._connections += 1
        number = self._connections
        server = await connect(self._port)
        try:
            up = self._forward(client, server, number, down=False)
            await asyncio.gather(up, self._forward(server, client, number, down=True))
        finally:
            server.close()

    async def _forward(self, source: Wire, target: Wire, number: int, down: bool) -> None:
        way = self._ways[down]
        if not down:
            await asyncio.sleep(self._link.handshake * 2 * self._link.delay / 1000)
        while data := await source.read():
            way.put(number, target, data)
        await way.empty(number)
        target.close()


class _Way:
    """One direction. Segments of several connections take turns; each connection's arrive in
    order.
    """

    def __init__(self, link: Link, down: bool) -> None:
        self._link, self._down = link, down
        self._loop = asyncio.get_running_loop()
        self._zero = self._loop.time()
        self._queues: dict[int, deque[tuple[Wire, bytes]]] = {}
        self._flying: dict[int, deque[tuple[Wire, bytes]]] = {}
        self._sent: dict[int, int] = {}
        self._last: dict[int, float] = {}  # connection -> when the segment before arrives
        self._task: asyncio.Task[None] | None = None
        self._count = 0

    def put(self, connection: int, target: Wire, data: bytes) -> None:
        queue = self._queues.setdefault(connection, deque())
        queue.extend((target, data[n : n + SEGMENT]) for n in range(0, len(data), SEGMENT))
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def empty(self, connection: int) -> None:
        """Returns when all that was put in for this connection has arrived."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        late = self._last.get(connection, 0.0) - self._now()
        if late > 0:
            await asyncio.sleep(late / 1000)

    async def _run(self) -> None:
        while any(self._queues.values()):
            for connection, queue in list(self._queues.items()):
                if queue:
                    target, data = queue.popleft()
                    if self._link.rate:
                        await asyncio.sleep(len(data) / self._link.rate / 1000)
                    self._launch(connection, target, data)

    def _launch(self, connection: int, target: Wire, data: bytes) -> None:
        """The segment is on its way now; a timer delivers it."""
        self._count += 1
        lost = self._down and self._count == self._link.lose
        due = self._now() + self._link.delay + (self._link.resend if lost else 0)
        arrived = max(due, self._last.get(connection, 0.0))
        self._last[connection] = arrived
        start = self._sent.get(connection, 0)
        self._sent[connection] = start + len(data)
        self._link.segments.append(
            Segment(connection, self._down, start, len(data), due, arrived, lost)
        )
        self._flying.setdefault(connection, deque()).append((target, data))
        self._loop.call_at(self._zero + arrived / 1000, self._land, connection)

    def _land(self, connection: int) -> None:
        """The oldest segment under way is there. (Timers of one moment may go off in any order, so
        they carry no data.)
        """
        target, data = self._flying[connection].popleft()
        target.write(data)

    def _now(self) -> float:
        return round(1000 * (self._loop.time() - self._zero), 6)
