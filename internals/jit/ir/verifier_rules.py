"""The rules that depend on a node's kind, which `verifier.py` checks for each node by itself.

A call of an operator must match one of the operator's schemas. The other nodes are part of the
language: each kind has a row in the table `SHAPES` below, with its numbers of inputs, outputs and
blocks, and a function that checks the rest.

How the real one differs: `Node::lint` (`ir.cpp`) has a switch for a few kinds, and does not check
schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .class_type import ClassType
from .graph import Graph
from .node import Node
from .tensor_type import TensorType, unshaped
from .types import (
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FunctionType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TupleType,
    Type,
)  # fmt: skip
from .value import Value


class Broken(Exception):
    """A node breaks the rule `rule`; `verifier.py` adds the node to the message."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def check_kind(node: Node, is_border: bool = False) -> None:
    """Check a node by the rules of its kind. `is_border`: it opens or closes a block."""
    kind = node.kind()
    if kind in ("prim::Param", "prim::Return"):
        if not is_border:
            raise Broken("structure", f"{kind} opens or closes a block and cannot stand inside one")
        return
    if node.hasAttribute("Subgraph") and isinstance(node.attribute("Subgraph"), Graph):
        _check_subgraph(node, node.attribute("Subgraph"))
    shape = SHAPES.get(kind)
    if shape is not None:
        _check_shape(node, shape)
        if shape.more is not None:
            shape.more(node)
    else:
        _check_schema(node)


def fits(actual: Type, formal: Type) -> bool:
    """Whether a value of type `actual` may pass where `formal` is expected. All tensor types count
    as `Tensor`.
    """
    return actual is formal or unshaped(actual).isSubtypeOf(unshaped(formal))


# Calls of operators


def _check_schema(node: Node) -> None:
    """Check that the inputs and outputs are those of one overload of the operator."""
    from internals.jit.operators.registry import find_operators, operator_for
    from internals.jit.type_variables import evaluate, match_type_variables

    kind = node.kind()
    overloads = find_operators(kind)
    if not overloads and not kind.startswith("aten::"):
        return
    found = operator_for(node)  # looked up anew: the overload cached in the node may be wrong
    schema = found.schema if found else None
    types = ", ".join(v.type().repr_str() for v in node.inputs())
    if schema is None:
        known = "".join(f"\n    {o.schema}" for o in overloads)
        why = (
            f"no overload takes ({types}); there are:{known}"
            if overloads
            else "there is no such operator"
        )
        raise Broken("schema", f"{kind}: {why}")
    if node.blocks():
        raise Broken("blocks", f"{kind} is a call and has no blocks")
    outputs = node.outputs()
    if len(outputs) != len(schema.returns) and not schema.is_varret:
        raise Broken(
            "schema",
            f"{kind} returns {len(schema.returns)} values, the node has {len(outputs)} outputs: "
            f"{schema}",
        )
    env: dict[str, Type] = {}
    for argument, value in zip(schema.arguments, node.inputs()):
        match_type_variables(argument.type, value.type(), env)
    for formal, value in zip(schema.returns, outputs):
        returned = evaluate(formal.type, env) or formal.type
        # The type of the value may be more precise, or less: an analysis may have erased it.
        if not fits(value.type(), returned) and not fits(returned, value.type()):
            raise Broken(
                "schema",
                f"%{value.debugName()} is of type {value.type()}, but {schema} returns {returned}",
            )


# Nodes of the language


class Shape(NamedTuple):
    """The numbers of inputs, outputs and blocks of a kind (2 is exactly two, "1+" is one or more),
    the attributes it must have, and `more`, a function that checks the rest.
    """

    inputs: int | str
    outputs: int | str
    blocks: int | str = 0
    attributes: Sequence[str] = ()
    more: Callable[[Node], None] | None = None


def _check_shape(node: Node, shape: Shape) -> None:
    """Check the numbers of inputs, outputs and blocks, and that all attributes are there."""
    counts = (
        ("inputs", "structure", node.inputsSize(), shape.inputs),
        ("outputs", "structure", node.outputsSize(), shape.outputs),
        ("blocks", "blocks", len(node.blocks()), shape.blocks),
    )
    for what, rule, found, wanted in counts:
        if found != wanted if isinstance(wanted, int) else found < int(wanted[:-1]):
            raise Broken(
                rule,
                f"{node.kind()} has {found} {what}, not {str(wanted).replace('+', ' or more')}",
            )
    for name in shape.attributes:
        if not node.hasAttribute(name):
            raise Broken("attributes", f"{node.kind()} needs the attribute '{name}'")


def _check_if(node: Node) -> None:
    _expect(node, node.input(), BoolType.get(), "the condition")
    for i, block in enumerate(node.blocks()):
        if block.inputs():
            raise Broken("blocks", f"block{i} of prim::If takes inputs")
        _pass_on(block.outputs(), node.outputs(), f"block{i} gives", "an output of the If")


def _check_loop(node: Node) -> None:
    """Check `outputs = prim::Loop(trip count, condition, *carried)`, whose body maps
    (counter, *carried) to (next condition, *carried).
    """
    (body,) = node.blocks()
    carried = node.inputs()[2:]
    inside, again = body.inputs(), body.outputs()
    if not inside or not again:
        raise Broken(
            "blocks",
            "the body of prim::Loop takes at least the counter and gives at least the condition",
        )
    _expect(node, node.input(0), IntType.get(), "the trip count")
    _expect(node, node.input(1), BoolType.get(), "the condition")
    _expect(node, inside[0], IntType.get(), "the counter")
    _expect(node, again[0], BoolType.get(), "the next condition")
    # inside[0] is the counter, again[0] the condition
    _pass_on(carried, inside[1:], "the Loop is given", "an input of its body")
    _pass_on(again[1:], inside[1:], "the body gives", "its input in the next turn")
    _pass_on(again[1:], node.outputs(), "the body gives", "an output of the Loop")


def _pass_on(given: Sequence[Value], taken: Sequence[Value], giver: str, taker: str) -> None:
    """Check values that become others when a block begins or ends: as many, and of types that
    fit. `giver` and `taker` are words for the message.
    """
    if len(given) != len(taken):
        raise Broken(
            "blocks", f"{giver} {len(given)} values where there are {len(taken)}, each {taker}"
        )
    for g, t in zip(given, taken):
        if not fits(g.type(), t.type()):
            raise Broken(
                "types",
                f"{giver} %{g.debugName()} of type {g.type()}, but %{t.debugName()}, {taker}, is "
                f"{t.type()}",
            )


def _expect(node: Node, value: Value, type: Type, what: str) -> None:
    if not fits(value.type(), type):
        raise Broken(
            "types",
            f"{what} of {node.kind()} is %{value.debugName()} of type {value.type()}, not {type}",
        )


def _check_subgraph(node: Node, graph: Graph) -> None:
    """Check the graph that a node holds, and that the node has its inputs and outputs."""
    from .verifier import verify

    if node.kind().startswith("^"):
        return
    verify(graph)
    if len(graph.inputs()) != node.inputsSize():
        raise Broken(
            "blocks",
            f"{node.kind()} has {node.inputsSize()} inputs, its graph {len(graph.inputs())}",
        )
    # A differentiable graph also returns temporaries for the backward, after the real outputs.
    real = (
        node.i("f_real_outputs") if node.hasAttribute("ReverseSubgraph") else len(graph.outputs())
    )
    if real != node.outputsSize() and node.kind() != "prim::fork":
        raise Broken(
            "blocks",
            f"{node.kind()} has {node.outputsSize()} outputs, its graph {len(graph.outputs())}",
        )


def _check_constant(node: Node) -> None:
    """Check that the kind of the attribute `value` fits the type of the output."""
    type = node.output().type()
    inner = type.element if isinstance(type, OptionalType) else type
    if not node.hasAttribute("value"):
        if not isinstance(
            type, (NoneType, OptionalType, FunctionType, GeneratorType, TensorType, AnyType)
        ):
            raise Broken("attributes", f"a constant of type {type} needs a value")
        return
    kind = node.kindOf("value")
    if not isinstance(inner, CONSTANTS.get(kind, ())) and not isinstance(inner, AnyType):
        raise Broken(
            "attributes", f"a constant of type {type} cannot have a value of kind '{kind}'"
        )


# kind of attribute → the types of a constant that is stored so
CONSTANTS: dict[str, tuple[type, ...]] = {
    "i": (IntType, BoolType, NumberType), "f": (FloatType, NumberType),
    "c": (ComplexType, NumberType), "t": (TensorType,), "s": (StringType, DeviceObjType),
    "ival": (ListType, TupleType, DictType, ClassType), "ts": (ListType,), "is": (ListType,),
    "fs": (ListType,), "ss": (ListType,), "cs": (ListType,),
}  # fmt: skip


def _check_tuple_construct(node: Node) -> None:
    _check_elements(node, node.inputs(), node.output())


def _check_tuple_unpack(node: Node) -> None:
    _check_elements(node, node.outputs(), node.input())


def _check_elements(node: Node, parts: Sequence[Value], whole: Value) -> None:
    """Check the types of a tuple's elements; either may know more of a tensor than the other."""
    type = whole.type()
    if not isinstance(type, TupleType):
        raise Broken(
            "types", f"%{whole.debugName()} of {node.kind()} is of type {type}, not a tuple"
        )
    if len(type.elements) != len(parts):
        raise Broken(
            "structure",
            f"{node.kind()}: {len(parts)} values for the {len(type.elements)} elements of {type}",
        )
    for part, element in zip(parts, type.elements):
        if not fits(part.type(), element) and not fits(element, part.type()):
            raise Broken(
                "types",
                f"%{part.debugName()} of type {part.type()} is an element {element} of {type}",
            )


def _check_list_construct(node: Node) -> None:
    type = node.output().type()
    if not isinstance(type, ListType):
        raise Broken("types", f"prim::ListConstruct gives a value of type {type}, not a list")
    for value in node.inputs():
        _expect(node, value, type.element, "an element")


def _check_dict_construct(node: Node) -> None:
    """Check inputs that are key, value, key, value, ..."""
    type = node.output().type()
    if not isinstance(type, DictType) or node.inputsSize() % 2:
        raise Broken(
            "structure",
            f"prim::DictConstruct makes a dict of keys and values in turn, not a {type}",
        )
    for i, value in enumerate(node.inputs()):
        _expect(node, value, type.value if i % 2 else type.key, "a value" if i % 2 else "a key")


def _check_list_unpack(node: Node) -> None:
    type = node.input().type()
    if not isinstance(type, ListType):
        raise Broken("types", f"prim::ListUnpack takes apart a value of type {type}, not a list")
    for value in node.outputs():
        if not fits(value.type(), type.element) and not fits(type.element, value.type()):
            raise Broken(
                "types", f"%{value.debugName()} of type {value.type()} is an element of {type}"
            )


def _check_attribute(node: Node) -> None:
    """Check GetAttr and SetAttr against the class type of the module. One that was read from the
    text of a graph declares no attributes, so there is nothing to compare with.
    """
    name, type = node.s("name"), node.input(0).type()
    if not isinstance(type, ClassType):
        raise Broken("types", f"{node.kind()} of '{name}' on a value of type {type}, not a module")
    if not type.attributes:
        return
    if not type.hasAttribute(name):
        raise Broken("attributes", f"{type} has no attribute '{name}'")
    is_get = node.kind() == "prim::GetAttr"
    value = node.output() if is_get else node.input(1)
    declared = type.getAttribute(name)
    if not fits(value.type(), declared) and not (is_get and fits(declared, value.type())):
        raise Broken(
            "types",
            f"%{value.debugName()} of type {value.type()} is the attribute '{name}: {declared}' of "
            f"{type}",
        )


def _check_method(node: Node) -> None:
    type = node.input(0).type()
    if not isinstance(type, ClassType):
        raise Broken(
            "types",
            f"prim::CallMethod of '{node.s('name')}' on a value of type {type}, not a module",
        )


def _check_call(node: Node) -> None:
    if not isinstance(node.input(0).type(), FunctionType):
        raise Broken(
            "types",
            f"prim::CallFunction calls a value of type {node.input(0).type()}, not a function",
        )


def _check_boolean(node: Node) -> None:
    if not fits(node.output().type(), BoolType.get()):
        raise Broken("types", f"{node.kind()} gives a bool, not a {node.output().type()}")


SHAPES: dict[str, Shape] = {
    "prim::Constant": Shape(0, 1, more=_check_constant),
    "prim::If": Shape(1, "0+", 2, more=_check_if),
    "prim::Loop": Shape("2+", "0+", 1, more=_check_loop),
    "prim::TupleConstruct": Shape("0+", 1, more=_check_tuple_construct),
    "prim::TupleUnpack": Shape(1, "0+", more=_check_tuple_unpack),
    "prim::TupleIndex": Shape(2, 1),
    "prim::TupleSlice": Shape(1, 1, attributes=("beg", "end")),
    "prim::ListConstruct": Shape("0+", 1, more=_check_list_construct),
    "prim::ListUnpack": Shape(1, "0+", more=_check_list_unpack),
    "prim::DictConstruct": Shape("0+", 1, more=_check_dict_construct),
    "prim::GetAttr": Shape(1, 1, attributes=("name",), more=_check_attribute),
    "prim::SetAttr": Shape(2, 0, attributes=("name",), more=_check_attribute),
    "prim::CallMethod": Shape("1+", 1, attributes=("name",), more=_check_method),
    "prim::CallFunction": Shape("1+", 1, more=_check_call),
    "prim::Print": Shape("0+", 0),
    "prim::RaiseException": Shape("1+", 0),
    "prim::Uninitialized": Shape(0, 1),
    "prim::unchecked_cast": Shape(1, 1),
    "prim::isinstance": Shape(1, 1, attributes=("types",), more=_check_boolean),
    "prim::ConstantChunk": Shape(1, "1+", attributes=("chunks", "dim")),
    "prim::DifferentiableGraph": Shape("0+", "0+", attributes=("Subgraph",)),
    "prim::FusionGroup": Shape("0+", "0+", attributes=("Subgraph",)),
    "prim::ConvolutionGroup": Shape("0+", "1+", attributes=("Subgraph",)),
    "prim::GradOf": Shape("0+", "0+", 1, attributes=("name",)),
}
