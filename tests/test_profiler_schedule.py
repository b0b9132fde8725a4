"""Recording some steps of many."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import internals
from internals.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler
from tests.support import examples, oracle


def quiet_schedule(lib: Any = internals, **numbers: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.profiler.schedule(**numbers)


def steps(prof: Any, count: int, lib: Any = internals) -> None:
    with prof:
        for n in range(count):
            lib.ones(n + 1)
            prof.step()


def test_a_cycle() -> None:
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    none, warmup, record, save = ProfilerAction
    assert [plan(n) for n in range(7)] == [none, none, warmup, record, save, none, none]
    with pytest.raises(AssertionError, match="Step must be non-negative"):
        plan(-1)
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments. Got wait=0"):
        schedule(wait=0, warmup=0, active=0)
    with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)


@examples(60)
@given(*[st.integers(0, 3)] * 2, st.integers(1, 3), *[st.integers(0, 2)] * 3)
def test_schedules_are_pytorchs(wait: int, warmup: int, active: int, repeat: int, skip: int, skip_wait: int) -> None:
    torch = oracle()
    numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip}
    numbers["skip_first_wait"] = skip_wait
    ours, theirs = quiet_schedule(**numbers), quiet_schedule(torch, **numbers)
    assert [ours(n).name for n in range(25)] == [theirs(n).name for n in range(25)]


def test_only_active_steps_are_recorded() -> None:
    seen: list[Any] = []

    def ready(prof: Any) -> None:
        seen.append(
            (prof.step_num, [e.input_shapes for e in prof.events() if e.name == "aten::ones"], len(prof.events()))
        )

    prof = profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready)
    steps(prof, 10)
    assert [(step, len(ones), events) for step, ones, events in seen] == [(4, 2, 4), (8, 2, 4)]
    assert [e.name for e in prof.events()] == ["ProfilerStep*", "aten::ones"] * 2
    names = [e["name"] for e in prof.chrome_trace()["traceEvents"] if e["ph"] == "X"]
    assert names == ["ProfilerStep#6", "aten::ones", "ProfilerStep#7", "aten::ones"]
    assert [(a.key, a.count) for a in prof.key_averages()] == [("ProfilerStep*", 2), ("aten::ones", 2)]


def test_earlier_cycles_can_be_kept() -> None:
    prof = profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=2), acc_events=True)
    steps(prof, 8)
    assert [e.trace_name for e in prof.events() if e.is_user_annotation] == ["ProfilerStep#2", "ProfilerStep#5"]


@pytest.mark.parametrize("count", range(10))
@pytest.mark.parametrize("numbers", [(0, 0, 1, 0), (1, 1, 2, 0), (2, 0, 2, 1), (0, 1, 3, 2), (0, 2, 1, 0)])
def test_whenever_it_ends_traces_are_pytorchs(count: int, numbers: tuple[int, int, int, int]) -> None:
    torch = oracle()
    wait, warmup, active, repeat = numbers

    def traces(lib: Any, **options: Any) -> list[Any]:
        found: list[Any] = []
        prof = lib.profiler.profile(
            schedule=quiet_schedule(lib, wait=wait, warmup=warmup, active=active, repeat=repeat),
            on_trace_ready=lambda p: found.append(
                [e.name for e in p.events() if e.name.startswith(("ProfilerStep", "aten::ones"))]
            ),
            **options,
        )
        steps(prof, count, lib)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = traces(torch, activities=[torch.profiler.ProfilerActivity.CPU])
    assert traces(internals) == theirs


def test_an_exception_in_a_recorded_step_still_hands_over_the_trace() -> None:
    seen: list[int] = []
    prof = profile(schedule=schedule(wait=0, warmup=1, active=5), on_trace_ready=lambda p: seen.append(len(p.events())))
    with pytest.raises(ZeroDivisionError), prof:
        prof.step()
        internals.ones(1)
        1 // 0  # noqa: B018
    assert seen == [2]
    with profile() as after:  # nothing is in its way
        internals.ones(1)
    assert len(after.events()) == 1


def test_a_folder_of_traces(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    steps(
        profile(
            schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=tensorboard_trace_handler(str(folder), "w")
        ),
        4,
    )
    names = [p.name for p in folder.iterdir()]
    assert len(names) == 2 and all(n.startswith("w.") and n.endswith(".pt.trace.json") for n in names)
