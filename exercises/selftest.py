"""Tests the checkers: the solution passes; the untouched cell, every known mistake, and anything
arbitrary do not.

A checker that says the same to every wrong answer names no mistake, so the messages must differ;
and each must contain the words that its `Mistake` asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exercises.attempt import attempt
from exercises.exercise import Exercise

LEAST_MISTAKES = 3


def problems(exercise: Exercise) -> list[str]:
    """What is wrong with an exercise, in words; an empty list if nothing is."""
    return [
        *form(exercise),
        *solution(exercise),
        *untouched(exercise),
        *mistakes(exercise),
        *strangers(exercise),
    ]


def form(exercise: Exercise) -> Iterator[str]:
    """What can be seen without running anything."""
    if exercise.level not in (1, 2, 3):
        yield f"level {exercise.level} is none of 1, 2, 3"
    if len(exercise.mistakes) < LEAST_MISTAKES:
        yield f"{len(exercise.mistakes)} mistakes; at least {LEAST_MISTAKES} are needed"
    if not all(exercise.hints) or exercise.hints[0] == exercise.hints[1]:
        yield "two different hints are needed"
    if any(exercise.solution in hint for hint in exercise.hints):
        yield "a hint gives the solution away"
    if "..." not in exercise.start:
        yield "`start` has no ... to replace"
    if len({m.answer for m in exercise.mistakes}) < len(exercise.mistakes):
        yield "two mistakes have the same answer"


def solution(exercise: Exercise) -> Iterator[str]:
    """The solution passes."""
    verdict = attempt(exercise, exercise.solution)
    if verdict.passed is not True:
        yield f"the solution does not pass: {verdict}"


def untouched(exercise: Exercise) -> Iterator[str]:
    """The cell as the reader finds it is not answered yet: neither right nor wrong."""
    verdict = attempt(exercise)
    if verdict.passed is not None:
        yield f"the untouched cell counts as answered: {verdict}"


def mistakes(exercise: Exercise) -> Iterator[str]:
    """Each known mistake fails, and hears words of its own."""
    said: dict[str, Any] = {}
    for mistake in exercise.mistakes:
        verdict = attempt(exercise, mistake.answer)
        if verdict.passed is not False:
            yield f"a wrong answer does not fail ({mistake.belief}): {verdict}"
        elif not mistake.says or mistake.says not in verdict.message:
            yield f"the verdict does not say {mistake.says!r} ({mistake.belief}): {verdict}"
        elif verdict.message in said:
            yield f"two different mistakes hear the same: {verdict}"
        said[verdict.message] = mistake


def strangers(exercise: Exercise) -> Iterator[str]:
    """Answers that have nothing to do with the question."""

    class Thing:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.args = args

    anything = [987654321, -0.123, "abc", [], {}, None, object(), lambda *args, **kwargs: 42, Thing]
    for stranger in anything:
        verdict = exercise.judge(*[stranger] * len(exercise.passes))
        if verdict.passed:
            yield f"{stranger!r} passes"
