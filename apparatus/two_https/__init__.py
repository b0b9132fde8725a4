"""A tale of two HTTPs: the same handlers behind a real HTTP/1.1 and a real HTTP/2 server, and
clients that note all they see.

    from apparatus.two_https import Ask, exchange
    recording = exchange([Ask("slow", ms=100), Ask("quick", ms=10)], over="http/1.1")
    recording.order()               # viz.exchange(recording) draws it

The files, in the order in which notebook 25 meets them:

    work.py      what is served: so many milliseconds of work, so many bytes
    wire.py      one end of a TCP connection                clock.py      time that does not wait
    http1.py     a server for HTTP/1.1 (h11)                http1_client.py
    http2.py     a server for HTTP/2 (h2)                   http2_client.py
    frames.py    HTTP/2's frames, read from the bytes       recording.py  what happened when
    exchange.py  server, client and requests put together   link.py       delay, rate and losses
    tap.py       listens to a connection between others: gRPC

It is for looking at, on loopback, and not what `python -m internals serve` runs: that is grpcio and
aiohttp.

How the real one differs: each file says so for its part. Real ones have TLS and time-outs, and are
sent nonsense all day.
"""

from __future__ import annotations

from .exchange import exchange
from .frames import Frame, FrameReader
from .http1 import Http1
from .http2 import Http2
from .link import Link
from .recording import Ask, Course, Piece, Recording
from .tap import Tap
from .wire import running
from .work import Handler, Request, Response, work

__all__ = [
    "Ask",
    "Course",
    "Frame",
    "FrameReader",
    "Handler",
    "Http1",
    "Http2",
    "Link",
    "Piece",
    "Recording",
    "Request",
    "Response",
    "Tap",
    "exchange",
    "running",
    "work",
]
