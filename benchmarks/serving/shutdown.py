"""SIGTERM under load: what was accepted is answered, what comes later is refused, and the process
ends with status 0.

A client cannot know whether its request was accepted. But what had been sent some time before the
signal, over a connection that stood, was: each of these must have been answered, also those that
waited in a long queue.
"""

from __future__ import annotations

import signal
from pathlib import Path
from time import monotonic, sleep

import grpc
import numpy as np

from benchmarks.serving import load, models
from benchmarks.serving.finding import Finding, lasting, milliseconds
from benchmarks.serving.load import Answer, Clients, Request, Task
from benchmarks.serving.process import ServerProcess

SURELY = 0.25  # seconds after which a request has arrived
REFUSED = ("UNAVAILABLE", "HTTP 503", "HTTP broken")
JSON = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[%s]}]}'


def sigterm(folder: Path, clients: int = 64, seconds: float = 3.0, lasts: float = 0.06) -> Finding:
    """Clients of a fast model and of a slow one, whose queue is long, over gRPC and REST, until
    they are refused.
    """
    finding = Finding(
        "SIGTERM under load",
        f"{clients} clients, some of a slow model, over gRPC and REST, for {seconds:g} s before",
    )
    fast = models.request("double", models.numbers(5, (1, models.WIDTH)))
    with ServerProcess(folder) as server:
        late = lasting(server, lasts)
        products = int(
            np.frombuffer(late.body, np.float32, 1, len(late.body) - 4 * models.WIDTH)[0]
        )
        rest = [
            Request(JSON % numbers(n), way=f"/v2/models/{m}/infer")
            for m, n in (("double", 1), ("slow", products))
        ]
        kinds = [fast, late, *rest]
        task = Task(
            server.grpc,
            server.http,
            [[kinds[i % 4]] for i in range(clients)],
            seconds=120,
            until=REFUSED,
        )
        with Clients(task) as running:
            running.go()
            sleep(seconds)
            server.process.send_signal(signal.SIGTERM)
            signalled = monotonic()
            status = server.wait()
            ended = monotonic()
            answers = running.answers()
        judge(finding, answers, signalled)
        finding.expect(comes_too_late(server), "a client that came later was not told UNAVAILABLE")
        finding.expect(status == 0, f"the process ended with status {status}")
        signs = server.bad_signs()
        finding.expect(
            not signs, f"the log has {len(signs)} lines such as: {signs[0] if signs else ''}"
        )
        finding.seen |= {
            "exit status": status,
            "from SIGTERM to the end": milliseconds(ended - signalled),
        }
    return finding


def judge(finding: Finding, answers: list[Answer], signalled: float) -> None:
    under_way = [a for a in answers if a.began < signalled - SURELY and a.ended > signalled]
    before = [a for a in answers if a.ended <= signalled]
    finding.all_right(before, "before the signal")
    finding.all_right(under_way, "under way at the signal")
    finding.expect(bool(under_way), "nothing was under way at the signal")
    after = [a for a in answers if a.ended > signalled and not a.right]
    finding.expect(
        all(a.status in REFUSED for a in after), f"after the signal: {load.statuses(after)}"
    )
    finding.seen |= {
        "answered before": f"{len(before):,}",
        "accepted before, answered after": f"{len(under_way):,}",
        "lost": sum(not a.right for a in under_way),
        "refused after": ", ".join(f"{n} {status}" for status, n in load.statuses(after).items()),
    }


def comes_too_late(server: ServerProcess) -> bool:
    """Whether a new gRPC call is told UNAVAILABLE."""
    with grpc.insecure_channel(server.grpc) as channel:
        try:
            channel.unary_unary(f"{load.SERVICE}ServerLive")(b"", timeout=30)
        except grpc.RpcError as error:
            return bool(error.code() is grpc.StatusCode.UNAVAILABLE)
    return False


def numbers(value: int) -> bytes:
    return b",".join([str(value).encode()] * models.WIDTH)
