"""Rewrites operators that PyTorch 1.0.1 lacked, or that did something else then, as simpler ones.

    aten::linear(%x, %w, %b)    aten::addmm(%b, %x, aten::t(%w), beta=1, alpha=1), as in a trace
                                (for an x of two dimensions)
    aten::silu(%x)              aten::mul(%x, aten::sigmoid(%x))

Each function gets the node to replace, and inserts new ones before it. It returns the value that
replaces the node's output, or None if the node stays, perhaps with other inputs.

How the real one differs: in 1.0.1, `linear` was a Python function, so a trace recorded the
operators that it called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from internals.core.dtype import bool_, get_default_dtype
from internals.jit.ir import (
    BoolType,
    FloatType,
    Graph,
    IntType,
    ListType,
    Node,
    NoneType,
    OptionalType,
    TensorType,
    Value,
)


def _tensor(graph: Graph, kind: str, *inputs: Any) -> Value:
    """Inserts an operator that returns a tensor."""
    return graph.insert(kind, inputs).setType(TensorType.get())


def linear(graph: Graph, node: Node) -> Value | None:
    """b + x Wᵀ for x (N, in), W (out, in), b (out)."""
    x, weight, bias = node.inputs()
    if (
        not isinstance(x.type(), TensorType)
        or x.type().dim() != 2  # type: ignore[attr-defined]
        or isinstance(bias.type(), NoneType)
    ):
        return None
    return _tensor(graph, "aten::addmm", bias, x, _tensor(graph, "aten::t", weight), 1, 1)


def silu(graph: Graph, node: Node) -> Value:
    """x sigmoid(x)."""
    x = node.input(0)
    return _tensor(graph, "aten::mul", x, _tensor(graph, "aten::sigmoid", x))


def gelu(graph: Graph, node: Node) -> Value | None:
    """x Φ(x), where Φ(x) = (1 + erf(x / √2)) / 2 is the normal distribution function."""
    x, approximate = node.inputs()
    if approximate.toIValue() != "none":
        return None
    erf = _tensor(graph, "aten::erf", _tensor(graph, "aten::mul", x, math.sqrt(0.5)))
    twice_cdf = _tensor(graph, "aten::add", erf, 1.0, 1)
    half_x = _tensor(graph, "aten::mul", x, 0.5)
    return _tensor(graph, "aten::mul", half_x, twice_cdf)  # (x / 2) · (2 Φ(x))


def relu6(graph: Graph, node: Node) -> Value:
    """min(max(x, 0), 6)."""
    return _tensor(graph, "aten::hardtanh", node.input(), 0.0, 6.0)


def isnan(graph: Graph, node: Node) -> Value:
    """x != x, which only NaN fulfils."""
    return _tensor(graph, "aten::ne", node.input(), node.input())


def written_copy(graph: Graph, node: Node) -> Value:
    """`x.masked_fill(...)` as `x.clone().masked_fill_(...)`: only the in-place one existed."""
    x, *rest = node.inputs()
    return _tensor(graph, f"{node.kind()}_", _tensor(graph, "aten::clone", x, None), *rest)


def tensor(graph: Graph, node: Node) -> Value | None:
    """`torch.tensor(5.)` of a number, which is also recorded for `x[0] = 5.`."""
    number, kind, place, requires_grad = node.inputs()
    if not isinstance(number.type(), (IntType, FloatType)) or requires_grad.toIValue() is not False:
        return None
    scalar = _tensor(graph, "prim::NumToTensor", number)
    # dtype 4 is int64; NumToTensor gives int64 or float64
    code = 4 if isinstance(number.type(), IntType) else get_default_dtype().code
    where = [] if isinstance(place.type(), NoneType) else [place]
    return _tensor(
        graph,
        "aten::to",
        scalar,
        *where,
        code if isinstance(kind.type(), NoneType) else kind,
        False,
        False,
        None,
    )


def pad(graph: Graph, node: Node) -> Value | None:
    """`pad` with a constant, the only mode that was an operator of its own."""
    x, sizes, mode, value = node.inputs()
    if mode.toIValue() != "constant" or isinstance(value.type(), OptionalType):
        return None
    return _tensor(
        graph, "aten::constant_pad_nd", x, sizes, 0 if isinstance(value.type(), NoneType) else value
    )


def index(graph: Graph, node: Node) -> None:
    """Gives an index list the type List[Tensor], if it has no None: 1.0.1 had no List[Tensor?]."""
    indices = node.input(1)
    if indices.node().kind() == "prim::ListConstruct":
        if all(isinstance(v.type(), TensorType) for v in indices.node().inputs()):
            indices.setType(ListType(TensorType.get()))


def contains(graph: Graph, node: Node) -> Value | None:
    """`n in [2, 3]`, of a list whose elements are known: `n == 2 or n == 3`."""
    items, item = node.inputs()
    if items.isConstant():
        choices = items.toIValue()
    elif items.node().kind() == "prim::ListConstruct" and len(items.uses()) == 1:
        choices = items.node().inputs()
    else:
        return None
    found = graph.insertConstant(False)
    for choice in choices:
        same = graph.insert("aten::eq", [item, choice]).setType(BoolType.get())
        found = graph.insert("aten::__or__", [found, same]).setType(BoolType.get())
    return found


def truth(graph: Graph, node: Node) -> Value | None:
    """`bool(n)` of a number: `n != 0`. That of a tensor existed."""
    number = node.input()
    if not isinstance(number.type(), (IntType, FloatType)):
        return None
    return graph.insert(
        "aten::ne", [number, 0 if isinstance(number.type(), IntType) else 0.0]
    ).setType(node.output().type())


def batch_norm(graph: Graph, node: Node) -> None:
    """Sets the momentum to 0 in evaluation mode, where it has no effect, as the layer did then."""
    training, momentum = node.inputs()[5:7]
    if training.isConstant() and training.toIValue() is False and momentum.isConstant():
        node.replaceInput(6, graph.insertConstant(0.0))


def convert_operands(graph: Graph, node: Node) -> None:
    """Converts the operands to the dtype of the result, as 1.0.1 did not promote dtypes.

    Only a tensor without dimensions was converted, like a number, if another operand had the dtype
    of the result. Nothing is done where dtypes are unknown; in a trace they are known.
    """
    result = _dtype_of(node.output())
    operands = [
        (i, v, _dtype_of(v))
        for i, v in enumerate(node.inputs())
        if isinstance(v.type(), TensorType)
    ]
    if (
        result is None
        or result is bool_
        or result.code > 7  # bool, complex and others, which 1.0.1 lacked
        or any(d is None for _, _, d in operands)
    ):
        return
    # Whether an operand with dimensions has the result's dtype already.
    decided = any(d is result and v.type().dim() for _, v, d in operands)  # type: ignore[attr-defined]
    for i, v, d in operands:
        if d is not result and (v.type().dim() or not decided):  # type: ignore[attr-defined]
            node.replaceInput(i, _tensor(graph, "aten::to", v, result.code, False, False, None))


def divide(graph: Graph, node: Node) -> Value | None:
    """Division with rounding to zero as a plain one and `trunc`. For Python numbers 1.0.1 divided
    only two floats or two ints, so an int that meets a float is converted.
    """
    if node.inputsSize() == 3:
        return _round_to_zero(graph, node) if node.input(2).toIValue() == "trunc" else None
    numbers = {type(v.type()) for v in node.inputs()}
    if numbers != {IntType, FloatType}:
        convert_operands(graph, node)
        return None
    for i, v in enumerate(node.inputs()):
        if isinstance(v.type(), IntType):
            if v.isConstant():
                node.replaceInput(i, graph.insertConstant(float(v.toIValue())))
            else:
                node.replaceInput(i, graph.insert("aten::Float", [v]).setType(FloatType.get()))
    return None


def _round_to_zero(graph: Graph, node: Node) -> Value:
    """`trunc(a / b)` if the quotient is floating point; integer division rounds to zero already."""
    quotient = _tensor(graph, node.kind(), *node.inputs()[:2])
    is_float = graph.insert("aten::is_floating_point", [quotient]).setType(BoolType.get())
    branch = graph.insertNode(graph.create("prim::If", [is_float]))
    arms = branch.addBlock(), branch.addBlock()
    with graph.insert_point_guard(arms[0]):
        arms[0].registerOutput(_tensor(graph, node.kind().replace("div", "trunc"), quotient))
    arms[1].registerOutput(quotient)
    return branch.output().setType(TensorType.get())


def _dtype_of(value: Value) -> Any:
    return value.type().dtype() if isinstance(value.type(), TensorType) else None  # type: ignore[attr-defined]


# operator -> the function that rewrites a call of it
DECOMPOSED: dict[str, Callable[[Graph, Node], Value | None]] = {
    "aten::linear": linear,
    **dict.fromkeys(
        (f"aten::{op}" for op in ("add", "sub", "mul", "pow", "rsub", "fmod", "remainder")),
        convert_operands,
    ),
    "aten::div": divide,
    "aten::div_": divide,
    "aten::tensor": tensor,
    "aten::batch_norm": batch_norm,
    "aten::relu6": relu6,
    "aten::isnan": isnan,
    "aten::masked_fill": written_copy,
    "aten::scatter": written_copy,
    "aten::scatter_add": written_copy,
    "aten::pad": pad,
    "aten::index": index,
    "aten::index_put_": index,
    "aten::silu": silu,
    "aten::gelu": gelu,
    "aten::__contains__": contains,
    "aten::Bool": truth,
}
