"""A classroom is safe unless told otherwise, and students keep what is theirs: without a hub that
runs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from tools.notebook_files import ROOT, kernel_environment, notebook_paths
from workshop.hub import __main__ as command, handout, preparing
from workshop.hub.classroom import (
    Classroom,
    ClassroomError,
    free_ports,
    from_environment,
    is_loopback,
    names,
)

needs_hub = pytest.mark.skipif(
    importlib.util.find_spec("jupyterhub") is None or os.name == "nt",
    reason="JupyterHub is not installed: make workshop",
)
EMPTY = nbformat.writes(nbformat.v4.new_notebook(), version=4)
SAFE = Classroom(password="a long password", admin_password="x" * 32)


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"password": ""}, "a hub needs a password: set HUB_PASSWORD"),
        (
            {"password": "", "ip": "0.0.0.0"},
            "a hub at 0.0.0.0, which others can reach, needs a password: set HUB_PASSWORD",
        ),
        ({"password": "short"}, "HUB_PASSWORD has 5 characters; 8 are needed"),
        ({"admin_password": "not so long"}, "HUB_ADMIN_PASSWORD has 11 characters; 32 are needed"),
        ({"password": "x" * 32}, "every student could grade"),
        ({"instructors": ()}, "HUB_INSTRUCTORS is empty"),
        ({"students": ("ada", "instructor")}, "instructor: an instructor and a student at once"),
    ],
)
def test_an_unsafe_classroom_is_refused(changes: dict[str, object], told: str) -> None:
    assert SAFE.checked() is SAFE
    with pytest.raises(ClassroomError, match=told):
        replace(SAFE, **changes).checked()  # type: ignore[arg-type]


def test_a_classroom_goes_through_the_environment_unchanged(tmp_path: Path) -> None:
    room = replace(
        SAFE, folder=tmp_path, port=4711, students=("ada", "grace"), course="monday", memory_limit=1
    )
    assert from_environment(room.environment()) == room
    assert from_environment({}) == Classroom()
    assert SAFE.password not in repr(SAFE) and SAFE.admin_password not in repr(SAFE)
    with pytest.raises(ClassroomError, match="HUB_PORT is 'eight', which is no number"):
        from_environment({"HUB_PORT": "eight"})
    assert names("Ada, grace  ada,") == ("ada", "grace")


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_addresses_of_this_machine_only(ip: str) -> None:
    assert is_loopback(ip)


@pytest.mark.parametrize("ip", ["0.0.0.0", "", "*", "192.168.1.7", "room"])
def test_addresses_that_others_can_reach(ip: str) -> None:
    assert not is_loopback(ip)


def test_passwords_are_made_up_for_this_machine_only() -> None:
    room = command.asked_for(Classroom(), ["--course", "monday"])
    assert len(room.password) >= 8 and len(room.admin_password) >= 32 and room.course == "monday"
    assert room.password != command.asked_for(Classroom(), []).password
    assert room.hub_port and room.proxy_port and room.hub_port != room.proxy_port
    with pytest.raises(ClassroomError, match="set HUB_PASSWORD"):
        command.asked_for(Classroom(), ["--ip", "0.0.0.0"])
    with pytest.raises(SystemExit):
        # everyone on the machine could read it
        command.asked_for(Classroom(), ["--password", "12345678"])


@pytest.mark.sampled(1 / 4)
@needs_hub
def test_the_command_says_why_it_does_not_start(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "workshop.hub", "--ip", "0.0.0.0", "--folder",
         str(tmp_path / "hub")],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
        env={k: v for k, v in os.environ.items() if not k.startswith("HUB_")},
    )  # fmt: skip
    assert run.returncode == 2 and run.stderr.startswith(
        "hub: a hub at 0.0.0.0, which others can reach, needs a password"
    )
    assert not (tmp_path / "hub").exists()


def test_what_the_instructor_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    said = command.announcement(
        replace(SAFE, students=("ada", "grace"), course="monday"), free=8192
    )
    many = preparing.students_that_fit(replace(SAFE, course="monday"), 8192)
    for words in (
        "http://127.0.0.1:8000",
        "ada, grace; password a long password",
        f"about {many} students",
        "monday",
    ):
        assert words in said
    assert 15 < many < 50 and preparing.students_that_fit(SAFE, 100) == 0
    monkeypatch.setattr(command, "own_address", lambda: "192.168.1.7")
    assert "http://192.168.1.7:8000" in command.announcement(replace(SAFE, ip="0.0.0.0"), 8192)


def test_what_a_student_has_is_never_overwritten(tmp_path: Path) -> None:
    template, sources, home = tmp_path / "template", tmp_path / "sources", tmp_path / "ada"
    sources.mkdir()
    (template / "notebooks").mkdir(parents=True)
    for name in ("00.ipynb", "01.ipynb"):
        (template / "notebooks" / name).write_text(EMPTY)
    assert handout.hand_out(template, sources, home) == ["notebooks/00.ipynb", "notebooks/01.ipynb"]
    (home / "notebooks" / "00.ipynb").write_text("mine")
    (home / "notebooks" / "01.ipynb").unlink()
    (template / "notebooks" / "02.ipynb").write_text(EMPTY)
    assert handout.hand_out(template, sources, home) == ["notebooks/01.ipynb", "notebooks/02.ipynb"]
    assert (home / "notebooks" / "00.ipynb").read_text() == "mine"
    assert handout.hand_out(template, sources, home) == []
    assert (home / "internals").is_symlink() and os.access(home / "notebooks" / "02.ipynb", os.W_OK)


def test_a_copy_that_is_interrupted_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "a", tmp_path / "home" / "a"
    source.write_text("all of it")
    with monkeypatch.context() as broken:
        broken.setattr(handout.os, "replace", lambda *paths: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            handout.put(source, target)
    assert list(target.parent.iterdir()) == []
    handout.put(source, target)
    assert target.read_text() == "all of it"


def test_the_template_is_the_projects_notebooks_signed(tmp_path: Path) -> None:
    few = tmp_path / "notebooks"
    few.mkdir()
    for path in notebook_paths(["00", "01"]):
        (few / path.name).write_bytes(path.read_bytes())
    assert handout.make_template(tmp_path / "template", few) == 2
    assert handout.make_template(tmp_path / "template", few) == 2
    with NotebookNotary(data_dir=str(tmp_path / "template" / handout.SIGNATURES)) as notary:
        for path in notebook_paths(["00", "01"]):
            copied = nbformat.read(tmp_path / "template" / "notebooks" / path.name, as_version=4)
            assert notary.check_signature(copied)
            copied.cells[0].source += "changed"
            assert not notary.check_signature(copied)


def test_sources_are_there_to_read_and_not_to_write(tmp_path: Path) -> None:
    for _ in range(2):  # the second time it is exchanged
        handout.make_sources(tmp_path / "sources")
    for name in (
        "internals/core/storage.py",
        "tests/archives",
        "README.md",
        "runtimes/node",
        "docs",
    ):
        assert (tmp_path / "sources" / name).exists()
    files = [path for path in (tmp_path / "sources").rglob("*") if not path.is_symlink()]
    assert all(path.stat().st_mode & 0o222 == 0 for path in files) and len(files) > 300
    assert not [path for path in files if "__pycache__" in path.parts]
    handout.remove(tmp_path / "sources")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("course", ["", "monday"])
def test_settings_for_everyone(
    course: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "make_sources", lambda target: None)
    monkeypatch.setattr(preparing, "make_template", lambda target: 0)
    room = replace(SAFE, folder=tmp_path / "hub", course=course)
    preparing.prepare(room)
    assert room.folder.stat().st_mode & 0o777 == 0o700
    news = json.loads((room.settings / "student" / "overrides.json").read_text())
    assert news["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    hidden = json.loads((room.settings / "student" / "page_config.json").read_text())[
        "disabledExtensions"
    ]
    assert hidden["@jupyter/nbgrader:create-assignment"] and (
        "@jupyter/nbgrader:menu" in hidden
    ) == (not course)
    assert (room.settings / "nbgrader_config.py").exists() == bool(course) == room.exchange.exists()


@needs_hub
def test_a_students_variables_are_those_of_every_run_of_the_notebooks(tmp_path: Path) -> None:
    from workshop.hub.spawner import environment_of, server_arguments

    variables = environment_of(SAFE, tmp_path)
    own = {"IPYTHONDIR", "NUMBA_CACHE_DIR"}
    assert {
        k: v for k, v in kernel_environment().items() if k not in own
    }.items() <= variables.items()
    assert all(variables[name].startswith(str(tmp_path)) for name in own)
    first, shared = variables["INTERNALS_CACHE_DIR"].split(os.pathsep)
    assert first.startswith(str(tmp_path)) and not shared.startswith(str(tmp_path))
    assert (
        "'nbgrader.server_extensions.formgrader': False"
        in server_arguments(SAFE, instructor=True)[0]
    )
    graded = replace(SAFE, course="monday")
    for instructor in (False, True):
        said = server_arguments(graded, instructor)[0]
        assert f"'nbgrader.server_extensions.formgrader': {instructor}" in said
        assert "'nbgrader.server_extensions.assignment_list': True" in said


def test_free_ports_are_free_and_different() -> None:
    assert len(set(free_ports(5))) == 5
