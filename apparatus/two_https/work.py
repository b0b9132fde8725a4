"""What both servers serve: a request says itself how long it takes and how much comes back.

    GET /slow?ms=100&bytes=2000        works for 100 ms, then answers with 2,000 bytes "slow slow
                                       slow ..."

`work` is a handler: it takes a `Request`, returns a `Response`, and knows nothing about how either
got here. So what differs between two pictures is the protocol.

How the real one differs: a model's time is not in the URL. Notebook 26 and
internals/serving/engine.py are about that part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

MS_AT_MOST, BYTES_AT_MOST = 60_000, 1 << 24

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """What a client wants; names of headers are in lower case."""

    method: str
    path: str
    headers: Headers = ()
    body: bytes = b""

    @property
    def name(self) -> str:
        """ "slow" of "/slow?ms=100"."""
        return urlsplit(self.path).path.lstrip("/")


@dataclass(frozen=True)
class Response:
    body: bytes = b""
    status: int = 200
    headers: Headers = ()


Handler = Callable[[Request], Awaitable[Response]]


async def work(request: Request) -> Response:
    """Sleeps for `ms` and answers with `bytes` bytes. 400 for numbers that are none, or too
    large.
    """
    query = parse_qs(urlsplit(request.path).query)
    try:
        ms, nbytes = float(query.get("ms", ["0"])[-1]), int(query.get("bytes", ["0"])[-1])
    except ValueError as error:
        return Response(f"ms and bytes must be numbers: {error}\n".encode(), 400)
    if not (0 <= ms <= MS_AT_MOST and 0 <= nbytes <= BYTES_AT_MOST):
        return Response(
            f"ms is at most {MS_AT_MOST}, bytes at most {BYTES_AT_MOST}\n".encode(), 400
        )
    await asyncio.sleep(ms / 1000)
    word = f"{request.name or 'nothing'} ".encode()
    return Response((word * (nbytes // len(word) + 1))[:nbytes])


async def answer(handler: Handler, request: Request) -> Response:
    """What the handler says; 500 with one line where it raises."""
    try:
        return await handler(request)
    except Exception as error:
        return Response(f"{type(error).__name__}: {error}\n".encode(), 500)
