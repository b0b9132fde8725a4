"""An HTTP/1.1 client that notes what it sends and gets.

    client = Http1Client(recorder, headers)
    await client.open(port)
    client.send(ask); client.send(other)           # the second without waiting for the first:
                                                   # pipelining
    await client.receive(); await client.receive() # the answers, in the order of the requests

How the real one differs: no browser pipelines any more, because too many servers and proxies got it
wrong, and h11 as a client refuses to. So each request has an h11 connection of its own here, and
what is left over of one answer is given to the next.
"""

from __future__ import annotations

import asyncio

import h11

from .recording import Ask, Recorder
from .wire import LOOPBACK, Wire, connect
from .work import Headers

HEAD_ENDS = b"\r\n\r\n"


class Http1Client:
    """One connection."""

    def __init__(self, recorder: Recorder, headers: Headers = ()) -> None:
        self.recorder, self.headers = recorder, headers
        self.number = recorder.new_connection()
        self._wire: Wire | None = None
        self._rest = b""
        self._open: asyncio.Queue[tuple[int, Ask, h11.Connection]] = asyncio.Queue()
        self._last, self._count = "", 0

    async def open(self, port: int) -> None:
        self._wire = await connect(port)

    def send(self, ask: Ask) -> None:
        """Writes the request. Answers that are still to come stay before its own."""
        assert self._wire is not None
        connection = h11.Connection(h11.CLIENT)
        headers = [("Host", LOOPBACK), *self.headers]
        text = connection.send(h11.Request(method="GET", target=ask.path, headers=headers)) or b""
        text += connection.send(h11.EndOfMessage()) or b""
        self._count += 1
        self.recorder.sent(ask.name, self.number, self._count, self._last)
        self.recorder.piece(self.number, True, "head", self._count, len(text), ask.name, raw=text)
        self._wire.write(text)
        self._open.put_nowait((self._count, ask, connection))
        self._last = ask.name

    async def receive(self) -> None:
        """Reads the next answer, of a request that is sent or still to be. Raises ConnectionError
        if the server closes before.
        """
        assert self._wire is not None
        number, ask, connection = await self._open.get()
        status, body, head = 0, bytearray(), b""
        data, self._rest = self._rest, b""
        while True:
            if data:
                connection.receive_data(data)
                head += data if not status else b""
            while (event := connection.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Response):
                    status = event.status_code
                    head = head[: head.index(HEAD_ENDS) + len(HEAD_ENDS)]
                    self.recorder.piece(
                        self.number, False, "head", number, len(head), ask.name, raw=head
                    )
                elif isinstance(event, h11.Data):
                    body += event.data
                    raw = bytes(event.data)
                    self.recorder.piece(
                        self.number, False, "body", number, len(raw), ask.name, raw=raw
                    )
                elif isinstance(event, h11.EndOfMessage):
                    self._rest = connection.trailing_data[0]
                    self.recorder.finished(ask.name, status, bytes(body))
                    return
                elif isinstance(event, h11.ConnectionClosed):
                    break
            data = await self._wire.read()
            if not data:
                raise ConnectionError(
                    f"the server closed before the answer to {ask.name!r} was complete"
                )

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
