"""The arguments of a node of an exported graph, as values of the IR (`Argument` of
`torch/_export/serde/schema.py`).

An argument is an object with one member, whose name is the argument's type:
`{"as_tensor": {"name": "relu"}}`, `{"as_ints": [1, 2]}`. `READERS` has a function for each type.
Names are looked up among the values defined so far; everything else becomes a constant.

How the real one differs: an FX node keeps numbers and lists as they are; the IR has a node for
each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.device import device
from internals.jit.ir import (
    BoolType,
    FloatType,
    Graph,
    IntType,
    ListType,
    StringType,
    TensorType,
    Type,
    Value,
    optional,
)
from internals.serialization.json_node import JsonNode

from .pt2_archive import dtype_of

# theirs to the IR's: contiguous, channels_last, channels_last_3d, preserve
MEMORY_FORMATS = {1: 0, 2: 2, 3: 3, 4: 1}


class Arguments:
    """Reads arguments into a graph, at its insert point. `values` maps names to earlier results."""

    def __init__(self, graph: Graph, values: dict[str, Value]) -> None:
        self.graph, self.values = graph, values

    def read(self, node: JsonNode) -> Value:
        """The value of one argument, such as `{"as_int": 3}`.

        Raises ArchiveError for a name that is not defined yet, or an unknown kind of argument.
        """
        kind, content = node.union()
        if kind not in READERS:
            raise node.error(f"is an argument of the kind {kind}, which is not known here")
        return READERS[kind](self, content)

    def constant(self, value: object) -> Value:
        return self.graph.insertConstant(value)

    def named(self, node: JsonNode) -> Value:
        name = node.text()
        if name not in self.values:
            raise node.error(f"names the value '{name}', which no node before has made")
        return self.values[name]

    def list_of(self, element: Type, values: list[Value]) -> Value:
        return (
            self.graph.insertNode(self.graph.create("prim::ListConstruct", values))
            .output()
            .setType(ListType(element))
        )

    def symbolic(self, node: JsonNode) -> Value:
        """A number: either a constant or, as `{"as_name": ...}`, the result of a node."""
        kind, content = node.union()
        if kind == "as_name":
            return self.named(content)
        return self.constant(_NUMBERS[kind](content)) if kind in _NUMBERS else self.read(node)


_NUMBERS: dict[str, Callable[[JsonNode], Any]] = {
    "as_int": JsonNode.integer,
    "as_float": JsonNode.number,
    "as_bool": JsonNode.boolean,
}


def device_of(node: JsonNode) -> device:
    index = node.get("index")
    try:
        return device(node["type"].text(), None if index is None else index.integer())
    except RuntimeError as error:
        raise node.error(f"is no device: {error}") from None


def _tensors(a: Arguments, node: JsonNode) -> Value:
    return a.list_of(TensorType.get(), [a.named(each["name"]) for each in node])


def _optional_tensors(a: Arguments, node: JsonNode) -> Value:
    return a.list_of(optional(TensorType.get()), [_optional_tensor(a, each) for each in node])


def _optional_tensor(a: Arguments, node: JsonNode) -> Value:
    kind, content = node.union()
    return a.named(content["name"]) if kind == "as_tensor" else a.constant(None)


def _list(
    element: Type, number: Callable[[JsonNode], Any]
) -> Callable[[Arguments, JsonNode], Value]:
    return lambda a, node: a.list_of(element, [a.constant(number(each)) for each in node])


def _symbolic_list(element: Type) -> Callable[[Arguments, JsonNode], Value]:
    return lambda a, node: a.list_of(element, [a.symbolic(each) for each in node])


def _memory_format(a: Arguments, node: JsonNode) -> Value:
    if node.integer() not in MEMORY_FORMATS:
        raise node.error(f"is memory format {node.integer()}, which is not known here")
    return a.constant(MEMORY_FORMATS[node.integer()])


def _layout(a: Arguments, node: JsonNode) -> Value:
    if node.integer() != 7:  # `Layout.Strided` of the schema; the IR writes it as 0
        raise node.error("is a layout of sparse tensors; dense ones are known here")
    return a.constant(0)


READERS: dict[str, Callable[[Arguments, JsonNode], Value]] = {
    "as_none": lambda a, node: a.constant(None),
    "as_tensor": lambda a, node: a.named(node["name"]),
    "as_tensors": _tensors,
    "as_optional_tensor": _optional_tensor,
    "as_optional_tensors": _optional_tensors,
    "as_int": lambda a, node: a.constant(node.integer()),
    "as_ints": _list(IntType.get(), JsonNode.integer),
    "as_float": lambda a, node: a.constant(node.number()),
    "as_floats": _list(FloatType.get(), JsonNode.number),
    "as_bool": lambda a, node: a.constant(node.boolean()),
    "as_bools": _list(BoolType.get(), JsonNode.boolean),
    "as_string": lambda a, node: a.constant(node.text()),
    "as_strings": _list(StringType.get(), JsonNode.text),
    "as_sym_int": Arguments.symbolic,
    "as_sym_ints": _symbolic_list(IntType.get()),
    "as_sym_float": Arguments.symbolic,
    "as_sym_floats": _symbolic_list(FloatType.get()),
    "as_sym_bool": Arguments.symbolic,
    "as_sym_bools": _symbolic_list(BoolType.get()),
    "as_scalar_type": lambda a, node: a.constant(dtype_of(node).code),
    "as_memory_format": _memory_format,
    "as_layout": _layout,
    "as_device": lambda a, node: a.constant(device_of(node)),
    "as_complex": lambda a, node: a.constant(complex(node["real"].number(), node["imag"].number())),
}
