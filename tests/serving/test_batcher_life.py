"""The batcher's end, and the threads and recorders around it: everything accepted is answered,
whatever a model does.
"""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")

import internals as torch
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.record import Recorder
from internals.serving.errors import ModelFailed, Unavailable
from tests.serving.batching_support import (
    Model,
    batches,
    hold,
    in_line,
    request,
    rows,
    submit,
    with_batcher,
)

# Draining


def test_drain_answers_all_and_takes_nothing_more() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(n, 1)) for n in range(7)]
        await in_line(batcher, 7)
        draining = asyncio.create_task(batcher.drain())
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="model 'fake' is being unloaded or replaced"):
            await batcher.submit(request(rows(0, 1)))
        model.gate.set()
        await draining
        assert first.done() and all(task.done() for task in tasks)
        assert [task.result()["y"][0, 0].item() for task in tasks] == [
            2.0 * n + 1 for n in range(7)
        ]

    with_batcher(model, test, max_batch=3)


def test_drain_does_not_wait_for_company() -> None:
    async def test(batcher: Batcher) -> None:
        task = submit(batcher, rows(0, 1))
        await in_line(batcher, 1)
        await batcher.drain()
        assert task.done()

    with_batcher(Model(), test, max_delay=60_000)


# Workers


def test_three_workers_run_three_batches_at_once() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        tasks = [submit(batcher, rows(n, 2)) for n in range(12)]
        for _ in range(3):
            await model.has_begun()
        assert batcher.running == 3 and batcher.queued == 9
        model.gate.set()
        answers = await asyncio.gather(*tasks)
        assert [a["y"][0, 0].item() for a in answers] == [2.0 * n + 1 for n in range(12)]

    with_batcher(model, test, workers=3, max_batch=2)


class Strange(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), Strange("?"), MemoryError()]
)
def test_a_worker_lives_on_whatever_a_model_raises(error: BaseException) -> None:
    def model_of(x: torch.Tensor) -> torch.Tensor:
        if (x < 0).any():
            raise error
        return x

    async def test(batcher: Batcher) -> None:
        for _ in range(3):
            with pytest.raises(ModelFailed, match=type(error).__name__):
                await batcher.submit(request(-rows(1, 1)))
        assert (await batcher.submit(request(rows(1, 1))))["y"].tolist() == rows(1, 1).tolist()

    with_batcher(Model(model_of), test)


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), Strange("?")]
)
def test_whatever_a_model_raises_on_a_batch_is_the_answer_to_one_request(
    error: BaseException,
) -> None:
    def model_of(x: torch.Tensor) -> torch.Tensor:
        if (x < 0).any():
            raise error
        return x

    model = Model(model_of, open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(n, 1) if n != 2 else -rows(9, 1)) for n in range(1, 4)]
        await in_line(batcher, 3)
        model.gate.set()
        await first
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results[1], ModelFailed) and type(error).__name__ in str(results[1])
        assert [results[n]["y"].tolist() for n in (0, 2)] == [rows(n, 1).tolist() for n in (1, 3)]  # type: ignore[index]
        assert len(batches(batcher.recorder)) == 2

    with_batcher(model, test)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), Strange("?")])
def test_a_model_that_raises_while_its_rows_are_tried_has_still_answered(
    error: BaseException,
) -> None:
    """Equal requests say little of each other, so others are made up: what it says to these is
    nothing to those who asked.
    """

    def model_of(x: torch.Tensor) -> torch.Tensor:
        if (x > 100).any():
            raise error
        return x

    model = Model(model_of, open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, torch.full((1, 3), 100.0)) for _ in range(2)]
        await in_line(batcher, 2)
        model.gate.set()
        await first
        assert [r["y"].tolist() for r in await asyncio.gather(*tasks)] == [[[100.0] * 3]] * 2

    with_batcher(model, test)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), Strange("?")])
def test_a_model_that_raises_on_one_row_alone_takes_no_more_batches(error: BaseException) -> None:
    def pairs(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 1:
            raise error
        return x

    model = Model(pairs, open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model, rows(0, 2))
        tasks = [submit(batcher, rows(n, 1)) for n in range(2)]
        await in_line(batcher, 2)
        model.gate.set()
        await first
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, ModelFailed) for result in results)
        assert batcher.execution.why_not == "a row's result depends on the other rows of the batch"

    with_batcher(model, test)


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, Strange])
def test_a_fault_of_our_own_answers_everybody(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error("ours")

    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(n, 1)) for n in range(3)]
        await in_line(batcher, 3)
        monkeypatch.setattr("internals.serving.batching.execution.split", broken)
        model.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(result) for result in results] == [f"{error.__name__}: ours"] * 3
        await first
        monkeypatch.undo()
        assert (await batcher.submit(request(rows(0, 1))))["y"].shape == (1, 3)

    with_batcher(model, test)


def test_the_threads_end_with_the_batcher() -> None:
    before = set(threading.enumerate())

    async def test(batcher: Batcher) -> None:
        await batcher.submit(request(rows(0, 1)))
        assert {t.name for t in set(threading.enumerate()) - before} >= {"fake-1-0", "fake-1-1"}

    with_batcher(Model(), test, workers=2)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("fake")]


def test_a_result_is_not_kept_by_the_worker() -> None:
    model = Model()

    async def test(batcher: Batcher) -> None:
        x = rows(0, 1)
        storage = x.untyped_storage()
        before = sys.getrefcount(storage)
        await batcher.submit(request(x))
        await batcher.submit(request(rows(1, 1)))
        assert sys.getrefcount(storage) <= before + 1

    with_batcher(model, test)


# The recorder


def test_a_recorder_may_come_late_and_be_replaced() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        batcher.recorder = None
        first = await hold(batcher, model)
        early = submit(batcher, rows(0, 1))
        await in_line(batcher, 1)
        recorder = batcher.recorder = Recorder()
        late = submit(batcher, rows(1, 1))
        await in_line(batcher, 2)
        model.gate.set()
        await asyncio.gather(first, early, late)
        assert [(e.kind, e.request, e.batch) for e in recorder.events] == [
            ("arrived", 0, -1), ("started", 0, 0), ("finished", 0, 0),
        ]  # fmt: skip
        model.gate.clear()
        second = await hold(batcher, model)
        batcher.recorder = Recorder()
        model.gate.set()
        await second
        assert batcher.recorder.events == []
        await batcher.submit(request(rows(0, 1)))

    with_batcher(model, test)
