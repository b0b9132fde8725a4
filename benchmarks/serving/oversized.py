"""Messages that are too large: refused by what they say or are, before they fill the memory."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path

import grpc

from benchmarks.serving import load
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.load import OPTIONS, SERVICE, Request, Task
from benchmarks.serving.process import ServerProcess

REST = "/v2/models/double/infer"


def oversized(folder: Path, clients: int = 8, mebibytes: int = 32) -> Finding:
    """The limit is 1 MiB; what comes has `mebibytes`, over gRPC and REST, plain, in chunks, and
    compressed.
    """
    finding = Finding(
        "oversized messages", f"{mebibytes} MiB where 1 MiB is allowed, {clients} clients each"
    )
    with ServerProcess(folder, "--max-message-bytes", str(MiB)) as server:
        before = server.resident()
        body = bytes(mebibytes * MiB)
        plain = Task(server.grpc, server.http, [[Request(body)]] * clients, turns=1)
        posted = Task(server.grpc, server.http, [[Request(body, way=REST)]] * clients, turns=1)
        seen = {
            "gRPC": load.statuses(load.run(plain)),
            "gRPC, gzip": compressed(server, body, clients),
            "REST": load.statuses(load.run(posted)),
            "REST, chunked": {chunked(server, body): clients for _ in range(clients)},
            "REST, gzip": load.statuses(load.run(zipped(server, body, clients))),
            "REST, Expect": {expecting(server, len(body)): 1},
        }
        for way, answers in seen.items():
            refused = (
                {"RESOURCE_EXHAUSTED"} if way.startswith("gRPC") else {"HTTP 413", "HTTP broken"}
            )
            finding.expect(
                set(answers) <= refused and set(answers) != {"HTTP broken"}, f"{way}: {answers}"
            )
            finding.seen[way] = ", ".join(f"{status}" for status in answers)
        finding.memory(server, before, 256 * MiB)
        finding.healthy(server)
    return finding


def compressed(server: ServerProcess, body: bytes, count: int) -> dict[str, int]:
    """A message that is small on the wire and large when gRPC has expanded it."""
    found: dict[str, int] = {}
    with grpc.insecure_channel(server.grpc, options=OPTIONS) as channel:
        call = channel.unary_unary(f"{SERVICE}ModelInfer")
        for _ in range(count):
            try:
                call(body, timeout=60, compression=grpc.Compression.Gzip)
                status = "OK"
            except grpc.RpcError as error:
                status = error.code().name
            found[status] = found.get(status, 0) + 1
    return found


def zipped(server: ServerProcess, body: bytes, clients: int) -> Task:
    request = Request(gzip.compress(body, 1), way=REST, headers="Content-Encoding: gzip\r\n")
    return Task(server.grpc, server.http, [[request]] * clients, turns=1)


def chunked(server: ServerProcess, body: bytes) -> str:
    """A body that does not say how long it will be."""
    head = f"POST {REST} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    piece = b"%x\r\n" % MiB + body[:MiB] + b"\r\n"
    return exchange(server, [head, *[piece] * (len(body) // MiB), b"0\r\n\r\n"])


def expecting(server: ServerProcess, length: int) -> str:
    """A client that asks first whether it should send so much."""
    head = (
        f"POST {REST} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nExpect: "
        "100-continue\r\n\r\n"
    )
    return exchange(server, [head.encode()])


def exchange(server: ServerProcess, pieces: list[bytes]) -> str:
    """The status of the answer, which may come while the request is still being sent."""
    host, _, port = server.http.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        for piece in pieces:
            try:
                connection.sendall(piece)
            except OSError:
                # the server has closed: its answer is there, or lost with the connection
                break
        try:
            answer = connection.recv(4096)
        except OSError:
            answer = b""
    return f"HTTP {answer.split()[1].decode()}" if answer.startswith(b"HTTP/") else "HTTP broken"
