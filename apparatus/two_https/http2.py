"""An HTTP/2 server: frames, each with the number of its stream, so that answers may come in any
order and in turns.

    async with listen(Http2(work)) as server: ...

Each stream gets a task for its handler. Answers that are ready stand in `_pending` and take turns,
a frame each, as long as the windows let them. A window is what the client has promised to take: one
for each stream, one for the connection. Where a window is empty nothing is sent, until
WINDOW_UPDATE opens it again.

How the real one differs: h2, which keeps the state of streams and windows here, is what hypercorn
and httpx use. nghttp2 also weighs streams (`priority: u=1`, RFC 9218), gRPC's C core measures the
line and enlarges windows to fit it, and both refuse clients that open and reset streams without
end.
"""

from __future__ import annotations

import asyncio

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from .wire import Wire
from .work import Handler, Headers, Request, Response, answer

BODY_AT_MOST = 1 << 20


class Http2:
    """Serves connections, one call of it for each. `max_streams`: how many requests of a connection
    may be open.
    """

    def __init__(self, handler: Handler, max_streams: int = 100) -> None:
        self.handler, self.max_streams = handler, max_streams

    async def __call__(self, wire: Wire) -> None:
        await _Conversation(wire, self.handler, self.max_streams).run()


class _Conversation:
    """One connection."""

    def __init__(self, wire: Wire, handler: Handler, max_streams: int) -> None:
        self._wire, self._handler = wire, handler
        config = h2.config.H2Configuration(client_side=False, header_encoding="latin-1")
        self._h2 = h2.connection.H2Connection(config)
        wanted = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: max_streams}
        self._h2.local_settings = h2.settings.Settings(client=False, initial_values=wanted)
        self._asked: dict[int, tuple[Headers, bytearray]] = {}  # stream -> headers and body so far
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._sending: asyncio.Task[None] | None = None
        # stream -> what is still to be sent, in the order of their turns
        self._pending: dict[int, memoryview] = {}

    async def run(self) -> None:
        self._h2.initiate_connection()
        self._flush()
        try:
            while data := await self._wire.read():
                for event in self._h2.receive_data(data):
                    self._hear(event)
                self._send()
                self._flush()
        except h2.exceptions.ProtocolError:
            self._flush()  # a GOAWAY that says what was wrong
        finally:
            for task in [*self._tasks.values(), *([self._sending] if self._sending else [])]:
                task.cancel()

    def _hear(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._asked[event.stream_id] = (
                tuple((str(k), str(v)) for k, v in event.headers),
                bytearray(),
            )
        elif isinstance(event, h2.events.DataReceived):
            self._take(event)
        elif isinstance(event, h2.events.StreamEnded) and event.stream_id in self._asked:
            self._tasks[event.stream_id] = asyncio.ensure_future(self._work(event.stream_id))
        elif isinstance(event, h2.events.StreamReset):
            self._forget(event.stream_id)

    def _take(self, event: h2.events.DataReceived) -> None:
        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if event.stream_id not in self._asked:
            return
        body = self._asked[event.stream_id][1]
        body += event.data
        if len(body) > BODY_AT_MOST:
            self._h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            self._forget(event.stream_id)

    def _forget(self, stream: int) -> None:
        """The client does not want it any more: the handler stops where it is."""
        self._asked.pop(stream, None)
        self._pending.pop(stream, None)
        if stream in self._tasks:
            self._tasks.pop(stream).cancel()

    async def _work(self, stream: int) -> None:
        headers, body = self._asked.pop(stream)
        named = dict(headers)
        request = Request(named[":method"], named[":path"], headers, bytes(body))
        response = await answer(self._handler, request)
        self._tasks.pop(stream, None)
        self._begin(stream, response, with_body=request.method != "HEAD")
        self._send()
        self._flush()

    def _begin(self, stream: int, response: Response, with_body: bool) -> None:
        headers = [
            (":status", str(response.status)),
            ("content-type", "text/plain"),
            *response.headers,
        ]
        headers.append(("content-length", str(len(response.body))))
        body = response.body if with_body else b""
        self._h2.send_headers(stream, headers, end_stream=not body)
        if body:
            self._pending[stream] = memoryview(body)

    def _send(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.ensure_future(self._take_turns())

    async def _take_turns(self) -> None:
        """A frame at a time, each from another stream, until nothing is left or no window is open.

        After each frame everybody else gets to run: who has an answer by then takes part in the
        next round.
        """
        while (stream := self._next()) is not None:
            rest, room = self._pending.pop(stream), self._room(stream)
            self._h2.send_data(stream, bytes(rest[:room]), end_stream=len(rest) <= room)
            if len(rest) > room:
                self._pending[stream] = rest[room:]  # at the end of the line
            self._flush()
            await asyncio.sleep(0)

    def _next(self) -> int | None:
        return next((stream for stream in self._pending if self._room(stream) > 0), None)

    def _room(self, stream: int) -> int:
        """How long the next frame of this stream may be: the smaller of its window and the
        connection's, and 16,384.
        """
        return min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)

    def _flush(self) -> None:
        self._wire.write(self._h2.data_to_send())
