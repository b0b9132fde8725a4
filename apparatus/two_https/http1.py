"""An HTTP/1.1 server: text, and one answer after the other.

    async with listen(Http1(work)) as server: ...

A connection is a line of requests. Each is read whole, worked on, and answered before the next is
*answered*: nothing in the answers says which request they belong to, so their order must say it.
That is all there is to head-of-line blocking.

Whether the server already *works* on the second request while the first is being worked on is its
own business. `ahead` is how many of a connection it has in hand at a time. Nearly all servers have
one.

How the real one differs: h11, which reads and writes the text here, is what uvicorn uses where
httptools is missing. nginx, gunicorn and uvicorn also close idle connections, stream bodies (and
chunk them), and limit how long a client may take to say what it wants.
"""

from __future__ import annotations

import asyncio

import h11

from .wire import Wire
from .work import Handler, Request, Response, answer

BODY_AT_MOST = 1 << 20
REASONS = {
    200: b"OK",
    400: b"Bad Request",
    413: b"Content Too Large",
    500: b"Internal Server Error",
}

# whose answer, with its body or without, and the answer
Turn = tuple[h11.Connection, bool, "asyncio.Future[Response]"]


class Http1:
    """Serves connections, one call of it for each."""

    def __init__(self, handler: Handler, ahead: int = 1) -> None:
        if ahead < 1:
            raise ValueError(
                "ahead is how many requests a server has in hand at a time: at least 1, not "
                f"{ahead}"
            )
        self.handler, self.ahead = handler, ahead

    async def __call__(self, wire: Wire) -> None:
        """One connection: reads requests, starts handlers, and leaves the answers to `_answers`."""
        turns: asyncio.Queue[Turn | None] = asyncio.Queue()
        free = asyncio.Semaphore(self.ahead)
        answers = asyncio.ensure_future(_answers(wire, turns, free))
        rest, working = b"", True
        while working:
            await free.acquire()
            if answers.done():  # the last answer said that it was the last
                break
            connection = h11.Connection(h11.SERVER)
            said: asyncio.Future[Response]
            with_body = True
            try:
                request = await _request(connection, wire, rest)
                if request is None:
                    break
                said = asyncio.ensure_future(answer(self.handler, request))
                with_body = request.method != "HEAD"
                rest = connection.trailing_data[0]
            except h11.RemoteProtocolError as error:
                said = asyncio.get_running_loop().create_future()
                said.set_result(Response(f"{error}\n".encode(), error.error_status_hint))
                working = False
            turns.put_nowait((connection, with_body, said))
        turns.put_nowait(None)
        await answers


async def _request(connection: h11.Connection, wire: Wire, data: bytes) -> Request | None:
    """The next request, of which `data` is here; None when the client has closed. Raises
    h11.RemoteProtocolError.
    """
    head, body = None, bytearray()
    if data:
        connection.receive_data(data)
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                wire.write(
                    connection.send(h11.InformationalResponse(status_code=100, headers=[])) or b""
                )
            data = await wire.read()
            if not data and wire.ended and head is None and not connection.trailing_data[0]:
                return None
            connection.receive_data(data)
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > BODY_AT_MOST:
                raise h11.RemoteProtocolError(
                    f"a body may have {BODY_AT_MOST} bytes", error_status_hint=413
                )
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in head.headers)
            return Request(
                head.method.decode("ascii"), head.target.decode("ascii"), headers, bytes(body)
            )
        else:
            return None  # closed


async def _answers(wire: Wire, turns: asyncio.Queue[Turn | None], free: asyncio.Semaphore) -> None:
    """Writes the answers in the order of the requests, however early one is ready."""
    while (turn := await turns.get()) is not None:
        connection, with_body, said = turn
        response = await said
        headers = [
            ("content-type", "text/plain"),
            *response.headers,
            ("content-length", str(len(response.body))),
        ]
        reason = REASONS.get(response.status, b"")
        head = h11.Response(status_code=response.status, headers=headers, reason=reason)
        body = h11.Data(data=response.body if with_body else b"")
        parts = [connection.send(event) for event in (head, body, h11.EndOfMessage())]
        wire.write(b"".join(part for part in parts if part))
        free.release()
        if connection.our_state in (h11.MUST_CLOSE, h11.ERROR, h11.CLOSED):
            wire.close()
            return
