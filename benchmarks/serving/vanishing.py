"""Clients that vanish: in the middle of a message, with a request in line, with the whole process.

What they had asked for leaves the queue, or is computed for nobody; nothing of it stays, and the
others notice nothing.
"""

from __future__ import annotations

from pathlib import Path
from time import sleep

from benchmarks.serving import impolite, load, models
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.impolite import Http2
from benchmarks.serving.load import Clients, Request, Task
from benchmarks.serving.process import ServerProcess
from benchmarks.serving.slow_readers import wait_until_idle

REST = "/v2/models/shades/infer"
BYTES = "Inference-Header-Content-Length: 0\r\n"


def vanishing(folder: Path, count: int = 200, processes: int = 4) -> Finding:
    """`count` of each kind: half a message over gRPC and REST, a call cancelled; and whole
    processes killed.
    """
    finding = Finding(
        "clients that vanish",
        f"{count} connections reset after half a message, over gRPC and over REST; {count} calls "
        "cancelled; "
        f"{processes} processes of 50 clients killed",
    )
    image = models.request("shades", models.numbers(0, (1, *models.IMAGE))).body
    with ServerProcess(folder) as server:
        before = server.resident()
        steady = [
            [models.request("double", models.numbers(i, (1, models.WIDTH)))] for i in range(4)
        ]
        with Clients(
            Task(server.grpc, server.http, steady, seconds=3600, until=("UNAVAILABLE",))
        ) as others:
            others.go()
            for _ in range(count):
                vanish_from_grpc(server, image)
                vanish_from_rest(server, image)
            busy = models.request("slow", models.numbers(0, (1, models.WIDTH)) * 0 + 20)
            cancelled = [[busy._replace(cancel=0.001 * i)] for i in range(count)]
            statuses = load.statuses(load.run(Task(server.grpc, server.http, cancelled, turns=1)))
            kill_processes(server, [busy, Request(image)], processes)
            wait_until_idle(server, "slow", "shades")
            counted = server.metric("internals_requests_total", outcome="cancelled")
            finding.memory(server, before, 256 * MiB)
            finding.healthy(server, "slow", "shades")
            finding.expect(server.terminate() == 0, "the server did not end with status 0")
            answers = [answer for answer in others.answers() if answer.status != "UNAVAILABLE"]
    finding.all_right(answers, "steady clients beside them")
    finding.expect(statuses.get("CANCELLED", 0) > 0, f"nothing was cancelled: {statuses}")
    finding.expect(counted > 0, "the server counted nobody as cancelled")
    known = {"CANCELLED", "OK", "RESOURCE_EXHAUSTED"}
    finding.expect(set(statuses) <= known, f"calls that were cancelled ended as {statuses}")
    finding.seen |= {
        "cancelled, as the server counted": f"{counted:,.0f}",
        "others answered right": f"{sum(a.right for a in answers):,}",
    }
    return finding


def vanish_from_grpc(server: ServerProcess, image: bytes) -> None:
    """Half of what fits into HTTP/2's first window, then RST."""
    connection = Http2(server.grpc)
    stream = connection.ask(b"", end=False)
    connection.more(stream, impolite.framed(image)[:30_000])
    connection.reset()


def vanish_from_rest(server: ServerProcess, image: bytes) -> None:
    connection = impolite.connect(server.http)
    connection.sendall(impolite.post_head(REST, len(image), BYTES) + image[: len(image) // 2])
    impolite.reset(connection)


def kill_processes(server: ServerProcess, requests: list[Request], count: int) -> None:
    """SIGKILL while each of 50 clients has a request on its way."""
    for _ in range(count):
        with Clients(Task(server.grpc, server.http, [requests] * 50, seconds=60)) as clients:
            clients.go()
            sleep(0.3)
            clients.kill()
