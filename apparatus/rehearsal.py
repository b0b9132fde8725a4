"""The batcher without a server: who arrives when is written down, and a model's time is a formula
instead of a wait.

    r = rehearse([Arrival(0), Arrival(0.5), Arrival(9, rows=4)], a=5, b=1, max_batch=4, max_delay=2)
    r.latencies                    # [9.0, 8.5, 9.0], in milliseconds; viz.batching(r.recorder)
                                   # draws it

It is the same `Batcher` as in a server, with its lanes, alarms and limits, on a clock that jumps
(`two_https/clock.py`). The model is run when its batch starts; its results come `a + b * rows`
milliseconds later. So an hour of requests is rehearsed in a second, and twice with the same events.

How the real one differs: a real batch runs in a worker's thread and takes what it takes. To find
settings for a real model, Triton's `model_analyzer` measures them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import internals as torch
from apparatus.two_https.clock import run
from internals import Tensor
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.lanes import Waiting, rows_of
from internals.serving.batching.record import Recorder
from internals.serving.inference import InferRequest
from internals.serving.models.served_model import ServedModel
from internals.serving.observe.metrics import Metrics
from internals.serving.settings import Settings


class Arrival(NamedTuple):
    """A request. Times are in milliseconds: `at` from the beginning, the others from its arrival.

    timeout: its deadline. patience: when the client goes away. inputs: None for one tensor of
    `rows` rows.
    """

    at: float
    rows: int = 1
    timeout: float | None = None
    patience: float | None = None
    inputs: Mapping[str, Tensor] | None = None


@dataclass
class Rehearsal:
    """What came of it. `outcomes` are outputs or what was raised, `latencies` milliseconds to an
    answer or None.
    """

    recorder: Recorder
    outcomes: list[dict[str, Tensor] | BaseException] = field(default_factory=list)
    latencies: list[float | None] = field(default_factory=list)
    batcher: Batcher | None = None


class RehearsedBatcher(Batcher):
    """A batcher whose model takes `a + b * rows` milliseconds of the loop's time, and no thread."""

    a: float
    b: float

    def _run(
        self,
        batch: list[Waiting],
        key: object,
        number: int,
        began: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        outcomes = self._compute(batch, key)
        rows = sum(rows_of(waiting.request.inputs) or 1 for waiting in batch)
        loop.call_later(
            (self.a + self.b * rows) / 1000, self._finish, batch, outcomes, number, began
        )


class AtOnce:
    """Workers without threads."""

    def submit(self, job: Callable[[], None]) -> None:
        job()

    def stop(self) -> None:
        pass


def rehearse(
    arrivals: Iterable[Arrival], a: float = 5, b: float = 1, model: Any = None, **settings: Any
) -> Rehearsal:
    """Lets these requests meet a batcher with `Settings(**settings)`. `model`: any that can be
    served; None gives back its input.

    Raises ValueError for arrivals that are out of order or settings that make no sense.
    """
    arrivals = list(arrivals)
    if any(after.at < before.at for before, after in zip(arrivals, arrivals[1:])):
        raise ValueError("arrivals must be in order of time")
    served = (
        model
        if isinstance(model, ServedModel)
        else ServedModel.from_module(model or same, "rehearsed")
    )
    return run(_rehearse(arrivals, a, b, served, Settings(**settings)))


async def _rehearse(
    arrivals: list[Arrival], a: float, b: float, model: ServedModel, settings: Settings
) -> Rehearsal:
    batcher = RehearsedBatcher(model, settings, Metrics())
    batcher.workers.stop()
    batcher.workers, batcher.a, batcher.b = AtOnce(), a, b  # type: ignore[assignment]
    batcher.recorder = Recorder()
    loop = asyncio.get_running_loop()
    began = loop.time()
    tasks = []
    for arrival in arrivals:
        await asyncio.sleep(max(0.0, began + arrival.at / 1000 - loop.time()))
        tasks.append(asyncio.create_task(_client(batcher, arrival)))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await batcher.drain()
    rehearsal = Rehearsal(batcher.recorder, batcher=batcher)
    for result in results:
        outcome, latency = result if isinstance(result, tuple) else (result, None)
        rehearsal.outcomes.append(outcome)
        rehearsal.latencies.append(latency)
    return rehearsal


async def _client(batcher: Batcher, arrival: Arrival) -> tuple[dict[str, Tensor], float]:
    loop = asyncio.get_running_loop()
    came = loop.time()
    inputs = {"x": torch.zeros(arrival.rows, 1)} if arrival.inputs is None else dict(arrival.inputs)
    deadline = None if arrival.timeout is None else came + arrival.timeout / 1000
    request = InferRequest(batcher.model.name, inputs, deadline=deadline)
    if arrival.patience is not None:
        task = asyncio.current_task()
        assert task is not None
        loop.call_later(arrival.patience / 1000, task.cancel)
    outputs = await batcher.submit(request)
    return outputs, round((loop.time() - came) * 1000, 6)


def same(x: Tensor) -> Tensor:
    return x
