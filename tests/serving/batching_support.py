"""Models that are watched and held back, and a batcher around them on a real event loop with real
threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import internals as torch
from internals import Tensor
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.record import Recorder
from internals.serving.inference import InferRequest
from internals.serving.observe.metrics import Metrics
from internals.serving.settings import Settings

PATIENCE = 20.0  # seconds after which a test is taken to hang


class Model:
    """As much of a ServedModel as a batcher sees. `calls` has the rows of each run, in order.

    `gate`: closed, every run waits in its thread, and `held` counts them.
    """

    name, version, batchable, max_rows = "fake", "1", True, None

    def __init__(
        self, function: Callable[..., Any] = lambda x: x * 2 + 1, open: bool = True
    ) -> None:
        self.function = function
        self.calls: list[int] = []
        self.gate = threading.Event()
        self.held = threading.Semaphore(0)
        if open:
            self.gate.set()

    def rows_to_run(self, waiting: int) -> int:
        return waiting

    def run(self, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        self.calls.append(inputs[0].shape[0] if inputs[0].dim() else 0)
        self.held.release()
        assert self.gate.wait(PATIENCE)
        result = self.function(*inputs)
        return result if isinstance(result, dict) else {"y": result}

    async def has_begun(self) -> None:
        """Waits until one more run has begun."""
        assert await asyncio.to_thread(self.held.acquire, timeout=PATIENCE)


def request(values: Any, timeout: float | None = None, **more: Any) -> InferRequest:
    """One input x with these values; `timeout` in seconds."""
    x = values if isinstance(values, Tensor) else torch.tensor(values)
    deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
    return InferRequest("fake", {"x": x, **more}, deadline=deadline)


def with_batcher(model: Any, test: Callable[[Batcher], Awaitable[Any]], **settings: Any) -> Any:
    """Runs a test with a batcher that has a recorder; afterwards it is drained and nothing is left
    in it.
    """

    async def main() -> Any:
        batcher = Batcher(model, Settings(**{"max_delay": 1.0, **settings}), Metrics())
        batcher.recorder = Recorder()
        try:
            return await asyncio.wait_for(test(batcher), PATIENCE)
        finally:
            model.gate.set()
            await asyncio.wait_for(batcher.drain(), PATIENCE)
            assert (batcher.queued, batcher.queued_bytes, batcher.running, batcher.lanes) == (
                0,
                0,
                0,
                {},
            )

    return asyncio.run(main())


async def in_line(batcher: Batcher, count: int) -> None:
    """Lets the tasks that were just made go to the batcher, until `count` wait there."""
    for _ in range(10_000):
        if batcher.queued == count:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{batcher.queued} are in line, not {count}")


def batches(recorder: Recorder | None) -> list[list[int]]:
    """The requests of each batch, in order."""
    assert recorder is not None
    found: dict[int, list[int]] = {}
    for event in recorder.events:
        if event.kind == "started":
            found.setdefault(event.batch, []).append(event.request)
    return list(found.values())


def kinds(recorder: Recorder | None, who: int) -> list[str]:
    assert recorder is not None
    return [event.kind for event in recorder.events if event.request == who]


def rows(first: float, count: int, width: int = 3) -> torch.Tensor:
    return torch.arange(float(first), float(first + count * width)).view(count, width)


def submit(
    batcher: Batcher, values: Any, timeout: float | None = None, **more: Any
) -> asyncio.Task[Any]:
    return asyncio.create_task(batcher.submit(request(values, timeout, **more)))


async def hold(
    batcher: Batcher, model: Model, values: Any = ((0.0, 0.0, 0.0),)
) -> asyncio.Task[Any]:
    """Makes a worker busy with a batch of one request until the model's gate is opened."""
    task = submit(batcher, values)
    await model.has_begun()
    return task
