"""The text of a graph, as PyTorch prints it (`Graph::print`, `Node::print` in
`torch/csrc/jit/ir/ir.cpp`).

    graph(%x.1 : Tensor,
          %n.1 : int):
      %3 : int = prim::Constant[value=1]() # f.py:3:12
      %y : Tensor = aten::add(%x.1, %n.1, %3) # f.py:3:8
      return (%y)

Blocks are indented under their node; graphs held by nodes (fusion groups) follow, as `with
prim::FusionGroup_0 = graph(...)`. PyTorch reads this text with `torch._C.parse_ir`, and `parse_ir`
of this library reads PyTorch's.

How the real one differs: its `graph.str(False)` keeps the source comments inside blocks; here they
are all omitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from internals.core.device import device as Device
from internals.core.tensor_impl import TensorImpl, host_array

from .tensor_text import tensor_text
from .types import FunctionType

if TYPE_CHECKING:
    from .graph import Graph
    from .node import Node
    from .value import Value

MOST_ELEMENTS_SHOWN = 10


class GraphLine(NamedTuple):
    """A line of a graph's text, and its node. For the inputs of a graph or block that is its
    `prim::Param`, for its outputs its `prim::Return`."""

    text: str
    node: Node


def graph_text(graph: Graph, ranges: bool = True) -> str:
    """The text of the whole graph, with source positions if `ranges`."""
    return "".join(f"{line.text}\n" for line in graph_lines(graph, ranges))


def graph_lines(graph: Graph, ranges: bool = True, head: str = "") -> Iterator[GraphLine]:
    """The text line by line; graphs held by nodes come last. Each input has a line of its own.
    `head` is the text before the first line: `with prim::FusionGroup_0 = `.
    """
    groups: list[Node] = []
    inputs = [_typed(v) for v in graph.inputs()] or [""]
    for i, text in enumerate(inputs):
        before, after = "      " if i else f"{head}graph(", "):" if i == len(inputs) - 1 else ","
        yield GraphLine(f"{before}{text}{after}", graph.param_node())
    for n in graph.nodes():
        yield from _node_lines(n, 1, ranges, groups)
    yield GraphLine(f"  return ({_names(graph.outputs())})", graph.return_node())
    for i, n in enumerate(groups):
        yield from graph_lines(n.g("Subgraph"), ranges, f"with {n.kind()}_{i} = ")


def node_text(node: Node) -> str:
    """One node, with its blocks."""
    return "".join(f"{line.text}\n" for line in _node_lines(node, 0, True, None))


def _node_lines(
    node: Node, level: int, ranges: bool, groups: list[Node] | None
) -> Iterator[GraphLine]:
    line = (
        f"{'  ' * level}{', '.join(map(_typed, node._outputs))} = "
        f"{_call(node, groups)}({_names(node._inputs)})"
    )
    if node.scopeName():
        line += f", scope: {node.scopeName()}"
    where = (
        node.sourceRange().file_line_col() if ranges and node.sourceRange() is not None else None
    )
    yield GraphLine(line + (f" # {where[0]}:{where[1]}:{where[2]}" if where else ""), node)
    for i, b in enumerate(node._blocks):
        yield GraphLine(
            f"{'  ' * (level + 1)}block{i}({', '.join(map(_typed, b.inputs()))}):", b.paramNode()
        )
        for n in b.nodes():
            yield from _node_lines(n, level + 2, ranges, groups)
        yield GraphLine(f"{'  ' * (level + 2)}-> ({_names(b.outputs())})", b.returnNode())


def _call(node: Node, groups: list[Node] | None) -> str:
    """The kind and the attributes, the text between `=` and the inputs. A node that holds a graph
    is added to `groups`, and its number there is its suffix; None for a node printed by itself.
    """
    names = node.attributeNames()
    name = node.kind()
    if name.startswith("^"):
        scalars = node.attribute("scalar_args") if "scalar_args" in names else []
        shown = ", ".join(f"{n}={attribute_text(node, n)}" for n in names if n != "scalar_args")
        return f"{name}[{shown}]({', '.join(map(str, scalars))})"
    if groups is not None and "Subgraph" in names:  # its graph is printed after this one
        name += f"_{len(groups)}"
        groups.append(node)
        names = (
            []
            if node.kind() == "prim::DifferentiableGraph"
            else [n for n in names if n != "Subgraph"]
        )
    if not names:
        return name
    return f"{name}[{', '.join(f'{n}={attribute_text(node, n)}' for n in names)}]"


def attribute_text(node: Node, name: str) -> str:
    """The text of an attribute's value, by its kind."""
    kind, value = node.kindOf(name), node.attribute(name)
    if kind == "t":
        return tensor_literal(value)
    if kind in ("g", "gs", "ts"):
        return {"g": "<Graph>", "gs": "[<Graphs>]", "ts": "[<Tensors>]"}[kind]
    if kind == "ty":
        return value.repr_str()
    if kind == "tys":
        return f"[{', '.join(t.repr_str() for t in value)}]"
    return value_text(value)


def value_text(value: object) -> str:
    """The text of a constant, as C++ prints an `IValue`: booleans as 0 and 1."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, complex):
        plus = "" if math.copysign(1, value.imag) < 0 else "+"
        return f"{float_text(value.real)}{plus}{float_text(value.imag)}j"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Device):
        return quoted(str(value))
    if isinstance(value, list):
        return f"[{', '.join(_inside(v) for v in value)}]"
    if isinstance(value, tuple):
        return f"({', '.join(_inside(v) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inside(k)}: {_inside(v)}" for k, v in value.items()) + "}"
    return tensor_literal(value) if isinstance(value, TensorImpl) else str(value)


def float_text(value: float) -> str:
    """A float with the 17 digits that restore it exactly, `0.10000000000000001`; a whole number
    below 1e10 has a dot behind it: `1.`.
    """
    if math.isfinite(value) and abs(value) < 1e10 and value == int(value):
        return f"{'-' if math.copysign(1, value) < 0 else ''}{abs(int(value))}."
    return f"{value:.17g}"


_ESCAPES = {
    "\\": "\\\\", "'": "\\'", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n",
    "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quoted(text: str) -> str:
    """A C string in UTF-8; bytes that are not printable ASCII become three octal digits, `\\303`
    (`c10::printQuotedString`).
    """
    shown = (
        _ESCAPES.get(chr(b)) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()
    )
    return f'"{"".join(shown)}"'


def _inside(value: object) -> str:
    """An element of a list, tuple or dict: there booleans are words, and a device is not printed
    as a string.
    """
    if isinstance(value, Device):
        return f'torch.device("{value}")'
    return str(value) if isinstance(value, bool) or value is None else value_text(value)


def tensor_literal(t: Any) -> str:
    """`{2}` for one element, all elements if there are at most ten, `<Tensor>` otherwise."""
    n = t.numel()
    if n == 1:
        value = host_array(t).reshape(()).item()
        shown = (
            f"{value:.6g}"
            if isinstance(value, float)
            else str(int(value) if isinstance(value, bool) else value)
        )
        return "{" + shown + "}"
    return tensor_text(t).replace("\n", " ") if n <= MOST_ELEMENTS_SHOWN else "<Tensor>"


def _typed(value: Value) -> str:
    type = value.type()
    return (
        f"%{value.debugName()} : "
        f"{'Function' if isinstance(type, FunctionType) else type.repr_str()}"
    )


def _names(values: Iterable[Value]) -> str:
    return ", ".join(f"%{v.debugName()}" for v in values)
