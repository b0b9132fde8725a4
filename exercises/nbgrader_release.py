"""Makes an nbgrader course of the exercises: `python -m exercises release DIR [NOTEBOOKS]`, after
which nbgrader's own tools do the rest (`generate_assignment`, `release_assignment`, `collect`,
`autograde`, `generate_feedback`).

A notebook's exercises become one assignment, `source/03_zero_copy/03_zero_copy.ipynb`: for each
exercise its question with the hints, a cell to answer in, and a locked cell with the check, worth
the exercise's level in points. In a cell to answer in, the start of the answer stands before the
solution; nbgrader takes the solution out, and puts nothing in its place, so what a student gets is
the cell that the notebook has.

A student who changes a locked cell gains nothing: nbgrader writes it anew before it grades. But
solutions are in the package, `check.zero_copy_1.solution()`, for anyone who learns, and a step of a
track begins with what the step before it built: points count what was done, they are no exam.

How the real one differs: nbgrader's authors mark cells by hand, in JupyterLab. Here the marks
(version 3 of its metadata) are made from the same definitions as the notebooks' own exercises.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exercises.catalogue import NOTEBOOKS, of_notebook
from exercises.cells import question
from exercises.exercise import PRELUDE, Exercise
from viz.scene import write_atomically

SOLUTION = "### BEGIN SOLUTION\n{}\n### END SOLUTION"
OPENING = """# Exercises of notebook {}

Answer in the cell below each question: replace every `...`, and run the cells. The cell below
yours, which cannot be changed, says what is right or wrong with your answer, and is what your
points come from. Hints are folded away.

This notebook runs by itself. What it is about: `notebooks/{}.ipynb`."""
CONFIGURATION = '''\
"""nbgrader's settings for the course; `python -m exercises release` writes this file."""

import os
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader gives it to this file)
here = Path(__file__).resolve().parent
c.CourseDirectory.root = str(here)
c.CourseDirectory.course_id = {course!r}
c.Exchange.root = os.environ.get("NBGRADER_EXCHANGE", str(here / "exchange"))

# The start of an answer stands before its solution: nothing has to be put in the solution's place.
c.ClearSolutions.code_stub = {{"python": ""}}

# An answer that does not end is interrupted after this many seconds, and gets no points; the others
# of that student do.
c.Execute.timeout = {timeout}
c.Execute.interrupt_on_timeout = True

# Who deleted a check has it put back; that the answer is what counts is the same for all.
c.OverwriteCells.add_missing_cells = True

# Kernels run as those of the notebooks do: what is printed is the same each time, and many can be
# graded at once.
os.environ.update({environment})
'''
TIMEOUT = 60
ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "GRPC_VERBOSITY": "NONE"}


def release(
    folder: Path, notebooks: tuple[str, ...] = (), course: str = "internals"
) -> dict[str, int]:
    """Write a course for notebooks whose names start with one of `notebooks` (all by default): the
    points of each assignment.

    Assignments and settings that are there are written anew; nothing else in the folder is touched.
    Raises LookupError if no notebook has such a name.
    """
    chosen = [name for name in NOTEBOOKS if not notebooks or name.startswith(notebooks)]
    for beginning in notebooks:
        if not any(name.startswith(beginning) for name in NOTEBOOKS):
            raise LookupError(
                f"no notebook starts with {beginning}; there are {', '.join(NOTEBOOKS)}"
            )
    points = {}
    for name in chosen:
        if exercises := of_notebook(name):
            text = json.dumps(assignment(name, exercises), indent=1, ensure_ascii=False) + "\n"
            write(folder / "source" / name / f"{name}.ipynb", text)
            points[name] = sum(exercise.level for exercise in exercises)
    settings = CONFIGURATION.format(course=course, timeout=TIMEOUT, environment=ENVIRONMENT)
    write(folder / "nbgrader_config.py", settings)
    return points


def assignment(notebook: str, exercises: list[Exercise]) -> dict[str, Any]:
    """The instructor's version of a notebook's exercises, solutions included, as JSON."""
    cells = [
        cell("opening", "markdown", OPENING.format(notebook[:2], notebook), locked=True),
        cell("prelude", "code", PRELUDE, locked=True),
    ]
    for exercise in exercises:
        cells += cells_of(exercise)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def cells_of(exercise: Exercise) -> list[dict[str, Any]]:
    name, call = exercise.name, exercise.call
    answer = f"{exercise.cell()}\n\n{SOLUTION.format(exercise.solution)}"
    check = (
        f"from exercises import check\n\nverdict = {call}\nprint(verdict)\nassert verdict, verdict"
    )
    return [
        cell(f"ask_{name}", "markdown", question(exercise), locked=True),
        cell(name, "code", answer, solution=True),
        cell(f"check_{name}", "code", check, locked=True, points=exercise.level),
    ]


def cell(
    name: str,
    kind: str,
    source: str,
    locked: bool = False,
    solution: bool = False,
    points: int | None = None,
) -> dict[str, Any]:
    """A cell with nbgrader's marks. `points` make it one that is graded."""
    marks: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points is not None,
        "solution": solution,
        "locked": locked,
        "task": False,
        "cell_type": kind,
    }
    if points is not None:
        marks["points"] = points
    made: dict[str, Any] = {
        "cell_type": kind,
        "id": name.replace("_", "-"),
        "metadata": {"nbgrader": marks},
        "source": source.splitlines(keepends=True),
    }
    return made if kind == "markdown" else {**made, "execution_count": None, "outputs": []}


def write(path: Path, text: str) -> None:
    """A whole file or none, in a folder that is made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
