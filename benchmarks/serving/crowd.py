"""Many clients at once: everybody gets an answer, and their own."""

from __future__ import annotations

from pathlib import Path

from benchmarks.serving import load, models
from benchmarks.serving.finding import Finding, MiB, milliseconds
from benchmarks.serving.load import Request, Task
from benchmarks.serving.process import ServerProcess


def many_clients(folder: Path, clients: int = 200, turns: int = 50) -> Finding:
    """Each client has a connection and numbers of its own: an answer that is another's would be
    seen.
    """
    finding = Finding(
        f"{clients} concurrent clients", f"each sends {turns} requests of 1 to 3 rows, over gRPC"
    )
    with ServerProcess(folder) as server:
        before = server.resident()
        own = [own_requests(client) for client in range(clients)]
        halves = [
            Task(server.grpc, server.http, part, turns=turns) for part in (own[::2], own[1::2])
        ]
        answers = load.run(*halves)
        finding.expect(
            len(answers) == clients * turns,
            f"{clients * turns} were sent, {len(answers)} have an end",
        )
        finding.all_right(answers, "all")
        batches = server.metric("internals_executions_total", model="double")
        took = max(a.ended for a in answers) - min(a.began for a in answers)
        times = [answer.ended - answer.began for answer in answers]
        finding.seen |= {
            "answered right": f"{sum(answer.right for answer in answers):,}",
            "batches": f"{batches:,.0f}",
            "requests/s": f"{len(answers) / took:,.0f}",
            "p50": milliseconds(load.percentile(times, 50)),
            "p99": milliseconds(load.percentile(times, 99)),
        }
        finding.expect(
            0 < batches < len(answers), f"{batches:.0f} batches for {len(answers)} requests"
        )
        finding.memory(server, before, 256 * MiB)
        finding.healthy(server)
    return finding


def own_requests(client: int) -> list[Request]:
    return [models.request("double", models.numbers(client, (1 + client % 3, models.WIDTH)))]
