"""Operators that PyTorch 1.0.1 did not have, or recorded differently, as what they are made of.

    aten::linear(%x, %w, %b)   of two dimensions, as in a trace:   aten::addmm(%b, %x, aten::t(%w), beta=1, alpha=1)
    aten::silu(%x)                                                 aten::mul(%x, aten::sigmoid(%x))

How the real one differs: `linear` was no operator of a trace then, but a Python function that called these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from internals.jit.ir import FloatType, Graph, IntType, Node, NoneType, TensorType, Value


def _tensor(graph: Graph, kind: str, *inputs: Any) -> Value:
    return graph.insert(kind, inputs).setType(TensorType.get())


def linear(graph: Graph, node: Node) -> Value | None:
    x, weight, bias = node.inputs()
    if not isinstance(x.type(), TensorType) or x.type().dim() != 2 or isinstance(bias.type(), NoneType):  # type: ignore[attr-defined]
        return None
    return _tensor(graph, "aten::addmm", bias, x, _tensor(graph, "aten::t", weight), 1, 1)


def silu(graph: Graph, node: Node) -> Value:
    x = node.input(0)
    return _tensor(graph, "aten::mul", x, _tensor(graph, "aten::sigmoid", x))


def gelu(graph: Graph, node: Node) -> Value | None:
    """x Φ(x), from erf."""
    x, approximate = node.inputs()
    if approximate.toIValue() != "none":
        return None
    cdf = _tensor(graph, "aten::add", _tensor(graph, "aten::erf", _tensor(graph, "aten::mul", x, math.sqrt(0.5))), 1.0, 1)
    return _tensor(graph, "aten::mul", _tensor(graph, "aten::mul", x, 0.5), cdf)


def truth(graph: Graph, node: Node) -> Value | None:
    """`bool(n)` of a number: `n != 0`. That of a tensor there was."""
    number = node.input()
    if not isinstance(number.type(), (IntType, FloatType)):
        return None
    return graph.insert("aten::ne", [number, 0 if isinstance(number.type(), IntType) else 0.0]).setType(node.output().type())


def batch_norm(graph: Graph, node: Node) -> None:
    """The momentum, which has no effect in evaluation: the layer said 0 then."""
    training, momentum = node.inputs()[5:7]
    if training.isConstant() and training.toIValue() is False and momentum.isConstant():
        node.replaceInput(6, graph.insertConstant(0.0))


# The value that stands for the node's output, or None where it can stay.
DECOMPOSED: dict[str, Callable[[Graph, Node], Value | None]] = {
    "aten::linear": linear,
    "aten::batch_norm": batch_norm,
    "aten::silu": silu,
    "aten::gelu": gelu,
    "aten::Bool": truth,
}
