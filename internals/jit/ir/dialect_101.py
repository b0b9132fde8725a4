"""The text of a graph in the dialect of PyTorch 1.0.1, which the talk shows:
`graph.dump(style="1.0.1")` (`torch/csrc/jit/ir.cpp` of 1.0.1).

    graph(%x : Float(2, 2)) {
      %1 : Float(2!, 2!) = aten::t(%x)
      %2 : Float(2, 2) = aten::t(%1)
      return (%2);
    }

Two things have changed since. One is the text: in 1.0.1 there were no commas between the inputs,
but braces and semicolons, a `!` behind a size whose stride is not that of a contiguous tensor, and
floats with six digits. The second half of this file prints that, by the algorithm of 1.0.1. The
other is the operators: they have new names and new arguments. The tables below undo that if the
meaning stays the same; a call that 1.0.1 could not express stays as it is today. Constants that
only new arguments use are omitted. Modules were not values: the parameters that a graph reads from
`self` become inputs behind the others.

The graph itself is not changed, and the numbers of its values stay.

How the real one differs: today's PyTorch cannot print this. The graphs of 1.0.1 had other numbers,
and in places other nodes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from internals.core.dtype import bool_
from internals.core.tensor_impl import TensorImpl

from .block import Block, all_nodes
from .class_type import ClassType
from .graph import Graph
from .node import Node
from .printer import tensor_literal
from .tensor_type import TensorType
from .types import FutureType, ListType, OptionalType, TupleType, Type
from .value import Value, base_name

# Today's operators and those of 1.0.1

RENAMED = {
    "aten::Bool": "prim::Bool", "aten::Int": "prim::Int", "aten::Float": "prim::Float",
    "aten::IntImplicit": "prim::ImplicitTensorToNum",
    "aten::FloatImplicit": "prim::ImplicitTensorToNum",
    "aten::ScalarImplicit": "prim::ImplicitTensorToNum",
}  # fmt: skip
SPELLED = {"StringType": "string", "NoneType": "None", "NumberType": "Scalar"}
RENAMED_ON_LISTS = {"aten::__getitem__": "aten::select"}

# Arguments added since, by operator ("*" is any), and the values with which the operator does the
# same as without them: such an argument is omitted.
ADDED: dict[tuple[str, str], tuple[Any, ...]] = {
    ("*", "dtype"): (None,), ("*", "memory_format"): (None, 0), ("*", "pin_memory"): (None, False),
    ("*", "layout"): (None,), ("*", "device"): (None,),
    ("aten::_convolution", "allow_tf32"): (True, False), ("aten::gather", "sparse_grad"): (False,),
    ("aten::avg_pool2d", "divisor_override"): (None,),
    ("aten::avg_pool3d", "divisor_override"): (None,),
    ("aten::argmax", "dim"): (None,), ("aten::argmin", "dim"): (None,),
    ("aten::gelu", "approximate"): ("none",),
}  # fmt: skip

# Arguments that may be None today and had a value in 1.0.1: the constant's type and text.
FILLED: dict[tuple[str, str], tuple[str, str]] = {
    ("aten::slice", "start"): ("int", "0"), ("aten::slice", "end"): ("int", "9223372036854775807"),
    **{
        (f"aten::{factory}", argument): constant
        for factory in (
            "zeros", "ones", "empty", "full", "rand", "randn", "arange", "linspace", "eye",
            "randint", "randperm",
        )
        for argument,
        constant in (("dtype", ("int", "6")), ("layout", ("int", "0")), ("device", (
            "Device", '"cpu"',
        )))
    },
}  # fmt: skip


def graph_text_101(graph: Graph) -> str:
    """The graph as 1.0.1 would print it, ending with a newline."""
    return _Dump(graph).text()


class Filled(NamedTuple):
    """A constant that today's graph does not have, printed before the call that uses it."""

    number: int
    type: str
    text: str


class Call(NamedTuple):
    """A node as a call of 1.0.1: the kind and the inputs that it had."""

    kind: str
    inputs: list[Value | Filled]


class _Dump:
    """The text of one graph: first all nodes are translated, then printed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.numbers = itertools.count(graph._uniques)
        self.modules, self.parameters = _parameters(graph)
        self.calls = {n: self._call(n) for n in all_nodes(graph.block())}
        self.names = value_names(graph)
        # A constant is hidden if it has users today, but none among the translated calls.
        used = Counter(v for call in self.calls.values() for v in call.inputs)
        used.update(
            v
            for b in (graph.block(), *(b for n in self.calls for b in n.blocks()))
            for v in b.outputs()
        )
        hidden = [
            n
            for n in self.calls
            if n.kind() == "prim::Constant" and n.output().hasUses() and not used[n.output()]
        ]
        self.hidden = {*hidden, *(v.node() for v in (*self.modules, *self.parameters))}
        self.groups: list[Node] = []

    # The translation of a node

    def _call(self, node: Node) -> Call:
        """The call of 1.0.1 for a node; the node's own kind and inputs if it has no schema."""
        kind, inputs = node.kind(), node.inputs()
        on_list = bool(inputs) and isinstance(inputs[0].type(), ListType)
        name = RENAMED_ON_LISTS.get(kind) if on_list else RENAMED.get(kind)
        schema = node.schema() if kind.startswith("aten::") else None
        if schema is None or len(schema.arguments) != len(inputs):
            return Call(name or kind, list(inputs))
        kept: list[Value | Filled] = []
        for argument, value in zip(schema.arguments, inputs):
            if (
                value.isConstant()
                and (filled := FILLED.get((kind, argument.name)))
                and value.toIValue() is None
            ):
                kept.append(Filled(next(self.numbers), *filled))
            elif not _is_new(kind, argument.name, value):
                kept.append(value)
        return Call(name or kind, kept)

    # The text

    def text(self) -> str:
        """The graph, then the graphs that its nodes hold."""
        inputs = [v for v in self.graph.inputs() if v not in self.modules] + list(
            dict.fromkeys(self.parameters.values())
        )
        lines = ["graph(" + "\n      ".join(map(self._typed, inputs)) + ") {"]
        for node in self.graph.nodes():
            lines += self._lines(node, 1)
        lines += [f"  return ({self._list(self.graph.outputs())});", "}"]
        text = "\n".join(lines) + "\n"
        for i, node in enumerate(self.groups):
            text += f"with {node.kind()}_{i} = {graph_text_101(node.g('Subgraph'))}"
        return text

    def _lines(self, node: Node, level: int) -> Iterator[str]:
        """The lines of a node and its blocks, indented by `level`."""
        if node in self.hidden:
            return
        indent, call = "  " * level, self.calls[node]
        for value in call.inputs:
            if isinstance(value, Filled):
                yield (
                    f"{indent}%{value.number} : {value.type} = prim::Constant[value={value.text}]()"
                )
        scope = f", scope: {node.scopeName()}" if node.scopeName() else ""
        outputs = ", ".join(map(self._typed, node.outputs()))
        yield f"{indent}{outputs} = {self._head(node, call.kind)}({self._list(call.inputs)}){scope}"
        for i, block in enumerate(node.blocks()):
            yield f"{indent}  block{i}({', '.join(map(self._typed, block.inputs()))}) {{"
            for inner in block.nodes():
                yield from self._lines(inner, level + 2)
            yield f"{indent}    -> ({self._list(block.outputs())})"
            yield f"{indent}  }}"

    def _head(self, node: Node, kind: str) -> str:
        """Kind and attributes. A node with a graph gets a number, `prim::FusionGroup_0`."""
        if kind.startswith("^"):
            scalars = node.attribute("scalar_args") if node.hasAttribute("scalar_args") else []
            return f"{kind}({', '.join(map(str, scalars))})"
        names = node.attributeNames()
        if node.mustBeNone():
            return "prim::None"
        if "Subgraph" in names:
            kind = f"{kind}_{len(self.groups)}"
            names = (
                []
                if node.kind() == "prim::DifferentiableGraph"
                else [n for n in names if n != "Subgraph"]
            )
            self.groups.append(node)
        shown = ", ".join(f"{n}={attribute_text(node.kindOf(n), node.attribute(n))}" for n in names)
        return f"{kind}[{shown}]" if shown else kind

    def _typed(self, value: Value) -> str:
        return f"{self._name(value)} : {type_text(value.type())}"

    def _list(self, values: list[Any]) -> str:
        return ", ".join(map(self._name, values))

    def _name(self, value: Value | Filled) -> str:
        if isinstance(value, Filled):
            return f"%{value.number}"
        value = self.parameters.get(value, value)
        return f"%{self.names.get(value, value.unique())}"


def _is_new(kind: str, argument: str, value: Value) -> bool:
    """Whether the argument did not exist in 1.0.1, and its value here means the same."""
    old = ADDED.get((kind, argument)) or ADDED.get(("*", argument))
    return old is not None and value.isConstant() and value.toIValue() in old


def _parameters(graph: Graph) -> tuple[list[Value], dict[Value, Value]]:
    """The values that are modules, and the parameters read from them: each such value is mapped to
    the first value that is the same parameter.

    Parameters are in the order in which the modules declare them. Both are empty if a module is
    used in any other way, as in a call.
    """
    modules = [v for v in graph.inputs() if isinstance(v.type(), ClassType)]
    # A path has for each GetAttr (the number of the attribute in its class, its name): paths sort
    # in the order of declaration.
    paths: dict[Value, tuple[tuple[int, str], ...]] = dict.fromkeys(modules, ())
    found: dict[Value, tuple[tuple[int, str], ...]] = {}
    for module in modules:  # grows while it is walked
        declared = list(module.type().attributes)  # type: ignore[attr-defined]
        for user, _ in module.uses():
            if user.kind() != "prim::GetAttr":
                return [], {}
            name, value = user.s("name"), user.output()
            path = (
                *paths[module],
                (declared.index(name) if name in declared else len(found), name),
            )
            if isinstance(value.type(), ClassType):
                paths[value] = path
                modules.append(value)
            else:
                found[value] = path
    first: dict[tuple[tuple[int, str], ...], Value] = {}
    return modules, {v: first.setdefault(found[v], v) for v in sorted(found, key=found.__getitem__)}


def value_names(graph: Graph) -> dict[Value, str]:
    """The names of 1.0.1: the last value named `x` is x, those before it are x.1, x.2, ... Values
    carried by a loop have no names in its body.
    """
    owners: dict[str, Value] = {}
    for value in _naming_order(graph.block()):
        if not value.hasDebugName():
            continue
        base = base_name(value.debugName())
        older = owners.get(base)
        if older is not None:
            n = next(n for n in itertools.count(1) if f"{base}.{n}" not in owners)
            owners[f"{base}.{n}"] = older
        owners[base] = value
    return {value: name for name, value in owners.items()}


def _naming_order(block: Block) -> Iterator[Value]:
    """The values of a block that have names, in the order in which 1.0.1 named them: those in the
    blocks of a node before its outputs.
    """
    owner = block.owningNode()
    carries = owner is not None and owner.kind() == "prim::Loop"
    yield from block.inputs()[:1] if carries else block.inputs()
    for node in block.nodes():
        for inner in node.blocks():
            yield from _naming_order(inner)
        yield from node.outputs()


# Types and attributes


def type_text(type: Type) -> str:
    """A type as 1.0.1 prints it in graphs. It had no tensors of bool: comparisons returned
    bytes.
    """
    if isinstance(type, TensorType):
        return _tensor_type(type)
    if isinstance(type, (ListType, OptionalType)):
        return type_text(type.element) + ("[]" if isinstance(type, ListType) else "?")
    if isinstance(type, FutureType):
        return f"Future[{type_text(type.element)}]"
    if isinstance(type, TupleType):
        return f"({', '.join(map(type_text, type.elements))})"
    return SPELLED.get(type.kind()) or type.repr_str()


def _tensor_type(type: TensorType) -> str:
    """`Tensor`, `Float(*, *)` if only the rank is known, or `Float(2, 3!)`."""
    name, rank, sizes, strides = type.scalarType(), type.dim(), type.sizes(), type.strides()
    if name is None or rank is None:
        return "Tensor"
    name = "Byte" if type.dtype() is bool_ else name
    if sizes is None or strides is None:
        return f"{name}({', '.join(['*'] * rank)})"
    # The stride of a contiguous tensor is the next size times the next stride; the last one is 1.
    steps = zip(
        sizes, strides, [size * stride for size, stride in zip(sizes[1:], strides[1:])] + [1]
    )
    shown = (f"{size}" if stride == expected else f"{size}!" for size, stride, expected in steps)
    return f"{name}({', '.join(shown)})"


def attribute_text(kind: str, value: Any) -> str:
    """The text of an attribute's value."""
    if kind in ("g", "gs", "ts"):
        return {"g": "<Graph>", "gs": "[<Graphs>]", "ts": "[<Tensors>]"}[kind]
    if kind == "ss":
        return f"[{', '.join(value)}]"
    return _value(value)


def _value(value: object) -> str:
    """The text of a constant: booleans as 0 and 1, floats with six digits."""
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return '"' + value.replace("\n", "\\n").replace("\t", "\\t").replace("\v", "\\v") + '"'
    if isinstance(value, (list, tuple)):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return opening + ", ".join(map(_value, value)) + closing
    if isinstance(value, Type):
        return type_text(value)
    if isinstance(value, TensorImpl):
        return tensor_literal(value).replace("CPUBoolType", "CPUByteType")
    return str(value)
