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
from tests.jit_corpus import Program, load
from tests.jit_corpus.running import assert_same, callable_of, outcome

pytestmark = pytest.mark.sampled(1 / 2)

torch = pytest.importorskip("torch", reason="compares with real PyTorch")
OURS, THEIRS = load(internals), load(torch)
NAMES = [p.name for p in OURS.values() if not p.module]
# Calls of Python and of other functions, and what hangs on the caller: no text of a graph can say these.
NOT_AS_TEXT = {"no_gradient_inside", "global_constants"}
# torch.nn.functional.interpolate compiles to operators for every number of dimensions; we have those for images.
NOT_ALL_OPERATORS = {"interpolated"}
# A graph prints six digits of a constant tensor, and not whether it was a Python number, which promotes otherwise.
ROUNDED = {"python_numbers_out_of_a_tensor", "promotion"}


def functions(names: list[str]) -> list[str]:
    return [n for n in names if n not in NOT_AS_TEXT]


def run_in_pytorch(text: str, program: Program, which: int) -> Any:
    graph = torch._C.parse_ir(text, parse_tensor_constants=True)
    function = torch._C._create_function_from_graph(program.name, graph)
    return outcome(torch, function, program.arguments(torch, which), [])


def run_here(text: str, program: Program, which: int) -> Any:
    graph = jit.parse_ir(text, parse_tensor_constants=True)
    graph.lint()
    return outcome(internals, GraphExecutor(graph, program.name), program.arguments(internals, which), [])


@pytest.mark.parametrize("name", functions(NAMES))
def test_pytorch_runs_our_scripts(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    graph = jit.script(ours.function).inlined_graph
    dce(graph)  # the names of the functions that were inlined
    text = str(graph)
    if re.search(r"^ +=", text, re.MULTILINE):
        pytest.skip("PyTorch prints nodes without outputs, and does not read them")
    for which in range(len(ours.inputs)):
        expected = outcome(torch, theirs.function, theirs.arguments(torch, which), [])
        assert_same(run_in_pytorch(text, theirs, which), expected)


@pytest.mark.parametrize("name", [n for n in functions(NAMES) if n not in NOT_ALL_OPERATORS])
def test_we_run_pytorchs_scripts(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    text = str(torch.jit.script(theirs.function).inlined_graph)
    for which in range(len(ours.inputs)):
        expected = outcome(internals, ours.function, ours.arguments(internals, which), [])
        assert_same(run_here(text, ours, which), expected)


def only_tensors(program: Program) -> bool:
    tensors = all(hasattr(a, "untyped_storage") for a in program.arguments(internals))
    return program.traced and program.name not in ROUNDED and tensors


@pytest.mark.parametrize("name", [n for n in functions(NAMES) if only_tensors(OURS[n])])
def test_traces_go_both_ways(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = jit.trace(ours.function, ours.arguments(internals), check_trace=False, strict=False)
        there = torch.jit.trace(theirs.function, theirs.arguments(torch), check_trace=False, strict=False)
    expected = outcome(internals, ours.function, ours.arguments(internals), [])
    if "value={-" not in str(here.graph):  # PyTorch's parser loses the sign of a constant tensor
        assert_same(run_in_pytorch(str(here.graph), theirs, 0), expected)
    assert_same(run_here(str(there.graph), ours, 0), expected)


def test_there_are_enough() -> None:
    assert len(functions(NAMES)) >= 100 and sum(only_tensors(OURS[n]) for n in functions(NAMES)) >= 50


@pytest.mark.parametrize("name", [p.name for p in OURS.values() if p.module])
def test_modules_have_the_same_methods(name: str) -> None:
    """A module's graph cannot be read as text; what it computes can be compared."""
    here, my_parameters = callable_of(internals, OURS[name])
    there, their_parameters = callable_of(torch, THEIRS[name])
    scripted, script_there = jit.script(here), torch.jit.script(there)
    ours = outcome(internals, scripted, OURS[name].arguments(internals), my_parameters)
    theirs = outcome(torch, script_there, THEIRS[name].arguments(torch), their_parameters)
    assert_same(ours, theirs)
    assert [k for k, _ in scripted.named_parameters()] == [k for k, _ in script_there.named_parameters()]
    assert list(scripted.state_dict()) == list(script_there.state_dict())

