"""`python -m internals` and its doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from apparatus import doctor
from internals import __main__ as command_line

NUMPY = doctor.Probe("numpy", "sharing", "make setup", lambda: "2.0", required=True)
NODE = doctor.Probe("node", "the runtime", "your system", lambda: None)
LAYOUT = doctor.Probe("dot", "pictures", "make setup", lambda: None, required=True)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the doctor see a machine with just these things."""

    def has(*probes: doctor.Probe) -> None:
        monkeypatch.setattr(doctor, "probes", lambda: list(probes))

    return has


def test_all_required_present(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(NUMPY, NODE)
    assert doctor.main([]) == 0
    assert capsys.readouterr().out == (
        "numpy  2.0\n"
        "         for sharing\n"
        "node   absent (optional)\n"
        "         for the runtime\n"
        "         get it: your system\n"
        "\n"
        "The notebooks will run.\n"
    )


def test_required_absent(machine: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    machine(NUMPY, LAYOUT)
    assert doctor.main([]) == 1
    out = capsys.readouterr().out
    assert "dot    absent\n" in out and "get it: make setup" in out
    assert out.endswith("The notebooks will not run: dot missing.\n")


def test_json(machine: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    machine(NODE, LAYOUT)
    assert doctor.main(["--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["notebooks_will_run"] is False
    assert report["findings"][0] == {
        "name": "node",
        "found": None,
        "needed_for": "the runtime",
        "how_to_get": "your system",
        "required": False,
    }


@pytest.mark.sampled(1 / 4)
def test_this_machine_runs_the_notebooks() -> None:
    found = {f.name: f.found for f in doctor.examine(p for p in doctor.probes() if p.required)}
    assert all(found.values()), found
    assert found["Python"] == sys.version.split()[0]


def test_an_absent_package_is_reported_not_raised() -> None:
    assert doctor.module("no_such_package")() is None


def test_a_package_that_does_not_import_counts_as_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brokenpackage.py").write_text("raise OSError('a library is missing')")
    info = tmp_path / "brokenpackage-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brokenpackage\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert doctor.module("brokenpackage", importing=False)() == "1.0"
    assert doctor.module("brokenpackage")() is None


@pytest.mark.sampled(1 / 4)
def test_asking_loads_nothing_that_is_large() -> None:
    """Notebook 00 asks, in every student's kernel."""
    program = (
        "import sys; from apparatus import doctor; print(len(doctor.examine(doctor.probes())), "
        "*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    count, *loaded = run.stdout.split()
    assert int(count) > 15
    assert not {
        "numba",
        "llvmlite",
        "matplotlib",
        "jupyterlab",
        "grpc",
        "graphviz",
        "torch",
    }.intersection(loaded)


def test_layout_prefers_the_wheel_and_falls_back_to_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"graphviz-pure", "dot"}
    monkeypatch.setattr(
        doctor.shutil, "which", lambda name, path=None: name if name in present else None
    )
    monkeypatch.setattr(doctor, "first_line", lambda *command: f"{command[0]} version 1.2 (x)")
    assert doctor.find_layout() == "graphviz-pure 1.2"
    present.remove("graphviz-pure")
    assert doctor.find_layout() == "dot 1.2"
    present.clear()
    assert doctor.find_layout() is None


def test_a_program_that_fails_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.first_line(sys.executable, "-c", "print('v1'); print('more')") == "v1"
    assert doctor.first_line(sys.executable, "-c", "print('v1'); raise SystemExit(3)") is None
    assert doctor.first_line("no-such-program", "--version") is None


def test_an_old_python_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 9))
    assert doctor.find_python() is None


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(doctor.ctypes, "CDLL", no_library)
    assert doctor.find_gpu() is None


def test_which_cuda_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_gpu", lambda: "NVIDIA X")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: object())
    for asked, found in {
        "": "NVIDIA X",
        "gpu": "NVIDIA X",
        "simulator": "simulated (INTERNALS_CUDA=simulator)",
        "Numba-Simulator:2": "simulated (INTERNALS_CUDA=numba-simulator:2)",
        "none": None,
        "simulater": None,
    }.items():
        monkeypatch.setenv("INTERNALS_CUDA", asked)
        assert doctor.find_cuda() == found
    monkeypatch.setenv("INTERNALS_CUDA", "")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.find_cuda() is None


def test_what_keeps_cuda_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, start in {
        "": "set INTERNALS_CUDA=simulator for a simulated GPU; or a GPU",
        "gpu": "set INTERNALS_CUDA=simulator for a simulated GPU; or a GPU",
        "none": "INTERNALS_CUDA=none switches it off; unset it, or set",
        "Simulater:2": "INTERNALS_CUDA=Simulater:2 has no meaning; set INTERNALS_CUDA=simulator",
    }.items():
        monkeypatch.setenv("INTERNALS_CUDA", asked)
        assert next(p for p in doctor.probes() if p.name == "CUDA").how_to_get.startswith(start)


def test_doctor_answers_without_the_package() -> None:
    """Where numpy is missing, `import internals` fails; the doctor as a file still says so."""
    program = [sys.executable, "-S", "-P", doctor.__file__]  # -S: none of the installed packages
    run = subprocess.run(program, capture_output=True, text=True)
    assert run.returncode == 1 and "numpy       absent" in run.stdout, run.stderr


def test_commands_are_listed_and_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in command_line.COMMANDS.items():
        assert f"  {name}" in out and command.summary in out
        assert callable(__import__(command.module, fromlist=["main"]).main)


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["docter"]) == 2
    assert "no command 'docter'; it has: " in capsys.readouterr().err


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main([]) == 2
    assert capsys.readouterr().out.startswith("usage: python -m internals")


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(os.name == "nt", reason="no pipes of this kind on Windows")
def test_a_reader_who_stops_reading_is_no_error() -> None:
    """`python -m internals COMMAND | head -1`: no traceback."""
    program = (
        "import os, sys; from internals.__main__ import main; os.close(1); r, w = os.pipe(); "
        "os.close(r); os.dup2(w, 1)"
    )
    run = subprocess.run(
        [sys.executable, "-c", f"{program}; sys.stdout = open(1, 'w'); sys.exit(main(['doctor']))"],
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (1, "")
