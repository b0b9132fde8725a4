"""`check`: a name for every exercise. Its verdict is the value of the cell, so the notebook shows
it.

check.zero_copy_1(answer)       the verdict
check.zero_copy_1.hint()        a hint; the second time the second one
check.zero_copy_1.solution()    the solution, as text
check.progress()                what was passed since this kernel started
"""

from __future__ import annotations

from typing import Any

from exercises.catalogue import NOTEBOOKS, everything, find, of_notebook
from exercises.exercise import Exercise
from exercises.verdict import MARKS, Verdict


class Said(str):
    """Text that a notebook shows as text, not as a quoted string."""

    def __repr__(self) -> str:
        return str(self)


class Checker:
    """What `check.NAME` is: called with an answer, it judges."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.__doc__ = f"{exercise.title}\n\n{exercise.ask}"
        self.passed: bool | None = None  # True stays, whatever is tried afterwards
        self.told = 0

    def __call__(self, *answers: Any) -> Verdict:
        verdict = self.exercise.judge(*answers)
        if verdict.passed is not None and not self.passed:
            self.passed = verdict.passed
        return verdict

    def hint(self, which: int | None = None) -> Said:
        """The first hint, and when asked again the second; or the one asked for, 1 or 2."""
        if which not in (None, 1, 2):
            raise ValueError(f"there are two hints, 1 and 2, not {which!r}")
        self.told = which or min(self.told + 1, 2)
        return Said(f"Hint {self.told} of 2: {self.exercise.hints[self.told - 1]}")

    def solution(self) -> Said:
        parts = [self.exercise.solution, self.exercise.why]
        return Said("\n\n".join(part for part in parts if part))

    def __repr__(self) -> str:
        return f"{self.exercise.call}  # {self.exercise.title}"


class Check:
    """Looks a checker up by its name, and remembers it for `progress()`."""

    def __init__(self) -> None:
        self._checkers: dict[str, Checker] = {}

    def __getattr__(self, name: str) -> Checker:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("hint", "solution"):
            raise AttributeError(f"a {name} is asked for by exercise: check.zero_copy_1.{name}()")
        if name not in self._checkers:
            try:
                self._checkers[name] = Checker(find(name))
            except LookupError as error:
                raise AttributeError(str(error)) from None
        return self._checkers[name]

    def __dir__(self) -> list[str]:
        return ["progress", *(exercise.name for exercise in everything())]

    def __repr__(self) -> str:
        return (
            "check.zero_copy_1(answer) judges an answer, check.progress() counts; the exercises: "
            "check.<TAB>"
        )

    def progress(self) -> Said:
        """A line for each notebook of which something was tried since this kernel started."""
        lines = []
        for notebook in NOTEBOOKS:
            verdicts = [self._passed(exercise.name) for exercise in of_notebook(notebook)]
            if any(passed is not None for passed in verdicts):
                marks = " ".join(MARKS[passed] for passed in verdicts)
                lines.append(f"{notebook:36} {marks}  {verdicts.count(True)} of {len(verdicts)}")
        return Said("\n".join(lines) or "nothing tried yet")

    def _passed(self, name: str) -> bool | None:
        checker = self._checkers.get(name)
        return checker.passed if checker else None


check = Check()
