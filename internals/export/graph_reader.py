"""From the nodes of an exported graph to nodes of the IR (`torch/_export/serde/serialize.py`,
`GraphModuleDeserializer`).

    {"target": "torch.ops.aten.add.Tensor", "inputs": [...],
     "outputs": [{"as_tensor": {"name": "add"}}]}
    %add : Tensor = aten::add(%relu, %b_k, %1)

The target names operator and overload, so there is nothing to resolve: the schema is looked up and
omitted defaults are filled in. A few targets stand for an operator of another name (`MEANS`), such
as Python's own arithmetic on sizes. An unknown operator becomes a node all the same, so that the
graph can be read, and is counted in `missing`.

How the real one differs: it makes FX nodes, which call the operators themselves, and has many more
operators that take graphs (here: graph_blocks.py).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from internals.jit.ir import (
    BoolType,
    FloatType,
    Graph,
    IntType,
    ListType,
    NumberType,
    StringType,
    TensorType,
    Type,
    Value,
)
from internals.jit.operators import find_operators
from internals.jit.operators.registry import Operator
from internals.jit.schema import FunctionSchema
from internals.serialization.json_node import JsonNode
from internals.serialization.script.private_operators import is_written, refusal

from .arguments import Arguments, device_of
from .decompositions import decomposition
from .graph_blocks import HANDLERS
from .pt2_archive import dtype_of

MEANS = {
    "torch.ops.aten.lift_fresh_copy.default": "aten::clone",
    "torch.ops.aten.alias.default": "aten::detach",
    "torch.ops.aten.sym_size.int": "aten::size.int",
    "torch.ops.aten.sym_numel.default": "aten::numel",
    "torch.ops.aten.sym_stride.int": "aten::stride.int",
    "_operator.add": "aten::add.int",
    "_operator.sub": "aten::sub.int",
    "_operator.mul": "aten::mul.int",
    "_operator.floordiv": "aten::floordiv.int",
    "_operator.truediv": "aten::div.int",
    "_operator.mod": "aten::remainder.int",
    "_operator.neg": "aten::neg.int",
    "_operator.pow": "aten::pow.int_to_int",
    "_operator.eq": "aten::eq.int",
    "_operator.ne": "aten::ne.int",
    "_operator.lt": "aten::lt.int",
    "_operator.le": "aten::le.int",
    "_operator.gt": "aten::gt.int",
    "_operator.ge": "aten::ge.int",
    "torch.sym_max": "prim::max.int",
    "torch.sym_min": "prim::min.int",
    "torch.sym_int": "aten::Int.Scalar",
    "torch.sym_float": "aten::Float.Scalar",
    "torch.sym_not": "aten::__not__",
}
# Assertions of the exporter about its own assumptions; `ExportedProgram` checks the inputs instead.
LEFT_OUT = (
    "torch.ops.aten._assert_tensor_metadata.default",
    "torch.ops.aten.sym_constrain_range.default",
    "torch.ops.aten.sym_constrain_range_for_size.default",
)
SYMBOLS: dict[str, Type] = {
    "as_sym_int": IntType.get(), "as_int": IntType.get(), "as_sym_float": FloatType.get(),
    "as_float": FloatType.get(), "as_sym_bool": BoolType.get(), "as_bool": BoolType.get(),
    "as_string": StringType.get(),
}  # fmt: skip


CONVERSIONS = {"int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool"}


class GraphReader:
    """Reads the nodes of `content`, the JSON of a graph, into `graph`.

    `values` maps names to values: the inputs at first, then the results of nodes too. `depth`
    counts the graphs around this one.
    """

    def __init__(
        self,
        graph: Graph,
        content: JsonNode,
        values: dict[str, Value],
        missing: Counter[str] | None = None,
        depth: int = 0,
    ) -> None:
        self.graph, self.content, self.values, self.depth = graph, content, values, depth
        self.arguments = Arguments(graph, values)
        self.missing: Counter[str] = Counter() if missing is None else missing

    def read(self) -> None:
        for node in self.content["nodes"]:
            self.read_node(node)

    def read_node(self, node: JsonNode) -> None:
        """Add one node: an operator's call, blocks, a decomposition's nodes, or a placeholder.

        Raises ArchiveError for operators that a file must not call.
        """
        target = node["target"].text()
        if target in LEFT_OUT:
            return
        if target in HANDLERS:  # control flow: becomes blocks
            return HANDLERS[target](self, node)
        operator, written = operator_of(target), decomposition(target)
        if operator is not None and not is_written(symbol := operator.name.partition(".")[0]):
            raise node["target"].error(f"is {target}: {refusal(symbol)}")
        given = [(each["name"].text(), each["arg"]) for each in node["inputs"]]
        if written is not None:  # copy the decomposition's nodes in place of the call
            results = self.graph.insertGraph(
                written.graph, self.inputs_of(written.schema, given, node)
            )
            returned = (
                results[0].node().inputs()
                if results[0].node().kind() == "prim::TupleConstruct"
                else results
            )
            return self.name_all(returned, node["outputs"])
        if operator is None:  # a placeholder: readable, but not runnable
            self.missing[target] += 1
            inputs = [self.arguments.read(arg) for _, arg in given if arg.union()[0] != "as_graph"]
            call = self.graph.create(unknown_kind(target), inputs, 0)
            types: list[Type] = [TensorType.get()] * len(node["outputs"])
        else:
            inputs = self.inputs_of(operator.schema, given, node)
            call = self.graph.create(operator.name.partition(".")[0], inputs, 0)
            types = [r.type for r in operator.schema.returns]
        self.graph.insertNode(call)
        self.name_all([call.addOutput().setType(t) for t in types], node["outputs"])

    def inputs_of(
        self, schema: FunctionSchema, given: list[tuple[str, JsonNode]], node: JsonNode
    ) -> list[Value]:
        """The inputs in the schema's order, with defaults filled in.

        Python's functions name their arguments differently (`_operator.add(a, b)`): those go by
        position.
        """
        names = [a.name for a in schema.arguments]
        by_position = not all(name in names for name, _ in given)
        found: dict[str, JsonNode] = {}
        for i, (name, arg) in enumerate(given):
            if by_position and i >= len(names):
                raise node.error(f"gives {schema.name} more than its {len(names)} arguments")
            found[names[i] if by_position else name] = arg
        # by the schema, not by the file: arguments with defaults may be absent, or in another order
        inputs: list[Value] = []
        for argument in schema.arguments:
            if argument.name in found:
                inputs.append(
                    self.given(
                        found[argument.name], argument.type, takes_number(schema, len(inputs))
                    )
                )
            elif argument.has_default_value():
                inputs.append(self.graph.insertConstant(argument.default_value, argument.type))
            else:
                raise node.error(f"does not give {schema.name} its '{argument.name}'")
        return inputs

    def given(self, arg: JsonNode, wanted: Type, takes_number: bool = False) -> Value:
        """An argument converted to the type `wanted`: a number may be given for a float, a list
        of one, or a tensor.
        """
        if arg.union()[0] == "as_int" and isinstance(wanted, FloatType):
            return self.arguments.constant(float(arg.union()[1].integer()))
        if arg.union()[0] == "as_bool" and isinstance(wanted, NumberType):
            return self.arguments.constant(int(arg.union()[1].boolean()))
        value = self.arguments.read(arg)
        if isinstance(wanted, TensorType) and isinstance(
            value.type(), (IntType, FloatType, BoolType)
        ):
            if takes_number:
                return value  # the overload that takes a number is called
            return self.graph.insert("prim::NumToTensor", [value]).setType(TensorType.get())
        if isinstance(wanted, ListType) and isinstance(value.type(), (IntType, FloatType)):
            return self.arguments.list_of(wanted.element, [value])
        return value

    def name_all(self, values: list[Value], outputs: JsonNode) -> None:
        """Give the results of a node the names by which later nodes refer to them."""
        if len(outputs) > len(values):
            raise outputs.error(f"names {len(outputs)} results of a node that has {len(values)}")
        for value, output in zip(values, outputs):
            self.name(value, output)

    def name(self, value: Value, output: JsonNode) -> None:
        """Name one result; a list of tensors is unpacked, as each tensor has its own name."""
        kind, content = output.union()
        if kind == "as_tensor":
            self.define(content["name"], value.setType(self.tensor_type(content["name"].text())))
        elif kind in ("as_tensors", "as_optional_tensors"):
            value.setType(ListType(TensorType.get()))
            parts = self.graph.insertNode(
                self.graph.create("prim::ListUnpack", [value], len(content))
            )
            for part, each in zip(parts.outputs(), content):
                named = each if kind == "as_tensors" else each.union()[1]
                self.define(named["name"], part.setType(self.tensor_type(named["name"].text())))
        elif kind in SYMBOLS and content.get("as_name") is not None:
            self.define(content["as_name"], self.number(value, SYMBOLS[kind]))
        elif kind != "as_none":
            raise output.error(f"is a result of the kind {kind}, which is not known here")

    def number(self, value: Value, wanted: Type) -> Value:
        """The value as a `wanted` number: `aten::item` returns any, so it is converted."""
        if isinstance(value.type(), NumberType) and type(value.type()) is NumberType:
            return self.graph.insert(CONVERSIONS[str(wanted)], [value]).setType(wanted)
        return value.setType(wanted)

    def define(self, name: JsonNode, value: Value) -> None:
        """Make `value` known by a name. Raises ArchiveError for a name that is taken or invalid."""
        text = name.text()
        if not text.isidentifier() or not text.isascii():
            raise name.error(f"is {text!r}, which is no name")
        if text in self.values:
            raise name.error(f"is '{text}', which another node has made already")
        self.values[text] = value.setDebugName(text)

    def tensor_type(self, name: str) -> TensorType:
        """A tensor's dtype, device, sizes and strides; a size that depends on the input is None."""
        meta = self.content["tensor_values"].get(name)
        if meta is None:
            return TensorType.get()
        sizes, strides = ([_number(each) for each in meta[key]] for key in ("sizes", "strides"))
        requires_grad = meta["requires_grad"].boolean()
        return TensorType(
            dtype_of(meta["dtype"]), device_of(meta["device"]), sizes, strides, requires_grad
        )


def operator_of(target: str) -> Operator | None:
    """The operator of a target: "torch.ops.aten.add.Tensor" is `aten::add.Tensor`.

    None if it is not known here.
    """
    name = MEANS.get(target)
    if name is None and target.startswith("torch.ops."):
        namespace, _, rest = target.removeprefix("torch.ops.").partition(".")
        base, _, overload = rest.partition(".")
        name = (
            f"{namespace}::{base}"
            if overload in ("", "default")
            else f"{namespace}::{base}.{overload}"
        )
    if name is None:
        return None
    return next(
        (each for each in find_operators(name.partition(".")[0]) if each.name == name), None
    )


def takes_number(schema: FunctionSchema, i: int) -> bool:
    """Whether some overload of the operator takes a number at position `i`, as `add.Scalar` does
    where `add.Tensor` takes a tensor.
    """
    if "::" not in schema.name:
        return False
    others = [each.schema.arguments for each in find_operators(schema.name)]
    return i > 0 and any(
        i < len(arguments) and isinstance(arguments[i].type, NumberType) for arguments in others
    )


def unknown_kind(target: str) -> str:
    """The kind of a node for an unknown target: "torch.ops.custom.op.default" is `custom::op`."""
    namespace, _, rest = target.removeprefix("torch.ops.").partition(".")
    kind = f"{namespace}::{rest.partition('.')[0] or 'call'}"
    return "".join(c if c.isalnum() or c in "_:" else "_" for c in kind)


def _number(node: JsonNode) -> Any:
    """A size or stride as an int; None for a formula."""
    kind, value = node.union()
    return value.integer() if kind == "as_int" else None
