"""What people believe, and what the checkers answer: workshop/misconceptions.md, from the
exercises' own wrong answers.

Each `Mistake` of an exercise is a belief and an answer that somebody gives who holds it. The
verdicts here are not copied from anywhere: the answers are given, and the checkers asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from exercises.attempt import attempt
from exercises.catalogue import NOTEBOOKS, of_notebook
from exercises.exercise import Exercise

OPENING = """\
# What people believe, and what the checker answers

For each notebook: what participants say or type, and what the exercise answers to it. Read the
pages of your path the evening before; then you will have heard most of Monday's wrong answers
already. A belief in the left column is a good question to the room. Written by
`python -m exercises misconceptions`, which gives the wrong answers and notes the verdicts.
"""
HEAD = "| somebody believes | the checker answers | exercise |\n|---|---|---|"


def page(names: Iterable[str] = ()) -> Iterator[str]:
    """The page, part by part; `names` are beginnings of notebooks, and none means all."""
    yield OPENING
    wanted = tuple(names)
    for notebook in NOTEBOOKS:
        if (exercises := of_notebook(notebook)) and notebook.startswith(wanted or ""):
            yield f"\n## [{notebook}](../notebooks/{notebook}.ipynb)\n\n{HEAD}"
            for exercise in exercises:
                yield from rows(exercise)


def rows(exercise: Exercise) -> Iterator[str]:
    for mistake in exercise.mistakes:
        message = attempt(exercise, mistake.answer).message
        yield f"| {in_cell(mistake.belief)} | {in_cell(message)} | `{exercise.name}` |"


def in_cell(text: str) -> str:
    """On one line, as Markdown that shows the text as it is; only what stands in backticks is
    code.
    """
    plain, *rest = re.split(r"(`[^`]+`)", " ".join(text.split()))
    shown = [escaped(plain), *(part if part.startswith("`") else escaped(part) for part in rest)]
    return "".join(shown).replace("|", "\\|")


def escaped(text: str) -> str:
    return re.sub(r"([\\*_<\[\]])", r"\\\1", text)
