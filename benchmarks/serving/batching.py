"""What batching brings: throughput and latency against the most rows of a batch.

Every client sends one row and waits for its answer. With `--max-batch 1` each is run alone; the
more may be run together, the fewer times the weights are read from memory, and the more is done
between two turns of the event loop. The settings take turns, round after round, each with a server
of its own, so that whatever slows the machine down slows all of them; a figure is the median of the
rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.serving import load, models
from benchmarks.serving.load import Request, Task
from benchmarks.serving.process import ServerProcess

SIZES = (1, 2, 4, 8, 16, 32, 64)
WARM = 1.0  # seconds before it counts
PROCESSES = 2  # of clients


@dataclass
class Point:
    """What one setting did in one round: requests a second, milliseconds to an answer, requests in
    a batch on average.
    """

    max_batch: int
    rate: float
    p50: float
    p95: float
    p99: float
    filled: float


def curve(
    folder: Path,
    model: str,
    clients: int,
    sizes: Sequence[int] = SIZES,
    seconds: float = 3.0,
    rounds: int = 3,
    options: tuple[str, ...] = (),
    told: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """The points of each setting, and their medians, as a table of numbers. Raises RuntimeError for
    an answer that is none.
    """
    found: dict[int, list[Point]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            point = measure(folder, model, clients, size, seconds, options)
            found[size].append(point)
            told(
                f"  {model} {' '.join(options)} max_batch {size}: {point.rate:.0f}/s, p99 "
                f"{point.p99:.1f} ms"
            )
    return [
        {name: median(asdict(point)[name] for point in points) for name in asdict(points[0])}
        | {"rates": [point.rate for point in points]}
        for points in found.values()
    ]


def measure(
    folder: Path, model: str, clients: int, size: int, seconds: float, options: tuple[str, ...]
) -> Point:
    with ServerProcess(folder, "--max-batch", str(size), *options) as server:
        shape = models.MODELS[model][1]
        own = [
            [models.request(model, models.numbers(i, (1, *shape[1:])) / 1000)]
            for i in range(min(clients, 8))
        ]
        lists: list[list[Request]] = [own[i % len(own)] for i in range(clients)]
        tasks = [
            Task(server.grpc, server.http, lists[i::PROCESSES], seconds=WARM + seconds)
            for i in range(PROCESSES)
        ]
        answers = load.run(*tasks)
        runs = server.metric("internals_execution_requests_count", model=model)
        filled = server.metric("internals_execution_requests_sum", model=model) / max(1.0, runs)
    wrong = [answer for answer in answers if answer.status != "OK"]
    if wrong:
        raise RuntimeError(
            f"{model}, max_batch {size}: {load.statuses(answers)}, {wrong[0].details}"
        )
    begin = min(answer.began for answer in answers) + WARM
    counted = [answer for answer in answers if begin <= answer.ended < begin + seconds] or answers
    times = [(answer.ended - answer.began) * 1000 for answer in counted]
    p50, p95, p99 = (load.percentile(times, percent) for percent in (50, 95, 99))
    return Point(size, len(counted) / seconds, p50, p95, p99, filled)


def gain(points: list[dict[str, Any]]) -> float:
    """The best setting's requests a second over those without batching: the median of each round's
    ratio.
    """
    alone = points[0]["rates"]
    return max(median(rate / one for rate, one in zip(point["rates"], alone)) for point in points)
