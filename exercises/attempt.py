"""Runs the text of an answer, as the notebook's cell would run it, and lets it be judged."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

from exercises.exercise import PRELUDE, Exercise
from exercises.verdict import Verdict

_count = itertools.count()


def attempt(exercise: Exercise, answer: str | None = None) -> Verdict:
    """The verdict on a cell with this answer in it; on the untouched cell when there is none.

    Raises whatever the cell itself raises before it comes to the check.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    run(PRELUDE, names)
    run(exercise.cell(answer), names)
    return exercise.judge(*(names[name] for name in exercise.passes))


def run(source: str, names: dict[str, Any]) -> None:
    """Executes a text whose lines can be looked up afterwards, as those of a notebook's cell:
    scripting reads them.
    """
    file = f"<exercise {next(_count)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
