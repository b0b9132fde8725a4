"""Clients, many to a process: each sends a request, waits for the answer, and sends the next one.

    with Clients(Task(address, clients=[[request], ...], turns=50)) as clients:
        clients.go()
        answers = clients.answers()

A process of its own, so that clients do not share an interpreter with what they measure; messages
are serialized before, so that it does little else than wait. Every client has a connection of its
own. What is sent and what a right answer ends with is given by the caller.

Real load generators (`perf_analyzer` of Triton, `ghz`, `wrk`) are C++, Go and C, and can also send
at a given rate without waiting for answers.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, NamedTuple

SERVICE = "/inference.GRPCInferenceService/"
OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),  # a connection for each channel
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.max_frame_size", 1 << 20),
    ("grpc.enable_retries", 0),
]
PATIENCE = 120.0  # seconds for one answer


class Request(NamedTuple):
    """`way`: a gRPC method, or a path of REST. `expected`: what a right answer ends with. `cancel`:
    after so many seconds.
    """

    body: bytes
    expected: bytes = b""
    way: str = "ModelInfer"
    headers: str = ""
    timeout: float | None = None
    cancel: float | None = None


class Answer(NamedTuple):
    """`status`: a gRPC status ("OK"), or "HTTP 200". `right`: it is OK, and ends as it should.
    Times are `monotonic`'s.
    """

    began: float
    ended: float
    status: str
    right: bool
    details: str = ""


@dataclass
class Task:
    """What the clients of one process do: each has a list of requests to repeat, `turns` times or
    for `seconds`.

    A client ends early at an answer whose status is in `until`.
    """

    grpc: str
    http: str
    clients: list[list[Request]]
    turns: int | None = None
    seconds: float | None = None
    until: tuple[str, ...] = ()


class Clients:
    """A process of clients. `go()` once all are connected; `answers()` when they are done, or
    `kill()`.
    """

    def __init__(self, task: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=main, args=(theirs, task), daemon=True)
        self.process.start()
        theirs.close()
        self._hear()

    def go(self) -> None:
        self.pipe.send("go")

    def answers(self, timeout: float = 900.0) -> list[Answer]:
        answers: list[Answer] = self._hear(timeout)
        return answers

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def _hear(self, timeout: float = 60.0) -> Any:
        if not self.pipe.poll(timeout):
            raise TimeoutError(f"the clients said nothing for {timeout:g} s")
        return self.pipe.recv()

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
        self.pipe.close()


def run(*tasks: Task) -> list[Answer]:
    """The answers that the clients of all tasks get, which begin together."""
    running: list[Clients] = []
    try:
        running += (Clients(task) for task in tasks)
        for clients in running:
            clients.go()
        return [answer for clients in running for answer in clients.answers()]
    finally:
        for clients in running:
            clients.__exit__()


def statuses(answers: Iterable[Answer]) -> dict[str, int]:
    """How many answers of each status there are, the most frequent first."""
    return dict(Counter(answer.status for answer in answers).most_common())


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


# In the clients' process


def main(pipe: Connection, task: Task) -> None:
    pipe.send(asyncio.run(drive(pipe, task)))


async def drive(pipe: Connection, task: Task) -> list[Answer]:
    clients = [Client(task, requests) for requests in task.clients]
    try:
        await asyncio.gather(*(client.connect() for client in clients))
        pipe.send("ready")
        await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
        end = monotonic() + (task.seconds if task.seconds is not None else 1e9)
        await asyncio.gather(*(client.work(end) for client in clients))
        return [answer for client in clients for answer in client.answers]
    finally:
        for client in clients:
            await client.close()


@dataclass
class Client:
    task: Task
    requests: list[Request]
    answers: list[Answer] = field(default_factory=list)
    calls: dict[str, Any] = field(default_factory=dict)
    channel: Any = None
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def connect(self) -> None:
        if any(not request.way.startswith("/") for request in self.requests):
            import grpc

            self.channel = grpc.aio.insecure_channel(self.task.grpc, options=OPTIONS)
            await self.channel.channel_ready()
        if any(request.way.startswith("/") for request in self.requests):
            await self.dial()

    async def dial(self) -> None:
        host, _, port = self.task.http.rpartition(":")
        self.streams = await asyncio.open_connection(host, int(port), limit=1 << 20)

    async def work(self, end: float) -> None:
        turns = self.task.turns
        while turns is None or turns > 0:
            for request in self.requests:
                if monotonic() >= end:
                    return
                ask = self.post if request.way.startswith("/") else self.call
                began = monotonic()
                status, answer, details = await ask(request)
                right = status in ("OK", "HTTP 200") and answer.endswith(request.expected)
                self.answers.append(Answer(began, monotonic(), status, right, details))
                if status in self.task.until:
                    return
            turns = None if turns is None else turns - 1

    async def call(self, request: Request) -> tuple[str, bytes, str]:
        import grpc

        method = self.calls.get(request.way)
        if method is None:
            method = self.calls[request.way] = self.channel.unary_unary(SERVICE + request.way)
        call = method(request.body, timeout=request.timeout or PATIENCE)
        if request.cancel is not None:
            asyncio.get_running_loop().call_later(request.cancel, call.cancel)
        try:
            return "OK", await call, ""
        except grpc.RpcError as error:
            return error.code().name, b"", error.details() or ""
        except asyncio.CancelledError:
            return "CANCELLED", b"", ""

    async def post(self, request: Request) -> tuple[str, bytes, str]:
        """POSTs; the connection is kept for the next request, as long as the server keeps it."""
        headers = f"Content-Length: {len(request.body)}\r\n{request.headers}"
        head = f"POST {request.way} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
        try:
            if self.streams is None:
                await self.dial()
            assert self.streams is not None
            reader, writer = self.streams
            if request.cancel is not None:
                asyncio.get_running_loop().call_later(request.cancel, writer.transport.abort)
            writer.writelines((head, request.body))
            async with asyncio.timeout(request.timeout or PATIENCE):
                await writer.drain()
                status, body, closing = await read_answer(reader)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self.hang_up()
            return "HTTP broken", b"", type(error).__name__
        if closing or request.cancel is not None:
            self.hang_up()
        return f"HTTP {status}", body, body[:200].decode("latin-1") if status != 200 else ""

    def hang_up(self) -> None:
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None

    async def close(self) -> None:
        self.hang_up()
        if self.channel is not None:
            await self.channel.close()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    """Status, body, and whether the connection ends with it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
    body = await reader.readexactly(int(fields.get("content-length", "0")))
    return int(head.split()[1]), body, fields.get("connection") == "close"
