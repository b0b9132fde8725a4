"""Answers as people type them: right ones in another style pass, and what only looks right does
not.
"""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import internals as torch
from exercises.attempt import attempt, run
from exercises.catalogue import everything, find
from exercises.exercise import PRELUDE, Exercise
from exercises.reading import as_meant
from exercises.verdict import Verdict

LEVEL_1 = [exercise for exercise in everything() if exercise.level == 1]


def judged(exercise: Exercise, change: Any) -> Verdict:
    """The verdict on the solution of a level 1 exercise, every word and number of it changed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    run(PRELUDE, names)
    run(exercise.cell(exercise.solution), names)
    return exercise.judge(
        *(leaves(names[n], change) if n == "answer" else names[n] for n in exercise.passes)
    )


def leaves(answer: Any, change: Any) -> Any:
    if isinstance(answer, dict):
        return {key: leaves(value, change) for key, value in answer.items()}
    return (
        type(answer)(leaves(v, change) for v in answer)
        if isinstance(answer, (list, tuple))
        else change(answer)
    )


def dressed(value: Any) -> Any:
    """The same, as text or as numpy has it."""
    if isinstance(value, (bool, float)):
        return str(value)
    return np.int64(value) if isinstance(value, int) else np.str_(f" {value} ")


@pytest.mark.parametrize("exercise", LEVEL_1, ids=lambda e: e.name)
def test_it_does_not_matter_how_a_right_answer_is_typed(exercise: Exercise) -> None:
    assert judged(exercise, dressed)


@pytest.mark.parametrize("exercise", LEVEL_1, ids=lambda e: e.name)
def test_what_is_no_answer_is_told_so(exercise: Exercise) -> None:
    for nothing in (None, float("nan"), np.arange(2)):
        verdict = judged(exercise, lambda value, given=nothing: given)
        assert verdict.passed is False and "the check stopped" not in verdict.message, verdict


def test_what_is_meant() -> None:
    given = {"a": "400", "b": (" shared ", "-1.5"), "c": [np.float32(0.5), Fraction(1, 4)]}
    assert as_meant(given) == {"a": 400, "b": ("shared", -1.5), "c": [0.5, 0.25]}
    assert as_meant(torch.tensor([1, 2])) == as_meant(np.array([1, 2])) == [1, 2]
    assert as_meant(True) is True and as_meant("nan") == "nan" and as_meant("") == ""
    assert as_meant(np.ndarray) is np.ndarray and as_meant(torch.int64) is torch.int64


def test_a_check_that_cannot_go_on_does_not_blame_a_line() -> None:
    verdict = attempt(find("speed_2"), "def race(sides, rounds, clock):\n    return {'a': None}")
    assert (
        "the check stopped with TypeError" in verdict.message
        and "does your answer give" in verdict.message
    )


FRAMES = """
class Reader:
    def __init__(self):
        self.rest = bytearray()

    def feed(self, data):
        self.rest += data
        while len(self.rest) >= 9:
            end = 9 + int.from_bytes(self.rest[:3], "big")
            if len(self.rest) < end:
                return
            yield [int.from_bytes(self.rest[5:9], "big") & 0x7FFFFFFF, self.rest[9:end]]
            del self.rest[:end]
"""


@pytest.mark.parametrize(
    "name, answer",
    [
        ("http_3", FRAMES),
        ("http_2", "def header(d):\n    n = lambda a, b: int.from_bytes(d[a:b], 'big')\n"
                   "    return [n(0, 3), d[3], d[4], n(5, 9) % 2**31]"),
        ("build_pass_1",
         find("build_pass_1").solution + "\n\npairs = repeats\n\ndef repeats(graph):\n"
         "    return [[first, later] for first, later in pairs(graph)]"),
        ("build_strides_2",
         find("build_strides_2").solution + "\n\nchosen = select\n\ndef select(v, dim, index):\n"
         "    return v._replace(**chosen(View(*v), dim, index)._asdict())"),
        ("tracing_3",
         find("tracing_3").solution + "\n\ntriples = record\n\ndef record(tape, op, keys, *args):\n"
         "    result = triples(tape, op, keys, *args)\n"
         "    tape.lines[-1] = list(tape.lines[-1])\n    return result"),
    ],
)  # fmt: skip
def test_another_style_is_right_as_well(name: str, answer: str) -> None:
    verdict = attempt(find(name), answer)
    assert verdict, verdict


@pytest.mark.parametrize(
    "name, answer, says",
    [
        ("speed_2", "def race(sides, rounds, clock):\n    return dict.fromkeys(sides, 1.0)",
         "never less"),
        ("training_3", "Momentum = torch.optim.SGD", "that is the real one"),
        ("build_free_list_1", "from internals.core.cpu_allocator import round_size as size_class",
         "the real one"),
        ("build_free_list_3", "class Caching(torch.cpu.CachingAllocator):\n    pass",
         "that is the real one"),
        ("tensors_3",
         "def tensor(data):\n    return torch.from_numpy(np.array(data, dtype=np.float32))",
         "numpy's memory"),
        ("zero_copy_3",
         "import weakref\n\ndef lend(array, give_back):\n    t = torch.from_numpy(array)\n"
         "    weakref.finalize(t, give_back, array)\n    return t",
         "with its storage"),
        ("batching_3", find("batching_3").solution.replace("rows >= max_batch or ", ""),
         "all that fit"),
        ("build_pass_3", find("build_pass_3").solution.replace("key is None or ", ""),
         "has other blocks"),
        ("build_pass_2", find("build_pass_2").solution.replace("return changed", "return"),
         "returned None"),
        ("passes_3", find("passes_3").solution.replace("node.kind() in KINDS and ", ""),
         "none of the KINDS"),
        ("payloads_2", find("payloads_2").solution.replace("> 127", ">= 127"),
         "no bits for the last byte"),
        ("tracing_2", find("tracing_2").solution.replace("> 1.0", "> 2.0"),
         "already without a trace"),
        ("build_kernel_3",
         find("build_kernel_3").solution.replace("enumerate(outputs)", "enumerate(outputs[:-1])"),
         "not every output was stored"),
        ("build_strides_1",
         find("build_strides_1").solution.replace("result = storage_offset", "result = 0"),
         "is at storage_offset, not at 0"),
        ("build_strides_1", find("build_strides_1").solution.replace("i < size:", "i < size - 1:"),
         "IndexError"),
        ("objects_2", "def lookers(t):\n    return 'four'", "looks at the storage, not 'four'"),
        ("autograd_3", "def backward(root):\n    root.backward()", "has to return a dict"),
        ("languages_2",
         find("languages_2").solution.replace("{f.attr for", "{'torch.' + f.attr for"),
         "behind `torch.`"),
    ],
)  # fmt: skip
def test_what_only_looks_right_is_not(name: str, answer: str, says: str) -> None:
    verdict = attempt(find(name), answer)
    assert verdict.passed is False and says in verdict.message, verdict


# What a function that is asked for has to raise, as the question says.
ERRORS = [
    (exercise, getattr(builtins, name))
    for exercise in everything()
    if exercise.passes != ("answer",)
    for name in dict.fromkeys(re.findall(r"\b([A-Z]\w+Error)\b", exercise.ask))
]


def watched(function: Any, instead: Callable[[Exception], Any], seen: list[Exception]) -> Any:
    """A reader's function or class; where it raises, `instead` gives the result, or raises
    something else.
    """
    if isinstance(function, type):
        methods = {
            n: watched(f, instead, seen)
            for n, f in vars(function).items()
            if callable(f) and n[:2] != "__"
        }
        return type(function.__name__, (function,), methods)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            seen.append(error)
            return instead(error)

    return call


def raises(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    "exercise, kind", ERRORS, ids=lambda x: getattr(x, "name", None) or x.__name__
)
def test_an_error_that_was_asked_for_is_asked_for(
    exercise: Exercise, kind: type[Exception]
) -> None:
    """The right answer passes; not if it is silent instead, nor if it raises an error of another
    type.
    """

    def verdict(instead: Callable[[Exception], Any]) -> tuple[Verdict, list[Exception]]:
        names: dict[str, Any] = {"__name__": "__main__"}
        run(PRELUDE, names)
        run(exercise.cell(exercise.solution), names)
        seen: list[Exception] = []
        return exercise.judge(*(watched(names[n], instead, seen) for n in exercise.passes)), seen

    right, seen = verdict(raises)
    assert right.passed and any(isinstance(error, kind) for error in seen)
    for other in (
        lambda error: None if isinstance(error, kind) else raises(error),
        lambda error: raises(OverflowError("another") if isinstance(error, kind) else error),
    ):
        assert verdict(other)[0].passed is False
