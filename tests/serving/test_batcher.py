"""The batcher with real threads and models that are held back: who runs with whom, is refused,
leaves, is answered.
"""

from __future__ import annotations

import asyncio
import random

import pytest

pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")

import internals as torch
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.lanes import Lane, Waiting
from internals.serving.errors import DeadlineExceeded, QueueFull
from internals.serving.inference import InferRequest
from tests.serving.batching_support import (
    Model,
    batches,
    hold,
    in_line,
    kinds,
    request,
    rows,
    submit,
    with_batcher,
)


def test_requests_that_wait_together_run_together_and_get_their_own_rows() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        xs = [rows(10 * n, n + 1) for n in range(3)]
        tasks = [submit(batcher, x) for x in xs]
        await in_line(batcher, 3)
        model.gate.set()
        for x, outputs in zip(xs, await asyncio.gather(*tasks)):
            assert outputs["y"].tolist() == (x * 2 + 1).tolist()
        await first
        assert batches(batcher.recorder) == [[0], [1, 2, 3]]
        assert 6 in model.calls

    with_batcher(model, test)


def test_answers_are_views_of_the_batch_and_a_request_alone_is_not_copied() -> None:
    seen: list[int] = []

    def same(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.data_ptr())
        return x

    model = Model(same, open=False)

    async def test(batcher: Batcher) -> None:
        alone = rows(0, 2)
        first = await hold(batcher, model, alone)
        tasks = [submit(batcher, rows(n, 2)) for n in range(2)]
        await in_line(batcher, 2)
        model.gate.set()
        one, two = await asyncio.gather(*tasks)
        assert one["y"].untyped_storage().data_ptr() == two["y"].untyped_storage().data_ptr()
        assert two["y"].data_ptr() - one["y"].data_ptr() == 2 * 3 * 4
        assert (await first)["y"].data_ptr() == alone.data_ptr() == seen[0]

    with_batcher(model, test)


def test_a_batch_is_never_larger_than_max_batch_and_keeps_the_order() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(0, n)) for n in (1, 2, 2, 9, 1, 1, 4)]
        await in_line(batcher, 7)
        model.gate.set()
        await asyncio.gather(first, *tasks)
        # 9 rows are more than 4 and go alone; nobody overtakes within a lane
        assert batches(batcher.recorder) == [[0], [1, 2], [3], [4], [5, 6], [7]]

    with_batcher(model, test, max_batch=4)


def test_lanes_by_shape_and_dtype() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        kind = [rows(0, 1), rows(0, 1, 4), rows(0, 1).to(torch.float64), rows(0, 1).to(torch.int64)]
        tasks = [submit(batcher, x) for x in kind + kind]
        await in_line(batcher, 8)
        assert len(batcher.lanes) == 4
        model.gate.set()
        answers = await asyncio.gather(*tasks)
        await first
        assert [a["y"].dtype for a in answers] == [x.dtype for x in kind] * 2
        assert [a["y"].shape for a in answers] == [x.shape for x in kind] * 2
        assert sorted(batches(batcher.recorder)[1:]) == [[1, 5], [2, 6], [3, 7], [4, 8]]

    with_batcher(model, test)


def test_requests_without_rows_run_alone() -> None:
    model = Model(lambda *inputs: inputs[0] + 1, open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [
            submit(batcher, 3.0),
            submit(batcher, 4.0),
            submit(batcher, torch.zeros(0, 3)),
            submit(batcher, torch.zeros(0, 3)),
            submit(batcher, rows(0, 2), z=torch.zeros(3)),  # the first sizes do not agree
            submit(batcher, rows(0, 2), z=torch.zeros(3)),
        ]
        await in_line(batcher, 6)
        model.gate.set()
        answers = await asyncio.gather(first, *tasks)
        assert answers[2]["y"].item() == 5.0 and answers[3]["y"].shape == (0, 3)
        assert batches(batcher.recorder) == [[n] for n in range(7)]

    with_batcher(model, test)


def test_max_batch_1_and_a_model_that_takes_no_batches_turn_batching_off() -> None:
    async def test(batcher: Batcher) -> None:
        await asyncio.gather(*(submit(batcher, rows(n, 1)) for n in range(5)))
        assert batches(batcher.recorder) == [[n] for n in range(5)]

    with_batcher(Model(), test, max_batch=1)
    fixed = Model()
    fixed.batchable = False
    with_batcher(fixed, test, max_batch=8)


def test_a_model_may_take_fewer_rows_than_the_settings() -> None:
    model = Model(open=False)
    model.max_rows = 2  # type: ignore[assignment]

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(n, 1)) for n in range(4)]
        await in_line(batcher, 4)
        model.gate.set()
        await asyncio.gather(first, *tasks)
        assert batches(batcher.recorder) == [[0], [1, 2], [3, 4]]

    with_batcher(model, test, max_batch=32)


# Back-pressure


def test_a_full_line_refuses_and_forgets() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        waiting = [submit(batcher, rows(n, 1)) for n in range(3)]
        await in_line(batcher, 3)
        with pytest.raises(
            QueueFull,
            match=r"3 requests \(36 bytes\) wait for model 'fake' already: try again later",
        ):
            await batcher.submit(request(rows(0, 1)))
        assert batcher.queued == 3 and kinds(batcher.recorder, 4) == ["refused"]
        model.gate.set()
        await asyncio.gather(first, *waiting)
        # there is room again
        assert (await batcher.submit(request(rows(0, 1))))["y"].shape == (1, 3)

    with_batcher(model, test, max_queue=3)


def test_a_line_is_full_by_bytes_too_but_one_request_always_fits() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        large = submit(batcher, rows(0, 10))  # 120 bytes, more than may wait: but nobody else does
        await in_line(batcher, 1)
        with pytest.raises(QueueFull):
            await batcher.submit(request(rows(0, 1)))
        large.cancel()
        await in_line(batcher, 0)
        small = [submit(batcher, rows(0, 4)) for _ in range(2)]  # 48 bytes each
        await in_line(batcher, 2)
        with pytest.raises(QueueFull):
            await batcher.submit(request(rows(0, 1)))
        model.gate.set()
        await asyncio.gather(first, *small)

    with_batcher(model, test, max_queue_bytes=100)


# Deadlines and cancellation


def test_a_deadline_that_passes_in_line_is_answered_then_and_nothing_is_computed() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        hurried = submit(batcher, rows(0, 1), timeout=0.02)
        patient = submit(batcher, rows(5, 1), timeout=60)
        with pytest.raises(DeadlineExceeded, match="the deadline passed while the request waited"):
            await hurried  # the model is held back all the time
        assert kinds(batcher.recorder, 1) == ["arrived", "expired"] and batcher.queued == 1
        model.gate.set()
        await asyncio.gather(first, patient)
        assert model.calls == [1, 1]

    with_batcher(model, test)


def test_a_deadline_in_the_past_is_refused() -> None:
    model = Model()

    async def test(batcher: Batcher) -> None:
        with pytest.raises(DeadlineExceeded, match="had passed when the request arrived"):
            await batcher.submit(request(rows(0, 1), timeout=-1))
        assert model.calls == []

    with_batcher(model, test)


def test_hundreds_of_deadlines_that_pass_while_the_loop_is_busy() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        loop = asyncio.get_running_loop()
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(0, 1), timeout=3600) for _ in range(400)]
        await in_line(batcher, 400)
        for waiting in next(iter(batcher.lanes.values())).line:
            # they pass now, and no alarm has been heard
            waiting.request.deadline = loop.time()
        model.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, DeadlineExceeded) for result in results)
        await first
        assert model.calls == [1]

    with_batcher(model, test, max_queue=1000)


def test_a_lane_is_due_when_the_first_of_those_who_are_still_in_it_is() -> None:
    """Whoever joins, leaves from the middle, or is taken with a batch."""
    dice, lane = random.Random(0), Lane("kind")
    for _ in range(500):
        kind = dice.random()
        if kind < 0.5 or not lane.line:
            lane.add(
                Waiting(InferRequest("m", {}), dice.randint(1, 5), 0, 0.0, dice.random(), None)
            )  # type: ignore[arg-type]
        elif kind < 0.8:
            lane.remove(dice.choice(list(lane.line)))
        else:
            lane.take(dice.randint(1, 8))
        due = min((waiting.due for waiting in lane.line), default=float("inf"))
        assert (lane.due, lane.rows) == (due, sum(waiting.rows for waiting in lane.line))
        assert lane.ready(due, 1000) and lane.ready(0, max(lane.rows, 1)) == bool(lane.rows)
        assert not lane.ready(due / 2 - 1, lane.rows + 1) or not lane.line


def test_who_gives_up_leaves_the_line() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(10 * n, 1)) for n in range(3)]
        await in_line(batcher, 3)
        tasks[1].cancel()
        await in_line(batcher, 2)
        model.gate.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[1], asyncio.CancelledError)
        assert answers[2]["y"].tolist() == (rows(20, 1) * 2 + 1).tolist()  # type: ignore[index]
        await first
        assert batches(batcher.recorder) == [[0], [1, 3]] and kinds(batcher.recorder, 2) == [
            "arrived",
            "left",
        ]

    with_batcher(model, test)


def test_who_gives_up_in_the_moment_in_which_the_worker_gets_free_is_not_computed() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(n, 1)) for n in range(2)]
        await in_line(batcher, 2)
        tasks[0].cancel()  # its task has not run since
        batcher.running -= 1
        batcher._start_what_is_ready()
        batcher.running += 1
        model.gate.set()
        await asyncio.gather(first, *tasks, return_exceptions=True)
        assert kinds(batcher.recorder, 1) == ["arrived", "left"]

    with_batcher(model, test, max_delay=0)


def test_who_gives_up_while_being_computed_harms_nobody() -> None:
    model = Model(open=False)

    async def test(batcher: Batcher) -> None:
        first = await hold(batcher, model)
        tasks = [submit(batcher, rows(10 * n, 1)) for n in range(3)]
        await in_line(batcher, 3)
        model.gate.set()
        await first
        model.gate.clear()
        await model.has_begun()
        tasks[0].cancel()
        await asyncio.sleep(0)
        model.gate.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert [a["y"][0, 0].item() for a in answers[1:]] == [21.0, 41.0]  # type: ignore[index]

    with_batcher(model, test)
