"""An HTTP/2 client that notes every frame it sends and gets.

    client = Http2Client(recorder, headers)
    await client.open(port)
    client.send(ask); client.send(other)
    await client.receive(2)

A client decides how much may be on its way to it: `window` bytes for each stream, and as much for
the connection. Both are 65,535 where nobody says otherwise. What the application has read is
promised again, with WINDOW_UPDATE: for the stream, that is. For the connection there are two ways.
`share="arrived"` promises again what has arrived, `share="read"` what the application has read;
with the second, somebody who does not read holds up everybody (RFC 9113, section 5.2).

How the real one differs: httpx and gRPC give windows back in larger steps, which saves frames.
Browsers start with windows of megabytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import h2.config
import h2.connection
import h2.events
import h2.settings

from .frames import PREFACE, Frame, FrameReader
from .recording import Ask, Recorder
from .wire import LOOPBACK, Wire, connect
from .work import Headers

WINDOW = 65_535
SHARES = ("arrived", "read")
ENDINGS = (h2.events.StreamEnded, h2.events.StreamReset)


class Http2Client:
    """One connection."""

    def __init__(
        self,
        recorder: Recorder,
        headers: Headers = (),
        window: int = WINDOW,
        share: str = "arrived",
    ) -> None:
        if share not in SHARES:
            raise ValueError(f'share must be "arrived" or "read", got {share!r}')
        if not 0 <= window < 1 << 31:
            raise ValueError(f"a window has between 0 and 2,147,483,647 bytes, not {window}")
        self.recorder, self.headers, self.window, self.share = recorder, headers, window, share
        self.number = recorder.new_connection()
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
        wanted = {
            h2.settings.SettingCodes.ENABLE_PUSH: 0,
            h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
        }
        self._h2.local_settings = h2.settings.Settings(client=True, initial_values=wanted)
        self._wire: Wire | None = None
        self._out, self._in = FrameReader(from_client=True), FrameReader(from_client=False)
        self._asks: dict[int, Ask] = {}
        self._status: dict[int, int] = {}
        self._bodies: dict[int, bytearray] = {}
        self._ended = 0
        self._over: set[int] = set()
        self._reading: set[asyncio.Task[None]] = set()

    async def open(self, port: int) -> None:
        """Connects, and says at once what the protocol wants to hear first. It does not wait for an
        answer.
        """
        self._wire = await connect(port)
        self._h2.initiate_connection()
        if self.window > WINDOW:  # SETTINGS speaks for streams only
            self._h2.increment_flow_control_window(self.window - WINDOW)
        self.recorder.piece(self.number, True, "PREFACE", 0, len(PREFACE), raw=PREFACE)
        self._flush()

    def send(self, ask: Ask) -> None:
        """Opens a stream. Others stay as they are."""
        stream = self._h2.get_next_available_stream_id()
        headers = [
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", LOOPBACK),
            (":path", ask.path),
            *self.headers,
        ]
        self._asks[stream] = ask
        self._bodies[stream] = bytearray()
        self.recorder.sent(ask.name, self.number, stream)
        self._h2.send_headers(stream, headers, end_stream=True)
        self._flush()

    async def receive(self, count: int) -> None:
        """Reads until so many streams have ended. Raises ConnectionError if the server closes
        before.
        """
        assert self._wire is not None
        while self._ended < count:
            data = await self._wire.read()
            if not data:
                raise ConnectionError(
                    f"the server closed before {[ask.name for ask in self._asks.values()]} were "
                    "complete"
                )
            for frame in self._in.feed(data):
                self._note(frame, sent=False)
            events = self._h2.receive_data(data)
            self._over |= {
                e.stream_id for e in events if isinstance(e, ENDINGS) and e.stream_id is not None
            }
            for event in events:
                self._hear(event)
            self._flush()
        while self._reading:  # all is here, but not read
            await asyncio.wait(self._reading)

    def _hear(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            said = {str(name): str(value) for name, value in event.headers}
            self._status[event.stream_id] = int(said[":status"])
        elif isinstance(event, h2.events.DataReceived):
            self._arrived(event)
        elif isinstance(event, ENDINGS) and event.stream_id in self._asks:
            self._ended += 1
            self._when_read(self._asks[event.stream_id], lambda: self._finish(event.stream_id))
        elif isinstance(event, h2.events.ConnectionTerminated):
            raise ConnectionError(f"the server says goodbye: {event.error_code!r}")

    def _arrived(self, event: h2.events.DataReceived) -> None:
        """The bytes are here. Reading them is the application's business, and may take until
        `read_at`.
        """
        self._bodies[event.stream_id] += event.data
        count = event.flow_controlled_length
        if self.share == "arrived" and count:
            self._h2.increment_flow_control_window(count)
        self._when_read(self._asks[event.stream_id], lambda: self._read(event.stream_id, count))

    def _when_read(self, ask: Ask, then: Callable[[], None]) -> None:
        """Does `then` when the application gets to read this answer: now, or at `read_at`."""
        late = ask.read_at - self.recorder.now()
        if late <= 0:
            then()
            return
        task = asyncio.ensure_future(self._later(late, then))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _later(self, ms: float, then: Callable[[], None]) -> None:
        await asyncio.sleep(ms / 1000)
        then()
        self._flush()

    def _read(self, stream: int, count: int) -> None:
        """The application has read: the client can take as much again."""
        if self.share == "read" and count:
            self._h2.increment_flow_control_window(count)
        if stream not in self._over and count:
            self._h2.increment_flow_control_window(count, stream)

    def _finish(self, stream: int) -> None:
        ask, body = self._asks.pop(stream), bytes(self._bodies.pop(stream))
        self.recorder.finished(ask.name, self._status.get(stream, 0), body)

    def _flush(self) -> None:
        """Sends what h2 wants to send, and notes it frame by frame."""
        assert self._wire is not None
        data = self._h2.data_to_send()
        self._wire.write(data)
        for frame in self._out.feed(data):
            self._note(frame, sent=True)

    def _note(self, frame: Frame, sent: bool) -> None:
        name = self._asks[frame.stream].name if frame.stream in self._asks else ""
        what = (
            frame.name,
            frame.stream,
            frame.nbytes,
            name,
            frame.flag_names,
            frame.headers,
            frame.raw,
        )
        self.recorder.piece(self.number, sent, *what)

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
