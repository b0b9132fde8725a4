"""`make test` itself: its workers, its closing lines, and that its sample comes round to every
case.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tools import sampling, test as closing
from tools.notebook_files import ROOT

SAYS = """
import os, pytest
@pytest.fixture
def broken():
    yield
    raise ValueError("afterwards")
def test_good(): assert SHARED
def test_bad(): assert [] == [1], "it is said how"
@pytest.mark.skip(reason="a reason")
def test_skipped(): pass
@pytest.mark.xfail(reason="known")
def test_expected(): assert False
@pytest.mark.parametrize("n", range(40))
def test_cases(n): pass
def test_torn_down(broken): pass
SHARED = True
"""
FILES = {
    "tests/test_says.py": SAYS,
    "tests/test_dies.py": "import os\ndef test_exit(): os._exit(9)\ndef test_never(): pass\n",
    "tests/test_wrong.py": "import no_such_module\n",
    "tests/test_asks.py": "import pytest\npytest.skip('not here', allow_module_level=True)\n",
    "tests/inner/test_says.py": "def test_fixture(given): assert given == 7\n",
    "tests/inner/conftest.py": (
        "import pytest\n@pytest.fixture(scope='session')\ndef given(): return 7\n"
    ),
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n',
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(closing, "ROOT", tmp_path)
    monkeypatch.setattr(closing, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(closing, "SECONDS", tmp_path / "seconds.json")
    monkeypatch.setattr(closing, "GIANTS", ["tests/test_says.py"])
    monkeypatch.setattr(closing, "WORKERS", 1)
    return tmp_path


def test_files_are_shared_out_and_every_end_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closing.SECONDS.write_text(json.dumps({"tests/test_dies.py": 100.0, "tests/test_gone.py": 5.0}))
    problems = closing.run_tests(
        {"tests": ["tests", "-k", "not cases"]}, {**os.environ, "PYTHONPATH": str(ROOT)}
    )
    # which began first; the rest is run all the same
    assert problems == ["pytest ended with status 9 in tests/test_dies.py"]
    closing.remember_seconds()
    assert closing.report(problems, [], []) == 1
    out = capsys.readouterr().out
    assert "AssertionError: it is said how" in out and "No module named 'no_such_module'" in out
    assert "ValueError: afterwards" in out
    assert "skipped 1, because a reason: tests/test_says.py (1)\n" in out
    assert "skipped 1, because known: tests/test_says.py (1)\n" in out
    assert "skipped 1, because not here: tests/test_asks.py (1)\n" in out
    failed = (
        next(line for line in out.splitlines() if line.startswith("failed: "))
        .removeprefix("failed: ")
        .split(", ")
    )
    named = {
        "tests/test_says.py::test_bad",
        "tests/test_says.py::test_torn_down",
        "tests/test_wrong.py",
    }
    assert set(failed) == {*named, *problems}
    assert out.endswith("\n2 passed, 4 failed, 3 skipped\n")
    assert {"tests/test_says.py", "tests/inner/test_says.py", "tests/test_gone.py"} <= set(
        closing.known_seconds()
    )


def test_a_giant_begins_early_until_its_time_is_known(project: Path) -> None:
    # what was run so far, with ARGS=
    closing.SECONDS.write_text(json.dumps({"tests/test_asks.py": 1.0}))
    assert closing.known_seconds() == {"tests/test_asks.py": 1.0, "tests/test_says.py": 60.0}
    closing.SECONDS.write_text(json.dumps({"tests/test_says.py": 2.0}))
    assert closing.known_seconds() == {"tests/test_says.py": 2.0}


@pytest.mark.sampled(1 / 4)
def test_single_tests_and_what_is_not_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert (
        closing.run_tests(
            {"tests": ["tests/test_says.py::test_cases", "tests/inner", "-x"]}, environment
        )
        == []
    )
    assert closing.report([], [], []) == 0
    assert capsys.readouterr().out.endswith("\n41 passed, 0 failed, 0 skipped\n")
    (project / "tests/test_says.py").write_text(SAYS.replace("SHARED = True", "SHARED = False"))
    # the others are not begun
    assert closing.run_tests({"tests": ["tests", "-x"]}, environment) == []
    assert (
        closing.report([], [], []) == 1
        and "\nfailed: tests/test_says.py::test_good\n" in capsys.readouterr().out
    )
    problems = closing.run_tests({"tests": ["tests/test_says.py::test_nothing"]}, environment)
    assert problems == ["pytest ended with status 4"] and "not found" in capsys.readouterr().out
    assert closing.report(problems, [], []) == 1


def test_paths_are_told_from_words() -> None:
    assert closing.apart(["-x", "tests/tools/test_tools.py", "-k", "viz"]) == (
        ["tests/tools/test_tools.py"],
        ["-x", "-k", "viz"],
    )
    assert closing.lanes(["tests", "notebooks"], ["-x"]) == {
        "notebooks": ["notebooks", "-x"],
        "tests": ["tests", "-x"],
    }
    assert closing.lanes(["tests/tools/test_tools.py"], []) == {
        "tests": ["tests/tools/test_tools.py"]
    }


RESULTS = [
    {"test": "tests/test_a.py::test_one", "outcome": "passed", "text": ""},
    {"test": "tests/test_a.py::test_two", "outcome": "failed", "text": "no"},
    {"test": "tests/test_b.py::test_three", "outcome": "skipped", "text": "torch is not installed"},
    {
        "test": "tests/test_b.py::test_four[a.ipynb]",
        "outcome": "skipped",
        "text": "torch is not installed",
    },
    {"test": "notebooks/01_tensors.ipynb::Cell 0", "outcome": "passed", "text": ""},
    {"test": "notebooks/01_tensors.ipynb::Cell 1", "outcome": "failed", "text": "kernel died"},
]


def test_closing_lines(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (closing.RESULTS / "tests").mkdir(parents=True)
    (closing.RESULTS / "tests" / "results-1").write_text(
        "".join(json.dumps(line) + "\n" for line in RESULTS) + '{"te'
    )
    assert closing.report([], ["types"], ["lint", "types"]) == 1
    out = capsys.readouterr().out
    assert "lint      ok\ntypes     FAILED\n" in out
    assert (
        "tests     1 passed, 1 failed, 2 skipped\nnotebooks 1 passed, 1 failed, 0 skipped\n" in out
    )
    assert "skipped 2, because torch is not installed: tests/test_b.py (2)\n" in out
    assert "failed: tests/test_a.py::test_two, notebooks/01_tensors.ipynb::Cell 1, types\n" in out
    assert out.endswith("\n3 passed, 3 failed, 2 skipped\n")


def test_a_run_without_results_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert closing.report([], [], ["lint"]) == 1
    assert "no tests were run" in capsys.readouterr().out


def git(folder: Path, *command: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *who, *command], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_in_sixteen_commits_every_case_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges among them: what came with a merge is no step of its own."""
    git(tmp_path, "init", "-q", "-b", "main")
    for n in range(20):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", str(n))
        if n == 9:
            git(tmp_path, "checkout", "-q", "-b", "side", "HEAD~3")
            git(tmp_path, "commit", "-q", "--allow-empty", "-m", "aside")
            git(tmp_path, "checkout", "-q", "main")
            git(tmp_path, "merge", "-q", "--no-ff", "-m", "merged", "side")
    monkeypatch.setattr(sampling, "ROOT", tmp_path)
    row = git(tmp_path, "rev-list", "--first-parent", "HEAD").split()
    turns = [sampling.seed(commit).turn for commit in row]
    assert len(turns) == 21 and turns == list(range(21, 0, -1))
    assert sampling.seed() == sampling.seed("HEAD") == (21, row[0][:12])
    for parts in (1, 2, 3, 4, 6, 16):
        for case in map(str, range(200)):
            for some in range(21 - parts):
                run = [
                    turn
                    for turn in turns[some : some + parts]
                    if sampling.in_sample(case, 1 / parts, turn)
                ]
                assert len(run) == 1
    chosen = [
        case
        for case in range(1000)
        if sampling.in_sample(f"tests/test_x.py::test_f[{case}]", 1 / 3, 5)
    ]
    assert 270 < len(chosen) < 400
    with pytest.raises(ValueError, match="at most 16"):
        sampling.in_sample("case", 1 / 17, 0)
    with pytest.raises(SystemExit, match="no commit 0123456789ab here"):
        sampling.seed("0123456789ab")


def test_seeds_of_what_is_no_whole_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin, shallow, bare = tmp_path / "origin", tmp_path / "shallow", tmp_path / "files"
    origin.mkdir()
    bare.mkdir()
    git(origin, "init", "-q")
    git(origin, "commit", "-q", "--allow-empty", "-m", "one")
    git(origin, "commit", "-q", "--allow-empty", "-m", "two")
    git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), str(shallow))
    monkeypatch.setattr(sampling, "ROOT", shallow)
    seed = sampling.seed()
    assert (
        f"{seed.turn:012x}" == git(origin, "rev-parse", "HEAD")[:12]
        and "shallow clone" in seed.name
    )
    monkeypatch.setattr(sampling, "ROOT", bare)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert sampling.seed().turn == 0 and "no commit" in sampling.seed().name


def test_marks_say_which_cases_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from conftest import in_turn

    class Item:
        """What `in_turn` asks of a test."""

        def __init__(
            self, case: int | None, share: float | None, of_file: bool = False, **more: bool
        ) -> None:
            self.nodeid = f"tests/test_x.py::test_f[{case}]"
            self.marks = [] if share is None else [pytest.mark.sampled(share, **more).mark]
            self.own_markers = [] if of_file else self.marks
            if case is not None:
                self.callspec = case

        def get_closest_marker(self, name: str) -> pytest.Mark | None:
            return next((mark for mark in self.marks if mark.name == name), None)

    parts = [{case for case in range(100) if in_turn(Item(case, 1 / 3), turn)} for turn in range(3)]  # type: ignore[arg-type]
    assert all(parts) and sorted(case for part in parts for case in part) == list(range(100))
    assert in_turn(Item(1, None), 3)  # type: ignore[arg-type]
    assert sum(in_turn(Item(None, 1 / 9), turn) for turn in range(9)) == 1  # type: ignore[arg-type]
    assert all(in_turn(Item(None, 1 / 9, of_file=True), turn) for turn in range(9))  # type: ignore[arg-type]
    together = [Item(case, 1 / 4, of_file=True, together=True) for case in (None, *range(20))]
    turns = [{in_turn(item, turn) for item in together} for turn in range(4)]  # type: ignore[arg-type]
    assert sorted(turns, key=str) == [{False}, {False}, {False}, {True}]
