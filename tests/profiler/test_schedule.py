"""Recording some steps of many."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest

import internals
from internals.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler
from tests.answers import answer


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


def test_schedules_are_pytorchs() -> None:
    """Every one of small numbers."""
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    choices = list(itertools.product(range(4), range(3), (1, 3), range(3), range(3), range(3)))

    def plans(lib: Any) -> list[str]:
        """Of each step the first letters of its action."""
        return [
            " ".join(
                quiet_schedule(lib, **dict(zip(names, numbers)))(n).name[:8] for n in range(25)
            )
            for numbers in choices
        ]

    for ours, theirs, numbers in zip(
        plans(internals), answer(plans, family="programs"), choices, strict=True
    ):
        assert ours == theirs, numbers


def test_only_active_steps_are_recorded() -> None:
    seen: list[Any] = []

    def ready(prof: Any) -> None:
        seen.append(
            (
                prof.step_num,
                [e.input_shapes for e in prof.events() if e.name == "aten::ones"],
                len(prof.events()),
            )
        )

    prof = profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready)
    steps(prof, 10)
    assert [(step, len(ones), events) for step, ones, events in seen] == [(4, 2, 4), (8, 2, 4)]
    assert [e.name for e in prof.events()] == ["ProfilerStep*", "aten::ones"] * 2
    names = [e["name"] for e in prof.chrome_trace()["traceEvents"] if e["ph"] == "X"]
    assert names == ["ProfilerStep#6", "aten::ones", "ProfilerStep#7", "aten::ones"]
    assert [(a.key, a.count) for a in prof.key_averages()] == [
        ("ProfilerStep*", 2),
        ("aten::ones", 2),
    ]


def test_earlier_cycles_can_be_kept() -> None:
    prof = profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=2), acc_events=True)
    steps(prof, 8)
    assert [e.trace_name for e in prof.events() if e.is_user_annotation] == [
        "ProfilerStep#2",
        "ProfilerStep#5",
    ]


@pytest.mark.parametrize("count", range(10))
@pytest.mark.parametrize(
    "numbers", [(0, 0, 1, 0), (1, 1, 2, 0), (2, 0, 2, 1), (0, 1, 3, 2), (0, 2, 1, 0)]
)
def test_whenever_it_ends_traces_are_pytorchs(
    count: int, numbers: tuple[int, int, int, int]
) -> None:
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

    def ask(torch: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return traces(torch, activities=[torch.profiler.ProfilerActivity.CPU])

    assert traces(internals) == answer(ask, family="programs")


def test_an_exception_in_a_recorded_step_still_hands_over_the_trace() -> None:
    seen: list[int] = []
    prof = profile(
        schedule=schedule(wait=0, warmup=1, active=5),
        on_trace_ready=lambda p: seen.append(len(p.events())),
    )
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
            schedule=schedule(wait=0, warmup=1, active=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), "w"),
        ),
        4,
    )
    names = [p.name for p in folder.iterdir()]
    assert len(names) == 2 and all(
        n.startswith("w.") and n.endswith(".pt.trace.json") for n in names
    )
