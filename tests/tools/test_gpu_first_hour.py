"""`make gpu-first-hour`: that it says what is missing, goes on where it stopped, and claims only
what ran.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from internals.cuda import backend
from internals.cuda.simulator.driver import SimulatedDriver
from tools import gpu_first_hour as hour, gpu_first_hour_inside as inside
from tools.gpu_first_hour import Step

SANITIZED = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at softmax+0x120 in kernels/softmax.py:40
========= ERROR SUMMARY: 1 error
"""
NCU = """\
==PROF== Profiling "gemm" - 0: 0%....50%....100% - 8 passes
[4242] python3.11@127.0.0.1
  gemm (32, 32, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: Occupancy
    ------------------------------- ----------- ------------
    Metric Name                     Metric Unit Metric Value
    ------------------------------- ----------- ------------
    Block Limit Registers                 block            2
    Theoretical Occupancy                     %           25
    Achieved Occupancy                        %        24.61
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(hour, "FOLDER", tmp_path)
    monkeypatch.setattr(hour, "commit", lambda: "c0ffee")
    return tmp_path


def fake(letter: str, program: str, needs: str = "") -> Step:
    return Step(letter, f"Step {letter}", [sys.executable, "-c", program], hour.every_line, needs)


def test_without_a_gpu_it_says_so_and_runs_nothing(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hour, "missing_gpu", lambda: "there is no NVIDIA driver on this system")
    monkeypatch.setenv("PATH", "")
    assert hour.main([]) == 1
    assert capsys.readouterr().err == (
        "gpu-first-hour: there is no GPU here: there is no NVIDIA driver on this system. Nothing "
        "was run.\n"
        "Also absent: compute-sanitizer, ncu. What needs no GPU: make test ARGS=tests/cuda\n"
    )
    assert not list(own_folder.iterdir())


def test_the_page_has_what_ran_and_says_what_did_not(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [
        fake("a", "print('sum: 6')"),
        fake("b", "print('oh'); raise SystemExit(2)"),
        fake("c", "import time; print('begun', flush=True); time.sleep(60)"),
        fake("d", "", needs="no-such-program"),
        fake("h", "print('3 of 9'); raise SystemExit(3)"),
    ]
    monkeypatch.setattr(hour, "steps", lambda: [*chosen, fake("z", "")])
    assert hour.go_through(chosen, seconds=3) == 1
    page = (own_folder / "page.md").read_text()
    for text in (
        "ran, ",
        "FAILED, status 2",
        "not over after 3 s",
        "left out: no-such-program is not here",
        "to be continued",
    ):
        assert page.count(text) == 1, page
    assert "## z. Step z: not run\n" in page and "    sum: 6\n" in page and "    begun\n" in page


def test_it_goes_on_where_it_stopped(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = f"open({str(own_folder / 'runs')!r}, 'a').write('{{}}')"
    chosen = [fake("a", count.format("a")), fake("h", count.format("h") + "; raise SystemExit(3)")]
    monkeypatch.setattr(hour, "steps", lambda: chosen)
    assert [hour.go_through(chosen) for _ in range(2)] == [1, 1]
    assert (own_folder / "runs").read_text() == "ahh"  # what ran is not run again
    monkeypatch.setattr(hour, "commit", lambda: "other")
    hour.go_through(chosen)
    # what ran at another commit says nothing of this one
    assert (own_folder / "runs").read_text() == "ahhah"


def test_what_programs_print_is_read() -> None:
    assert hour.sanitized(SANITIZED) == [
        "ERROR SUMMARY: 1 error",
        "Invalid __global__ read of size 4 bytes",
    ]
    assert hour.occupancy(NCU) == [
        "gemm", "Block Limit Registers: 2 block", "Theoretical Occupancy: 25 %",
        "Achieved Occupancy: 24.61 %",
    ]  # fmt: skip
    assert hour.last_line("..s\n\n3 passed, 1 skipped in 2.00s\n") == [
        "3 passed, 1 skipped in 2.00s"
    ]
    assert hour.table("Measured on a day\n\n| case |\n|---|\nnoise\n| a + b | 91% |\n") == [
        "Measured on a day", "| case |", "|---|", "| a + b | 91% |",
    ]  # fmt: skip


def test_the_programs_inside_run_on_the_simulated_device() -> None:
    """What they compute there is right, and so is what they print; times there mean nothing."""
    with backend.installed(SimulatedDriver()):
        assert list(inside.rows("cuda")) == list(inside.rows("cpu"))
        lines = list(inside.gemm(side=8, rounds=1))
    assert [line.partition(":")[0] for line in lines[:2]] == [
        "launch bounds (256, 2)",
        "launch bounds (256, 1)",
    ]


def test_each_step_has_a_letter_and_a_program_of_this_project() -> None:
    steps = hour.steps()
    assert len({step.letter for step in steps}) == len(steps) and {
        step.letter[0] for step in steps
    } == set("abcdefgh")
    assert all(sys.executable in step.command for step in steps)
