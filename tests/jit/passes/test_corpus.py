"""Every pass of the table, alone, on the programs of the corpus: the graph is well formed
afterwards and computes the same.

A pass sees each graph in three states: with no types known; with dtypes and ranks, as the executor
prepares it; with sizes, as in a trace. `make test` takes a sample, the long version all of it.
"""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.ir import Block, Graph, TensorType, TupleType, Type, Value
from internals.jit.passes import PASSES, load_passes, run_pass
from internals.jit.runtime.argument_spec import argument_spec, set_input_types
from internals.jit.runtime.compile import compile_graph
from internals.jit.runtime.program import run_code
from tests.jit.corpus import Program, load
from tests.jit.corpus.running import assert_same, callable_of, outcome
from tests.support import full

load_passes()
PROGRAMS = load(internals)
CASES = [(p, which) for p in PROGRAMS.values() for which in range(len(p.inputs))]
SAMPLE = 5
STATES = ("as written", "with ranks", "with sizes")
RUNNABLE = sorted(name for name, p in PASSES.items() if p.verifiable)
ONLY_AFTER = {  # passes that continue the work of others
    "differentiate_subgraphs": ("create_autodiff_subgraphs",),
    "inline_autodiff_subgraphs": ("create_autodiff_subgraphs", "differentiate_subgraphs"),
}
WITHOUT_GRADIENTS = ("graph_fuser",)  # whose groups have no backward


class Compiled:
    """A program, compiled and inlined once, and how it is run."""

    def __init__(self, program: Program) -> None:
        self.function, self.parameters = callable_of(internals, program)
        scripted = jit.script(self.function)
        method = scripted._method("forward").function if program.module else scripted
        self.owner = (scripted,) if program.module else ()
        self.graph: Graph = method.inlined_graph
        self.arguments = method._arguments

    def with_types(self, state: str, args: tuple[Any, ...]) -> Graph:
        """A copy of the graph, with what `state` says is known."""
        graph = self.graph.copy()
        args = self.arguments((*self.owner, *args), {})
        if state == "with ranks":
            set_input_types(graph, argument_spec(graph, args, internals.is_grad_enabled()))
        elif state == "with sizes":
            for v, a in zip(graph.inputs(), args):
                if isinstance(v.type(), TensorType):
                    v.setType(TensorType.create_from_tensor(a))
        if state != "as written":
            for name in ("propagate_input_shapes", "propagate_requires_grad"):
                run_pass(name, graph, verify=True, keep_text=False)
        return graph

    def runner(self, graph: Graph) -> Any:
        """A function that runs `graph` as it is, without the executor's passes."""
        code = compile_graph(graph)
        flattened = len(graph.inputs()) != len(self.graph.inputs())

        def run(*args: Any) -> Any:
            bound = self.arguments((*self.owner, *args), {})
            return run_code(code, tuple(flat(bound)) if flattened else bound)

        return run


@functools.cache
def compiled(name: str) -> Compiled:
    return Compiled(PROGRAMS[name])


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", RUNNABLE)
def test_alone(name: str, state: str) -> None:
    failures = []
    for program, which in cases(f"{name} {state}"):
        try:
            with internals.set_grad_enabled(name not in WITHOUT_GRADIENTS):
                check(name, state, program, which)
        except Exception as error:
            failures.append(f"{program.name}-{which}: {type(error).__name__}: {str(error)[:600]}")
    assert not failures, "\n\n".join(failures)


def cases(seed: str) -> list[tuple[Program, int]]:
    return CASES if full() else random.Random(zlib.crc32(seed.encode())).sample(CASES, SAMPLE)


def check(name: str, state: str, program: Program, which: int) -> None:
    unit = compiled(program.name)
    expected = outcome(
        internals, unit.function, program.arguments(internals, which), unit.parameters
    )
    graph = unit.with_types(state, program.arguments(internals, which))
    if name == "lower_all_tuples" and any(
        tuple_in_a_container(v.type()) for v in values_in(graph.block())
    ):
        with pytest.raises(RuntimeError, match="tuple"):
            run_pass(name, graph, keep_text=False)
        return
    for earlier in ONLY_AFTER.get(name, ()):
        run_pass(earlier, graph, verify=True, keep_text=False)
    run_pass(name, graph, verify=True, keep_text=False)
    got = outcome(
        internals, unit.runner(graph), program.arguments(internals, which), unit.parameters
    )
    if name == "lower_all_tuples":
        got, expected = ({**o, "result": list(flat(o["result"]))} for o in (got, expected))
    assert_same(got, expected)


def values_in(block: Block) -> Iterator[Value]:
    """The values made in a block, those of the blocks inside too."""
    for node in (block.paramNode(), *block.nodes()):
        yield from node.outputs()
        for b in node.blocks():
            yield from values_in(b)


def tuple_in_a_container(type: Type, inside: bool = False) -> bool:
    """Whether a list, dict or optional of this type holds tuples: nothing can take those apart."""
    if isinstance(type, TupleType):
        return inside or any(map(tuple_in_a_container, type.elements))
    return any(tuple_in_a_container(t, inside=True) for t in type.containedTypes())


def flat(value: Any) -> Any:
    """The elements of tuples inside each other, one after the other."""
    if isinstance(value, tuple):
        for v in value:
            yield from flat(v)
    else:
        yield value
