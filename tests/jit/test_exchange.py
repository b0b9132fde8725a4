"""Graphs go both ways: PyTorch reads and runs ours, we read and run PyTorch's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.passes.dce import dce
from internals.jit.runtime.graph_executor import GraphExecutor
from tests.answers import Plain, answer
from tests.jit.corpus import Program, programs_of
from tests.jit.corpus.running import assert_same, callable_of, outcome
from tests.jit.sources import place_free

pytestmark = pytest.mark.sampled(1 / 2)

OURS = programs_of(internals)
NAMES = [p.name for p in OURS.values() if not p.module]
# Calls of Python and of other functions, and what hangs on the caller: no text of a graph can say
# these.
NOT_AS_TEXT = {"no_gradient_inside", "global_constants"}
# torch.nn.functional.interpolate compiles to operators for every number of dimensions; we have
# those for images.
NOT_ALL_OPERATORS = {"interpolated"}
# A graph prints six digits of a constant tensor, and not whether it was a Python number, which
# promotes otherwise.
ROUNDED = {"python_numbers_out_of_a_tensor", "promotion"}


def functions(names: list[str]) -> list[str]:
    return [n for n in names if n not in NOT_AS_TEXT]


def run_in_pytorch(text: str, name: str, which: int) -> Plain:
    def ask(torch: Any) -> Any:
        program, graph = (
            programs_of(torch)[name],
            torch._C.parse_ir(text, parse_tensor_constants=True),
        )
        function = torch._C._create_function_from_graph(name, graph)
        return outcome(torch, function, program.arguments(torch, which), [])

    return answer(ask, about=(which, text), family="programs")


def run_python_in_pytorch(name: str, which: int) -> Plain:
    def ask(torch: Any) -> Any:
        program = programs_of(torch)[name]
        return outcome(torch, program.function, program.arguments(torch, which), [])

    return answer(ask, family="programs")


def run_here(text: str, program: Program, which: int) -> Any:
    graph = jit.parse_ir(text, parse_tensor_constants=True)
    graph.lint()
    return outcome(
        internals, GraphExecutor(graph, program.name), program.arguments(internals, which), []
    )


@pytest.mark.parametrize("name", functions(NAMES))
def test_pytorch_runs_our_scripts(name: str) -> None:
    ours = OURS[name]
    graph = jit.script(ours.function).inlined_graph
    dce(graph)  # the names of the functions that were inlined
    text = place_free(str(graph))
    if re.search(r"^ +=", text, re.MULTILINE):
        pytest.skip("PyTorch prints nodes without outputs, and does not read them")
    for which in range(len(ours.inputs)):
        assert_same(run_in_pytorch(text, name, which), run_python_in_pytorch(name, which))


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", [n for n in functions(NAMES) if n not in NOT_ALL_OPERATORS])
def test_we_run_pytorchs_scripts(name: str) -> None:
    ours = OURS[name]

    def scripted(torch: Any) -> str:
        return place_free(str(torch.jit.script(programs_of(torch)[name].function).inlined_graph))

    text = answer(scripted, family="programs")
    for which in range(len(ours.inputs)):
        expected = outcome(internals, ours.function, ours.arguments(internals, which), [])
        assert_same(run_here(text, ours, which), expected)


def only_tensors(program: Program) -> bool:
    tensors = all(hasattr(a, "untyped_storage") for a in program.arguments(internals))
    return program.traced and program.name not in ROUNDED and tensors


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", [n for n in functions(NAMES) if only_tensors(OURS[n])])
def test_traces_go_both_ways(name: str) -> None:
    ours = OURS[name]

    def traced(T: Any) -> str:
        program = programs_of(T)[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = T.jit.trace(
                program.function, program.arguments(T), check_trace=False, strict=False
            )
        return place_free(str(trace.graph))

    here, there = traced(internals), answer(traced, family="programs")
    expected = outcome(internals, ours.function, ours.arguments(internals), [])
    if "value={-" not in here:  # PyTorch's parser loses the sign of a constant tensor
        assert_same(run_in_pytorch(here, name, 0), expected)
    assert_same(run_here(there, ours, 0), expected)


def test_there_are_enough() -> None:
    assert (
        len(functions(NAMES)) >= 100 and sum(only_tensors(OURS[n]) for n in functions(NAMES)) >= 50
    )


@pytest.mark.parametrize("name", [p.name for p in OURS.values() if p.module])
def test_modules_have_the_same_methods(name: str) -> None:
    """A module's graph cannot be read as text; what it computes can be compared."""

    def described(T: Any) -> Any:
        program = programs_of(T)[name]
        module, parameters = callable_of(T, program)
        scripted = T.jit.script(module)
        names = [k for k, _ in scripted.named_parameters()]
        return (
            outcome(T, scripted, program.arguments(T), parameters),
            names,
            list(scripted.state_dict()),
        )

    assert_same(described(internals), answer(described, family="programs"))
