"""The verifier passes what is right and catches every sort of damage, by the name of the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from internals.jit.ir import (
    BoolType,
    ClassType,
    Graph,
    IntType,
    NoneType,
    StringType,
    TensorType,
    TupleType,
)
from internals.jit.ir.parser import parse_ir
from internals.jit.ir.value import Use
from internals.jit.ir.verifier import VerificationError, verify
from tests.answers import answer
from tests.jit.ir.ir_sources import PROGRAMS, compiled
from tests.jit.ir.test_text import GROUPS, graphs
from tests.jit.sources import place_free

GOOD = """\
graph(%self : __torch__.M,
      %x.1 : Tensor,
      %n : int):
  %one : int = prim::Constant[value=1]()
  %yes : bool = prim::Constant[value=1]()
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %y : Tensor = aten::add(%x.1, %w, %one)
  %z : Tensor = prim::Loop(%n, %yes, %y)
    block0(%i : int, %c : Tensor):
      %d : Tensor = aten::mul(%c, %c)
      -> (%yes, %d)
  %r : Tensor = prim::If(%yes)
    block0():
      %s : Tensor = aten::relu(%z)
      -> (%s)
    block1():
      -> (%y)
  %pair : (Tensor, int) = prim::TupleConstruct(%r, %n)
  %a : Tensor, %b : int = prim::TupleUnpack(%pair)
  %list : Tensor[] = prim::ListConstruct(%a, %r)
  %e : Tensor, %f : Tensor = prim::ListUnpack(%list)
  %dict : Dict(int, Tensor) = prim::DictConstruct(%b, %e)
  return (%dict)
"""


def find(g: Graph, kind: str) -> Any:
    return g.findNode(kind)


def value(g: Graph, name: str) -> Any:
    return g._names[name]


def typed_module() -> Graph:
    g = parse_ir(GOOD)
    g.inputs()[0].type().addAttribute("w", TensorType.get(), "parameter")
    return g


def swap(g: Graph) -> None:
    find(g, "aten::mul").moveBefore(find(g, "aten::add"))


def unlink(g: Graph) -> None:
    find(g, "aten::add").next()._prev = find(g, "aten::relu")


def cycle(g: Graph) -> None:
    add = find(g, "aten::add")
    add._next = add
    add._prev = add


def other_block(g: Graph) -> None:
    find(g, "aten::add")._block = find(g, "prim::If").blocks()[0]


def other_graph(g: Graph) -> None:
    find(g, "aten::add").graph = Graph()


def wrong_owner(g: Graph) -> None:
    find(g, "prim::If").blocks()[0]._owner = find(g, "prim::Loop")


def lost_use(g: Graph) -> None:
    value(g, "y")._uses.pop()


def extra_use(g: Graph) -> None:
    value(g, "y")._uses.append(Use(find(g, "aten::relu"), 0))


def doubled_use(g: Graph) -> None:
    value(g, "y")._uses.append(value(g, "y")._uses[0])


def input_without_use(g: Graph) -> None:
    find(g, "aten::relu")._inputs[0] = value(g, "y")


def wrong_offset(g: Graph) -> None:
    value(g, "a")._offset = 1


def wrong_node(g: Graph) -> None:
    value(g, "y")._node = find(g, "aten::relu")


def same_number(g: Graph) -> None:
    value(g, "y")._unique = value(g, "z")._unique


def number_too_high(g: Graph) -> None:
    value(g, "y")._unique = 1000


def stolen_name(g: Graph) -> None:
    value(g, "y")._name = "z"


def forgotten_name(g: Graph) -> None:
    del g._names["y"]


def stale_name(g: Graph) -> None:
    g._names["ghost"] = Graph().addInput("ghost")


def bad_name(g: Graph) -> None:
    v = value(g, "y")
    del g._names["y"]
    v._name = "two words"
    g._names["two words"] = v


def no_type(g: Graph) -> None:
    value(g, "y")._type = "Tensor"


def lost_insert_point(g: Graph) -> None:
    g.setInsertPoint(g.create("aten::relu", []))


def undefined_outside(g: Graph) -> None:
    find(g, "aten::add").replaceInput(0, Graph().addInput("q"))


def out_of_the_arm(g: Graph) -> None:
    g.return_node().replaceInput(0, value(g, "s"))


def third_arm(g: Graph) -> None:
    find(g, "prim::If").addBlock()


def arm_without_output(g: Graph) -> None:
    find(g, "prim::If").blocks()[1].eraseOutput(0)


def arm_with_input(g: Graph) -> None:
    find(g, "prim::If").blocks()[1].addInput("p")


def arm_of_other_type(g: Graph) -> None:
    find(g, "prim::If").blocks()[1].replaceOutput(0, value(g, "n"))


def int_condition(g: Graph) -> None:
    find(g, "prim::If").replaceInput(0, value(g, "n"))


def loop_carries_too_much(g: Graph) -> None:
    find(g, "prim::Loop").addInput(value(g, "y"))


def loop_count_no_int(g: Graph) -> None:
    find(g, "prim::Loop").replaceInput(0, value(g, "y"))


def loop_without_condition(g: Graph) -> None:
    find(g, "prim::Loop").blocks()[0].replaceOutput(0, value(g, "n"))


def no_overload(g: Graph) -> None:
    find(g, "aten::add").removeInput(2)


def no_operator(g: Graph) -> None:
    find(g, "aten::relu")._kind = "aten::rellu"


def too_many_outputs(g: Graph) -> None:
    find(g, "aten::relu").addOutput()


def output_of_other_type(g: Graph) -> None:
    value(g, "s").setType(StringType.get())


def call_with_block(g: Graph) -> None:
    find(g, "aten::relu").addBlock()


def tuple_too_short(g: Graph) -> None:
    value(g, "pair").setType(TupleType([TensorType.get()]))


def tuple_of_other_type(g: Graph) -> None:
    value(g, "b").setType(BoolType.get())


def list_of_other_type(g: Graph) -> None:
    find(g, "prim::ListConstruct").addInput(value(g, "n"))


def unpacked_no_list(g: Graph) -> None:
    value(g, "list").setType(TensorType.get())


def key_of_other_type(g: Graph) -> None:
    find(g, "prim::DictConstruct").replaceInput(0, value(g, "a"))


def dict_without_value(g: Graph) -> None:
    find(g, "prim::DictConstruct").removeInput(1)


def constant_without_value(g: Graph) -> None:
    value(g, "one").node().removeAttribute("value")


def constant_of_other_kind(g: Graph) -> None:
    value(g, "one").setType(TensorType.get())


def constant_with_input(g: Graph) -> None:
    value(g, "yes").node().addInput(value(g, "n"))


def attribute_without_name(g: Graph) -> None:
    find(g, "prim::GetAttr").removeAttribute("name")


def unknown_attribute(g: Graph) -> None:
    find(g, "prim::GetAttr").s_("name", "v")


def attribute_of_no_module(g: Graph) -> None:
    find(g, "prim::GetAttr").replaceInput(0, value(g, "x.1"))


def attribute_of_other_type(g: Graph) -> None:
    value(g, "w").setType(IntType.get())


def return_inside(g: Graph) -> None:
    g.create("prim::Return", [], 0).insertBefore(find(g, "aten::add"))


DAMAGE: dict[str, list[Callable[[Graph], None]]] = {
    "links": [unlink, cycle, other_block, other_graph, wrong_owner, lost_insert_point],
    "uses": [lost_use, extra_use, doubled_use, input_without_use],
    "values": [wrong_offset, wrong_node],
    "numbers": [same_number, number_too_high],
    "names": [stolen_name, forgotten_name, stale_name, bad_name],
    "order": [swap, undefined_outside, out_of_the_arm],
    "blocks": [third_arm, arm_without_output, arm_with_input, loop_carries_too_much,
               call_with_block],
    "types": [
        no_type, arm_of_other_type, int_condition, loop_count_no_int, loop_without_condition,
        tuple_of_other_type, list_of_other_type, unpacked_no_list, key_of_other_type,
        attribute_of_no_module, attribute_of_other_type,
    ],
    "schema": [no_overload, no_operator, too_many_outputs, output_of_other_type],
    "structure": [tuple_too_short, dict_without_value, constant_with_input, return_inside],
    "attributes": [constant_without_value, constant_of_other_kind, attribute_without_name,
                   unknown_attribute],
}  # fmt: skip


@pytest.mark.parametrize(
    "rule, damage", [(rule, d) for rule, found in DAMAGE.items() for d in found]
)
def test_damage_is_found(rule: str, damage: Callable[[Graph], None]) -> None:
    g = typed_module()
    verify(g)
    damage(g)
    with pytest.raises(VerificationError) as raised:
        verify(g)
    assert raised.value.rule == rule, raised.value
    assert f"rule '{rule}'" in str(raised.value)


def test_the_error_names_the_node() -> None:
    g = typed_module()
    no_overload(g)
    with pytest.raises(
        VerificationError, match=r"aten::add: no overload takes \(Tensor, Tensor\)"
    ) as raised:
        g.lint()
    assert raised.value.node is find(g, "aten::add")
    assert "in: %y : Tensor = aten::add(%x.1, %w)" in str(raised.value)


def test_damage_inside_a_group() -> None:
    g = parse_ir(GROUPS)
    verify(g)
    inner = g.findNode("prim::DifferentiableGraph").g("Subgraph")
    inner.findNode("prim::FusionGroup").g("Subgraph").addInput("extra")
    with pytest.raises(VerificationError, match="has 1 inputs, its graph 2") as raised:
        verify(g)
    assert raised.value.rule == "blocks"


def test_an_optional_may_be_none_and_a_module_read_from_text_may_have_any_attribute() -> None:
    verify(parse_ir(GOOD))
    g = parse_ir("""
graph(%c : bool):
  %n : NoneType = prim::Constant()
  %k : int = prim::Constant[value=1]()
  %r : int? = prim::If(%c)
    block0():
      -> (%n)
    block1():
      -> (%k)
  return (%r)
""")
    verify(g)
    assert value(g, "n").type() == NoneType.get() and isinstance(
        typed_module().inputs()[0].type(), ClassType
    )


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_generated_graphs_are_right(g: Graph) -> None:
    verify(g)
    verify(g.copy())


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_of_real_pytorch_are_right(name: str) -> None:
    def texts(torch: Any) -> list[str]:
        f = compiled(torch, name)
        return [place_free(str(f.graph)), place_free(str(f.inlined_graph))]

    for text in answer(texts, about=PROGRAMS[name], family="jit_graphs"):
        verify(parse_ir(text))
