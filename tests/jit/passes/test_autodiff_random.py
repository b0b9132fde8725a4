"""Gradients of random programs, run by the executor with its groups and backward graphs, are those
of autograd, twice over.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import internals as torch
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Graph, Value
from internals.jit.passes import load_passes
from internals.jit.runtime.graph_executor import GraphExecutor
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import interpret, program as any_program

load_passes()
UNARY = ("sigmoid", "tanh", "relu", "exp", "sin", "cos", "neg", "abs", "atan", "erf", "sinh")
BINARY = ("add", "sub", "mul", "max", "min")
SHAPES = ((3, 4), (4,), (3, 1), (4, 4))


def program(seed: int, size: int = 14) -> tuple[Graph, list[Any]]:
    """A graph of differentiable operators, with broadcasting, products and chunks, and arguments
    for it: doubles in (-1, 1).
    """
    stream = random.Random(seed)
    graph = Graph()
    shapes: dict[Value, tuple[int, ...]] = {}
    arguments: list[Any] = []
    torch.manual_seed(seed)
    for shape in SHAPES:
        shapes[graph.addInput()] = shape
        wanted = stream.random() < 0.7
        arguments.append((torch.rand(*shape, dtype=torch.float64) * 2 - 1).requires_grad_(wanted))
    arguments[0].requires_grad_()
    for _ in range(size):
        v, shape = statement(graph, stream, shapes)
        shapes[v] = shape
    for v in stream.sample(list(shapes)[len(SHAPES) :], k=stream.randint(1, 3)):
        graph.registerOutput(v)
    return graph, arguments


def statement(
    graph: Graph, stream: random.Random, shapes: dict[Value, tuple[int, ...]]
) -> tuple[Value, tuple[int, ...]]:
    a = stream.choice(list(shapes)[-6:])
    kind = stream.random()
    if kind < 0.35:
        return graph.insert(
            f"aten::{stream.choice(UNARY)}", [graph.insert("aten::tanh", [a])]
        ), shapes[a]
    if kind < 0.45:
        name, extra = stream.choice(
            (("add", [0.5, 1]), ("mul", [2]), ("clamp", [-0.6, 0.7]), ("pow", [2]))
        )
        return graph.insert(f"aten::{name}", [a, *extra]), shapes[a]
    fitting = [
        v
        for v in shapes
        if len(shapes[v]) == 2 and len(shapes[a]) == 2 and shapes[v][0] == shapes[a][1]
    ]
    if kind < 0.6 and fitting:
        b = stream.choice(fitting)
        product = graph.insert("aten::mm", [a, b])
        return graph.insert("aten::tanh", [product]), (shapes[a][0], shapes[b][1])
    if kind < 0.7 and len(shapes[a]) == 2 and shapes[a][1] == 4:
        chunks = graph.insert("aten::chunk", [a, 2, 1])
        pieces = graph.insertNode(graph.create("prim::ListUnpack", [chunks], 2)).outputs()
        together = graph.insert("aten::mul", pieces) if stream.random() < 0.7 else pieces[0]
        return together, (shapes[a][0], 2)
    broadcasting = [v for v in shapes if broadcast(shapes[a], shapes[v]) is not None]
    b, name = stream.choice(broadcasting), stream.choice(BINARY)
    values = [a, b, 1] if name in ("add", "sub") else [a, b]
    return graph.insert(f"aten::{name}", values), broadcast(shapes[a], shapes[b])  # type: ignore[return-value]


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    rank = max(len(a), len(b))
    a, b = ((1,) * (rank - len(s)) + s for s in (a, b))
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b)):
        return None
    return tuple(max(x, y) for x, y in zip(a, b))


def derivatives(run: Callable[..., Any], arguments: list[Any]) -> list[Any]:
    """Outputs, gradients, and gradients of a function of the gradients."""
    leaves = [a for a in arguments if isinstance(a, TensorImpl) and a.requires_grad]
    results = run(*arguments)
    outputs = [
        t
        for t in (results if isinstance(results, tuple) else [results])
        if isinstance(t, TensorImpl)
    ]
    recorded = [t for t in outputs if t.requires_grad]
    if not recorded:
        return [outputs, [None] * len(leaves), [None] * len(leaves)]
    loss = sum((t * t).sum() * (i + 1) for i, t in enumerate(recorded))
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    if not again:
        return [outputs, first, [None] * len(leaves)]
    second = torch.autograd.grad(sum((g * g).sum() for g in again), leaves, allow_unused=True)
    return [outputs, first, second]


def assert_same(got: list[Any], want: list[Any]) -> None:
    assert [t.requires_grad for t in got[0]] == [t.requires_grad for t in want[0]]
    for ours, expected in zip(got, want):
        assert len(ours) == len(expected)
        for a, b in zip(ours, expected):
            if a is None or b is None:  # not reached, or zero
                rest = a if b is None else b
                assert rest is None or not rest.any()
            else:
                assert a.shape == b.shape
                assert torch.allclose(a, b, equal_nan=True)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("seed", seeds(24, 400))
def test_differentiable_programs(seed: int) -> None:
    graph, arguments = program(seed)
    expected = derivatives(lambda *inputs: interpret(graph, list(inputs)), arguments)
    executor = GraphExecutor(graph)
    assert_same(derivatives(executor, arguments), expected)
    for plan in executor.plans.values():
        plan.graph.lint()


def test_they_do_have_groups() -> None:
    grouped = 0
    for seed in range(20):
        graph, arguments = program(seed)
        grouped += (
            GraphExecutor(graph).graph_for(*arguments).findNode("prim::DifferentiableGraph")
            is not None
        )
    assert grouped >= 10


@pytest.mark.parametrize("seed", seeds(8))
def test_programs_of_all_sorts(seed: int) -> None:
    """With branches, loops, writes, views, lists: what is not differentiable stays between the
    groups.
    """
    p = any_program(
        seed,
        features=(
            "views",
            "writes",
            "lists",
            "tuples",
            "branches",
            "loops",
            "numbers",
            "optionals",
        ),
        typed=False,
    )

    def arguments() -> list[Any]:
        return [a.double() if isinstance(a, TensorImpl) else a for a in p.arguments()]

    def run(function: Callable[..., Any]) -> list[Any]:
        leaves = [a.requires_grad_() if isinstance(a, TensorImpl) else a for a in arguments()]
        # they may be written to
        copies = [a * 1 if isinstance(a, TensorImpl) else a for a in leaves]
        return derivatives(lambda *_: function(*copies), leaves)

    try:
        expected = run(lambda *inputs: interpret(p.graph(), list(inputs)))
    except RuntimeError as error:
        pytest.skip(f"autograd refuses it: {str(error)[:60]}")
    assert_same(run(GraphExecutor(p.graph())), expected)
