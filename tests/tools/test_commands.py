"""What the README and `make help` tell a reader to type, typed in a fresh clone: no file may be
missing that is only here.

The clone has an environment of its own, which finds the packages of this one: nothing is fetched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = sysconfig.get_paths()["purelib"]

# Every target of `make help`: with which arguments a reader's one is run, and why another is not.
SHORT = {
    "help": "make help",
    "setup": "make setup",
    "lab": "make lab LAB_ARGS=--version",
    "tour": "make tour ARGS=00",
    "notebooks": "make notebooks ARGS=00",
    "handout": "make handout",
}
LONG = {
    "test": "make test ARGS=tests/core/test_sizes.py",
    "tour": "make tour",
    "check": "make check",
    "runtimes-test": "make runtimes-test",
    "site": "make site",
    "slides": "make slides",
}
NOT_RUN = {
    **dict.fromkeys(
        ["oracle", "goldens", "cuda", "workshop", "bench-env", "bundle", "lock"], "fetches packages"
    ),
    **dict.fromkeys(["test-full", "browser-test"], "runs this again, or needs a browser"),
    **dict.fromkeys(["test-gpu", "gpu-first-hour", "bench-gpu"], "needs a GPU"),
    **dict.fromkeys(
        ["bench", "bench-full", "bench-serving", "mutants"], "measures for minutes or hours"
    ),
    **dict.fromkeys(["hub", "clean"], "serves until it is stopped, or deletes"),
}
MODULE = ["doctor", "inspect tests/archives/torch_save/attributes.pt", "--help"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed, and an environment that looks for packages where this Python
    does.
    """
    if not (ROOT / ".git").exists() or not shutil.which("git") or not shutil.which("make"):
        pytest.skip("a clone needs git, a repository and make")
    folder = tmp_path_factory.mktemp("reader") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), str(folder)], check=True)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True
    )
    places = subprocess.run(
        [
            folder / ".venv/bin/python", "-c",
            "import sysconfig; print(sysconfig.get_paths()['purelib'])",
        ],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    Path(places, "clone.pth").write_text(f"{folder}\nimport site; site.addsitedir({HERE!r})\n")
    for tool in Path(sys.executable).parent.glob("graphviz-pure*"):
        (folder / ".venv/bin" / tool.name).symlink_to(tool)
    (folder / ".venv/share").mkdir(exist_ok=True)
    (folder / ".venv/share/jupyter").symlink_to(Path(sys.prefix, "share/jupyter"))  # how pages look
    workshop = Path(sys.prefix, "requirements-workshop.lock")
    if workshop.exists():
        shutil.copy(workshop, folder / ".venv")
    stamp = "import setup_env as s; s.write_stamp(s.MAIN, s.fingerprint(s.MAIN))"
    subprocess.run([folder / ".venv/bin/python", "-c", stamp], cwd=folder / "tools", check=True)
    return folder


def type_in(clone: Path, command: str) -> str:
    """What a shell in the clone shows. Compiled code is shared: it belongs to sources, not to
    folders.
    """
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYTHONPATH", "INTERNALS_TEST_FULL", "PYTEST_XDIST_WORKER")
    }
    done = subprocess.run(
        ["sh", "-c", command], cwd=clone, env=kept, text=True, capture_output=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_every_target_is_run_or_it_is_said_why_not() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    assert set(targets) == {*SHORT, *LONG, *NOT_RUN}
    told = set(re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert told & set(targets) <= {*SHORT, *LONG, *NOT_RUN} and {"lab", "test", "tour"} <= told


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("target", SHORT)
def test_a_reader_types(clone: Path, target: str) -> None:
    shown = type_in(clone, SHORT[target])
    assert "STOPPED" not in shown and "making .venv" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("target", LONG)
def test_a_patient_reader_types(clone: Path, target: str) -> None:
    if target in ("site", "slides") and not (clone / ".venv/requirements-workshop.lock").exists():
        pytest.skip("what a classroom needs is not installed: make workshop")
    shown = type_in(clone, LONG[target])
    assert "STOPPED" not in shown and "making .venv" not in shown


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("arguments", MODULE)
def test_the_package_is_a_command(clone: Path, arguments: str) -> None:
    assert type_in(clone, f".venv/bin/python -m internals {arguments}")
