"""Fusion groups: what goes in, what stays out, and that nobody can tell from the results."""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass
from tests.jit.passes.pass_support import after, canonical, parsed, seeds
from tests.jit.programs.graphs import assert_same_observation, interpret, observe, program

GROUP = "prim::FusionGroup"
MATRIX = "Float(*, *, device=cpu)"


def fused(text: str) -> Graph:
    return after("graph_fuser", text)


def kinds(graph: Graph) -> list[str]:
    return [n.kind() for n in graph.nodes()]


def inside(graph: Graph) -> list[list[str]]:
    """What the groups hold, constants aside."""
    return [
        [k for k in kinds(g.g("Subgraph")) if k != "prim::Constant"]
        for g in graph.findAllNodes(GROUP)
    ]


def check_same_results(text: str, *arguments: Any) -> Graph:
    graph = fused(text)
    got, expected = interpret(graph, list(arguments)), interpret(parsed(text), list(arguments))
    for a, b in zip(
        got if isinstance(got, tuple) else [got],
        expected if isinstance(expected, tuple) else [expected],
    ):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b
    return graph


def test_a_chain_becomes_one_group() -> None:
    graph = fused(
        """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x, %1)
  %c : Tensor = aten::sigmoid(%b)
  return (%c)"""
    )
    assert kinds(graph) == [GROUP]
    assert inside(graph) == [["aten::mul", "aten::add", "aten::sigmoid"]]


def test_one_operation_is_no_group() -> None:
    text = "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)"
    assert canonical(fused(text)) == canonical(parsed(text))


def test_a_value_others_read_becomes_an_output() -> None:
    x = torch.randn(3, 3)
    graph = check_same_results(
        """graph(%x : Tensor):
  %a : Tensor = aten::tanh(%x)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::mm(%a, %b)
  return (%c, %b)""",
        x,
    )
    assert len(graph.findNode(GROUP).outputs()) == 2


@pytest.mark.parametrize("n", [3, -7])
def test_a_number_that_was_given_is_an_argument(n: int) -> None:
    graph = check_same_results(
        """graph(%x : Tensor, %n : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::mul(%a, %n)
  %c : Tensor = aten::tanh(%b)
  return (%c)""",
        torch.randn(3),
        n,
    )
    assert sorted(v.type().str() for v in graph.findNode(GROUP).inputs()) == ["Tensor", "int"]


def test_any_other_number_that_is_no_constant_keeps_an_operation_outside() -> None:
    graph = fused(
        """graph(%x : Tensor, %n : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::pow(%a, %n)
  %c : Tensor = aten::tanh(%b)
  return (%c)"""
    )
    assert graph.findNode(GROUP) is None


def test_the_size_of_a_cast_is_that_of_its_first_tensor() -> None:
    text = """graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::type_as(%x, %y)
  %s : int[] = aten::size(%a)
  %b : Tensor = aten::relu(%a)
  return (%b, %s)"""
    check_same_results(text, torch.randn(3), torch.randn(2, 3, dtype=torch.float64))


def test_two_groups_that_meet_become_one() -> None:
    graph = check_same_results(
        """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::sin(%x)
  %b : Tensor = aten::cos(%a)
  %c : Tensor = aten::sin(%y)
  %d : Tensor = aten::cos(%c)
  %e : Tensor = aten::add(%b, %d, %1)
  return (%e)""",
        torch.randn(3),
        torch.randn(2, 1),
    )
    assert len(inside(graph)) == 1 and len(inside(graph)[0]) == 5


def test_what_is_written_to_stays_outside() -> None:
    x = torch.randn(3)
    graph = check_same_results(
        """graph(%x : Tensor):
  %a : Tensor = aten::sin(%x)
  %b : Tensor = aten::cos(%a)
  %c : Tensor = aten::relu_(%a)
  %d : Tensor = aten::tanh(%b)
  %e : Tensor = aten::exp(%d)
  return (%e, %c)""",
        x,
    )
    assert inside(graph) == [["aten::tanh", "aten::exp"]]


def test_a_cat_ends_a_group() -> None:
    text = """graph(%x : Tensor, %y : Tensor):
  %0 : int = prim::Constant[value=0]()
  %a : Tensor = aten::sin(%x)
  %b : Tensor = aten::cos(%y)
  %l : Tensor[] = prim::ListConstruct(%a, %b, %x)
  %c : Tensor = aten::cat(%l, %0)
  %d : Tensor = aten::relu(%c)
  return (%d)"""
    graph = check_same_results(text, torch.randn(2, 3), torch.randn(4, 3))
    assert kinds(graph) == [GROUP, "aten::relu"], (
        "nothing can be done to a concatenation inside the group"
    )
    assert inside(graph)[0][-1] == "prim::FusedConcat"


@pytest.mark.parametrize("sizes", [((4, 6), (6,)), ((4, 1), (1, 6)), ((4, 6), (4, 6))])
def test_operations_move_behind_a_chunk(sizes: Any) -> None:
    ranks = ["*, " * len(s) for s in sizes]
    text = f"""graph(%x : Float({ranks[0]}device=cpu), %y : Float({ranks[1]}device=cpu)):
  %a : {MATRIX} = aten::mul(%x, %y)
  %b : {MATRIX} = aten::tanh(%a)
  %c : {MATRIX}, %d : {MATRIX} = prim::ConstantChunk[chunks=2, dim=1](%b)
  %e : {MATRIX} = aten::mul(%c, %d)
  return (%e)"""
    graph = check_same_results(text, *(torch.randn(*s) for s in sizes))
    assert "prim::ConstantChunk" not in kinds(graph)
    assert inside(graph)[0].count("aten::tanh") == 2


def test_a_tensor_that_two_operations_read_is_cut_once() -> None:
    text = f"""graph(%x : {MATRIX}, %y : {MATRIX}):
  %a : {MATRIX} = aten::mul(%x, %y)
  %b : {MATRIX} = aten::div(%a, %y)
  %c : {MATRIX}, %d : {MATRIX} = prim::ConstantChunk[chunks=2, dim=1](%b)
  %e : {MATRIX} = aten::mul(%c, %d)
  return (%e)"""
    graph = check_same_results(text, torch.rand(3, 4) + 1, torch.rand(3, 4) + 1)
    assert (
        inside(graph)[0].count("aten::div") == 2
        and inside(graph)[0].count("prim::ConstantChunk") <= 2
    )


def test_a_chunk_stays_where_broadcasting_could_change_the_dtype() -> None:
    """A double without dimensions beside floats counts for little; broadcast, it would make doubles
    of them.
    """
    text = f"""graph(%x : {MATRIX}, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %c : Tensor, %d : Tensor = prim::ConstantChunk[chunks=2, dim=1](%a)
  %e : Tensor = aten::mul(%c, %d)
  return (%e)"""
    graph = check_same_results(text, torch.randn(2, 4), torch.tensor(2.0, dtype=torch.float64))
    assert graph.findNode("aten::broadcast_tensors") is None


def test_a_value_only_asked_for_its_size_is_not_computed() -> None:
    text = """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %s : int[] = aten::size(%a)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::sum(%b, %n)
  return (%c, %s)""".replace("  %1", "  %n : NoneType = prim::Constant()\n  %1")
    graph = check_same_results(text, torch.randn(2, 1), torch.randn(3))
    (group,) = graph.findAllNodes(GROUP)
    assert len(group.outputs()) == 1
    assert "prim::BroadcastSizes" in kinds(graph)


def test_blocks_are_fused_by_themselves() -> None:
    text = """graph(%x : Tensor, %b : bool):
  %a : Tensor = aten::sin(%x)
  %r : Tensor = prim::If(%b)
    block0():
      %c : Tensor = aten::cos(%a)
      %d : Tensor = aten::exp(%c)
      -> (%d)
    block1():
      -> (%a)
  return (%r)"""
    for b in (True, False):
        graph = check_same_results(text, torch.randn(3), b)
    assert inside(graph) == [["aten::cos", "aten::exp"]]


def test_a_group_with_pieces_that_do_not_come_out_even() -> None:
    graph = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor, %b : Tensor, %c : Tensor = "
        "prim::ConstantChunk[chunks=3, dim=0](%x)\n"
        "  return (%a, %c)"
    )
    assert [t.tolist() for t in interpret(graph, [torch.arange(5)])] == [[0, 1], [4]]
    with pytest.raises(
        RuntimeError, match="Expected chunk to return exactly 3 outputs but it returned 2"
    ):
        interpret(graph, [torch.arange(2)])


@pytest.mark.parametrize(
    "call, fuses",
    [
        ("aten::hypot(%x, %y)", False),  # pointwise, but its loop is not in the table
        ("aten::rad2deg(%x)", True),
        ("aten::sgn(%x)", True),
        ("aten::clamp_min(%x, %half)", True),
        ("aten::cumsum(%x, %zero, %none)", False),
    ],
)
def test_a_group_takes_pointwise_operators_whose_loop_is_known(call: str, fuses: bool) -> None:
    graph = fused(f"""graph(%x : {MATRIX}, %y : {MATRIX}):
  %half : float = prim::Constant[value=0.5]()
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %a : Tensor = {call}
  %b : Tensor = aten::neg(%a)
  return (%b)
""")
    assert (inside(graph) != []) == fuses


@pytest.mark.parametrize("seed", seeds(15))
def test_random_programs(seed: int) -> None:
    p = program(seed)
    before = observe(p.graph(), p)
    assert not before.error
    graph = p.graph()
    for name in ("propagate_input_shapes", "canonicalize_ops", "graph_fuser"):
        run_pass(name, graph, verify=True)
    if "aten::type_as" in p.text:
        pytest.skip(
            "by its schema type_as gives a new tensor; of the same type it gives its argument, "
            "which may be written to"
        )
    assert_same_observation(observe(graph, p), before)
