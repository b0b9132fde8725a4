"""Derives facts about a model's inputs from the graph of `forward`, without running it.

    %2 : Tensor = aten::linear(%x, %self.0.weight, %self.0.bias)   x is FP32, its last size is 784
    %5 : Tensor = aten::conv2d(%x, %self.conv1.weight, ...)        x has 4 sizes, the second is 3
    %7 : Tensor = aten::embedding(%self.tok.weight, %x, ...)       x is INT64

An input is followed to the operators that use it, through those that do not change its shape. If
one of them combines it with a weight, a size of the weight determines a size of the input. The
facts from all paths are combined; if they contradict each other, as with an `if` that decides
between two paths, that fact is dropped.

The graph is that of a frozen copy: calls are inlined and the weights are constants, so that a
transposed weight is a constant, too.

Only one thing is guessed: `(x - mean) / std` also accepts an x without channels, which is then
broadcast over the mean's three. It is assumed that x has them.

How the real one differs: libtorch runs any input that it gets, and Triton trusts `config.pbtxt`.
The closest pass in PyTorch goes in the other direction: `ShapePropagator`
(`torch/csrc/jit/passes/shape_analysis.cpp`) computes the shapes of results from known inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import internals as torch
from internals._generated.op_facts import POINTWISE
from internals.core.dtype import dtype
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.ir import Graph, Node, TensorType, Value
from internals.jit.passes.overloads import overload_of


@dataclass(frozen=True)
class Facts:
    """Facts about one input. `rank` is its number of dimensions; `sizes` are sizes by dimension,
    counted from the end if negative.

    `least_rank` is the rank to try first if `rank` is unknown: 2 for a linear layer, which takes
    rows (N, in), but also (..., in).
    """

    dtype: dtype | None = None
    rank: int | None = None
    least_rank: int | None = None
    sizes: dict[int, int] = field(default_factory=dict)

    def shape(self, rank: int) -> tuple[int, ...] | None:
        """The shape with `rank` dimensions, -1 for unknown sizes; None if the facts contradict that
        rank.
        """
        if self.rank not in (None, rank) or any(not -rank <= d < rank for d in self.sizes):
            return None
        shape = [-1] * rank
        for d, size in self.sizes.items():
            if shape[d] not in (-1, size):
                return None
            shape[d] = size
        return tuple(shape)


def facts_of(graph: Graph, position: int) -> Facts:
    """The facts about the graph's input number `position`."""
    return combined(_follow(graph.inputs()[position], set()))


def combined(found: list[Facts]) -> Facts:
    """The facts on which all agree. Of several least ranks the largest counts, as only from there
    on all uses are possible.
    """
    dims = {d for facts in found for d in facts.sizes}
    sizes = {d: _agreed([facts.sizes.get(d) for facts in found]) for d in dims}
    return Facts(
        _agreed([facts.dtype for facts in found]),
        _agreed([facts.rank for facts in found]),
        max((facts.least_rank for facts in found if facts.least_rank is not None), default=None),
        {d: size for d, size in sizes.items() if size is not None},
    )


def _agreed(found: list[Any]) -> Any:
    """The only value that is not None; None if there are none or several different ones."""
    different = {each for each in found if each is not None}
    return different.pop() if len(different) == 1 else None


def _follow(value: Value, seen: set[Value]) -> list[Facts]:
    """The facts that all uses of a value imply for it, directly or through other operators."""
    if value in seen:
        return []
    seen.add(value)
    found: list[Facts] = []
    for use in value.uses():
        node, kind = use.user, use.user.kind()
        plain = kind.removesuffix("_")  # in-place ones count as well
        if kind == "prim::Return":
            owner = node.owningBlock().owningNode()
            if owner is not None and owner.kind() == "prim::If":
                found += _follow(owner.outputs()[use.offset], seen)
        elif kind in CONSUMERS:
            name, rule = CONSUMERS[kind]
            if _is_argument(node, name, value):
                found += [facts for facts in [rule(node)] if facts is not None]
        elif use.offset != 0 or not node.outputs():
            continue
        elif plain in SAME or is_of_one(node):
            found += _follow(node.output(), seen)
        elif plain in OTHER_DTYPE or (is_pointwise(node) and _is_constant(node.input(1))):
            found += [replace(facts, dtype=None) for facts in _follow(node.output(), seen)]
        elif plain in OTHER_SHAPE:
            found += [Facts(facts.dtype) for facts in _follow(node.output(), seen)]
    return found


# Operators between an input and a weight; the value is their first argument. SAME keep shape and
# dtype, OTHER_DTYPE keep the shape only, OTHER_SHAPE the dtype only.

SAME = {
    f"aten::{name}"
    for name in (
        "alias clone contiguous detach dropout feature_dropout log_sigmoid log_softmax softmax"
    ).split()
} | {"prim::unchecked_cast"}
OTHER_DTYPE = {
    "aten::to",
    "aten::type_as",
    "aten::float",
    "aten::double",
    "aten::half",
    "aten::long",
    "aten::int",
}
OTHER_SHAPE = {
    f"aten::{name}"
    for name in (
        "adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d constant_pad_nd flatten "
        "max_pool1d max_pool2d pad permute reshape select slice squeeze t transpose unflatten "
        "unsqueeze upsample_nearest2d view"
    ).split()
}


def is_pointwise(node: Node) -> bool:
    return overload_of(node).removeprefix("aten::") in POINTWISE


def is_of_one(node: Node) -> bool:
    """Whether each element of the result depends on one element of the input, the only tensor, and
    a float dtype stays the same.
    """
    schema = node.schema()
    tensors = (
        [] if schema is None else [a for a in schema.arguments if isinstance(a.type, TensorType)]
    )
    return is_pointwise(node) and len(tensors) == 1 and not overload_of(node).endswith("Scalar")


def _is_constant(other: Value) -> bool:
    """Whether an operand is a number or a constant tensor; it is assumed to have no more dimensions
    than the input.
    """
    return isinstance(other.toIValue(), (int, float, TensorImpl))


# The rules of operators with a weight: the facts about the input that follow from the weight


def _constant(node: Node, name: str) -> Any:
    return node.namedInput(name).toIValue()


def _is_argument(node: Node, name: str, value: Value) -> bool:
    schema = node.schema()
    position = schema.argument_index(name) if schema is not None else None
    return position is not None and node.inputs()[position] is value


def _sizes(weight: Tensor) -> tuple[int, ...]:
    return tuple(int(n) for n in weight.shape)


def _linear(node: Node) -> Facts | None:
    """x (..., in), weight (out, in)."""
    weight = _constant(node, "weight")
    return None if weight is None else Facts(weight.dtype, None, 2, {-1: _sizes(weight)[-1]})


def _matrix(name: str, rank: int | None) -> Callable[[Node], Facts | None]:
    """A rule for the product with a constant matrix (in, out): the last size of x is `in`."""

    def rule(node: Node) -> Facts | None:
        matrix = _constant(node, name)
        if matrix is None or not _sizes(matrix):
            return None
        # a vector has only one size, so index -1; a matrix has its rows at -2
        return Facts(matrix.dtype, rank, 2, {-1: _sizes(matrix)[max(-2, -len(_sizes(matrix)))]})

    return rule


def _convolution(node: Node) -> Facts | None:
    """x (N, C, ...). The weight is (out, C / groups, ...), or (C, out / groups, ...) if the
    convolution is transposed.
    """
    weight = _constant(node, "weight")
    if weight is None:
        return None
    schema = node.schema()
    transposed = "transpose" in node.kind()
    if schema is not None and schema.argument_index("transposed") is not None:
        transposed = bool(_constant(node, "transposed"))
    groups = _constant(node, "groups")
    if not transposed and not isinstance(groups, int):
        return None
    sizes = _sizes(weight)
    return Facts(weight.dtype, len(sizes), None, {1: sizes[0] if transposed else sizes[1] * groups})


def _embedding(node: Node) -> Facts | None:
    """Indices of any shape."""
    return Facts(torch.int64)


def _channels(name: str) -> Callable[[Node], Facts | None]:
    """A rule for a normalisation of x (N, C, ...) by channel: `weight`, and the argument `name`,
    have C elements.
    """

    def rule(node: Node) -> Facts | None:
        known = [t for t in (_constant(node, name), _constant(node, "weight")) if t is not None]
        return Facts(known[0].dtype, None, 2, {1: int(known[0].numel())}) if known else None

    return rule


def _layer_norm(node: Node) -> Facts | None:
    """x (..., *normalized_shape)."""
    sizes, weight = _constant(node, "normalized_shape"), _constant(node, "weight")
    if not isinstance(sizes, (list, tuple)):
        return None
    last = {i - len(sizes): int(n) for i, n in enumerate(sizes)}
    return Facts(None if weight is None else weight.dtype, None, len(sizes) + 1, last)


# operator -> the argument that the input has to be, and the rule
CONSUMERS: dict[str, tuple[str, Callable[[Node], Facts | None]]] = {
    "aten::linear": ("input", _linear),
    "aten::addmm": ("mat1", _matrix("mat2", 2)),
    "aten::mm": ("self", _matrix("mat2", 2)),
    "aten::matmul": ("self", _matrix("other", None)),
    **dict.fromkeys((f"aten::conv{d}d" for d in (1, 2, 3)), ("input", _convolution)),
    **dict.fromkeys((f"aten::conv_transpose{d}d" for d in (1, 2, 3)), ("input", _convolution)),
    **dict.fromkeys(
        ("aten::_convolution", "aten::convolution", "aten::_convolution_mode"),
        ("input", _convolution),
    ),
    "aten::embedding": ("indices", _embedding),
    "aten::batch_norm": ("input", _channels("running_mean")),
    "aten::instance_norm": ("input", _channels("running_mean")),
    "aten::group_norm": ("input", _channels("weight")),
    "aten::layer_norm": ("input", _layer_norm),
}
