"""One end of a TCP connection: bytes in, bytes out. Both HTTPs of this package are written on top
of it.

    async with listen(serve) as server:          # serve(wire) runs for each connection
        wire = await connect(server.port)
        wire.write(b"GET / HTTP/1.1\\r\\n\\r\\n"); data = await wire.read()

or, for a client that knows nothing of asyncio, `with running(serve) as port: ...`.

How the real one differs: `asyncio.StreamReader` and `StreamWriter` also stop a peer that sends
faster than we read, and tell a writer to wait (`drain`). Here all is kept in memory, since
conversations are short. HTTP/2's own brake is in http2.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, cast

from .clock import Address, Ledger

LOOPBACK = "127.0.0.1"
Serve = Callable[["Wire"], Awaitable[None]]


class Wire(asyncio.Protocol):
    """One end of a connection. `read` returns b"" when the other end has closed."""

    transport: asyncio.Transport
    local: Address
    peer: Address

    def __init__(self, opened: Callable[[Wire], None] | None = None) -> None:
        self._opened = opened
        self._data = bytearray()
        self._news = asyncio.Event()
        self.ended = False
        self._ledger: Ledger | None = getattr(asyncio.get_running_loop(), "ledger", None)

    def write(self, data: bytes) -> None:
        """Sends; says nothing when the other end has gone."""
        if data and not self.transport.is_closing():
            if self._ledger is not None:
                self._ledger.wrote(self, len(data))
            self.transport.write(data)

    async def read(self) -> bytes:
        """All that has come, at least one byte; b"" at the end."""
        while not self._data and not self.ended:
            self._news.clear()
            await self._news.wait()
        data = bytes(self._data)
        self._data.clear()
        return data

    def close(self) -> None:
        self.transport.close()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.local, self.peer = (
            transport.get_extra_info("sockname"),
            transport.get_extra_info("peername"),
        )
        if self._ledger is not None:
            self._ledger.opened(self)
        if self._opened is not None:
            self._opened(self)

    def data_received(self, data: bytes) -> None:
        if self._ledger is not None:
            self._ledger.read(self, len(data))
        self._data += data
        self._news.set()

    def eof_received(self) -> None:
        self.ended = True
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ledger is not None:
            self._ledger.closed(self)
        self.eof_received()


class Listener:
    """A listening socket on loopback, and the conversations that began there. `async with` closes
    all of it.
    """

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._conversations: dict[asyncio.Task[None], Wire] = {}

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Listener:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Wire(self._accept), LOOPBACK, 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task, wire in list(self._conversations.items()):
            task.cancel()
            wire.close()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    def _accept(self, wire: Wire) -> None:
        if wire._ledger is not None:
            wire._ledger.connecting -= 1
        task = asyncio.ensure_future(self._converse(wire))
        self._conversations[task] = wire
        task.add_done_callback(lambda done: self._conversations.pop(done, None))

    async def _converse(self, wire: Wire) -> None:
        try:
            await self._serve(wire)
        finally:
            wire.close()


def listen(serve: Serve) -> Listener:
    """A server on a free port of loopback: `async with listen(serve) as server: server.port`."""
    return Listener(serve)


async def connect(port: int) -> Wire:
    """A connection to a port of loopback. Raises ConnectionRefusedError if nobody listens there."""
    loop = asyncio.get_running_loop()
    ledger: Ledger | None = getattr(loop, "ledger", None)
    if ledger is not None:
        ledger.connecting += 1
    try:
        _, wire = await loop.create_connection(Wire, LOOPBACK, port)
    except OSError:
        if ledger is not None:
            ledger.connecting -= 1
        raise
    return wire


@contextmanager
def running(serve: Serve) -> Iterator[int]:
    """A server in a thread of its own, with a real clock, until the block ends. Gives its port."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        async with listen(serve) as server:
            started.set_result((asyncio.get_running_loop(), stop, server.port))
            await stop.wait()

    with ThreadPoolExecutor(1, "two_https") as pool:
        ended = pool.submit(lambda: asyncio.run(main()))
        either: list[Future[Any]] = [started, ended]
        wait(either, return_when=FIRST_COMPLETED)
        if ended.done():
            ended.result()
        loop, stop, port = started.result()
        try:
            yield port
        finally:
            loop.call_soon_threadsafe(stop.set)
            ended.result()
