"""Floods: cheap things of HTTP/2 and HTTP/1.1, over and over, as fast as the server takes them.

Each costs a client a few bytes and could cost a server memory: a call that is reset before it is
answered ("rapid reset", CVE-2023-44487), headers without end, settings that want to be acknowledged
by somebody who does not listen. No library sends such things, so the frames are made here, by hand.
What is promised: the memory after each flood is at most twice that of before, within a minute of
its end, and who asks politely during it is answered.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic, sleep

from hpack import Encoder

from benchmarks.serving import impolite, models
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.load import SERVICE, Clients, Task
from benchmarks.serving.process import ServerProcess

PATIENCE = 60.0  # seconds after a flood, until memory has come back
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END, END_HEADERS = 1, 4  # flags
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CANCEL = struct.pack(">I", 8)
EMPTY = impolite.framed(b"")
Flood = Iterator[bytes]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
    )


def head(method: str, more: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A call's headers, which may be sent again as they are: nothing of them is put into a
    table.
    """
    encoder = Encoder()
    encoder.header_table_size = 0
    said = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", SERVICE + method),
        (":authority", "localhost"),
    ]
    block: bytes = encoder.encode(
        [*said, ("te", "trailers"), ("content-type", "application/grpc"), *more], huffman=False
    )
    return block


def resets(more: tuple[tuple[str, str], ...] = ()) -> Flood:
    block = head("ServerLive", more)
    for stream in count(1, 2):
        yield frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, CANCEL)


def open_calls() -> Flood:
    block = head("ModelInfer")
    for stream in count(1, 2):
        yield frame(HEADERS, END_HEADERS, stream, block)


def calls() -> Flood:
    block = head("ServerLive")
    for stream in count(1, 2):
        yield frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END, stream, EMPTY)


def endless_headers() -> Flood:
    yield frame(HEADERS, 0, 1, head("ServerLive"))
    while True:
        yield frame(CONTINUATION, 0, 1, b"\0\1a\x7e" + b"x" * 126)


def again(piece: bytes, first: bytes = b"") -> Flood:
    yield first
    while True:
        yield piece


def floods() -> dict[str, tuple[Callable[[], Flood], bool]]:
    """By name: what is sent, and whether the client reads what is answered."""
    stream = frame(HEADERS, END_HEADERS, 1, head("ModelStreamInfer"))
    return {
        "calls reset": (resets, True),
        "calls with 6 KiB of headers reset": (lambda: resets((("a", "x" * 6144),)), True),
        "calls left open": (open_calls, True),
        "answers not read": (calls, False),
        "headers without end": (endless_headers, True),
        "SETTINGS": (lambda: again(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 70_000))), False),
        "PING": (lambda: again(frame(PING, 0, 0, bytes(8))), False),
        "empty DATA": (lambda: again(frame(DATA, 0, 1), stream), True),
        "empty messages": (lambda: again(frame(DATA, 0, 1, EMPTY), stream), True),
        "WINDOW_UPDATE": (lambda: again(frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\1"), stream), True),
    }


def flooded(
    folder: Path, connections: int = 8, seconds: float = 10.0, only: tuple[str, ...] = ()
) -> Finding:
    """Each flood is let at a server of its own; `only` names some of them."""
    finding = Finding(
        "floods",
        f"{connections} connections for {seconds:g} s each; MiB before, at most, afterwards",
    )
    for name, (flood, reads) in floods().items():
        if name in only or not only:
            with ServerProcess(folder) as server:
                before = server.resident()
                beside(
                    finding, server, name, seconds, [(flood(), reads) for _ in range(connections)]
                )
                came_back(finding, server, name, before)
                finding.healthy(server)
    return finding


def beside(
    finding: Finding,
    server: ServerProcess,
    name: str,
    seconds: float,
    all: list[tuple[Flood, bool]],
) -> None:
    """A polite client and the floods, at the same time."""
    polite = [[models.request("double", models.numbers(1, (1, models.WIDTH)))]]
    with Clients(Task(server.grpc, server.http, polite, seconds=seconds)) as others:
        others.go()
        end = monotonic() + seconds
        senders = [threading.Thread(target=send, args=(server.grpc, *each, end)) for each in all]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        answers = others.answers()
    finding.expect(bool(answers), f"{name}: a polite client was not served at all")
    finding.all_right(answers, f"{name}: a polite client")


def came_back(finding: Finding, server: ServerProcess, name: str, before: int) -> None:
    peak, end = server.peak(), monotonic() + PATIENCE
    while (after := server.resident()) > 2 * before and monotonic() < end:
        sleep(0.5)
    finding.expect(after <= 2 * before, f"{name}: {before / MiB:.0f} MiB became {after / MiB:.0f}")
    finding.seen[name] = f"{before / MiB:.0f} → {peak / MiB:.0f} → {after / MiB:.0f}"


def send(address: str, flood: Flood, reads: bool, end: float) -> None:
    """Sends until `end`; a connection that the server has closed is not opened again."""
    connection = impolite.connect(address)
    connection.settimeout(0.5)
    try:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        while monotonic() < end:
            rest = memoryview(b"".join(next(flood) for _ in range(100)))
            while rest and monotonic() < end:
                try:
                    rest = rest[connection.send(rest) :]
                except TimeoutError:  # it takes no more for now
                    pass
            if reads:
                drain(connection)
    except OSError:  # it has hung up, which is an answer
        pass
    connection.close()


def drain(connection: socket.socket) -> None:
    """Reads what is there. Raises ConnectionError at the end of the connection."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
        raise ConnectionError
    except BlockingIOError:
        connection.settimeout(0.5)
