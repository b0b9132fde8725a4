"""Any requests at any time: what must hold of every batcher. Rehearsed on a clock that jumps, and
once more with real threads.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")

import internals as torch
from apparatus.rehearsal import Arrival, Rehearsal, rehearse
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.record import Recorder
from internals.serving.errors import DeadlineExceeded, ModelFailed, QueueFull
from internals.serving.models.served_model import ServedModel
from tests.serving.batching_support import Model, request, with_batcher

BAD = -1.0  # a model refuses a request that begins with it
EPSILON = 1e-6


def triple(x: torch.Tensor) -> torch.Tensor:
    if (x[:, 0] == BAD).any():
        raise RuntimeError("bad")
    return x * 3


TRIPLE = ServedModel.from_module(triple, "triple")
KINDS = [
    ((2,), torch.float32),
    ((3,), torch.float32),
    ((2,), torch.float64),
    ((2, 2), torch.float32),
]


def inputs_of(number: int, rows: int, kind: int, bad: bool) -> torch.Tensor:
    """Values that occur in no other request."""
    shape, dtype = KINDS[kind]
    count = rows * int(np.prod(shape))
    x = (
        torch.arange(float(1000 * number + 1), float(1000 * number + 1 + count))
        .view(rows, *shape)
        .to(dtype)
    )
    if bad:
        x[0] = BAD
    return x


milliseconds = st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 7.0, 20.0])
coming = st.tuples(
    milliseconds,  # after the one before
    st.integers(1, 6),
    st.integers(0, len(KINDS) - 1),
    st.none() | st.sampled_from([0.5, 3.0, 5.0, 8.0, 30.0]),
    st.none() | st.sampled_from([0.0, 1.0, 4.0, 9.0]),
    st.sampled_from([False] * 6 + [True]),
)
OPTIONS = st.fixed_dictionaries(
    {
        "max_batch": st.sampled_from([1, 2, 4, 8]),
        "max_delay": st.sampled_from([0.0, 1.0, 5.0]),
        "workers": st.sampled_from([1, 1, 3]),
        "max_queue": st.sampled_from([3, 8, 100]),
    }
)


@pytest.mark.sampled(1 / 4)
@settings(max_examples=150)
@given(
    st.lists(coming, max_size=30), OPTIONS, st.sampled_from([0.5, 5.0]), st.sampled_from([0.0, 1.0])
)
def test_what_always_holds(
    requests: list[Any], options: dict[str, Any], a: float, b: float
) -> None:
    at = itertools.accumulate(r[0] for r in requests)
    xs = [inputs_of(n, rows, kind, bad) for n, (_, rows, kind, _, _, bad) in enumerate(requests)]
    arrivals = [
        Arrival(when, rows, timeout, patience, {"x": x})
        for when, x, (_, rows, _, timeout, patience, _) in zip(at, xs, requests)
    ]
    rehearsal = rehearse(arrivals, a, b, TRIPLE, **options)
    everybody_gets_their_own(requests, xs, rehearsal)
    batches_are_as_allowed(requests, rehearsal.recorder, **options)
    the_line_is_bounded(rehearsal.recorder, options["max_queue"])
    nobody_waits_longer_than_needed(requests, rehearsal.recorder, options, arrivals)
    batcher = rehearsal.batcher
    assert batcher is not None and batcher.execution.batching == (options["max_batch"] > 1)
    assert (batcher.queued, batcher.queued_bytes, batcher.running, batcher.lanes) == (0, 0, 0, {})


def everybody_gets_their_own(
    requests: list[Any], xs: list[torch.Tensor], rehearsal: Rehearsal
) -> None:
    ends = {
        e.request: e.kind for e in rehearsal.recorder.events if e.kind not in ("arrived", "started")
    }
    for n, ((_, _, _, timeout, patience, bad), x, outcome) in enumerate(
        zip(requests, xs, rehearsal.outcomes)
    ):
        if isinstance(outcome, dict):
            assert not bad and ends[n] == "finished"
            assert outcome["OUTPUT__0"].tolist() == (x * 3).tolist()
        elif isinstance(outcome, ModelFailed):
            assert bad and str(outcome) == "bad"
        elif isinstance(outcome, QueueFull):
            assert ends[n] == "refused"
        elif isinstance(outcome, DeadlineExceeded):
            assert timeout is not None and ends[n] == "expired"
        else:
            assert isinstance(outcome, asyncio.CancelledError) and patience is not None
            # before or while it was computed
            assert ends.get(n, "never came") in ("left", "finished", "never came")


def batches_are_as_allowed(
    requests: list[Any], recorder: Recorder, max_batch: int, **_: Any
) -> None:
    gone: set[int] = set()
    members: dict[int, list[int]] = defaultdict(list)
    started: dict[int, list[int]] = defaultdict(list)
    for event in recorder.events:
        if event.kind == "started":
            assert event.request not in gone, (
                "computed after it had left, was too late or was started already"
            )
            members[event.batch].append(event.request)
            started[requests[event.request][2]].append(event.request)
            timeout = requests[event.request][3]
            arrived = next(e.at for e in recorder.events if e.request == event.request)
            assert timeout is None or event.at < arrived + timeout / 1000 + EPSILON
        if event.kind not in ("arrived", "finished"):
            gone.add(event.request)
    for batch in members.values():
        assert len({requests[n][2] for n in batch}) == 1, "two kinds in one batch"
        assert len(batch) == 1 or sum(requests[n][1] for n in batch) <= max_batch
    for order in started.values():
        assert order == sorted(order), "somebody was overtaken within a lane"


def the_line_is_bounded(recorder: Recorder, max_queue: int) -> None:
    length = 0
    for event in recorder.events:
        if event.kind == "refused":
            assert length == max_queue, "refused though there was room"
        length += {"arrived": 1, "started": -1, "left": -1, "expired": -1}.get(event.kind, 0)
        assert 0 <= length <= max_queue
    assert length == 0, "somebody waits for ever"


def nobody_waits_longer_than_needed(
    requests: list[Any], recorder: Recorder, options: dict[str, Any], arrivals: list[Arrival]
) -> None:
    """Whoever waited longer than max_delay had to: until then all workers were busy."""
    busy, changes = 0, dict[float, int]()  # time -> workers at work from then on
    running: set[int] = set()
    for event in recorder.events:
        if event.kind == "started" and event.batch not in running:
            running.add(event.batch)
            busy += 1
        elif event.kind == "finished" and event.batch in running:
            running.remove(event.batch)
            busy -= 1
        changes[event.at] = busy
    arrived = {e.request: e.at for e in recorder.events if e.kind == "arrived"}
    for event in recorder.events:
        if event.kind in ("started", "left", "expired"):
            due = arrived[event.request] + options["max_delay"] / 1000
            free = [
                at
                for at, n in changes.items()
                if due + EPSILON < at < event.at - EPSILON and n < options["workers"]
            ]
            assert not free, f"request {event.request} was due, and a worker was free"


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(0, 3), st.booleans(), st.booleans()),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([1, 3]),
    st.sampled_from([1, 4, 16]),
)
def test_with_real_threads_everybody_gets_their_own(
    requests: list[Any], workers: int, max_batch: int
) -> None:
    xs = [inputs_of(n, rows, kind, bad) for n, (rows, kind, bad, _) in enumerate(requests)]

    def function(x: torch.Tensor) -> torch.Tensor:
        try:
            return triple(x)
        except RuntimeError as error:
            raise ModelFailed(str(error)) from None

    async def test(batcher: Batcher) -> None:
        tasks = [asyncio.create_task(batcher.submit(request(x))) for x in xs]
        await asyncio.sleep(0)
        for task, (_, _, _, gives_up) in zip(tasks, requests):
            if gives_up:
                task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for x, (_, _, bad, gives_up), outcome in zip(xs, requests, outcomes):
            if gives_up:
                assert isinstance(outcome, asyncio.CancelledError)
            elif bad:
                assert isinstance(outcome, ModelFailed) and str(outcome) == "bad"
            else:
                assert not isinstance(outcome, BaseException), outcome
                assert outcome["y"].tolist() == (x * 3).tolist()

    with_batcher(Model(function), test, workers=workers, max_batch=max_batch, max_delay=0.2)


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 4)), min_size=1, max_size=12
    )
)
def test_padding_changes_no_answer(sizes: list[tuple[int, int, int]]) -> None:
    xs = [
        inputs_of(n, rows, 0, False)[:, :1].view(rows, 1, 1) * torch.ones(rows, h, w)
        for n, (rows, h, w) in enumerate(sizes)
    ]
    rehearsal = rehearse(
        [Arrival(0, inputs={"x": x}) for x in xs], model=TRIPLE, pad=True, max_batch=8
    )
    for x, outcome in zip(xs, rehearsal.outcomes):
        assert isinstance(outcome, dict) and outcome["OUTPUT__0"].tolist() == (x * 3).tolist()


# The rehearsal itself


def test_a_rehearsal_takes_the_time_of_its_formula() -> None:
    found = rehearse(
        [Arrival(0), Arrival(0.5), Arrival(9, rows=4)], a=5, b=1, max_batch=4, max_delay=2
    )
    assert found.latencies == [9.0, 8.5, 9.0]
    assert [(e.kind, e.request, round(e.at * 1000, 6)) for e in found.recorder.events] == [
        ("arrived", 0, 0.0),
        ("arrived", 1, 0.5),
        ("started", 0, 2.0),
        ("started", 1, 2.0),
        ("finished", 0, 9.0),
        ("finished", 1, 9.0),
        ("arrived", 2, 9.0),
        ("started", 2, 9.0),
        ("finished", 2, 18.0),
    ]


def test_a_rehearsal_is_the_same_twice_and_says_what_is_wrong_with_it() -> None:
    arrivals = [
        Arrival(n * 0.7, 1 + n % 3, timeout=9, patience=5 if n % 4 == 0 else None)
        for n in range(200)
    ]
    assert (
        rehearse(arrivals, max_batch=4).recorder.events
        == rehearse(arrivals, max_batch=4).recorder.events
    )
    with pytest.raises(ValueError, match="in order of time"):
        rehearse([Arrival(1), Arrival(0)])
    with pytest.raises(ValueError, match="max_batch"):
        rehearse([], max_batch=0)
    assert rehearse([]).outcomes == []
