"""Connections of clients that break off, or do not listen: written by hand, because no client
library is that impolite.

`Http2` speaks just enough of gRPC over HTTP/2 (h2 does the frames) to ask and then to behave badly.
"""

from __future__ import annotations

import socket
import struct

from h2.config import H2Configuration
from h2.connection import H2Connection

from benchmarks.serving.load import SERVICE

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST instead of FIN


class Http2:
    """One connection. Its windows are HTTP/2's first ones, 64 KiB, and are never opened further.
    `asked`: messages sent.
    """

    def __init__(self, address: str) -> None:
        self.socket = connect(address)
        self.h2 = H2Connection(H2Configuration(client_side=True))
        self.asked = 0
        self.h2.initiate_connection()
        self.send()

    def ask(self, body: bytes, method: str = "ModelInfer", end: bool = True) -> int:
        """Begins a call with this message; `end`: nothing follows. Its stream, for `more`."""
        stream: int = self.h2.get_next_available_stream_id()
        path = (":path", SERVICE + method)
        head = [
            (":method", "POST"),
            (":scheme", "http"),
            path,
            (":authority", "x"),
            ("te", "trailers"),
        ]
        self.h2.send_headers(stream, [*head, ("content-type", "application/grpc")])
        self.more(stream, framed(body), end)
        self.asked += 1
        return stream

    def more(self, stream: int, data: bytes, end: bool = False) -> None:
        """Sends these bytes. Raises h2's error if the server's window has no room for them."""
        for start in range(0, len(data), 16_384):
            self.h2.send_data(stream, data[start : start + 16_384])
        if end:
            self.h2.end_stream(stream)
        self.send()

    def send(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def listen(self, seconds: float) -> None:
        """Reads what has come, so that the connection's preface is exchanged; without opening
        windows.
        """
        self.socket.settimeout(seconds)
        try:
            self.h2.receive_data(self.socket.recv(1 << 16))
            self.send()
        except TimeoutError:
            pass
        self.socket.settimeout(60)

    def reset(self) -> None:
        """Breaks off, as a machine does that loses power: what was on the way is thrown away."""
        reset(self.socket)

    def close(self) -> None:
        self.socket.close()


def framed(body: bytes) -> bytes:
    """A message as gRPC frames it: not compressed, its length, itself."""
    return b"\0" + len(body).to_bytes(4, "big") + body


def connect(address: str, receive_buffer: int | None = None) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.connect((host, int(port)))
    return connection


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


def post_head(way: str, length: int, headers: str = "") -> bytes:
    first = f"POST {way} HTTP/1.1\r\nHost: localhost\r\n"
    return f"{first}Content-Length: {length}\r\n{headers}\r\n".encode()
