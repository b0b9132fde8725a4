"""What an exercise consists of, and the decorator that makes one of a checker.

    @exercise(
        level=1,
        title="Which of these copy?",
        ask="...", given="...", start="answer = ...", hints=("...", "..."),
        solution="answer = ...", why="...",
        mistakes=[Mistake("A slice copies, as a list's does.", "answer = 2", "is a view")],
    )
    def zero_copy_1(answer):
        if answer == 2:
            raise Wrong("a slice is a view: ...")
        return "what the reader has seen by this"

The checker gets the reader's objects. It raises `Wrong` with words that name the mistake, or
returns what to remember.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from exercises.reading import as_meant
from exercises.verdict import Verdict, missing_part, place_in_answer

# What every cell of an exercise may use. Whatever else it needs, its `given` imports.
PRELUDE = "import numpy as np\n\nimport internals as torch\nimport viz\nfrom exercises import check"


class Wrong(Exception):
    """Raised by a checker: the message names the mistake, and is what the reader sees."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give: what they believe, what they would type, and words that the
    verdict on it must contain.
    """

    belief: str
    answer: str
    says: str


@dataclass
class Exercise:
    """`start` is the cell as the reader finds it, with `...` to be replaced; `given` are lines
    before it that stay as they are.

    `level` is 1 (look and tell), 2 (use it) or 3 (build it). `hints` are two: where to look, then
    how to begin. `passes` names the variables that the checker gets. `why` stands below the folded
    solution. `solution` and each mistake's `answer` replace `start`.
    """

    name: str
    checker: Callable[..., str | None]
    level: int
    title: str
    ask: str
    start: str
    hints: tuple[str, str]
    solution: str
    mistakes: list[Mistake] = field(repr=False)
    given: str = ""
    why: str = ""
    passes: tuple[str, ...] = ("answer",)

    def __post_init__(self) -> None:
        for text in ("ask", "start", "solution", "given", "why"):
            setattr(self, text, textwrap.dedent(getattr(self, text)).strip())
        self.hints = (
            textwrap.dedent(self.hints[0]).strip(),
            textwrap.dedent(self.hints[1]).strip(),
        )
        self.mistakes = [
            Mistake(m.belief, textwrap.dedent(m.answer).strip(), m.says) for m in self.mistakes
        ]

    @property
    def topic(self) -> str:
        return self.name.rpartition("_")[0]

    @property
    def track(self) -> str | None:
        """The track of "build it yourself" that it belongs to, if it does: `strides` for
        `build_strides_1`.
        """
        return self.topic.removeprefix("build_") if self.topic.startswith("build_") else None

    @property
    def call(self) -> str:
        """The last line of the reader's cell."""
        return f"check.{self.name}({', '.join(self.passes)})"

    def cell(self, answer: str | None = None) -> str:
        """The text of the reader's cell: as it is found, or with an answer in it."""
        parts = [self.given, self.start if answer is None else answer]
        return "\n\n".join(part for part in parts if part)

    def judge(self, *answers: Any) -> Verdict:
        """The verdict on the reader's objects. Whatever they do, this raises nothing but what
        interrupts.
        """
        if len(answers) != len(self.passes):
            return Verdict(self.name, False, f"is called as {self.call}")
        if hole := missing_part(dict(zip(self.passes, answers))):
            return Verdict(self.name, None, f"not answered yet: {hole}")
        try:
            remembered = self.checker(*map(as_meant, answers) if self.level == 1 else answers)
        except Wrong as mistake:
            return Verdict(self.name, False, str(mistake))
        except NotImplementedError as error:
            return Verdict(
                self.name, None, f"not answered yet: {error or 'it raises NotImplementedError'}"
            )
        except Exception as error:
            return Verdict(
                self.name,
                False,
                self._stopped(f"{type(error).__name__}: {error}", place_in_answer(error)),
            )
        return Verdict(self.name, True, remembered or "right")

    def _stopped(self, told: str, place: str) -> str:
        if place:
            return f"your answer stopped with {told}{place}"
        return (
            f"the check stopped with {told}, outside the lines of your cell: does your answer give "
            "what is asked for?"
        )


def exercise(
    *,
    level: int,
    title: str,
    ask: str,
    start: str,
    hints: tuple[str, str],
    solution: str,
    mistakes: Iterable[Mistake],
    given: str = "",
    why: str = "",
    passes: tuple[str, ...] = ("answer",),
) -> Callable[[Callable[..., str | None]], Exercise]:
    """Makes an `Exercise` of a checker, under the checker's name, which is `TOPIC_N`."""

    def make(checker: Callable[..., str | None]) -> Exercise:
        return Exercise(
            checker.__name__,
            checker,
            level,
            title,
            ask,
            start,
            hints,
            solution,
            list(mistakes),
            given,
            why,
            passes,
        )

    return make
