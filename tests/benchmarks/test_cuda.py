"""The benchmark of the CUDA backend: how it measures, what it reports, and that every case runs. No
time is tested.
"""

from __future__ import annotations

import datetime
import importlib.util
import itertools
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import internals
from benchmarks.cuda import __main__ as runner, harness, launches
from benchmarks.cuda.cases import FULL, TINY, cases
from tests.support import full
from tools import test_gpu

ROOT = Path(__file__).resolve().parents[2]


class FakeClock(harness.Clock):
    """A clock on which each call takes as many seconds as it returns."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    def seconds(self, call: Callable[[], Any], count: int, on_host: bool = False) -> float:
        return float(call())


def measured(
    sides: dict[str, Callable[[], float]],
    copy: Callable[[], float],
    rounds: int = 3,
    **options: Any,
) -> Any:
    clocks = {name: FakeClock() for name in ("internals", "torch")}
    case = harness.Case("x", sides, **options)
    return harness.run(case, harness.Ceiling(copy, 200), clocks, rounds)


def test_ratios_are_those_of_one_round() -> None:
    ours, theirs = (
        itertools.cycle([1.0, 1.0, 2.0, 4.0, 8.0]),
        itertools.cycle([1.0, 1.0, 4.0, 8.0, 4.0]),
    )
    copy = itertools.cycle([1.0, 1.0, 1.0, 2.0, 4.0])
    result = measured(
        {"internals": lambda: next(ours), "torch": lambda: next(theirs)},
        lambda: next(copy),
        nbytes=100,
    )
    assert (result.bandwidth, result.of_torch, result.microseconds) == (0.25, 2.0, 4e6)


def test_sides_take_turns() -> None:
    turns: list[str] = []

    def side(name: str) -> Callable[[], float]:
        return lambda: turns.append(name) or 1.0

    measured(
        {"internals": side("internals"), "torch": side("torch")}, side("copy"), rounds=2, nbytes=1
    )
    first, second = turns[-6:-3], turns[-3:]
    assert first == list(reversed(second)) == ["copy", "torch", "internals"]


def test_the_device_sleeps_until_the_host_has_queued_everything() -> None:
    """What is timed lies between two events; if the first is over too early, the device sleeps
    longer.
    """
    log: list[str] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            log.append("event")

        def query(self) -> bool:
            return log.count("sleep") < 2  # over, the first time

        def elapsed_time(self, later: Any) -> float:
            return 8.0

    slept: list[int] = []

    def sleep(cycles: int) -> None:
        slept.append(cycles)
        log.append("sleep")

    cuda = SimpleNamespace(Event=Event, synchronize=lambda: log.append("wait"), _sleep=sleep)
    assert harness.Clock(cuda).seconds(lambda: log.append("call"), 2) == 0.004
    assert log == ["sleep", "event", "call", "call", "event", "wait"] * 2
    assert slept == [2 * harness.CYCLES_A_CALL, 4 * harness.CYCLES_A_CALL]


def test_a_case_without_bytes_has_no_share_of_bandwidth() -> None:
    result = measured({"internals": lambda: 1e-6}, lambda: 1.0)
    assert (
        result.bandwidth is None
        and result.of_torch is None
        and result.microseconds == pytest.approx(1.0)
    )


def test_a_case_needs_our_side() -> None:
    with pytest.raises(ValueError, match="'x' has no side 'internals'; it has: torch"):
        measured({"torch": lambda: 1.0}, lambda: 1.0)


@pytest.mark.parametrize(
    ("goal", "bandwidth", "of_torch", "microseconds", "met"),
    [
        (harness.Goal("bandwidth", 0.85), 0.85, None, 1.0, True),
        (harness.Goal("bandwidth", 0.85), 0.84, None, 1.0, False),
        (harness.Goal("torch", 0.5), None, 0.4, 1.0, False),
        (harness.Goal("torch", 0.5), None, None, 1.0, None),
        (harness.Goal("microseconds", 3.0), None, None, 2.9, True),
        (harness.Goal("microseconds", 3.0), None, None, 3.1, False),
    ],
)
def test_goals(
    goal: harness.Goal, bandwidth: Any, of_torch: Any, microseconds: float, met: bool | None
) -> None:
    case = harness.Case("x", {"internals": lambda: None})
    assert goal.met(harness.Result(case, bandwidth, of_torch, microseconds)) is met


def test_rows_of_the_table() -> None:
    case = harness.Case("a + b", {"internals": lambda: None}, 1, harness.Goal("bandwidth", 0.85))
    assert runner.row(harness.Result(case, 0.912, 1.05, 123.44)) == (
        "| a + b | 91% | 105% | 123.4 | 85% of the copy | met |"
    )
    case = harness.Case(
        "block", {"internals": lambda: None}, None, harness.Goal("microseconds", 3.0)
    )
    assert (
        runner.row(harness.Result(case, None, None, 4.0))
        == "| block |  |  | 4.0 | under 3 µs | MISSED |"
    )
    assert runner.HEAD.splitlines()[0].count("|") == runner.row(
        harness.Result(case, None, None, 4.0)
    ).count("|")


def test_without_a_gpu_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internals.cuda, "is_available", lambda: False)
    monkeypatch.setattr(test_gpu, "missing", lambda: "there is no NVIDIA driver on this system")
    assert runner.main([]) == 1 and test_gpu.main([]) == 1
    out, err = capsys.readouterr()
    assert not out and "bench-gpu: there is no GPU to measure" in err
    assert (
        "test-gpu: there is no GPU to test on: there is no NVIDIA driver on this system.\nThe same "
        "tests run" in err
    )


@pytest.mark.slow
def test_a_run_on_a_gpu_goes_on_where_the_last_one_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {
        "passes": "def test(): pass",
        "fails": "def test(): assert 2 == 3",
        "dies": "import os\ndef test(): os._exit(77)",
        "waits": (
            "import os, time\ndef test():\n    while not "
            f"os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.1)"
        ),
    }
    for name, text in programs.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    files = [str(tmp_path / f"test_{name}.py") for name in programs]
    monkeypatch.setattr(test_gpu, "RESULTS", tmp_path / "results")
    done = [test_gpu.result_of(file) for file in files[:3]]

    def piece(until: float = math.inf, again: bool = False) -> int:
        test_gpu.begin(["this"], again)
        test_gpu.run(files, [], until)
        return test_gpu.report(files)

    class UntilThreeAreDone(float):
        def __gt__(self, now: object) -> bool:  # `now < deadline`
            return not all(path.exists() for path in done)

    assert piece(UntilThreeAreDone()) == test_gpu.LEFT
    out = capsys.readouterr().out
    assert "assert 2 == 3" in out and "pytest ended with status 77" in out
    assert (
        "1 passed, 2 failed, 0 skipped\ntest-gpu: 1 of 4 files are left: run it again for them"
        in out
    )
    (tmp_path / "go").touch()
    assert piece() == 1
    out = capsys.readouterr().out
    assert out.startswith(f"4 of 4: {files[3]}") and out.endswith("2 passed, 2 failed, 0 skipped\n")
    (tmp_path / "test_fails.py").write_text(programs["passes"])
    (tmp_path / "test_dies.py").write_text(programs["passes"])
    assert piece() == 0 and capsys.readouterr().out.endswith("4 passed, 0 failed, 0 skipped\n")


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="a libcuda.so can stand in for the driver's on Linux only",
)
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"),
    reason="needs numba-cuda: pip install 'numba-cuda[cu13]'",
)
def test_what_operators_cost_the_host() -> None:
    command = [sys.executable, "-m", "benchmarks.cuda.launches", "--rounds=1", f"--beside={ROOT}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines()]
    assert rows[2:] == [f"| {name}" for name in launches.CASES], done.stderr


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main(["--rounds", "0"])
    assert "--rounds must be at least 1" in capsys.readouterr().err


def test_operands_are_larger_than_any_cache() -> None:
    assert FULL.n == 1 << 26 and FULL.rows * FULL.columns == FULL.n and FULL.side == 4096
    assert TINY.rows * TINY.columns < 1 << 10


def test_what_the_table_says_about_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(name="A GPU", multi_processor_count=132)
    monkeypatch.setattr(internals.cuda, "get_device_properties", lambda index: properties)
    text = runner.setting(["sum"])
    assert (
        str(datetime.date.today())[:4] in text
        and '`make bench-gpu ARGS="sum"`: A GPU, 132 multiprocessors' in text
    )
    assert "\n" not in text and "537 MB read and written" in text


def test_the_promises_are_all_there() -> None:
    """The goals of the project for a real GPU; nothing runs."""

    class Anything:
        __name__ = "internals"

        def __getattr__(self, name: str) -> Any:
            return self

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self

    goals = {c.name: str(c.goal) for c in cases({"internals": Anything()}, FULL) if c.goal}
    assert (
        goals["a + b"] == goals["a.sum(0)"] == "85% of the copy"
        and goals["a @ b"] == "50% of PyTorch"
    )
    assert goals["softmax(a, 1)"] == goals["layer_norm(a)"] == "70% of the copy"
    assert goals["a block from the cache, and back"] == "under 3 µs"


@pytest.mark.sampled(1 / 4)
def test_cases_run_on_the_simulator() -> None:
    """In a process of its own, as the simulator is for a whole process. A few of the cases, all of
    them in the long version.
    """
    words = [] if full() else ["a + b", "a.sum()", "cache"]
    command = [sys.executable, "-m", "benchmarks.cuda", "--simulator", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("On the simulated device") and all(
        line.endswith(": ran") for line in lines[2:]
    )
    assert len(lines) - 2 == (13 if full() else 3) and "%" not in done.stdout


def test_words_that_no_case_contains(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internals.cuda, "is_available", lambda: True)
    for name, result in (("setting", ""), ("found_libraries", {})):
        monkeypatch.setattr(runner, name, lambda *args, result=result: result)
    assert runner.main(["nothing like this"]) == 1
    assert capsys.readouterr().err == "no case contains nothing like this\n"
