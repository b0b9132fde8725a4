"""The course that `python -m exercises release` writes, in nbgrader's own hands: handed out,
answered, graded, told.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from exercises.__main__ import main
from exercises.catalogue import NOTEBOOKS, of_notebook
from exercises.exercise import Exercise
from exercises.nbgrader_release import assignment, release

ROOT = Path(__file__).resolve().parents[2]
needs_nbgrader = pytest.mark.skipif(
    importlib.util.find_spec("nbgrader") is None, reason="nbgrader is not installed: make workshop"
)
FIRST = "03_zero_copy"


def nbgrader(course: Path, *arguments: str) -> str:
    """What one of nbgrader's commands says. Raises AssertionError if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=course, capture_output=True, text=True,
        timeout=900,
        env={**os.environ, "PATH": path, "JUPYTER_CONFIG_DIR": str(course / ".jupyter")},
    )  # fmt: skip
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    return said


def released(course: Path, name: str) -> Any:
    return nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)


def cell_of(notebook: Any, grade_id: str) -> Any:
    return next(cell for cell in notebook.cells if cell.metadata.nbgrader.grade_id == grade_id)


def submit(course: Path, name: str, student: str, *changes: Callable[[Any], None]) -> None:
    """What `nbgrader collect` would have put there: the released notebook as the student left
    it.
    """
    notebook = released(course, name)
    for change in changes:
        change(notebook)
    folder = course / "submitted" / student / name
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")


def answering(answers: dict[str, str]) -> Callable[[Any], None]:
    """Types these texts into the cells, in the place of what stood there."""

    def type_them(notebook: Any) -> None:
        for name, text in answers.items():
            cell_of(notebook, name).source = text

    return type_them


def right(exercises: list[Exercise]) -> dict[str, str]:
    return {exercise.name: exercise.cell(exercise.solution) for exercise in exercises}


def cheat(notebook: Any) -> None:
    """The checks pass whatever was answered, and are worth more."""
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade:
            cell.source = "assert True"
            cell.metadata.nbgrader.points = 100


def take_out_the_checks(notebook: Any) -> None:
    notebook.cells = [cell for cell in notebook.cells if not cell.metadata.nbgrader.grade]


def points(course: Path, name: str) -> dict[str, float]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {each.student.id: each.score for each in book.assignment_submissions(name)}


def grades_as_it_should(course: Path, name: str) -> None:
    """One assignment, from the definitions to the points of three students and the page that tells
    one what was wrong.

    The one whose answer is wrong also changed the checks: that gains nothing.
    """
    exercises = of_notebook(name)
    full = sum(exercise.level for exercise in exercises)
    nbgrader(course, "generate_assignment", name)
    text = json.dumps(released(course, name))
    for exercise in exercises:
        start = cell_of(released(course, name), exercise.name).source
        assert start.strip() == exercise.cell(), "a student begins with what the notebook has"
        check = cell_of(released(course, name), f"check_{exercise.name}")
        assert check.metadata.nbgrader.points == exercise.level and check.metadata.editable is False
        later = "\n".join(
            other.given for other in exercises if exercise.track and other.track == exercise.track
        )
        for told in (exercise.solution, *(mistake.answer for mistake in exercise.mistakes)):
            if told in later:
                continue  # the next step of a track begins with what this one built
            assert json.dumps(told)[1:-1] not in text, f"{exercise.name} is given away"
    assert "SOLUTION" not in text

    worst = max(exercises, key=lambda exercise: exercise.level)
    mistaken = {**right(exercises), worst.name: worst.cell(worst.mistakes[0].answer)}
    submit(course, name, "ada", answering(right(exercises)))
    submit(course, name, "blank")
    submit(course, name, "mistaken", answering(mistaken), cheat)
    nbgrader(course, "autograde", name)
    assert points(course, name) == {"ada": full, "blank": 0, "mistaken": full - worst.level}

    nbgrader(course, "generate_feedback", name)
    page = (course / "feedback" / "mistaken" / name / f"{name}.html").read_text()
    assert f"✗ {worst.name}" in page and "✓" in page


@pytest.mark.sampled(1 / 16)
@needs_nbgrader
def test_a_course_is_handed_out_graded_and_told(tmp_path: Path) -> None:
    release(tmp_path, (FIRST,))
    grades_as_it_should(tmp_path, FIRST)


@pytest.mark.slow
@needs_nbgrader
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_assignment_is_graded_and_passes_its_own_checks(name: str, tmp_path: Path) -> None:
    release(tmp_path, (name,))
    assert "Success" in nbgrader(tmp_path, "validate", f"source/{name}/{name}.ipynb")
    if name != FIRST:
        grades_as_it_should(tmp_path, name)


@pytest.mark.slow
@needs_nbgrader
def test_an_answer_without_an_end_and_a_check_that_was_deleted(tmp_path: Path) -> None:
    release(tmp_path, (FIRST,))
    settings = tmp_path / "nbgrader_config.py"
    settings.write_text(settings.read_text() + "\nc.Execute.timeout = 8\n")
    exercises = of_notebook(FIRST)
    nbgrader(tmp_path, "generate_assignment", FIRST)
    endless = {**right(exercises), exercises[0].name: "while True:\n    pass"}
    submit(tmp_path, FIRST, "endless", answering(endless))
    submit(tmp_path, FIRST, "deleted", answering(right(exercises)), take_out_the_checks)
    nbgrader(tmp_path, "autograde", FIRST)
    full = sum(exercise.level for exercise in exercises)
    assert points(tmp_path, FIRST) == {"endless": full - exercises[0].level, "deleted": full}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_makes_a_notebook_with_nbgraders_marks(name: str) -> None:
    made = nbformat.reads(json.dumps(assignment(name, of_notebook(name))), as_version=4)
    nbformat.validate(made)
    marks = [cell.metadata.nbgrader for cell in made.cells]
    assert (
        len({mark.grade_id for mark in marks})
        == len(marks)
        == len({cell.id for cell in made.cells})
    )
    for mark, cell in zip(marks, made.cells):
        assert mark.schema_version == 3 and mark.cell_type == cell.cell_type
        assert mark.solution != mark.locked and ("points" in mark) == mark.grade
        assert ("### BEGIN SOLUTION" in cell.source) == mark.solution


def test_the_course_is_the_same_each_time_and_other_files_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", str(tmp_path), "03", "04", "--course", "monday"]) == 0
    assert "03_zero_copy" in capsys.readouterr().out
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path).as_posix() for path in first} == {
        "nbgrader_config.py",
        "source/03_zero_copy/03_zero_copy.ipynb",
        "source/04_storage_and_views/04_storage_and_views.ipynb",
    }
    assert b"'monday'" in (tmp_path / "nbgrader_config.py").read_bytes()
    (tmp_path / "gradebook.db").write_text("points of a year")
    shutil.rmtree(tmp_path / "source")
    assert main(["release", str(tmp_path), "03", "04", "--course", "monday"]) == 0
    assert all(path.read_bytes() == content for path, content in first.items())
    assert (tmp_path / "gradebook.db").read_text() == "points of a year"


def test_a_notebook_that_does_not_exist_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", str(tmp_path), "03", "99"]) == 2
    assert "no notebook starts with 99; there are 00_start_here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
