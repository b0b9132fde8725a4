"""A class on a hub: real logins, servers, notebooks and answers, of several students at once, on
this machine only.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from exercises.catalogue import of_notebook
from exercises.nbgrader_release import release
from tests.workshop.hub_process import Hub, running
from tests.workshop.hub_students import Kernel, Student

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("jupyterhub") is None,
        reason="JupyterHub is not installed: make workshop",
    ),
    pytest.mark.skipif(os.name == "nt", reason="JupyterHub does not run on Windows"),
]

NOTEBOOK = "notebooks/03_zero_copy.ipynb"
ASSIGNMENT = "03_zero_copy"
COURSE = "monday"


def hand_out(room: Path, homes: Path) -> subprocess.Popen[bytes]:
    """What the instructor does in a terminal of the own server, before the class comes."""
    course = homes / "instructor" / COURSE
    release(course, (ASSIGNMENT,), COURSE)
    (room / "exchange").mkdir()
    (room / "exchange").chmod(0o777)
    commands = " && ".join(
        f"{sys.executable} -m nbgrader {verb} {ASSIGNMENT}"
        for verb in ("generate_assignment", "release_assignment")
    )
    environment = {
        **os.environ,
        "NBGRADER_EXCHANGE": str(room / "exchange"),
        "JUPYTER_CONFIG_DIR": str(room / "none"),
    }
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    return subprocess.Popen(
        ["sh", "-c", commands],
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@contextlib.contextmanager
def class_of(folder: Path, names: list[str]) -> Iterator[Hub]:
    """A hub with a course, of which one assignment is handed out."""
    room = folder / "hub"
    room.mkdir()
    with contextlib.ExitStack() as stack:
        graded = importlib.util.find_spec("nbgrader") is not None
        handing_out = hand_out(room, room / "homes") if graded else None
        hub = stack.enter_context(
            running(room, students=tuple(names), course=COURSE if graded else "")
        )
        if handing_out is not None:
            said, _ = handing_out.communicate(timeout=300)
            assert handing_out.returncode == 0, said.decode()
        yield hub


async def everyone(hub: Hub, names: list[str]) -> dict[str, list[float]]:
    """All students at once; returns what their processes need when all notebooks are open."""
    async with contextlib.AsyncExitStack() as stack:
        students = [await stack.enter_async_context(Student(name, hub.room.url)) for name in names]
        await asyncio.gather(*(a_lesson(student, hub) for student in students))
        memory = hub.memory()
        await nobody_enters(students[0], students[1])
        return memory


async def a_lesson(student: Student, hub: Hub) -> None:
    """What one student does: comes in, runs a notebook, answers, hands in."""
    assert await student.log_in("wrong password") == 403
    assert await student.log_in(hub.room.password) == 200
    await student.start_server()
    async with student.session.get(
        f"{student.server}/lab", headers={"Sec-Fetch-Mode": "navigate"}
    ) as page:
        hidden = re.search(
            r'"disabledExtensions": *(\[.*?\]|\{.*?\})', await page.text(), re.DOTALL
        )
        assert hidden and "@jupyter/nbgrader:create-assignment" in hidden[1], (
            "students make no assignments"
        )
    notebook = await student.open(NOTEBOOK)
    code = [cell for cell in notebook["content"]["cells"] if cell["cell_type"] == "code"]
    assert all(cell["metadata"]["trusted"] for cell in code), (
        "its pictures would not show before it has run"
    )
    done = await student.run_notebook(NOTEBOOK)
    assert sum(bool(cell["outputs"]) for cell in done["cells"] if cell["cell_type"] == "code") > 10
    if hub.room.course:
        await hand_in(student)


async def hand_in(student: Student) -> None:
    """As JupyterLab's list of assignments does: fetch, answer, submit."""
    task = {"course_id": COURSE, "assignment_id": ASSIGNMENT}
    status, fetched = await student.call("POST", "/assignments/fetch", data=task)
    assert status == 200 and fetched["success"], fetched
    path = f"{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    notebook = (await student.open(path))["content"]
    for exercise in of_notebook(ASSIGNMENT):
        for cell in notebook["cells"]:
            if cell["metadata"]["nbgrader"]["grade_id"] == exercise.name:
                cell["source"] = exercise.cell(exercise.solution)
    await student.save(path, notebook)
    status, submitted = await student.call("POST", "/assignments/submit", data=task)
    assert status == 200 and submitted["success"], submitted


async def nobody_enters(one: Student, other: Student) -> None:
    """With own cookies, in another's server: no page, no file, no kernel."""
    for method, path in (
        ("GET", f"/api/contents/{NOTEBOOK}"),
        ("GET", "/api/kernels"),
        ("POST", "/api/terminals"),
    ):
        status, body = await one.call(method, path, server=other.name)
        assert status in (302, 403) and "cells" not in str(body), (path, status, body)
    async with one.session.get(
        f"{one.hub}/user/{other.name}/lab", headers={"Sec-Fetch-Mode": "navigate"}
    ) as page:
        assert page.status == 403, page.url
    async with one.session.get(f"{one.hub}/hub/api/users/{other.name}") as answer:
        assert answer.status == 404, await answer.text()
    async with one.session.get(f"{one.hub}/hub/api/users") as answer:
        assert answer.status == 403, await answer.text()


def check_the_room(hub: Hub, names: list[str]) -> None:
    """What lies on disk after a lesson."""
    for name in names:
        home = hub.room.homes / name
        assert "execution_count" in (home / NOTEBOOK).read_text()
        with pytest.raises(PermissionError):
            refuse_as_root(home / "internals" / "__init__.py")
        if hub.room.course:
            handed_in = list(
                (hub.room.exchange / COURSE / "inbound").glob(f"{name}+{ASSIGNMENT}+*")
            )
            assert len(handed_in) == 1 and (handed_in[0] / f"{ASSIGNMENT}.ipynb").is_file()
    assert hub.room.password not in hub.log.partition("hub: limits")[2], (
        "the log of requests has the password"
    )


def refuse_as_root(path: Path) -> None:
    """Opens a file to write, if its mode allows that: of root, the system does not ask."""
    if not path.stat().st_mode & 0o222:
        raise PermissionError(path)
    path.open("r+b").close()


def tell(memory: dict[str, list[float]]) -> None:
    for kind, values in memory.items():
        print(f"{kind:7} x{len(values):2}  {sum(values) / len(values):6.1f} MiB each")


def a_class(folder: Path, count: int) -> None:
    names = [f"student{n:02}" for n in range(count)]
    with class_of(folder, names) as hub:
        memory = asyncio.run(everyone(hub, names))
        family = psutil.Process(hub.process.pid).children(recursive=True)
        check_the_room(hub, names)
    tell(memory)
    assert len(memory["server"]) == len(memory["kernel"]) == count
    # Wide: what a hub costs depends on the machine. No student of this class needs 512 MiB.
    assert sum(memory["server"]) + sum(memory["kernel"]) < 512 * count
    assert len(family) > 2 * count and not [process for process in family if lives(process)]


def lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.sampled(1 / 16)
def test_three_students_at_once(tmp_path: Path) -> None:
    a_class(tmp_path, 3)


@pytest.mark.slow
def test_ten_students_at_once(tmp_path: Path) -> None:
    a_class(tmp_path, 10)


@pytest.mark.slow
def test_an_instructor_hands_out_collects_and_grades_in_the_hub(tmp_path: Path) -> None:
    """All by the instructor's own server, as README.md says; and the limit to a student's memory
    holds.
    """
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make workshop")
    with running(tmp_path / "hub", course=COURSE) as hub:
        asyncio.run(a_graded_lesson(hub))
        full = sum(exercise.level for exercise in of_notebook(ASSIGNMENT))
        from nbgrader.api import Gradebook

        with Gradebook(
            f"sqlite:///{hub.room.homes / 'instructor' / COURSE / 'gradebook.db'}"
        ) as book:
            points = {
                each.student.id: each.score for each in book.assignment_submissions(ASSIGNMENT)
            }
        assert points == {"ada": full, "grace": full}
        assert list((hub.room.homes / "ada" / ASSIGNMENT / "feedback").rglob("*.html"))


async def a_graded_lesson(hub: Hub) -> None:
    async with contextlib.AsyncExitStack() as stack:
        instructor, ada, grace = [
            await stack.enter_async_context(Student(name, hub.room.url))
            for name in ("instructor", "ada", "grace")
        ]
        assert await instructor.log_in(hub.room.password) == 403, (
            "an instructor has another password"
        )
        assert await instructor.log_in(hub.room.admin_password) == 200
        assert await ada.log_in(hub.room.admin_password) == 403
        await instructor.start_server()
        desk = await stack.enter_async_context(Kernel(instructor, "desk.ipynb"))
        await in_terminal(desk, f"python -m exercises release ~/{COURSE} 03 --course {COURSE}")
        await in_terminal(desk, f"cd ~/{COURSE} && nbgrader generate_assignment {ASSIGNMENT}")
        await in_terminal(desk, f"cd ~/{COURSE} && nbgrader release_assignment {ASSIGNMENT}")
        await asyncio.gather(*(a_lesson(student, hub) for student in (ada, grace)))
        for verb in ("collect", "autograde", "generate_feedback", "release_feedback"):
            await in_terminal(desk, f"cd ~/{COURSE} && nbgrader {verb} {ASSIGNMENT}")
        task = {"course_id": COURSE, "assignment_id": ASSIGNMENT}
        status, fetched = await ada.call("POST", "/assignments/fetch_feedback", data=task)
        assert status == 200 and fetched["success"], fetched
        await too_much(
            await stack.enter_async_context(Kernel(ada, "too_much.ipynb")), hub.room.memory_limit
        )


async def in_terminal(kernel: Kernel, command: str) -> None:
    """A command, in a shell of the server's. Raises AssertionError with what it said if it
    fails.
    """
    await kernel.run(
        "import subprocess\n"
        f"run = subprocess.run({command!r}, shell=True, capture_output=True, text=True)\n"
        "assert run.returncode == 0, run.stdout + run.stderr"
    )


async def too_much(kernel: Kernel, limit: int) -> None:
    """Past the limit there is a MemoryError, and the kernel goes on."""
    if not sys.platform.startswith("linux"):
        return
    (error,) = await kernel.run(f"import numpy as np; np.ones(({limit}, 2**17))", allowed=True)
    assert error["ename"].endswith("MemoryError"), error
    (said,) = await kernel.run("print(np.ones(3).sum())")
    assert said["text"] == "3.0\n"
