"""What a check shows, and what counts as not answered yet.

An untouched cell is neither right nor wrong: its verdict is `○`, so that a notebook whose exercises
nobody has done runs from top to bottom.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MARKS = {True: "✓", False: "✗", None: "○"}
BODY_OF_NOTHING = {"RESUME", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "NOP"}


@dataclass(frozen=True)
class Verdict:
    """`passed` is None for an exercise that was not answered yet. A verdict is true if the answer
    was right.
    """

    exercise: str
    passed: bool | None
    message: str

    def __bool__(self) -> bool:
        return self.passed is True

    def __repr__(self) -> str:
        told = f"{MARKS[self.passed]} {self.exercise}: {self.message}"
        return told if self.passed is not False else f"{told}\n  check.{self.exercise}.hint() helps"


def missing_part(answers: Mapping[str, Any]) -> str | None:
    """What of some named answers is still to be written, in words; None if there is nothing."""
    for name, answer in answers.items():
        if where := _hole(answer, f"`{name}`"):
            return where
    return None


def _hole(answer: Any, where: str) -> str | None:
    if answer is ...:
        return f"replace the ... of {where}"
    if isinstance(answer, dict):
        return next(
            (hole for key, value in answer.items() if (hole := _hole(value, f"{where}[{key!r}]"))),
            None,
        )
    if type(answer) in (list, tuple):
        return next(
            (hole for n, value in enumerate(answer) if (hole := _hole(value, f"{where}[{n}]"))),
            None,
        )
    if isinstance(answer, types.FunctionType) and does_nothing(answer):
        return f"write the body of {where}"
    if isinstance(answer, type):
        parts = (
            (name, inspect.unwrap(getattr(part, "__func__", part)))
            for name, part in vars(answer).items()
        )
        methods = ((name, m) for name, m in parts if isinstance(m, types.FunctionType))
        return next((f"write `{name}` of {where}" for name, m in methods if does_nothing(m)), None)
    return None


def does_nothing(function: types.FunctionType) -> bool:
    """Whether a function's body is `...`, `pass` or a docstring: its bytecode returns None, and
    that is all.
    """
    instructions = list(dis.get_instructions(function))
    if {i.opname for i in instructions} - BODY_OF_NOTHING:
        return False
    return all(i.argval is None for i in instructions if i.opname in ("LOAD_CONST", "RETURN_CONST"))


def place_in_answer(error: BaseException) -> str:
    """The line of the reader's own code that an error came from, if it came from there."""
    frame, found = error.__traceback__, ""
    while frame is not None:
        code = frame.tb_frame.f_code
        if code.co_filename.startswith("<") or "ipykernel_" in code.co_filename:
            found = f" (line {frame.tb_lineno} of the cell, in {code.co_name})"
        frame = frame.tb_next
    return found
