"""When the profiler begins and ends: code that fails under it, one profile at a time, other
threads, and others who watch.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

import internals
from internals.core.dispatcher import observe_calls
from internals.profiler import profile, record_function
from tests.profiler.support import assert_nothing_left, mlp, recorded, tree
from tests.support import outcome


def test_a_label_that_ends_late_or_never() -> None:
    never, late = record_function("never ends"), record_function("ends after the profile")
    with profile() as prof, record_function("outer"):
        never.__enter__()
        internals.ones(1)
    with profile() as other:
        late.__enter__()
    late.__exit__()
    assert tree(prof.events().roots()) == [("outer", [("never ends", ["aten::ones"])])]
    assert all(e.time_range.end >= e.time_range.start for e in [*prof.events(), *other.events()])
    assert_nothing_left()


def test_what_fails_is_recorded_and_the_rest_goes_on() -> None:
    model, wrong = mlp(), internals.ones(3, 5)

    def program() -> None:
        with pytest.raises(RuntimeError), record_function("failing"):
            model(wrong)
        internals.ones(2)

    prof = recorded(program, with_modules=True)
    failing, after = prof.events().roots()
    assert tree([failing]) == [
        (
            "failing",
            [
                (
                    "nn.Module: Sequential_0",
                    [("nn.Module: Linear_0", [("aten::linear", ["aten::t", "aten::addmm"])])],
                )
            ],
        )
    ]
    assert after.name == "aten::ones"


def test_an_exception_ends_the_profile() -> None:
    with pytest.raises(ZeroDivisionError), profile(profile_memory=True, with_modules=True) as prof:
        internals.ones(2)
        1 // 0  # noqa: B018
    assert "aten::ones" in [e.name for e in prof.events()]
    assert_nothing_left()


def test_a_failing_node_does_not_confuse_the_nesting() -> None:
    x = internals.ones(2, requires_grad=True)

    def refuse(grad: Any) -> None:
        raise ValueError("no")

    def program() -> None:
        y = x * 2
        y.register_hook(refuse)
        with pytest.raises(ValueError, match="no"):
            y.sum().backward()
        internals.ones(3)

    assert recorded(program).events().roots()[-1].name == "aten::ones"
    assert_nothing_left()


def test_one_profile_at_a_time() -> None:
    with profile() as outer:
        with (
            pytest.raises(RuntimeError, match="Profiler is already enabled on this thread"),
            profile(),
        ):
            pass
        with (
            pytest.raises(RuntimeError, match="already enabled"),
            internals.autograd.profiler.profile(),
        ):
            pass
        internals.ones(1)
    assert [e.name for e in outer.events()] == ["aten::ones"]
    with internals.autograd.profiler.profile() as prof:
        pass
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
        pass
    assert_nothing_left()


def test_other_threads_are_not_recorded_and_not_disturbed() -> None:
    results: list[Any] = []

    def work() -> None:
        results.append((internals.ones(3) * 2).tolist())
        with pytest.raises(RuntimeError, match="already enabled on another thread"), profile():
            pass

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        internals.zeros(1)
    assert results == [[2.0, 2.0, 2.0]]
    assert [e.name for e in prof.events()] == ["aten::zeros"]


def test_a_profile_is_stopped_by_its_own_thread() -> None:
    with internals.autograd.profiler.profile() as prof:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(outcome(lambda: prof.__exit__())[1]))
        thread.start()
        thread.join()
    assert isinstance(found[0], RuntimeError) and "by the thread that started it" in str(found[0])
    assert_nothing_left()


def test_before_and_after() -> None:
    prof = profile()
    for call, purpose in (
        (prof.events, "accessing events"),
        (prof.key_averages, "getting key averages"),
        (lambda: prof.export_chrome_trace("never.json"), "exporting chrome trace"),
        (prof.stop, "stopping trace"),
    ):
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before {purpose}"):
            call()
    with prof:
        pass
    assert prof.key_averages().table() == "" and prof.events() == []
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(TypeError, match="expected ProfilerActivity.CPU"):
        profile(activities=["cpu"])  # type: ignore[list-item]


def test_others_may_watch_at_the_same_time() -> None:
    seen: list[str] = []
    a = internals.ones(2)
    with (
        observe_calls(lambda op, args: seen.append(op.name)),
        profile() as outer,
        internals._dispatch_trace() as steps,
    ):
        a + a
    with profile() as inner, observe_calls(lambda op, args: seen.append(op.name)):
        a * a
    assert seen == ["aten::add.Tensor", "aten::mul.Tensor"] and steps[0]["op"] == "aten::add.Tensor"
    assert [e.name for e in [*outer.events(), *inner.events()]] == ["aten::add", "aten::mul"]
    assert_nothing_left()


def test_inference_mode_inside_and_outside() -> None:
    def program() -> Any:
        with internals.inference_mode():
            return internals.ones(2) + 1

    prof = recorded(program)
    assert [e.name for e in prof.events()] == ["aten::ones", "aten::add"]
    with internals.inference_mode(), profile() as outer:
        assert (internals.ones(2) + 1).is_inference()
    assert [e.name for e in outer.events()] == ["aten::ones", "aten::add"]
