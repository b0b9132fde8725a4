"""The benchmark runner: it takes turns, compares with every side, and finds the cases. Times are not tested."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from benchmarks import __main__ as runner
from benchmarks import harness, training


def test_ratios_of_self_timed_sides() -> None:
    ours = itertools.cycle([2.0, 4.0, 6.0])
    case = harness.Case(
        "x", {"internals": lambda: next(ours), "numpy": lambda: 2.0}, {"numpy": 1.5}, self_timed=True, rounds=3
    )
    (result,) = harness.run(case)
    assert result == harness.Result("x", "numpy", median=2.0, fastest=1.0, goal=1.5)
    assert not result.met
    assert runner.line(result, 3) == "x       2.00     1.00   x numpy   goal 1.50: MISSED"


def test_sides_take_turns() -> None:
    calls: list[str] = []

    def side(name: str) -> float:
        calls.append(name)
        return 1.0

    sides = {name: (lambda name=name: side(name)) for name in ("internals", "numpy", "torch")}
    results = harness.run(harness.Case("x", sides, self_timed=True, rounds=2))
    assert [result.against for result in results] == ["numpy", "torch"]
    assert calls == ["torch", "numpy", "internals", "internals", "numpy", "torch"]


def test_repeated_sides_are_called_and_counted() -> None:
    results = harness.run(harness.Case("x", {"internals": lambda: None, "numpy": lambda: None}, rounds=2))
    assert results[0].median > 0 and results[0].fastest > 0


def test_a_case_needs_our_side() -> None:
    with pytest.raises(ValueError, match="'x' has no side 'internals'; it has: numpy"):
        harness.run(harness.Case("x", {"numpy": lambda: None}))


def test_every_module_offers_cases_with_our_side_and_another() -> None:
    found = list(runner.all_cases())
    assert "import_time" in {module for module, _ in found}
    for module, case in found:
        assert harness.OURS in case.sides and len(case.sides) > 1, (module, case.name)
    assert len({case.name for _, case in found}) == len(found)


@pytest.mark.parametrize("sides", [training.digits_sides, training.moons_sides])
def test_all_sides_of_a_training_step_lose_the_same(sides: Any) -> None:
    steps = sides(training.digits_weights() if sides is training.digits_sides else training.moons_weights())
    assert {"internals", "numpy"} <= set(steps)
    losses = {name: [value(step()) for _ in range(4)] for name, step in steps.items()}
    for name in losses:
        assert losses[name] == pytest.approx(losses["numpy"], rel=1e-4), name
    assert losses["numpy"][-1] < losses["numpy"][0]


def value(loss: Any) -> float:
    return loss.item() if hasattr(loss, "item") else loss


def test_a_small_ratio_is_printed_with_the_digits_it_has() -> None:
    result = harness.Result("moons", "micrograd", median=0.000571, fastest=0.05, goal=1 / 300)
    assert runner.line(result, 5) == "moons  0.00057     0.05   x micrograd   goal 0.0033: met"


def test_a_note_is_printed_beside_the_results(capsys: Any, monkeypatch: Any) -> None:
    sides = {"internals": lambda: 1.0, "numpy": lambda: 1.0}
    case = harness.Case("x", sides, self_timed=True, rounds=1, note="something is absent")
    monkeypatch.setattr(runner, "all_cases", lambda: iter([("module", case)]))
    monkeypatch.setattr("sys.argv", ["benchmarks", "x"])
    assert runner.main() == 0
    out, err = capsys.readouterr()
    assert "x numpy" in out and err == "x: something is absent\n"
