"""What an exercise is made of: verdicts, blanks, hints, cells, and the test of the checkers
themselves.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import nbformat
import pytest

import internals as torch
from exercises import cells, check
from exercises.__main__ import main
from exercises.attempt import attempt
from exercises.catalogue import find
from exercises.checking import Check
from exercises.exercise import Exercise, Mistake, Wrong, exercise
from exercises.selftest import problems
from exercises.verdict import does_nothing, missing_part


def made(**changes: Any) -> Exercise:
    def zero_copy_9(answer: Any) -> str:
        if answer == 3:
            raise Wrong("3 forgets the first")
        if answer == 5:
            raise Wrong("5 counts the end")
        if answer != 4:
            raise Wrong(f"{answer!r} is no count of elements")
        return "four"

    mistakes = [
        Mistake("counting from 1", "answer = 3", "forgets"),
        Mistake("the end belongs to it", "answer = 5", "the end"),
        Mistake("half", "answer = 2", "no count"),
    ]
    given = exercise(
        level=1, title="How many?", ask="How many?", start="answer = ...", hints=("look", "count"),
        solution="answer = 4", mistakes=mistakes,
    )(zero_copy_9)  # fmt: skip
    return dataclasses.replace(given, **changes)


def test_three_verdicts() -> None:
    right, wrong, blank = made().judge(4), made().judge(3), made().judge(...)
    assert right and not wrong and not blank
    assert repr(right) == "✓ zero_copy_9: four"
    assert repr(wrong) == "✗ zero_copy_9: 3 forgets the first\n  check.zero_copy_9.hint() helps"
    assert repr(blank) == "○ zero_copy_9: not answered yet: replace the ... of `answer`"


def test_what_the_reader_does_cannot_break_the_check() -> None:
    def stops(answer: Any) -> str:
        return str(answer() + answer.missing)

    def divide() -> float:
        return 1 / 0

    verdict = made(checker=stops).judge(divide)
    assert verdict.passed is False and "ZeroDivisionError: division by zero" in verdict.message
    assert (
        made().judge().passed is False
        and "is called as check.zero_copy_9(answer)" in made().judge().message
    )


def test_a_line_of_the_cell_is_named() -> None:
    def runs(answer: Any) -> str:
        return str(answer(0))

    subject = made(checker=runs, solution="def answer(n):\n    return n")
    verdict = attempt(subject, "def answer(n):\n    half = 1\n    return half / n")
    assert "ZeroDivisionError: division by zero (line 3 of the cell, in answer)" in verdict.message


def test_not_implemented_is_not_answered() -> None:
    def asks(answer: Any) -> str:
        raise NotImplementedError

    assert made(checker=asks).judge(1).passed is None


def documented(a: int) -> None:
    """Says what it will do."""


def passing(a: int, b: int = 2) -> None:
    pass


def dots(*args: int) -> None: ...


def test_functions_without_a_body() -> None:
    assert all(map(does_nothing, (documented, passing, dots)))
    assert not does_nothing(lambda: 3) and not does_nothing(lambda x: x) and not does_nothing(made)


def test_holes_are_found_wherever_they_are() -> None:
    class Half:
        def forward(self) -> int:
            return 1

        def backward(self) -> None: ...

    class Static:
        @staticmethod
        def backward(grad: int) -> None: ...

    class Wrapped:
        @torch.no_grad()
        def step(self) -> None: ...

    assert missing_part({"a": 1, "b": [1, 2]}) is None
    assert missing_part({"a": 1, "b": ...}) == "replace the ... of `b`"
    assert missing_part({"answer": {"x": 1, "y": ...}}) == "replace the ... of `answer`['y']"
    assert missing_part({"answer": [(1, ...)]}) == "replace the ... of `answer`[0][1]"
    assert missing_part({"f": dots}) == "write the body of `f`"
    assert missing_part({"Half": Half}) == "write `backward` of `Half`"
    assert missing_part({"Static": Static}) == "write `backward` of `Static`"
    assert missing_part({"Wrapped": Wrapped}) == "write `step` of `Wrapped`"


def test_hints_come_one_after_the_other() -> None:
    subject = Check().zero_copy_1
    first, second = subject.exercise.hints
    assert (
        subject.hint() == f"Hint 1 of 2: {first}"
        and subject.hint() == f"Hint 2 of 2: {second}" == subject.hint()
    )
    assert subject.hint(1) == f"Hint 1 of 2: {first}"
    with pytest.raises(ValueError, match="two hints, 1 and 2, not 3"):
        subject.hint(3)
    assert repr(subject.solution()).startswith("answer = {")


def test_progress_counts_this_kernels_answers() -> None:
    fresh = Check()
    assert repr(fresh.progress()) == "nothing tried yet"
    fresh.zero_copy_1("no dict")
    assert repr(fresh.progress()) == "03_zero_copy                         ✗ ○ ○  0 of 3"
    fresh.start_1(["method", "dispatcher", "kernel", "storage", "allocator"])
    assert not fresh.start_1("no list") and not fresh.zero_copy_1(...)
    assert repr(fresh.progress()).splitlines() == [
        "00_start_here                        ✓ ○ ○  1 of 3",
        "03_zero_copy                         ✗ ○ ○  0 of 3",
    ]


def test_unknown_names_are_told_what_there_is() -> None:
    with pytest.raises(
        AttributeError, match="no exercise 'zero_copy_77'; did you mean zero_copy_1, zero_copy_2"
    ):
        check.zero_copy_77  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean zero_copy_1"):
        check.zerocopy_1  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean zero_copy_1, zero_copy_2, zero_copy_3?"):
        check.zero_copy  # noqa: B018
    with pytest.raises(AttributeError, match=r"check.zero_copy_1.hint\(\)"):
        check.hint()
    assert "check.progress()" in repr(check)
    with pytest.raises(LookupError, match="no exercise 'nonsense'"):
        find("nonsense")


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"level": 4}, "none of 1, 2, 3"),
        ({"mistakes": made().mistakes[:2]}, "at least 3"),
        ({"hints": ("same", "same")}, "two different hints"),
        ({"hints": ("look", "write answer = 4")}, "gives the solution away"),
        ({"start": "answer = 0"}, "has no ..."),
        ({"solution": "answer = 5"}, "the solution does not pass"),
        ({"checker": lambda answer: "fine"}, "a wrong answer does not fail"),
        ({"mistakes": [*made().mistakes, Mistake("two", "answer = 4", "four")]},
         "a wrong answer does not fail"),
        ({"mistakes": [*made().mistakes, Mistake("six", "answer = 6", "seven")]},
         "does not say 'seven'"),
        ({"mistakes": [*made().mistakes, Mistake("again", "answer = 2 + 0", "no count")]},
         "hear the same"),
        ({"start": "answer = [1]  # ..."}, "counts as answered"),
    ],
)  # fmt: skip
def test_the_selftest_finds(changes: dict[str, Any], problem: str) -> None:
    assert problems(made()) == []
    assert any(problem in found for found in problems(made(**changes)))


def test_exercises_are_inserted_once_and_before_the_last_word() -> None:
    new = nbformat.v4
    old = [
        new.new_markdown_cell("# Title"),
        new.new_code_cell("1 + 1"),
        new.new_markdown_cell("Next: [more](more.ipynb)"),
    ]
    once = cells.with_exercises(old, [made()])
    assert [c.cell_type for c in once] == [
        "markdown",
        "code",
        "markdown",
        "code",
        "markdown",
        "code",
        "markdown",
        "markdown",
    ]
    assert (
        once[-1].source.startswith("Next:")
        and once[5].source == "answer = ...\n\ncheck.zero_copy_9(answer)"
    )
    once[5].outputs = [new.new_output("stream", text="kept")]
    again = cells.with_exercises(once, [made()])
    assert [c.source for c in again] == [c.source for c in once] and again[5].outputs == once[
        5
    ].outputs
    assert [c.source for c in cells.with_exercises(again, [])] == [c.source for c in old]


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "zero_copy"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 exercises"
    assert main(["selftest", "zero_copy_1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
    assert main(["list", "--json", "03"]) == 0
    assert '"id": "zero_copy_1"' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["list", "selftest", "insert", "misconceptions"])
def test_a_name_with_which_nothing_begins_is_told(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "zero_copy_1", "zero_coyp"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "no exercise, topic or notebook begins with 'zero_coyp'; there are start, tensors, "
    )
