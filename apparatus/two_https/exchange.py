"""The same requests over one HTTP or the other, recorded.

    asks = [Ask("slow", ms=100), Ask("a", ms=10), Ask("b", ms=10)]
    exchange(asks, over="http/1.1").order()              # ['slow', 'a', 'b']
    exchange(asks, over="http/2").order()                # ['a', 'b', 'slow']

A server and a client are started on loopback, talk to each other over real sockets, and are closed.
Only the clock is not real (clock.py), unless you want it to be: `virtual=False`.

How the real one differs: a browser does not know all its requests beforehand, and chooses the
protocol itself: over TLS, by what the server offers (ALPN). Without TLS, as here, a client must
know that the server speaks HTTP/2.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack

from .clock import run
from .http1 import Http1
from .http1_client import Http1Client
from .http2 import Http2
from .http2_client import WINDOW, Http2Client
from .link import Link
from .recording import Ask, Clock, Recorder, Recording
from .wire import Listener, listen
from .work import Handler, Headers, Request, Response, work

PROTOCOLS = ("http/1.1", "http/2")
CONNECTIONS_AT_MOST, ASKS_AT_MOST = 64, 100
Client = Http1Client | Http2Client


def exchange(
    asks: Sequence[Ask],
    over: str = "http/2",
    connections: int = 1,
    pipelined: bool = False,
    ahead: int = 1,
    window: int = WINDOW,
    share: str = "arrived",
    link: Link | None = None,
    headers: Headers = (),
    handler: Handler = work,
    virtual: bool = True,
) -> Recording:
    """Makes all requests and returns what happened when.

    HTTP/1.1: over so many `connections`, each with one request at a time, or with all of its
    requests at once (`pipelined`; then the server may work `ahead`). HTTP/2: on one connection,
    with the windows that http2_client.py explains. Raises ValueError for what the protocol does not
    have, ConnectionError when the server gives up.
    """
    if over not in PROTOCOLS:
        raise ValueError(f"over must be one of {', '.join(map(repr, PROTOCOLS))}, got {over!r}")
    if len({ask.name for ask in asks}) < len(asks) or len(asks) > ASKS_AT_MOST:
        names = [ask.name for ask in asks]
        raise ValueError(
            f"at most {ASKS_AT_MOST} requests, each with a name of its own; got {len(asks)}: "
            f"{names}"
        )
    if not 1 <= connections <= CONNECTIONS_AT_MOST:
        raise ValueError(
            f"connections must be between 1 and {CONNECTIONS_AT_MOST}, got {connections}"
        )
    if over == "http/2" and (connections, pipelined, ahead) != (1, False, 1):
        raise ValueError(
            "connections, pipelined and ahead are about HTTP/1.1: HTTP/2 has one connection and "
            "its streams"
        )
    if over == "http/1.1" and (
        (window, share) != (WINDOW, "arrived") or any(ask.read_at for ask in asks)
    ):
        raise ValueError("window, share and read_at are about HTTP/2's windows: HTTP/1.1 has none")
    recording = Recording(_in_words(over, connections, pipelined), virtual)

    async def main() -> None:
        recorder = Recorder(recording, asks, Clock())
        serve = (
            Http1(_watched(handler, recorder), ahead)
            if over == "http/1.1"
            else Http2(_watched(handler, recorder))
        )
        async with AsyncExitStack() as opened:
            server: Listener = await opened.enter_async_context(listen(serve))
            if link is not None:
                server = await opened.enter_async_context(link.open(server.port))
            if over == "http/2":
                await _multiplexed(Http2Client(recorder, headers, window, share), server.port, asks)
            else:
                clients = [
                    Http1Client(recorder, headers) for _ in range(min(connections, len(asks)))
                ]
                await _shared_out(clients, server.port, asks, pipelined)

    run(main(), virtual)
    return recording


def _in_words(over: str, connections: int, pipelined: bool) -> str:
    if over == "http/2":
        return "HTTP/2, one connection"
    how_many = "one connection" if connections == 1 else f"{connections} connections"
    return f"HTTP/1.1, {how_many}" + ", pipelined" * pipelined


def _watched(handler: Handler, recorder: Recorder) -> Handler:
    """The handler, with a note of when it began and when it was ready."""

    async def watching(request: Request) -> Response:
        course = recorder.course(request.name)
        if course is not None:
            course.begun = recorder.now()
        response = await handler(request)
        if course is not None:
            course.ready = recorder.now()
        return response

    return watching


async def _multiplexed(client: Http2Client, port: int, asks: Sequence[Ask]) -> None:
    """All requests on one connection, each when it is due."""
    try:
        await client.open(port)
        await asyncio.gather(_send_when_due(client, asks), client.receive(len(asks)))
    finally:
        client.close()


async def _shared_out(
    clients: list[Http1Client], port: int, asks: Sequence[Ask], pipelined: bool
) -> None:
    """Each connection takes the next request that nobody has; pipelined ones deal the requests out
    beforehand.
    """
    queue = deque(sorted(asks, key=lambda ask: ask.at))

    async def one_at_a_time(client: Http1Client) -> None:
        while queue:
            await _send_when_due(client, [queue.popleft()])
            await client.receive()

    async def in_a_row(client: Http1Client, mine: list[Ask]) -> None:
        async def receive_all() -> None:
            for _ in mine:
                await client.receive()

        await asyncio.gather(_send_when_due(client, mine), receive_all())

    try:
        for client in clients:
            await client.open(port)
        if pipelined:
            shares = [list(queue)[n :: len(clients)] for n in range(len(clients))]
            await asyncio.gather(*(in_a_row(client, mine) for client, mine in zip(clients, shares)))
        else:
            await asyncio.gather(*(one_at_a_time(client) for client in clients))
    finally:
        for client in clients:
            client.close()


async def _send_when_due(client: Client, asks: Sequence[Ask]) -> None:
    for ask in sorted(asks, key=lambda ask: ask.at):
        late = ask.at - client.recorder.now()
        if late > 0:
            await asyncio.sleep(late / 1000)
        client.send(ask)
