"""The offline bundle: what is in it, and that a lock file's conditions are judged for the system
that it is made for.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import bundle
from tools.bundle import Target, without_markers

ROOT = Path(__file__).parents[2]
LOCK = """# made by somebody
colorama==0.4 ; sys_platform == 'win32' \\
    --hash=sha256:aa
numpy==2.1 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
old==1.0 ; python_full_version < '3.12' \\
    --hash=sha256:dd
arm==1.0 ; platform_machine == 'arm64' \\
    --hash=sha256:ee
"""


@pytest.mark.parametrize(
    "system, python, packages",
    [
        ("win_amd64", "3.13", {"colorama", "numpy"}),
        ("linux_x86_64", "3.11", {"numpy", "old"}),
        ("macosx_11_0_arm64", "3.13", {"numpy", "arm"}),
    ],
)
def test_conditions_are_those_of_the_target(system: str, python: str, packages: set[str]) -> None:
    kept = without_markers(LOCK, Target(system, python).markers)
    names = {line.partition("==")[0] for line in kept.splitlines() if "==" in line}
    assert names == packages and ";" not in kept and "#" not in kept
    assert "numpy==2.1 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc" in kept


def test_nothing_of_the_real_lock_is_lost() -> None:
    from packaging.requirements import Requirement

    text = (ROOT / bundle.LOCK).read_text()
    wanted = [
        line.removesuffix(" \\")
        for line in text.splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    ]
    here = {r.name for r in map(Requirement, wanted) if r.marker is None or r.marker.evaluate()}
    kept = without_markers(text, Target().markers)
    assert {line.partition("==")[0] for line in kept.splitlines() if "==" in line} == here
    assert kept.count("--hash") > len(here)


def test_what_pip_is_asked_for() -> None:
    assert Target().arguments == []
    assert Target("win_amd64", "3.13").arguments == [
        "--platform",
        "win_amd64",
        "--python-version",
        "3.13",
        "--only-binary=:all:",
    ]
    assert Target("linux_aarch64").arguments[:4] == [
        "--platform",
        "manylinux_2_28_aarch64",
        "--platform",
        "manylinux_2_27_aarch64",
    ]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--python", "banana"], "'banana': give it as 3.13"),
        (["--for", "windows"], "'windows': give pip's name of it: linux_MACHINE"),
        (["--output", "Makefile/x.zip"], "cannot write into Makefile"),
    ],
)
def test_what_it_cannot_make_is_told_before_anything_is_fetched(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["bundle", *arguments])
    monkeypatch.setattr(bundle, "fetch", lambda *_: pytest.fail("something was fetched"))
    with pytest.raises(SystemExit) as stop:
        bundle.main()
    assert said in f"{stop.value} {capsys.readouterr().err}"


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="not a git checkout: there is no commit to bundle"
)
def test_what_is_in_it(tmp_path: Path) -> None:
    wheel = tmp_path / "numpy-2.1-cp311-cp311-manylinux_2_28_x86_64.whl"
    wheel.write_bytes(b"wheel")
    file = tmp_path / "bundle.zip"
    bundle.write(file, [wheel])
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        assert archive.read(f"under-the-hood/wheels/{wheel.name}") == b"wheel"
        assert (
            "2.1-cp311-cp311-manylinux_2_28_x86_64"
            in archive.read("under-the-hood/START_HERE.md").decode()
        )
        ast.parse(archive.read("under-the-hood/install.py"))
        committed = subprocess.run(
            ["git", "show", "HEAD:Makefile"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        assert archive.read("under-the-hood/project/Makefile") == committed
        mode = archive.getinfo("under-the-hood/project/.ci/run").external_attr >> 16
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {f"under-the-hood/project/{name}" for name in tracked.stdout.splitlines()} <= names
    assert not any("/build/" in name or "/.venv/" in name or "/.git/" in name for name in names)
    assert mode & 0o111 and [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_installer_looks_nowhere_else(tmp_path: Path) -> None:
    """The installer of a bundle without wheels stops, and says so; it does not go to an index."""
    tools = tmp_path / "project" / "tools"
    tools.mkdir(parents=True)
    (tmp_path / "install.py").write_text(bundle.INSTALL)
    (tools / "setup_env.py").write_text(
        "import os, sys\nprint(os.environ['PIP_NO_INDEX'], "
        "os.environ['PIP_FIND_LINKS'])\nsys.exit(1)\n"
    )
    run = subprocess.run(
        [sys.executable, "install.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (
        run.stdout == f"1 {(tmp_path / 'wheels').as_uri()}\n"
        and "The installation failed" in run.stderr
        and run.returncode == 1
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="not a git checkout: there is no commit to bundle"
)
def test_a_real_bundle_installs_without_network(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tools.bundle",
        "--check",
        "--output",
        str(tmp_path / "bundle.zip"),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and "READY" in run.stdout, run.stdout + run.stderr
