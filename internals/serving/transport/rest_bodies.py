"""Receives the body of a request within limits, with its tensors aligned, and sends the body of a
response without copying its tensors.

A body arrives in pieces and has to be put together: that is one copy, the only one. The header
`Inference-Header-Content-Length` gives the length of the JSON, after which the tensors begin. So
the buffer starts with a few extra bytes, such that the tensors are at a multiple of 16 for any
length of the JSON, and can be used in place:

    [0 to 15 bytes][JSON][tensors]      the tensors start at a multiple of 16

For a response nothing is put together: each tensor's memory is passed to the socket in slices, the
next one when the client has taken the last one, so that a slow client needs no more memory than its
response.

Nothing here trusts the lengths that a client declares. The limit is on the bytes that have arrived,
after gzip's expansion, which is done in small pieces; all bodies together have a limit, too. A
client that stops sending is dropped, and one that sends a byte now and then has `max_body_seconds`
for all of them.

Mirrors the `evbuffer`s in Triton's HTTP server (`HTTPAPIServer::InferRequestClass`,
`server/src/http_server.cc`).

How the real one differs: libevent keeps the pieces, and Triton's tensors are lists of pieces, which
are joined if a backend needs contiguous memory.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiohttp import web

from ..errors import InvalidRequest, QueueFull, TooLarge
from ..settings import Settings

ALIGNMENT = 16  # of the start of a bytearray; no element is larger
# Content-Encoding -> zlib's `wbits` for the format, 0 for none
ENCODINGS = {"identity": 0, "gzip": 31, "deflate": 15}
SILENCE = 30.0  # seconds without a byte, after which a client is dropped
SLICE = 256 * 1024  # bytes that are decompressed or sent at a time
MISCODED = (
    "the body is cut short, or not encoded as Transfer-Encoding and Content-Encoding say: send it "
    "with Content-Length"
)


class Bodies:
    """Receives bodies, and counts the bytes of all that are in memory (`held`)."""

    def __init__(self, settings: Settings) -> None:
        self.most = settings.max_message_bytes
        self.seconds = settings.max_body_seconds
        self.together = max(settings.max_queue_bytes, self.most)
        self.held = 0

    @asynccontextmanager
    async def receive(
        self, request: web.Request, header_length: int = 0
    ) -> AsyncIterator[memoryview]:
        """Yields the whole body, decompressed, with the byte at `header_length` aligned to 16. It
        counts as held until the block is left.

        Raises TooLarge or QueueFull, InvalidRequest if it is cut short or contradicts its headers,
        HTTPException for a client that is silent or too slow (408) or an unknown compression (415).
        """
        encoding_of(request)
        self.check_size(request.content_length or 0)
        body = bytearray(-header_length % ALIGNMENT)
        lead = counted = len(body)
        try:
            async for piece in pieces(request, time.monotonic() + self.seconds):
                self.check_size(len(body) - lead + len(piece))
                self.held += len(piece)  # before it is appended: the limit is not exceeded
                counted += len(piece)
                if self.held > self.together:
                    raise QueueFull(
                        f"the server is receiving {self.together} bytes of requests already: try "
                        "again later"
                    )
                body += piece
            yield memoryview(body)[lead:]
        finally:
            self.held -= counted - lead

    def check_size(self, nbytes: int) -> None:
        """Raises TooLarge for more bytes than one body may have."""
        if nbytes > self.most:
            raise TooLarge(
                f"the body has more than {self.most} bytes (max_message_bytes): split the batch "
                "into several requests"
            )


async def pieces(request: web.Request, end: float) -> AsyncIterator[bytes]:
    """Yields the body as it arrives, decompressed, at most `SLICE` bytes at a time, so that a
    compression bomb is stopped by the limits. `end` is the time when all must have arrived.
    """
    wbits = ENCODINGS[encoding_of(request)]
    if not wbits:
        while arrived := await next_chunk(request, end):
            yield arrived
        return
    unpack, empty = zlib.decompressobj(wbits), True
    try:
        while arrived := await next_chunk(request, end):
            empty = False
            yield (piece := unpack.decompress(arrived, SLICE))
            while unpack.unconsumed_tail or len(piece) == SLICE:
                yield (piece := unpack.decompress(unpack.unconsumed_tail, SLICE))
    except zlib.error:
        raise InvalidRequest(MISCODED) from None
    if unpack.unused_data or not (unpack.eof or empty):
        raise InvalidRequest(MISCODED)


async def next_chunk(request: web.Request, end: float) -> bytes:
    """The bytes that have arrived since the last call; b"" at the end of the body."""
    left = end - time.monotonic()
    try:
        async with asyncio.timeout(min(SILENCE, left)):
            return await request.content.readany()
    except TimeoutError:
        seconds = request.app[BODIES].seconds
        late = (
            f"the body has not come within {seconds:g} seconds (max_body_seconds): send less at a "
            "time"
        )
        silent = f"nothing of the body came for {SILENCE:g} seconds"
        raise web.HTTPRequestTimeout(text=silent if SILENCE < left else late) from None
    except web.RequestPayloadError:
        raise InvalidRequest(MISCODED) from None


def encoding_of(request: web.Request) -> str:
    """The body's Content-Encoding. Raises HTTPUnsupportedMediaType for an unknown one."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ENCODINGS:
        raise web.HTTPUnsupportedMediaType(
            text=f"a body may be encoded as {', '.join(ENCODINGS)}, not as '{encoding[:50]}'"
        )
    return encoding


async def expectation(request: web.Request) -> None:
    """Answers `Expect: 100-continue`, so that the client sends the body, unless it would be refused
    anyway.

    Raises TooLarge, or HTTPExpectationFailed for another expectation.
    """
    expected = request.headers.get("Expect", "")
    if expected.lower() != "100-continue":
        raise web.HTTPExpectationFailed(
            text=f"'Expect: {expected[:50]}' cannot be met; '100-continue' can"
        )
    encoding_of(request)
    request.app[BODIES].check_size(request.content_length or 0)
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0  # the answer's own bytes are counted from here


async def send(
    request: web.Request, headers: dict[str, str], head: bytes, memories: Iterable[memoryview] = ()
) -> web.StreamResponse:
    """Sends a response with status 200: the head, then the tensors' memory without a copy. Raises
    ConnectionError if the client is gone.
    """
    memories = list(memories)
    response = web.StreamResponse(headers=headers)
    response.content_length = len(head) + sum(memory.nbytes for memory in memories)
    try:
        await response.prepare(request)
        for memory in (memoryview(head), *memories):
            for start in range(0, memory.nbytes, SLICE):
                async with asyncio.timeout(SILENCE):
                    await response.write(memory[start : start + SLICE])
        await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError(
            f"the client took nothing of its answer for {SILENCE:g} seconds"
        ) from None
    return response


BODIES = web.AppKey("bodies", Bodies)
