"""Eager, traced and scripted give the same on every program of the corpus: values, dtypes,
gradients, writes to arguments.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import internals
from internals import jit
from tests.answers import answer
from tests.jit.corpus import Program, programs_of
from tests.jit.corpus.running import assert_same, callable_of, outcome, tensors_in, traced

pytestmark = pytest.mark.sampled(1 / 2)

PROGRAMS = programs_of(internals)
NOT_IN_PYTORCH = {"global_constants"}  # numbers defined outside the function are refused there
CASES = [
    pytest.param(p, which, id=f"{p.name}-{which}")
    for p in PROGRAMS.values()
    for which in range(len(p.inputs))
]


def eager(program: Program, which: int) -> tuple[Any, list[Any], dict[str, Any]]:
    function, parameters = callable_of(internals, program)
    return (
        function,
        parameters,
        outcome(internals, function, program.arguments(internals, which), parameters),
    )


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 150


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
@pytest.mark.parametrize("program, which", CASES)
def test_scripted(program: Program, which: int, executor: str) -> None:
    function, parameters, expected = eager(program, which)
    scripted = jit.script(function)
    scripted.graph.lint()
    with jit.executor(executor):
        for _ in range(2):  # the second call finds its plan
            assert_same(
                outcome(internals, scripted, program.arguments(internals, which), parameters),
                expected,
            )


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("program, which", [c for c in CASES if c.values[0].traced])
def test_traced(program: Program, which: int) -> None:
    function, parameters, expected = eager(program, which)
    if not all_tensors(expected["result"]):
        pytest.skip("a trace returns tensors only")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TracerWarning)
        trace = traced(internals, program, function, program.arguments(internals, which))
    for _ in range(2):
        assert_same(
            outcome(internals, trace, program.arguments(internals, which), parameters), expected
        )


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS.values()])
def test_not_optimised(program: Program) -> None:
    function, parameters, expected = eager(program, 0)
    scripted = jit.script(function)
    with jit.optimized_execution(False):
        assert_same(
            outcome(internals, scripted, program.arguments(internals), parameters), expected
        )


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS.values()])
def test_without_gradients(program: Program) -> None:
    """Other plans: nothing is differentiated, so more is fused."""
    function, parameters = callable_of(internals, program)
    with internals.no_grad():
        expected = outcome(internals, function, program.arguments(internals), parameters)
        assert_same(
            outcome(internals, jit.script(function), program.arguments(internals), parameters),
            expected,
        )


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS.values()])
def test_as_in_pytorch(program: Program) -> None:
    """Eager here, and scripted in PyTorch: so the programs are TorchScript, and our eager results
    are right.
    """

    def outcomes(torch: Any) -> list[Any]:
        there = programs_of(torch)[program.name]
        function, parameters = callable_of(torch, there)
        run = function if program.name in NOT_IN_PYTORCH else torch.jit.script(function)
        return [
            outcome(torch, run, there.arguments(torch, i), parameters)
            for i in range(len(there.inputs))
        ]

    for which, theirs in enumerate(
        answer(outcomes, about=inspect.getsource(program.function), family="programs")
    ):
        assert_same(theirs, eager(program, which)[2])


def all_tensors(result: Any) -> bool:
    """Whether a plain result, tensors being (dtype, sizes, numbers), is made of tensors only."""
    if (
        isinstance(result, tuple)
        and len(result) == 3
        and isinstance(result[0], str)
        and isinstance(result[2], list)
    ):
        return True
    if isinstance(result, dict):
        return all(map(all_tensors, result.values()))
    return isinstance(result, (list, tuple)) and all(map(all_tensors, result))


def test_programs_have_tensors() -> None:
    for p in PROGRAMS.values():
        assert any(True for _ in tensors_in(p.arguments(internals))), p.name
