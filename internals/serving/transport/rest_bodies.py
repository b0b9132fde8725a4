"""The body of a request, received within limits, with its tensors at good addresses; and of a
response, sent as the memory it is.

A body arrives in pieces, as the network delivers them, and must be put together: that is one copy,
and there is no second. The header `Inference-Header-Content-Length` says before the first piece
where JSON ends and tensors begin. So the buffer can start a few bytes early, such that the tensors
lie at a multiple of 16 whatever the length of the JSON, and can be used where they are. On the way
out nothing is put together: each tensor's memory is given to the socket, in slices, and the next
slice when the client has taken the last one, so that a slow reader costs no more memory than its
answer has.

Nothing here trusts what a client says of lengths. The limit is on the bytes that are there, after
gzip's expansion, which is done here in small pieces; all bodies together have a limit too, and what
is in the way of others goes: a client that falls silent is not waited for, and one that sends a
byte now and then has `max_body_seconds` for all of them.

Mirrors the `evbuffer`s in Triton's HTTP server (`HTTPAPIServer::InferRequestClass`,
`server/src/http_server.cc`).

How the real one differs: libevent keeps the pieces as they came, and Triton's tensors are lists of
pieces, copied together when a backend needs them in one. asyncio before Python 3.12 copies the part
of a slice that the socket does not take at once, and TLS encrypts into memory of its own.
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

ALIGNMENT = 16  # where bytearrays start; no element is larger
# of request bodies; what zlib calls the format (wbits)
ENCODINGS = {"identity": 0, "gzip": 31, "deflate": 15}
SILENCE = 30.0  # seconds without a byte, after which a client is given up
SLICE = 256 * 1024  # bytes that are expanded, or go to the socket, at a time
MISCODED = (
    "the body is cut short, or not encoded as Transfer-Encoding and Content-Encoding say: send it "
    "with Content-Length"
)


class Bodies:
    """Receives bodies, and knows how many bytes of them there are at the moment."""

    def __init__(self, settings: Settings) -> None:
        self.most = settings.max_message_bytes
        self.seconds = settings.max_body_seconds
        self.together = max(settings.max_queue_bytes, self.most)
        self.held = 0

    @asynccontextmanager
    async def receive(
        self, request: web.Request, header_length: int = 0
    ) -> AsyncIterator[memoryview]:
        """The whole body, decompressed, the byte at `header_length` aligned to 16. It counts as
        held until the block is left.

        Raises TooLarge or QueueFull, InvalidRequest when it is cut short or not what its headers
        say, HTTPException for a client that is silent or too slow (408) or compresses in an unknown
        way (415).
        """
        encoding_of(request)
        self.check_size(request.content_length or 0)
        body = bytearray(-header_length % ALIGNMENT)
        lead = counted = len(body)
        try:
            async for piece in pieces(request, time.monotonic() + self.seconds):
                self.check_size(len(body) - lead + len(piece))
                self.held += len(piece)
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
        if nbytes > self.most:
            raise TooLarge(
                f"the body has more than {self.most} bytes (max_message_bytes): split the batch "
                "into several requests"
            )


async def pieces(request: web.Request, end: float) -> AsyncIterator[bytes]:
    """What arrives until `end`, decompressed: of a bomb no more than `SLICE` at a time."""
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
    """What has arrived since; b"" at the end."""
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
    """The body's Content-Encoding. Raises HTTPUnsupportedMediaType for one that is not known
    here.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ENCODINGS:
        raise web.HTTPUnsupportedMediaType(
            text=f"a body may be encoded as {', '.join(ENCODINGS)}, not as '{encoding[:50]}'"
        )
    return encoding


async def expectation(request: web.Request) -> None:
    """Answers `Expect: 100-continue`: yes, unless the body would be refused anyway, then it need
    not be sent.

    Raises TooLarge, or HTTPExpectationFailed for an expectation that is none.
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
    """Answers 200 with the head, then the tensors' memory as it lies there. Raises ConnectionError
    when the client is gone.
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
