"""Memory over many requests of all kinds: what is taken for one has to be given back after it.

Good requests of several shapes, over gRPC and REST; refused, failing, cancelled and malformed ones;
and clients that vanish. The memory of the server's process is read at even intervals. Caches fill
at first, so what counts is the slope over the second half: a straight line through the samples, in
bytes for each request. glibc's malloc would keep freed blocks of many sizes, more or fewer by
chance; here it is told to give large ones back at once, so that what is resident is what is in use.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.serving import load, models
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.load import Clients, Request, Task
from benchmarks.serving.process import ServerProcess
from benchmarks.serving.shutdown import JSON, numbers
from benchmarks.serving.vanishing import vanish_from_grpc, vanish_from_rest
from internals.serving.client import write_request

CLIENTS = 32
PARTS = 20
FRUGAL = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_ARENA_MAX": "2",
}
LEAK = 256  # bytes for each request: one object that is forgotten takes as much
SLACK = 8 * MiB  # that an allocator may take or give back by chance


def endurance(folder: Path, count: int = 100_000, parts: int = PARTS) -> Finding:
    """`count` requests at least; the memory is read after each of the parts."""
    finding = Finding(
        f"memory over {count:,} requests",
        f"{CLIENTS} clients; a third over REST; 1 in 4 is refused, fails, is cancelled or "
        "malformed; some vanish",
    )
    kinds = requests()
    image = models.request("shades", models.numbers(0, (1, *models.IMAGE))).body
    lists = [kinds[i:] + kinds[:i] for i in range(CLIENTS)]
    turns = -(-count // (parts * CLIENTS * len(kinds)))
    done = 0
    samples: list[tuple[int, int]] = []
    statuses: Counter[str] = Counter()
    with ServerProcess(folder, "--log", "text", **FRUGAL) as server:
        for _ in range(parts):
            with Clients(Task(server.grpc, server.http, lists, turns=turns)) as clients:
                clients.go()
                vanish_from_grpc(server, image)
                vanish_from_rest(server, image)
                answers = clients.answers()
            done += len(answers)
            statuses.update(load.statuses(answers))
            samples.append((done, server.resident()))
        finding.healthy(server)
    half = samples[len(samples) // 2 :]
    slope = straight_line(half) if len(half) > 1 else 0.0
    grown = half[-1][1] - half[0][1]
    finding.seen |= {
        "requests": f"{done:,}",
        "by status": ", ".join(f"{n:,} {status}" for status, n in statuses.most_common()),
        "memory": " → ".join(f"{samples[i][1] / MiB:.1f}" for i in (0, len(samples) // 2, -1))
        + " MiB",
        "slope of the second half": f"{slope:+.1f} bytes/request",
    }
    finding.expect(done >= count, f"{done} of {count} requests were sent")
    finding.expect(
        grown < SLACK or slope < LEAK,
        f"memory grows by {slope:.0f} bytes with each request: {samples[::4]}",
    )
    return finding


def straight_line(samples: list[tuple[int, int]]) -> float:
    """Its slope."""
    done, resident = np.array(samples, float).T
    return float(np.polyfit(done, resident, 1)[0])


def requests() -> list[Request]:
    """Twenty: what one client sends in turn."""
    rows = [models.request("double", models.numbers(n, (n, models.WIDTH))) for n in (1, 2, 3, 8)]
    rest = [Request(JSON % numbers(n), way="/v2/models/double/infer") for n in range(5)]
    image = models.request("shades", models.numbers(0, (1, *models.IMAGE)))
    good = [*rows, *rest, *rows, rows[0], image]
    return [
        *good,
        models.request("picky", models.numbers(1, (1, models.WIDTH)) - 1000),  # the model raises
        Request(write_request("nobody", {"x": models.numbers(0, (1, models.WIDTH))})),  # not found
        Request(write_request("double", {"x": models.numbers(0, (1, 3))})),  # of another shape
        Request(rows[0].body[:40]),  # cut off
        rows[0]._replace(cancel=0.001),
        Request(b'{"inputs": 3}', way="/v2/models/double/infer"),
    ]
