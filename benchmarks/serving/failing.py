"""A model that raises, for some inputs; and one that takes long, while more is asked of it than it
can do.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.serving import load, models
from benchmarks.serving.finding import Finding, lasting, milliseconds
from benchmarks.serving.load import Answer, Clients, Request, Task
from benchmarks.serving.process import ServerProcess


def raising(folder: Path, clients: int = 32, turns: int = 50, bad: int = 4) -> Finding:
    """Every `bad`-th client sends what the model raises on; the others share batches with them."""
    finding = Finding(
        "a model that raises",
        f"{clients} clients, {turns} requests each; 1 in {bad} makes it raise",
    )
    with ServerProcess(folder) as server:
        fine = models.request("picky", models.numbers(2, (1, models.WIDTH)))
        wrong = models.request("picky", models.numbers(2, (1, models.WIDTH)) - 1000)
        lists = [[wrong if i % bad == 0 else fine] for i in range(clients)]
        answers = load.run(Task(server.grpc, server.http, lists, turns=turns))
        blamed = [answers[i] for i in range(len(answers)) if i // turns % bad == 0]
        spared = [answers[i] for i in range(len(answers)) if i // turns % bad]
        finding.expect(
            len(answers) == clients * turns,
            f"{clients * turns} were sent, {len(answers)} have an end",
        )
        finding.all_right(spared, "neighbours")
        told = [a for a in blamed if a.status == "INTERNAL" and "a number is negative" in a.details]
        finding.expect(
            len(told) == len(blamed),
            f"{len(blamed) - len(told)} of {len(blamed)} were not told what the model said",
        )
        finding.seen |= {
            "neighbours answered right": f"{len(spared):,}",
            "told the model's message": f"{len(told):,}",
        }
        finding.healthy(server)
    return finding


def slow(folder: Path, clients: int = 48, queue: int = 8, seconds: float = 0.3) -> Finding:
    """One request runs; `queue` may wait; of the rest, each is refused at once, or leaves when its
    deadline passes.
    """
    finding = Finding(
        "a model that is slow",
        f"{clients} requests at once, {queue} may wait; then {queue - 1} with a deadline that "
        "passes",
    )
    with ServerProcess(folder, "--max-queue", str(queue)) as server:
        one = lasting(server, seconds)
        with busy(server, one, clients) as answering:
            times = [health(server) for _ in range(5)]
            asked = monotonic()
            answers = answering.answers()
        served = [answer for answer in answers if answer.status == "OK"]
        refused = [answer for answer in answers if answer.status == "RESOURCE_EXHAUSTED"]
        finding.expect(
            len(served) + len(refused) == clients,
            f"answers to {clients} requests: {load.statuses(answers)}",
        )
        last_came = max(answer.began for answer in answers)
        # some were done before all had come
        places = queue + 1 + sum(answer.ended < last_came for answer in served)
        finding.expect(
            queue <= len(served) <= places, f"{len(served)} were served where {queue} may wait"
        )
        first, last = min(a.ended for a in served), max(a.ended for a in served)
        finding.expect(asked < last, "health answered only after the model was done")
        finding.expect(
            sum(a.ended < first for a in refused) > len(refused) // 2,
            "refusals waited for the model to finish",
        )
        finding.seen |= {
            "served": len(served),
            "refused (RESOURCE_EXHAUSTED)": len(refused),
            "one run": milliseconds((last - first) / max(1, len(served) - 1)),
            "a refusal, p50": milliseconds(
                load.percentile([a.ended - a.began for a in refused], 50)
            ),
            "health, p50": milliseconds(load.percentile(times, 50)),
        }
        deadlines(finding, server, one, queue)
        finding.healthy(server)
    return finding


def deadlines(finding: Finding, server: ServerProcess, one: Request, queue: int) -> None:
    """While one request runs, others come whose deadline passes before it is done: nothing is
    computed for them.
    """
    before = server.metric("internals_executions_total", model="slow")
    with busy(server, one, 1) as running:
        hurried = [[one._replace(timeout=0.05)] for _ in range(queue - 1)]
        late = load.run(Task(server.grpc, server.http, hurried, turns=1))
        others: list[Answer] = running.answers()
    computed = server.metric("internals_executions_total", model="slow") - before
    finding.all_right(others, "the request that was running")
    expired = [answer for answer in late if answer.status == "DEADLINE_EXCEEDED"]
    # the first one was done too soon
    overtaken = [answer for answer in late if answer.began > others[0].ended - 0.05]
    finding.expect(len(expired) + len(overtaken) >= len(late), f"deadlines: {load.statuses(late)}")
    finding.expect(
        computed <= 1 + len(overtaken),
        f"{computed:.0f} were computed though their deadlines had passed",
    )
    finding.seen |= {
        "past their deadline": len(expired),
        "computed of those": f"{computed - 1:.0f}",
    }


class busy:
    """`count` clients that send one request each, at once, and have begun when the block is
    entered.
    """

    def __init__(self, server: ServerProcess, one: Request, count: int) -> None:
        self.clients = Clients(Task(server.grpc, server.http, [[one]] * count, turns=1))

    def __enter__(self) -> Clients:
        self.clients.go()
        sleep(0.1)
        return self.clients

    def __exit__(self, *exception: object) -> None:
        self.clients.__exit__()


def health(server: ServerProcess) -> float:
    """Seconds until the health service has answered that all is well."""
    with grpc.insecure_channel(server.grpc) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        began = monotonic()
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=60)
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise AssertionError(f"the server says it is {answer.status}")
    return monotonic() - began
