"""Writes the exercises into the notebooks: for each a question with folded hints, a cell to fill,
and the folded solution.

The cells are tagged `exercise`. Those that are there are taken out first, so this can be repeated;
everything else in the notebook stays as it is. They stand at the end, before a last cell that leads
on ("Next: ...").
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from exercises.catalogue import of_notebook
from exercises.exercise import PRELUDE, Exercise

TAG = "exercise"
LEVELS = {1: "look and tell", 2: "use it", 3: "build it"}
OPENING = """## Exercises

Replace each `...` and run the cell: it is checked at once, and a wrong answer is told what is wrong
with it. Hints and solutions are folded away; `check.progress()` counts."""


def insert(path: Path) -> bool:
    """Writes the exercises of one notebook into it; whether that changed anything. Outputs of cells
    that stay are kept.
    """
    import nbformat

    from viz.scene import write_atomically

    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    notebook.cells = with_exercises(notebook.cells, of_notebook(path.stem))
    after = nbformat.writes(notebook, version=4).rstrip("\n") + "\n"
    if after == before:
        return False
    write_atomically(path, after.encode())
    return True


def with_exercises(cells: list[Any], exercises: list[Exercise]) -> list[Any]:
    """The cells of a notebook with these exercises instead of those that were in it."""
    made = cells_of(exercises)
    old = {cell.source: cell for cell in cells if TAG in cell.metadata.get("tags", [])}
    for cell in made:
        if cell.source in old and cell.cell_type == old[cell.source].cell_type:
            cell.update(copy.deepcopy(old[cell.source]))
    others = [cell for cell in cells if TAG not in cell.metadata.get("tags", [])]
    end = len(others) - bool(others and others[-1].source.startswith("Next:"))
    return [*others[:end], *made, *others[end:]]


def cells_of(exercises: list[Exercise]) -> list[Any]:
    """An opening and, for each exercise, the question, the cell to fill, and the solution."""
    if not exercises:
        return []
    cells = [markdown(OPENING), code(PRELUDE)]
    for exercise in exercises:
        cells.append(markdown(question(exercise)))
        cells.append(code(f"{exercise.cell()}\n\n{exercise.call}"))
        cells.append(markdown(folded_solution(exercise)))
    return cells


def question(exercise: Exercise) -> str:
    """The title, what is asked, and the hints, folded."""
    where = f"level {exercise.level}, {LEVELS[exercise.level]}"
    if exercise.track:
        where += f"; build it yourself: {exercise.track.replace('_', ' ')}"
    hints = [folded(f"Hint {n}", hint) for n, hint in enumerate(exercise.hints, 1)]
    return "\n\n".join(
        [f"### {exercise.title}", f"`{exercise.name}` ({where})", exercise.ask, *hints]
    )


def folded_solution(exercise: Exercise) -> str:
    body = f"```python\n{exercise.solution}\n```"
    return folded("Solution", f"{body}\n\n{exercise.why}" if exercise.why else body)


def folded(summary: str, body: str) -> str:
    """What one sees when the summary is clicked; GitHub and JupyterLab both know it."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def markdown(source: str) -> Any:
    import nbformat

    return nbformat.v4.new_markdown_cell(source, metadata={"tags": [TAG]})


def code(source: str) -> Any:
    import nbformat

    return nbformat.v4.new_code_cell(source, metadata={"tags": [TAG]})
