"""HTTP/2 on the wire: bytes to frames, and nothing else.

    reader = FrameReader(from_client=True)
    for frame in reader.feed(data):
        print(frame)                              # HEADERS, stream 1, 38 bytes, END_STREAM
                                                  # END_HEADERS

A frame is a header of 9 bytes, `length` of them follow:

    length 24 | type 8 | flags 8 | reserved 1, stream 31 | payload ...    (RFC 9113, section 4.1)

The h2 library does the same inside, and does not show it. This reader looks on: it takes the same
bytes, knows nothing of the state of streams, and refuses nothing but a wrong preface.

How the real one differs: hyperframe (below h2) has a class for each type of frame; nghttp2 reads
without copying, and checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES = 9

TYPES = (
    "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY",
    "WINDOW_UPDATE", "CONTINUATION",
)  # fmt: skip
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
FLAGS = {
    "DATA": {END_STREAM: "END_STREAM", PADDED: "PADDED"},
    "HEADERS": {
        END_STREAM: "END_STREAM",
        END_HEADERS: "END_HEADERS",
        PADDED: "PADDED",
        PRIORITY: "PRIORITY",
    },
    "SETTINGS": {ACK: "ACK"},
    "PUSH_PROMISE": {END_HEADERS: "END_HEADERS", PADDED: "PADDED"},
    "PING": {ACK: "ACK"},
    "CONTINUATION": {END_HEADERS: "END_HEADERS"},
}
SETTINGS = {
    1: "HEADER_TABLE_SIZE",
    2: "ENABLE_PUSH",
    3: "MAX_CONCURRENT_STREAMS",
    4: "INITIAL_WINDOW_SIZE",
    5: "MAX_FRAME_SIZE",
    6: "MAX_HEADER_LIST_SIZE",
    8: "ENABLE_CONNECT_PROTOCOL",
}


@dataclass(frozen=True)
class Frame:
    """One frame. `headers` is what a block of headers says, once the reader has all of it."""

    kind: int
    flags: int
    stream: int
    payload: bytes
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return TYPES[self.kind] if self.kind < len(TYPES) else f"TYPE_{self.kind:#x}"

    @property
    def nbytes(self) -> int:
        """On the wire, the 9 bytes included."""
        return HEADER_BYTES + len(self.payload)

    @property
    def raw(self) -> bytes:
        """As it was on the wire."""
        head = (
            len(self.payload).to_bytes(3, "big")
            + bytes([self.kind, self.flags])
            + self.stream.to_bytes(4, "big")
        )
        return head + self.payload

    @cached_property
    def flag_names(self) -> tuple[str, ...]:
        return tuple(name for bit, name in FLAGS.get(self.name, {}).items() if self.flags & bit)

    @property
    def ends_stream(self) -> bool:
        return "END_STREAM" in self.flag_names

    @cached_property
    def content(self) -> bytes:
        """The payload without padding and without what PRIORITY puts in front."""
        data, end = self.payload, 0
        if "PADDED" in self.flag_names and data:
            end, data = data[0], data[1:]
        if "PRIORITY" in self.flag_names:
            data = data[5:]
        return data[: len(data) - end] if end <= len(data) else b""

    @cached_property
    def settings(self) -> dict[str, int]:
        """The numbers of a SETTINGS frame: 16 bits say which, 32 bits are the value."""
        pairs = (
            [self.payload[n : n + 6] for n in range(0, len(self.payload) - 5, 6)]
            if self.name == "SETTINGS"
            else []
        )
        numbers = [(int.from_bytes(p[:2], "big"), int.from_bytes(p[2:], "big")) for p in pairs]
        return {SETTINGS.get(which, f"SETTING_{which:#x}"): value for which, value in numbers}

    @property
    def increment(self) -> int:
        """By how much a WINDOW_UPDATE opens the window; 0 for other frames."""
        return (
            int.from_bytes(self.payload[:4], "big") & 0x7FFFFFFF
            if self.name == "WINDOW_UPDATE"
            else 0
        )

    def __str__(self) -> str:
        parts = [
            self.name,
            f"stream {self.stream}" if self.stream else "connection",
            f"{len(self.payload)} bytes",
        ]
        if self.increment:
            parts.append(f"+{self.increment}")
        return ", ".join(parts) + "".join(f" {name}" for name in self.flag_names)


class FrameReader:
    """Cuts a stream of bytes into frames; one for each direction, since the tables of HPACK have
    memory.

    `from_client`: the bytes begin with the preface. Raises ValueError if they do not.
    """

    def __init__(self, from_client: bool) -> None:
        self._data = bytearray()
        self._preface = len(PREFACE) if from_client else 0
        self._hpack = hpack.Decoder()
        # we look on: whether a size was allowed is not ours to say
        self._hpack.max_allowed_table_size = 1 << 16
        self._block = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with these bytes."""
        self._data += data
        if self._preface:
            if not self._data.startswith(PREFACE[: len(self._data)]):
                raise ValueError(
                    f"HTTP/2 begins with {PREFACE!r}, this with {bytes(self._data[:24])!r}"
                )
            if len(self._data) < len(PREFACE):
                return
            del self._data[: self._preface]
            self._preface = 0
        while len(self._data) >= HEADER_BYTES:
            length = int.from_bytes(self._data[:3], "big")
            if len(self._data) < HEADER_BYTES + length:
                return
            kind, flags = self._data[3], self._data[4]
            stream = int.from_bytes(self._data[5:9], "big") & 0x7FFFFFFF
            frame = Frame(kind, flags, stream, bytes(self._data[9 : 9 + length]))
            del self._data[: 9 + length]
            yield self._with_headers(frame)

    def _with_headers(self, frame: Frame) -> Frame:
        if frame.name not in ("HEADERS", "CONTINUATION"):
            return frame
        self._block += frame.content
        if "END_HEADERS" not in frame.flag_names:
            return frame
        try:
            pairs = self._hpack.decode(bytes(self._block), raw=True)
        except hpack.HPACKError:
            pairs = []
        self._block.clear()
        named = tuple((bytes(k).decode("latin-1"), bytes(v).decode("latin-1")) for k, v in pairs)
        return Frame(frame.kind, frame.flags, frame.stream, frame.payload, named)
