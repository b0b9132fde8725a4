"""Graphs inside a graph: `torch.cond`, `while_loop` and `no_grad` as the IR has them
(`torch/_higher_order_ops`).

    torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, [x])
    %relu : Tensor = prim::If(%4)
      block0(): ...

Export follows one path through a program's own `if`s; `cond` and `while_loop` are how a programmer
keeps both. An inner graph sees only its inputs: every value from outside is passed as an operand.
To make a block of it, its input names are bound to the operands, and its nodes are read in place.

How the real one differs: each inner graph is a GraphModule of its own, and `cond` is an operator
that is called with two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from internals.jit.ir import BoolType, TensorType, Type, Value
from internals.serialization.json_node import JsonNode

if TYPE_CHECKING:
    from .graph_reader import GraphReader

DEEPEST = 40  # graphs inside graphs
Handler = Callable[["GraphReader", JsonNode], None]


def cond(reader: GraphReader, node: JsonNode) -> None:
    """`cond(predicate, true_graph, false_graph, operands)` as a `prim::If` of two blocks."""
    given = [each["arg"] for each in node["inputs"]]
    if len(given) != 4:
        raise node.error(f"gives cond {len(given)} arguments instead of 4")
    operands = _operands(reader, given[3:])
    graph = reader.graph
    branch = graph.insertNode(
        graph.create("prim::If", [truth(reader, reader.arguments.read(given[0]))], 0)
    )
    types: list[list[Type]] = []
    for arg in given[1:3]:
        block = branch.addBlock()
        with graph.insert_point_guard(block):
            returned = _inner(reader, arg, operands)
            for value in returned:
                block.registerOutput(value)
        types.append([plain(value.type()) for value in returned])
    if list(map(str, types[0])) != list(map(str, types[1])):
        raise node.error("has two branches that return different things")
    reader.name_all(
        [branch.addOutput().setType(result_type) for result_type in types[0]], node["outputs"]
    )


def while_loop(reader: GraphReader, node: JsonNode) -> None:
    """`while_loop(condition_graph, body_graph, carried, others)` as a `prim::Loop`.

    `carried` changes from iteration to iteration; `others` are constant during the loop.
    """
    given = [each["arg"] for each in node["inputs"]]
    if len(given) != 4:
        raise node.error(f"gives while_loop {len(given)} arguments instead of 4")
    carried, others = _operands(reader, given[2:3]), _operands(reader, given[3:])
    graph, constant = reader.graph, reader.arguments.constant
    # prim::Loop(max_iterations, start, *carried); its block takes (i, *carried) and returns
    # (go_on, *carried). So the condition is read twice: before the loop, and at the body's end.
    start = _condition(reader, given[0], carried + others)
    loop = graph.insertNode(graph.create("prim::Loop", [constant(2**63 - 1), start, *carried], 0))
    block = loop.addBlock()
    block.addInput("i").setType(constant(0).type())
    inside = [block.addInput().setType(plain(value.type())) for value in carried]
    with graph.insert_point_guard(block):
        returned = _inner(reader, given[1], inside + others)
        if [str(plain(v.type())) for v in returned] != [str(v.type()) for v in inside]:
            raise given[1].error("does not return what it is given")
        block.registerOutput(_condition(reader, given[0], returned + others))
        for value in returned:
            block.registerOutput(value)
    reader.name_all([loop.addOutput().setType(value.type()) for value in inside], node["outputs"])


def set_grad_enabled(reader: GraphReader, node: JsonNode) -> None:
    """`wrap_with_set_grad_enabled(enabled, graph, *operands)`: the nodes of `graph`, in place.

    If `enabled` is False, the resulting tensors are detached, which has the effect of `no_grad`.
    """
    given = [each["arg"] for each in node["inputs"]]
    if len(given) < 2 or given[0].union()[0] != "as_bool":
        raise node.error("does not say whether gradients are enabled")
    returned = _inner(reader, given[1], [reader.arguments.read(each) for each in given[2:]])
    if not given[0].union()[1].boolean():
        returned = [
            reader.graph.insert("aten::detach", [v]) if isinstance(v.type(), TensorType) else v
            for v in returned
        ]
    reader.name_all(returned, node["outputs"])


def assertion(reader: GraphReader, node: JsonNode) -> None:
    """`_assert_scalar(condition, message)`, `_assert_async(condition, message)`: a `prim::If`.

    Its first block is empty, its second raises `message`, which `_assert_async` may omit.
    """
    given = [reader.arguments.read(each["arg"]) for each in node["inputs"]]
    if not 1 <= len(given) <= 2:
        raise node.error(f"gives an assertion {len(given)} arguments")
    message = given[1] if len(given) == 2 else reader.arguments.constant(NO_MESSAGE)
    branch = reader.graph.insertNode(reader.graph.create("prim::If", [truth(reader, given[0])], 0))
    branch.addBlock()
    with reader.graph.insert_point_guard(branch.addBlock()):
        error = reader.graph.create(
            "prim::RaiseException", [message, reader.arguments.constant(None)], 0
        )
        reader.graph.insertNode(error)


NO_MESSAGE = "Expected Tensor with single nonzero value, but got zero"
HANDLERS: dict[str, Handler] = {
    "torch.ops.higher_order.cond": cond,
    "torch.ops.higher_order.while_loop": while_loop,
    "torch.ops.higher_order.wrap_with_set_grad_enabled": set_grad_enabled,
    "torch.ops.aten._assert_scalar.default": assertion,
    "torch.ops.aten._assert_async.default": assertion,
    "torch.ops.aten._assert_async.msg": assertion,
}


def truth(reader: GraphReader, value: Value) -> Value:
    """A tensor or a number as a bool, as `prim::If` and `prim::Loop` require."""
    if isinstance(value.type(), BoolType):
        return value
    return reader.graph.insert("aten::Bool", [value]).setType(BoolType.get())


def plain(t: Type) -> Type:
    """The type without a tensor's dtype and sizes, which may differ between branches."""
    return TensorType.get() if isinstance(t, TensorType) else t


def _operands(reader: GraphReader, lists: list[JsonNode]) -> list[Value]:
    """The entries of several lists, such as `{"as_tensors": [...]}`, as one flat list."""
    found: list[Value] = []
    for each in lists:
        kind, content = each.union()
        if kind == "as_tensors":
            found += [reader.arguments.named(entry["name"]) for entry in content]
        elif kind in (
            "as_sym_ints",
            "as_ints",
            "as_optional_tensors",
            "as_sym_floats",
            "as_sym_bools",
        ):
            found += [reader.arguments.symbolic(entry) if isinstance(entry.value, dict) else
                      reader.arguments.constant(entry.integer()) for entry in content]  # fmt: skip
        else:
            raise each.error(f"is {kind}, where the operands of a graph should be listed")
    return found


def _inner(reader: GraphReader, arg: JsonNode, operands: list[Value]) -> list[Value]:
    """Read the nodes of an inner graph at the insert point, and return its outputs."""
    kind, content = arg.union()
    if kind != "as_graph":
        raise arg.error(f"is {kind}, not a graph")
    if reader.depth >= DEEPEST:
        raise arg.error("is nested too deep")
    inputs = list(content["graph"]["inputs"])
    if len(inputs) != len(operands):
        raise content["graph"]["inputs"].error(
            f"are {len(inputs)}; {len(operands)} values are given"
        )
    values: dict[str, Value] = {}  # a new scope: names from outside are not visible
    for each, operand in zip(inputs, operands):
        form, name = each.union()
        values[name["name" if form == "as_tensor" else "as_name"].text()] = operand
    inner = type(reader)(reader.graph, content["graph"], values, reader.missing, reader.depth + 1)
    inner.read()
    return [inner.arguments.read(each) for each in content["graph"]["outputs"]]


def _condition(reader: GraphReader, arg: JsonNode, operands: list[Value]) -> Value:
    """The one result of a condition's graph, as a bool."""
    returned = _inner(reader, arg, operands)
    if len(returned) != 1:
        raise arg.error(f"should return one value, not {len(returned)}")
    return truth(reader, returned[0])
