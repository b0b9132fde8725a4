"""What `make` runs: the environment, the notebooks' normal form, and the tour."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import lab, notebooks, setup_env, tour


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A project folder of its own for setup_env, with a pip that only takes notes; returns the
    notes.
    """
    (tmp_path / "requirements.lock").write_text("numpy==2.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "requirements-oracle.lock").write_text("# oracle\ntorch==2.13.0\n")
    (tmp_path / "requirements-bench.lock").write_text("torch==2.13.0\n")
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    (tmp_path / "requirements-cuda.lock").write_text(
        "numba==0.68.1\nnumba-cuda==0.30.4 ; sys_platform != 'darwin' \\\n"
    )
    notes: list[tuple[str, ...]] = []

    def create(folder: Path, with_pip: bool) -> None:
        notes.append(("create",))
        python = folder / setup_env.MAIN.python.relative_to(setup_env.MAIN.folder)
        python.parent.mkdir(parents=True)
        python.touch()

    monkeypatch.setattr(setup_env.venv, "create", create)
    monkeypatch.setattr(
        setup_env, "pip", lambda environment, *arguments: notes.append(("pip", *arguments))
    )
    return notes


def test_setup_does_nothing_when_nothing_changed(project: list[tuple[str, ...]]) -> None:
    setup_env.ensure_environment()
    assert [note[0] for note in project] == ["create", "pip", "pip"]
    project.clear()
    setup_env.ensure_environment()
    assert project == []


def test_setup_installs_over_the_old_when_the_lock_changes(project: list[tuple[str, ...]]) -> None:
    setup_env.ensure_environment()
    project.clear()
    (setup_env.ROOT / "requirements.lock").write_text("numpy==2.1\n")
    setup_env.ensure_environment()
    assert [note[0] for note in project] == ["pip", "pip"]


def test_interrupted_setup_leaves_no_stamp_and_starts_afresh(
    project: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup_env.ensure_environment()
    (setup_env.ROOT / "requirements.lock").write_text("numpy==2.1\n")

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(setup_env, "pip", interrupted)
        with pytest.raises(KeyboardInterrupt):
            setup_env.ensure_environment()
    assert not setup_env.MAIN.stamp.exists()
    project.clear()
    setup_env.ensure_environment()
    assert project[0] == ("create",)


def test_setup_starts_afresh_after_the_folder_was_moved(project: list[tuple[str, ...]]) -> None:
    setup_env.ensure_environment()
    stamp = json.loads(setup_env.MAIN.stamp.read_text())
    setup_env.MAIN.stamp.write_text(json.dumps({**stamp, "folder": "elsewhere"}))
    project.clear()
    setup_env.ensure_environment()
    assert project[0] == ("create",)


def test_another_python_counts_only_when_it_is_asked_for(
    project: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup_env.ensure_environment()
    project.clear()
    monkeypatch.setattr(setup_env.sys, "version_info", (3, 99, 0))
    setup_env.ensure_environment()
    assert project == []
    monkeypatch.setenv("PYTHON", "python3.99")
    setup_env.ensure_environment()
    assert project[0] == ("create",)


@pytest.mark.parametrize(
    ("found", "installs"),
    [(None, True), ("2.12.1", True), ("2.13.0+cpu", False), ("2.13.1", False)],
)
def test_oracle_is_installed_once(
    project: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    found: str | None,
    installs: bool,
) -> None:
    answers = [found, "2.13.0"]
    monkeypatch.setattr(setup_env, "installed_torch", lambda: answers.pop(0))
    setup_env.ensure_oracle(["--some-argument"])
    assert project == (
        [("pip", "install", "--some-argument", "-r", "requirements-oracle.lock")]
        if installs
        else []
    )


def test_a_wrong_oracle_is_refused(
    project: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "installed_torch", lambda: "2.9.0")
    with pytest.raises(SystemExit, match="has to be PyTorch 2.13, pip installed 2.9.0"):
        setup_env.ensure_oracle([])


@pytest.mark.parametrize(("found", "installs"), [(None, True), ("0.30.3", True), ("0.30.4", False)])
def test_the_cuda_compiler_is_installed_once(
    project: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    found: str | None,
    installs: bool,
) -> None:
    monkeypatch.setattr(setup_env.sys, "platform", "linux")
    monkeypatch.setattr(setup_env, "installed", lambda package: found)
    setup_env.ensure_cuda()
    assert project == (
        [("pip", "install", "--require-hashes", "-r", "requirements-cuda.lock")] if installs else []
    )


def test_there_is_no_cuda_on_macos(
    project: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env.sys, "platform", "darwin")
    with pytest.raises(SystemExit, match="no CUDA on macOS"):
        setup_env.ensure_cuda()
    assert project == []


def test_the_peers_get_an_environment_of_their_own(project: list[tuple[str, ...]]) -> None:
    setup_env.ensure_environment(setup_env.BENCH, ["--some-argument"])
    assert project[2] == ("pip", "install", "--some-argument", "-r", "requirements-bench.lock")
    assert setup_env.BENCH.stamp.exists() and not setup_env.MAIN.folder.exists()
    project.clear()
    setup_env.ensure_environment(setup_env.BENCH)
    assert project == []
    (setup_env.ROOT / "requirements-bench.lock").write_text("torch==2.13.1\n")
    setup_env.ensure_environment(setup_env.BENCH)
    assert [note[0] for note in project] == ["pip", "pip", "pip"]


@pytest.mark.skipif(sys.platform == "win32", reason="the shell script needs sh")
def test_find_python_says_what_is_wrong_with_each(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 'is Python 3.8.1; 3.11 or newer is needed'\nexit 1\n")
    old.chmod(0o755)
    script = setup_env.ROOT / "tools" / "find_python.sh"
    run = subprocess.run(
        ["/bin/sh", script], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert run.returncode == 1 and run.stdout == ""
    assert f"python3 ({old}) is Python 3.8.1; 3.11 or newer is needed" in run.stderr
    named = {"PATH": str(tmp_path), "PYTHON": sys.executable}
    run = subprocess.run(["/bin/sh", script], env=named, capture_output=True, text=True)
    assert (run.returncode, run.stdout.strip()) == (0, sys.executable), run.stderr


def example() -> nbformat.NotebookNode:
    return new_notebook(
        metadata={"language_info": {"name": "python", "version": "3.11.7"}, "widgets": {}},
        cells=[
            new_markdown_cell("# Title\n\nWhat is `this`? See [that](x.md).\n\nMore.", id="random"),
            new_code_cell(
                "print({'a', 'b', 'c'})",
                metadata={"execution": {"iopub.execute_input": "now"}, "tags": ["x"]},
            ),
            new_code_cell("import warnings; warnings.warn('careful')"),
            new_code_cell("1 + 1"),
            new_code_cell("1 + 1"),
        ],
    )


@pytest.mark.sampled(1 / 4)
def test_running_twice_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in notebooks.kernel_environment().items():
        monkeypatch.setenv(name, value)
    notebook = example()
    notebooks.execute(notebook, tmp_path)
    once = notebooks.to_text(notebooks.normalise(notebook))
    stored, again = (nbformat.reads(once, as_version=4) for _ in range(2))
    notebooks.execute(again, tmp_path)
    assert notebooks.to_text(notebooks.normalise(again)) == once
    assert [cell.get("execution_count") for cell in stored.cells] == [None, 1, 2, 3, 4]
    assert stored.cells[2].outputs[0].text.startswith("<cell>:1: UserWarning: careful")
    assert stored.cells[1].metadata == {"tags": ["x"]}
    assert stored.metadata == notebooks.METADATA


def test_cell_ids_come_from_the_text_and_are_unique() -> None:
    before, after = example(), example()
    after.cells.insert(1, new_markdown_cell("new"))
    ids_before = [cell.id for cell in notebooks.normalise(before).cells]
    ids_after = [cell.id for cell in notebooks.normalise(after).cells]
    assert len(set(ids_before)) == len(ids_before)
    assert ids_after[:1] + ids_after[2:] == ids_before


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    ok, verdict = notebooks.refresh(path)
    assert not ok and "ZeroDivisionError" in verdict
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.sampled(1 / 4)
def test_only_what_is_compared_counts_as_a_change(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    cells = [
        new_code_cell("# NBVAL_IGNORE_OUTPUT\nimport time; time.time_ns()"),
        new_code_cell("print('once\\n≈', time.time_ns())"),
        new_code_cell("1 + 1"),
    ]
    nbformat.write(new_notebook(cells=cells), path)
    assert notebooks.refresh(path) == (True, "written")
    before = path.read_bytes()
    assert notebooks.refresh(path) == (True, "unchanged")
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b"1 + 1", b"1 + 2"))
    assert notebooks.refresh(path) == (True, "written")


def test_machine_paths_are_taken_out_of_what_is_stored() -> None:
    text = (
        f"File {notebooks.ROOT}/internals/x.py, {sys.prefix}/lib/y.py, /tmp/ipykernel_12/345.py:3: "
        "UserWarning"
    )
    assert (
        notebooks.without_machine_paths(text)
        == "File internals/x.py, .venv/lib/y.py, <cell>:3: UserWarning"
    )


def test_lab_trusts_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    notebook = example()
    nbformat.write(notebook, tmp_path / "x.ipynb")
    lab.trust([tmp_path / "x.ipynb"])
    read = nbformat.read(tmp_path / "x.ipynb", as_version=4)
    assert lab.NotebookNotary().check_signature(read)
    changed = copy.deepcopy(read)
    changed.cells[1].source = "print('something else')"
    assert not lab.NotebookNotary().check_signature(changed)


@pytest.mark.parametrize(
    ("variables", "browser"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "wayland-0"}, True)],
)
def test_no_browser_without_a_display(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], browser: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(lab.sys, "platform", "linux")
    monkeypatch.setattr(lab.webbrowser, "get", lambda: object())
    assert lab.has_browser() is browser


def test_tour_page(tmp_path: Path) -> None:
    notebook = new_notebook(
        cells=[
            new_markdown_cell(
                "# Title\n\nWhat is `this`? [Next](01_next.ipynb), [code](../internals/x.py), $a^2$"
            ),
            new_code_cell("1 + 1"),
            new_code_cell("raise ValueError('stop here')"),
        ]
    )
    nbformat.write(notebook, tmp_path / "00_x.ipynb")
    page = tour.write_page(tmp_path / "00_x.ipynb", tmp_path)
    assert (page.title, page.cells, page.error) == ("Title", 2, "ValueError: stop here")
    assert page.summary == "What is this? Next, code, $a^2$"
    html = (tmp_path / "00_x.html").read_text()
    assert 'href="01_next.html"' in html and 'href="../../internals/x.py"' in html
    assert "<script" not in html and 'src="http' not in html
    assert 'href="00_x.html">Title</a>' in tour.index([page]) and "stop here" in tour.index([page])
