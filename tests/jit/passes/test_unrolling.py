"""Unrolling: every number of rounds gives what the loop gave, and what must stay a loop stays
one.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import jit
from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass
from internals.jit.passes.loop_unrolling import MAX_BODY_REPEATS, MAX_BODY_SIZE, UNROLL_FACTOR
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import assert_same_observation, interpret, observe, program

CARRIED = """graph(%x : Tensor, %k : int, %n : int):
  %one : int = prim::Constant[value=1]()
  %yes : bool = prim::Constant[value=1]()
{count}
  %y : Tensor, %j : int = prim::Loop(%rounds, %yes, %x, %k)
    block0(%i : int, %a : Tensor, %b : int):
{extra}      %c : Tensor = aten::add(%a, %i, %one)
      %d : Tensor = aten::mul(%c, %b)
      %e : int = aten::add(%b, %i)
      -> (%yes, %d, %e)
  return (%y, %j)"""
FROM_INPUT = "  %rounds : int = aten::mul(%n, %one)"


def loop(rounds: int | None = None, extra: int = 0) -> Graph:
    """A loop with a counter and two carried values; a constant number of rounds, or as many as the
    third input says.
    """
    count = FROM_INPUT if rounds is None else f"  %rounds : int = prim::Constant[value={rounds}]()"
    more = "".join(f"      %u{i} : Tensor = aten::add_(%a, %one, %one)\n" for i in range(extra))
    return parse_ir(CARRIED.format(count=count, extra=more))


def unrolled(graph: Graph) -> Graph:
    run_pass("loop_unrolling", graph, verify=True)
    return graph


def run(graph: Graph, rounds: int = 0) -> tuple[list[float], int]:
    y, j = interpret(graph, [torch.tensor([1.0, 2.0], dtype=torch.float64), 2, rounds])
    return y.tolist(), j


@pytest.mark.parametrize("rounds", [-1, 0, 1, 2, 7, 8, 9, 16, 17, 20])
def test_as_many_rounds_as_before(rounds: int) -> None:
    assert run(unrolled(loop()), rounds) == run(loop(), rounds)


@pytest.mark.parametrize("rounds", [-1, 0, 1, 2, 7, 12])
def test_known_number_of_rounds(rounds: int) -> None:
    graph = unrolled(loop(rounds))
    assert run(graph) == run(loop(rounds))
    assert graph.findNode("prim::Loop") is None
    assert len(graph.findAllNodes("aten::mul")) == max(rounds, 0)


def test_a_range_of_zero_runs_zero_times() -> None:
    """1.0.1 ran it once when it optimised."""

    def f(x):  # type: ignore[no-untyped-def]
        for _ in range(0):
            x = x + 1
        return x

    assert jit.script(f)(torch.zeros(2)).tolist() == [0.0, 0.0]


def test_main_loop_and_remainder() -> None:
    graph = unrolled(loop())
    main, rest = graph.findAllNodes("prim::Loop")
    assert len(main.blocks()[0].findAllNodes("aten::mul")) == UNROLL_FACTOR
    assert len(rest.blocks()[0].findAllNodes("aten::mul")) == 1
    assert main.input(0).node().kind() == "aten::__round_to_zero_floordiv"
    assert [v.node() for v in rest.inputs()[2:]] == [main] * 3, (
        "the remainder goes on where the main loop stopped"
    )


@pytest.mark.parametrize(("rounds", "loops"), [(MAX_BODY_REPEATS - 1, 0), (MAX_BODY_REPEATS, 2)])
def test_limit_of_rounds(rounds: int, loops: int) -> None:
    assert len(unrolled(loop(rounds)).findAllNodes("prim::Loop")) == loops


@pytest.mark.parametrize(("extra", "loops"), [(MAX_BODY_SIZE - 3, 2), (MAX_BODY_SIZE - 2, 1)])
def test_limit_of_body_size(extra: int, loops: int) -> None:
    assert len(unrolled(loop(extra=extra)).findAllNodes("prim::Loop")) == loops


def test_while_loops_stay() -> None:
    graph = parse_ir(
        """graph(%x : int, %n : int):
  %max : int = prim::Constant[value=9223372036854775807]()
  %one : int = prim::Constant[value=1]()
  %go : bool = aten::lt(%x, %n)
  %y : int = prim::Loop(%max, %go, %x)
    block0(%i : int, %a : int):
      %b : int = aten::add(%a, %one)
      %again : bool = aten::lt(%b, %n)
      -> (%again, %b)
  return (%y)"""
    )
    assert not run_pass("loop_unrolling", graph, verify=True).changed
    assert interpret(graph, [1, 5]) == 5


@pytest.mark.parametrize(("outer", "inner"), [(0, 3), (3, 0), (2, 3), (10, 3), (3, 10), (9, 9)])
def test_nested(outer: int, inner: int) -> None:
    def f(n, m):  # type: ignore[no-untyped-def]
        # type: (int, int) -> int
        total = 0
        for i in range(n):
            for j in range(m):
                total = (total * 3 + i - j) % 1000
        return total

    assert jit.script(f)(outer, inner) == f(outer, inner)


def test_break_and_continue_survive() -> None:
    def f(n):  # type: ignore[no-untyped-def]
        # type: (int) -> int
        total = 0
        for i in range(n):
            if i % 3 == 1:
                continue
            if i > 20:
                break
            total = total + i
        return total

    scripted = jit.script(f)
    assert [scripted(n) for n in range(30)] == [f(n) for n in range(30)]


def test_gradients_flow_through_both_loops() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        # type: (Tensor, int) -> Tensor
        for i in range(n):
            x = x * x.sigmoid() + i
        return x

    scripted: Any = jit.script(f)
    for n in (0, 3, 8, 19):
        a, b = (
            torch.tensor([0.3, -0.2], dtype=torch.float64, requires_grad=True) for _ in range(2)
        )
        scripted(a, n).sum().backward()
        f(b, n).sum().backward()
        assert torch.allclose(a.grad, b.grad)


@pytest.mark.parametrize("seed", seeds(15))
def test_random_programs(seed: int) -> None:
    p = program(seed, features=("loops", "branches", "writes", "numbers", "tuples", "lists"))
    before = observe(p.graph(), p)
    assert not before.error
    assert_same_observation(observe(unrolled(p.graph()), p), before)
