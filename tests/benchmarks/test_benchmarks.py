"""The benchmarks' harness and runner: checks before it times, takes turns, compares with every
side. Times are not tested.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from benchmarks import (
    __main__ as runner,
    cases as every_module,
    correctness,
    harness,
    results,
    worker,
)
from benchmarks.harness import Absent, Case, Timed

seconds = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30)


def timed_case(sides: dict[str, Any], **more: Any) -> Case:
    return Case("x", lambda: sides, unchecked="only times", self_timed=True, **more)


def test_the_ratios_of_self_timed_sides() -> None:
    ours = itertools.cycle([2.0, 2.0, 4.0, 6.0, 8.0, 10.0])  # the first is the trial's
    sides = {"internals": lambda: Timed(next(ours)), "numpy": lambda: Timed(2.0)}
    (found,) = harness.ratios(harness.run(timed_case(sides, goals={"numpy": 2.5}, rounds=5)))
    assert (found.median, found.lower, found.upper) == (3.0, 2.0, 4.0)
    assert (found.against, found.rounds, found.fastest) == ("numpy", 5, 1.0)
    assert found.judged == 3.0 and found.met is False


@given(seconds, st.data())
def test_the_spread_encloses_the_median_and_a_single_round_has_none(
    ours: list[float], data: st.DataObject
) -> None:
    theirs = data.draw(st.lists(st.floats(1e-6, 1e3), min_size=len(ours), max_size=len(ours)))
    found = harness.ratio("torch", ours, theirs)
    each = [a / b for a, b in zip(ours, theirs)]
    tiny = 1e-9 * max(each)
    assert (
        min(each) - tiny <= found.lower <= found.median + tiny
        and found.median <= found.upper + tiny
    )
    assert found.upper <= max(each) + tiny and math.isclose(found.median, float(np.median(each)))
    assert found.fastest == min(ours) / min(theirs) and found.met is None
    if len(ours) == 1:
        assert found.lower == found.median == found.upper == each[0]


def test_on_the_processors_clock_the_fastest_rounds_count() -> None:
    wall = harness.ratio("torch", [1.0, 3.0, 3.0], [1.0, 1.0, 1.0], goal=2.0)
    cpu = harness.ratio("torch", [1.0, 3.0, 3.0], [1.0, 1.0, 1.0], goal=2.0, by_fastest=True)
    assert (wall.judged, wall.met) == (3.0, False) and (cpu.judged, cpu.met) == (1.0, True)


def test_sides_take_turns() -> None:
    calls: list[str] = []

    def side(name: str) -> Timed:
        calls.append(name)
        return Timed(1.0)

    sides = {name: (lambda name=name: side(name)) for name in ("internals", "numpy", "torch")}
    found = harness.ratios(harness.run(timed_case(sides, rounds=2)))
    assert [ratio.against for ratio in found] == ["numpy", "torch"]
    assert calls[3:] == ["torch", "numpy", "internals", "internals", "numpy", "torch"]


def test_a_long_case_has_fewer_rounds_but_never_less_than_the_least() -> None:
    sides = {"internals": lambda: Timed(1.0), "numpy": lambda: Timed(1.0)}
    assert (
        len(harness.run(timed_case(sides, rounds=1000), budget=0.0).seconds["numpy"])
        == harness.LEAST_ROUNDS
    )
    assert len(harness.run(timed_case(sides, rounds=2), budget=0.0).seconds["numpy"]) == 2
    assert len(harness.run(timed_case(sides, rounds=1000), budget=60.0).seconds["numpy"]) == 1000


def test_repeated_sides_are_called_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "ROUND_SECONDS", 1e-4)
    sides = {"internals": lambda: 1, "numpy": lambda: 1}
    for threads, clock in ((1, "wall"), (1, "cpu"), (2, "wall")):
        case = Case("x", lambda: sides, reference=lambda: 1, threads=threads, clock=clock, rounds=2)
        (found,) = harness.ratios(harness.run(case))
        assert found.median > 0 and found.fastest > 0


def test_a_case_needs_our_side() -> None:
    with pytest.raises(ValueError, match="'x' has no side 'internals'; it has: numpy"):
        harness.run(timed_case({"numpy": lambda: Timed(1.0)}))


# What is timed is right


def test_a_wrong_side_stops_the_case_before_anything_is_timed() -> None:
    timed: list[str] = []

    def wrong() -> Any:
        timed.append("called")
        return internals.tensor([1.0, 2.1])

    case = Case(
        "x",
        lambda: {"internals": wrong, "numpy": lambda: np.array([1.0, 2.0])},
        lambda: np.array([1.0, 2.0]),
    )
    with pytest.raises(correctness.WrongResult, match="internals is off by 0.05; 1e-05 is allowed"):
        harness.run(case)
    assert timed == ["called"]
    entry = worker.measured(case, budget=0.0)
    assert (
        entry["error"].startswith("wrong result: internals is off by 0.05")
        and entry["ratios"] == []
    )
    assert runner.wrong(entry)


def test_a_wrong_peer_stops_it_too() -> None:
    case = Case(
        "x",
        lambda: {"internals": lambda: 1.0, "torch": lambda: float("nan")},
        reference=lambda: 1.0,
    )
    with pytest.raises(correctness.WrongResult, match="torch is off by inf"):
        harness.run(case)


def test_what_was_off_is_kept() -> None:
    case = Case(
        "x",
        lambda: {"internals": lambda: 1.25, "torch": lambda: 1.0},
        lambda: 1.0,
        tolerance=0.5,
        rounds=1,
    )
    assert harness.run(case).errors == {"internals": 0.25, "torch": 0.0}


@pytest.mark.parametrize(
    ("found", "right", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 3.0], [1.0, 4.0], 0.25),
        ([0.5], [0.0], 0.5),
        ([1.0], [1.0, 2.0], math.inf),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.inf, 1.0], [-math.inf, 1.0], math.inf),
        ([math.nan], [1.0], math.inf),
        ([1.0], [math.nan], math.inf),
        ([], [], 0.0),
    ],
)
def test_how_far_a_result_is_off(found: list[float], right: list[float], far: float) -> None:
    assert correctness.error(np.array(found), np.array(right)) == far


def test_results_of_every_kind_become_arrays() -> None:
    t = internals.arange(4).view(2, 2)
    assert np.array_equal(correctness.as_array(t), [[0, 1], [2, 3]])
    assert np.array_equal(
        correctness.as_array([t.float().requires_grad_(), 7, np.float32(8)]), [0, 1, 2, 3, 7, 8]
    )
    assert correctness.as_array(True).dtype == np.float64


# Who cannot take part


def test_an_absent_side_is_named_with_its_reason() -> None:
    sides = {
        "internals": lambda: 1,
        "tinygrad": Absent("tinygrad needs clang, and there is none"),
        "numpy": lambda: 1,
    }
    measurement = harness.run(Case("x", lambda: sides, reference=lambda: 1, rounds=1))
    assert measurement.absent == {"tinygrad": "tinygrad needs clang, and there is none"}
    assert [ratio.against for ratio in harness.ratios(measurement)] == ["numpy"]


def test_a_peer_that_fails_is_left_out_and_we_are_not() -> None:
    def fails() -> None:
        raise RuntimeError("no compiler\nand more")

    measurement = harness.run(
        Case("x", lambda: {"internals": lambda: 1, "torch": fails}, lambda: 1, rounds=1)
    )
    assert measurement.absent == {"torch": "RuntimeError: no compiler"}
    with pytest.raises(RuntimeError, match="no compiler"):
        harness.run(Case("x", lambda: {"internals": fails, "torch": lambda: 1}, lambda: 1))


# The runner


def test_every_module_takes_part_and_says_what_it_is() -> None:
    folder = Path(every_module.__file__).parent
    assert set(every_module.MODULES) == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    names = []
    for module, cases in runner.all_cases():
        assert module.TITLE and module.ABOUT and cases
        names += [(case.name) for case in cases]
        for case in cases:
            assert (case.reference is None) == bool(case.unchecked), (
                f"{case.name}: checked, or why not"
            )
            assert case.clock in harness.CLOCKS and (case.clock == "wall" or case.threads == 1), (
                case.name
            )
    assert len(set(names)) == len(names)


def test_listing_the_cases_imports_no_peer() -> None:
    program = "import sys; from benchmarks import __main__ as m; m.main(['--list', '--full']); "
    program += "print([n for n in ('torch', 'tinygrad', 'micrograd', 'numba') if n in sys.modules])"
    assert run_python(program).splitlines()[-1] == "[]"


def test_words_choose(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["--list", "matmul"]) == 0
    few = capsys.readouterr().out.splitlines()
    assert runner.main(["--list", "--full", "matmul"]) == 0
    assert len(few) < len(capsys.readouterr().out.splitlines())
    assert all(line.startswith("matmul: ") for line in few)
    assert runner.main(["no such case"]) == 1
    assert "no benchmark case contains no such case" in capsys.readouterr().err


@pytest.mark.sampled(1 / 4)
def test_a_run_from_the_command_line_to_the_kept_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(runner, "SECONDS", 0.0)
    assert runner.main(["--save", "64 x 64 @"]) == 0
    (path,) = (path for path in tmp_path.iterdir() if not path.stem.endswith("-seconds"))
    record = results.read(path)
    (group,) = record["groups"]
    (case,) = group["cases"]
    assert (group["module"], case["name"], case["error"]) == ("matmul", "64 x 64 @ 64 x 64", None)
    assert record["command"] == "python -m benchmarks --save '64 x 64 @'" and not record["full"]
    assert 0 < case["errors"]["internals"] < 1e-5 and {"numpy"} <= {
        ratio["against"] for ratio in case["ratios"]
    }


def test_a_crash_costs_one_case(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def process(command: list[str], **more: Any) -> Any:
        task = json.loads(Path(command[-1]).read_text())
        done = list(itertools.takewhile(lambda name: name != "b", task["cases"]))
        entries = [runner.crashed(name, 1, 0) | {"error": None} for name in done]
        Path(task["found"]).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return SimpleNamespace(returncode=0 if "b" not in task["cases"] else -11)

    monkeypatch.setattr(runner.subprocess, "run", process)
    module: Any = SimpleNamespace(__name__="benchmarks.cases.m", TITLE="M", ABOUT="about")
    group = runner.measure(module, [Case(name, dict) for name in "abc"], 0.0, as_json=True)
    errors = [case["error"] for case in group["cases"]]
    assert errors == [None, "the process ended with status -11", None]


def test_a_worker_gets_its_number_of_threads_before_anything_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = runner.environment(2)
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "2"


def run_python(program: str) -> str:
    import subprocess

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=runner.ROOT
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
