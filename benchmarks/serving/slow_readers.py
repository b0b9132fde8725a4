"""Clients that ask for much and do not read it, while others want their answers.

An answer that nobody takes has to wait somewhere, and that is the server's memory: what matters is
that it is bounded. gRPC's flow control holds back what a client has no room for, so an answer is
held whole, and all of them together have a limit (`internals/serving/transport/unread.py`); an HTTP
answer goes to the socket slice by slice.
"""

from __future__ import annotations

import socket
from pathlib import Path
from time import monotonic, sleep

from benchmarks.serving import impolite, load, models
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.impolite import Http2
from benchmarks.serving.load import Clients, Task
from benchmarks.serving.process import ServerProcess
from internals.serving.client import write_request
from internals.serving.transport.rest_requests import HEADER_LENGTH

BUDGET = 64 * MiB  # that requests, and answers, may take while they wait
QUEUE = 64  # requests that may wait: their answers have to be somewhere when they are computed
CACHE = 512 * MiB  # of freed memory, which internals keeps at most
WAVES = 10
ANSWER = models.LARGE * 4  # bytes
BINARY = (
    b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[[%s]]}],'
    b'"parameters":{"binary_data_output":true}}'
)


def slow_readers(
    folder: Path, readers: int = 20, asked: int = 120, seconds: float = 10.0
) -> Finding:
    """gRPC streams that do not read, unary calls that do not, REST clients that take a byte at a
    time.
    """
    finding = Finding(
        "slow readers",
        f"{readers} gRPC streams and {readers} connections ask for {asked} answers of 1 MiB each, "
        f"in {WAVES} waves, and read none; {readers} REST clients read a byte at a time, for "
        f"{seconds:g} s",
    )
    with ServerProcess(
        folder, "--max-queue-bytes", str(BUDGET), "--max-queue", str(QUEUE)
    ) as server:
        before = server.resident()
        polite = [
            [models.request("double", models.numbers(i, (1, models.WIDTH)))] for i in range(4)
        ]
        unread = [NoReader(server, one_stream=i < readers) for i in range(2 * readers)]
        dawdlers = [post(server) for _ in range(readers)]
        try:
            with Clients(Task(server.grpc, server.http, polite, seconds=seconds)) as others:
                others.go()
                begin, taken = monotonic(), 0
                for wave in range(WAVES):
                    for reader in unread:
                        reader.ask(asked // WAVES)
                    taken += dawdle(dawdlers, begin + seconds * (wave + 1) / WAVES)
                held = server.resident() - before
                answers = others.answers()
        finally:
            for reader in unread:
                reader.connection.close()
            for dawdler in dawdlers:
                dawdler.close()
        finding.all_right(answers, "polite clients beside them")
        finding.expect(bool(answers), "polite clients beside them were not served at all")
        finding.expect(
            taken >= readers,
            f"REST sent {taken} bytes to {readers} clients that read one at a time",
        )
        waiting = sum(r.connection.asked for r in unread) * ANSWER
        p99 = load.percentile([a.ended - a.began for a in answers], 99)
        finding.seen |= {
            "asked for and not read": f"{waiting / MiB:,.0f} MiB",
            "held at the end": f"{held / MiB:,.0f} MiB",
            "others answered right": f"{sum(a.right for a in answers):,}",
            "others' p99": f"{p99 * 1000:.0f} ms",
        }
        finding.memory(server, before, BUDGET + 3 * QUEUE * ANSWER + CACHE)
        wait_until_idle(server, "large")
        finding.healthy(server)
    return finding


class NoReader:
    """A connection that asks, on one stream or with a call for each, and leaves what comes where it
    is.
    """

    def __init__(self, server: ServerProcess, one_stream: bool) -> None:
        self.connection = Http2(server.grpc)
        self.connection.listen(0.5)
        self.body = write_request("large", {"x": models.numbers(0, (1, models.WIDTH))})
        self.stream = (
            self.connection.ask(self.body, "ModelStreamInfer", end=False) if one_stream else None
        )

    def ask(self, count: int) -> None:
        """Asks so often, or as often as the server's window for the stream has room for."""
        message = impolite.framed(self.body)
        for _ in range(count):
            if self.stream is None:
                self.connection.ask(self.body)
            elif self.connection.h2.local_flow_control_window(self.stream) >= len(message):
                self.connection.more(self.stream, message)
                self.connection.asked += 1


def post(server: ServerProcess) -> socket.socket:
    """Asks for a large answer in binary, with little room to receive it."""
    connection = impolite.connect(server.http, receive_buffer=4096)
    body = BINARY % b",".join([b"1"] * models.WIDTH)
    connection.sendall(
        impolite.post_head("/v2/models/large/infer", len(body), f"{HEADER_LENGTH}: {len(body)}\r\n")
        + body
    )
    return connection


def dawdle(readers: list[socket.socket], end: float) -> int:
    """Reads one byte from each, again and again, until `end`. How many were read."""
    taken = 0
    while monotonic() < end:
        for reader in readers:
            taken += len(reader.recv(1))
        sleep(0.01)
    return taken


def wait_until_idle(server: ServerProcess, *models: str, seconds: float = 60.0) -> None:
    """Until nobody waits for these models any more: what the vanished had asked for is done, or
    forgotten.
    """
    end = monotonic() + seconds
    while (
        any(server.metric("internals_queue_depth", model=model) for model in models)
        and monotonic() < end
    ):
        sleep(0.05)
