"""Every checker accepts its solution, and recognises what people get wrong; the notebooks hold what
the definitions say.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import nbformat
import pytest

from exercises import cells
from exercises.catalogue import NOTEBOOK_OF, NOTEBOOKS, everything, of_notebook
from exercises.exercise import Exercise
from exercises.selftest import problems

FOLDER = Path(__file__).parents[2] / "notebooks"
ALL = list(everything())


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.name)
def test_the_checker_is_right(exercise: Exercise) -> None:
    assert problems(exercise) == []


def test_there_are_enough_of_all_levels() -> None:
    assert len(ALL) >= 60 and len({e.name for e in ALL}) == len(ALL)
    assert min(Counter(e.level for e in ALL).values()) >= 20
    levels: dict[str, set[int]] = {}  # of both halves of a lesson, 22 and 22b, together
    for notebook in NOTEBOOKS:
        levels.setdefault(notebook[:2], set()).update(e.level for e in of_notebook(notebook))
    assert {number: found for number, found in levels.items() if found != {1, 2, 3}} == {}


def test_six_things_can_be_built() -> None:
    tracks = Counter(e.track for e in ALL if e.track)
    assert tracks.keys() == {"strides", "free_list", "node", "pass", "instruction", "kernel"}
    assert min(tracks.values()) >= 2


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_notebook_has_its_exercises(notebook: str) -> None:
    found = nbformat.read(FOLDER / f"{notebook}.ipynb", as_version=4).cells
    tagged = [(c.cell_type, c.source) for c in found if cells.TAG in c.metadata.get("tags", [])]
    wanted = [(c.cell_type, c.source) for c in cells.cells_of(of_notebook(notebook))]
    assert tagged == wanted, (
        f"python -m exercises insert {notebook[:2]}, then make notebooks ARGS={notebook[:2]}"
    )


def test_every_notebook_has_a_topic() -> None:
    """Of two halves, such as 14 and 14b, one has the exercises."""
    there = {path.stem for path in FOLDER.glob("[0-9]*.ipynb")}
    assert {name[:2] for name in there} == {name[:2] for name in NOTEBOOKS} and set(
        NOTEBOOKS
    ) <= there
    assert all(topic in NOTEBOOK_OF for exercise in ALL for topic in [exercise.topic])
