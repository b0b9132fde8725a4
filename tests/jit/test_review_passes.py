"""Passes on programs that users wrote: what a review found."""

from __future__ import annotations

import pytest

import internals as torch
from internals import Tensor, jit, nn
from internals.jit.ir import Graph


def choose(x: Tensor, flag: bool) -> Tensor:
    if flag:
        mask = torch.ones(2) == 1
    else:
        mask = torch.ones(2) == 0
    return x.masked_fill(mask, 0)


def test_branches_that_give_constant_tensors() -> None:
    """Tensors of several elements have no truth value: the rule `True if c else False` asked for
    one.
    """
    f = jit.script(choose)
    assert f(torch.ones(2), True).tolist() == [0, 0]
    assert f(torch.ones(2), False).tolist() == [1, 1]


def doubled(graph: Graph) -> bool:
    """x * 2 is x + x. The node that is replaced is where new nodes go, as in most passes that are
    written by hand.
    """
    for n in graph.findAllNodes("aten::mul"):
        graph.setInsertPoint(n)
        n.output().replaceAllUsesWith(graph.insert("aten::add", [n.inputsAt(0), n.inputsAt(0), 1]))
        n.destroy()
    return True


def twice(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 2
    return x * 2


def test_the_insert_point_survives_the_node_it_was_at() -> None:
    graph = jit.script(twice).graph.copy()
    doubled(graph)
    graph.lint()
    graph.insertConstant("new nodes still have a place")
    graph.lint()
    loop = graph.findNode("prim::Loop")
    graph.setInsertPoint(next(iter(loop.blocks()[0].nodes())))
    loop.output().replaceAllUsesWith(graph.inputs()[0])
    loop.destroy()
    graph.lint()


def test_inputs_are_values() -> None:
    graph = Graph()
    with pytest.raises(TypeError, match="the inputs of a node are Values, not int\n"):
        graph.create("aten::relu", [3])  # type: ignore[list-item]


def there_and_back(x: Tensor) -> Tensor:
    return x.t().t() + 1


def test_phases_print_as_a_table() -> None:
    phases = jit.script(there_and_back).phases(torch.ones(2, 2))
    assert len(phases) > 10
    assert repr(phases[0]) == "PassReport(name='inline', changed=False)"
    lines = str(phases).splitlines()
    assert lines[0].split() == ["pass", "changed", "what"]
    assert len(lines) == len(phases) + 1
    assert "peephole                 yes      - aten::t x2" in lines
    shown = phases.table(hide_unchanged=True, times=True).splitlines()
    assert shown[0].split() == ["pass", "changed", "ms", "what"]
    assert len(shown) == 1 + sum(r.changed for r in phases) < len(lines)
    assert "prim::CallMethod x2" in str(
        jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).phases(torch.ones(1, 2))
    )
