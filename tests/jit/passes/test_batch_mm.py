"""Batched products: trees and common sides are found, their results are those of the single
products, guards hold.
"""

from __future__ import annotations

import pytest

import internals as torch
from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass
from tests.jit.programs.graphs import interpret


def tree(leaves: int, transposed: bool = False, alpha: int = 1) -> Graph:
    """A sum of products. Transposed: of transposes of products."""
    inputs = ", ".join(f"%a{i} : Tensor, %b{i} : Tensor" for i in range(leaves))
    lines = [f"graph({inputs}):", f"  %one : int = prim::Constant[value={alpha}]()"]
    for i in range(leaves):
        lines.append(f"  %p{i} : Tensor = aten::mm(%{'ba'[transposed]}{i}, %{'ab'[transposed]}{i})")
        lines.append(f"  %q{i} : Tensor = aten::t(%p{i})" if transposed else "")
    name = "q" if transposed else "p"
    total = f"%{name}0"
    for i in range(1, leaves):
        lines.append(f"  %s{i} : Tensor = aten::add({total}, %{name}{i}, %one)")
        total = f"%s{i}"
    return parse_ir("\n".join([*filter(None, lines), f"  return ({total})"]))


def side(products: int, left: bool, chained: bool = False) -> Graph:
    """Products that have %w as the same side; chained: each needs the one before."""
    inputs = ", ".join(f"%a{i} : Tensor" for i in range(products))
    lines, before = [f"graph(%w : Tensor, {inputs}):"], None
    for i in range(products):
        other = before if chained and before else f"%a{i}"
        lines.append(f"  %p{i} : Tensor = aten::mm({f'%w, {other}' if left else f'{other}, %w'})")
        before = f"%p{i}"
    outputs = ", ".join(f"%p{i}" for i in range(products))
    return parse_ir("\n".join([*lines, f"  return ({outputs})"]))


def batched(graph: Graph) -> Graph:
    run_pass("batch_mm", graph, verify=True)
    return graph


def matrices(*sizes: tuple[int, int]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(*s, dtype=torch.float64) for s in sizes]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("leaves", [3, 4, 5, 9])
def test_tree(leaves: int, transposed: bool) -> None:
    graph = batched(tree(leaves, transposed))
    assert (graph.findNode("prim::MMTreeReduce") is not None) == (leaves >= 4)
    assert (graph.findNode("aten::mm") is None) == (leaves >= 4)
    square = matrices(*[(3, 3)] * (2 * leaves))
    assert torch.allclose(interpret(graph, square), interpret(tree(leaves, transposed), square))


def test_shapes_that_do_not_fit_together_are_multiplied_one_by_one() -> None:
    inputs = matrices((4, 2), (3, 4), (5, 2), (3, 5), (4, 2), (3, 4), (4, 2), (3, 4))
    assert torch.allclose(interpret(batched(tree(4)), inputs), interpret(tree(4), inputs))


def test_a_sum_with_alpha_is_no_tree() -> None:
    assert batched(tree(5, alpha=2)).findNode("prim::MMTreeReduce") is None


def test_products_somebody_else_reads_are_kept() -> None:
    graph = tree(4)
    graph.registerOutput(graph.findAllNodes("aten::mm")[1].output())
    assert batched(graph).findNode("prim::MMTreeReduce") is None


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("products", [7, 8, 11])
def test_side(products: int, left: bool) -> None:
    graph = batched(side(products, left))
    assert (graph.findNode("prim::MMBatchSide") is not None) == (products >= 8)
    inputs = matrices(*[(3, 3)] * (products + 1))
    for a, b in zip(interpret(graph, inputs), interpret(side(products, left), inputs)):
        assert torch.allclose(a, b)
    uneven = matrices((3, 3), *[(3, i) if left else (i, 3) for i in range(1, products + 1)])
    for a, b in zip(interpret(graph, uneven), interpret(side(products, left), uneven)):
        assert torch.allclose(a, b)


def test_products_that_need_each_other_are_not_batched() -> None:
    assert batched(side(9, left=True, chained=True)).findNode("prim::MMBatchSide") is None


def test_a_factor_that_is_written_to_stays() -> None:
    text = str(side(8, left=True)).replace(
        "%p3 : Tensor", "%z : Tensor = aten::zero_(%w)\n  %p3 : Tensor"
    )
    graph = parse_ir(text)
    assert not run_pass("batch_mm", graph, verify=True).changed


def test_gradients_of_batched_products() -> None:
    inputs, same = ([t.requires_grad_() for t in matrices(*[(3, 3)] * 8)] for _ in range(2))
    interpret(batched(tree(4)), inputs).sum().backward()
    interpret(tree(4), same).sum().backward()
    for a, b in zip(inputs, same):
        assert torch.allclose(a.grad, b.grad)
