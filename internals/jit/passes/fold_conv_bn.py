"""Folding of batch norms and constants into the weights of the layer before
(`torch/csrc/jit/passes/frozen_conv_folding.cpp`, `frozen_linear_folding.cpp`).

In a frozen graph the weights are constants. A convolution or linear layer is often followed by
another linear function; the two are one layer with other weights, which are computed here, once:

    batch_norm(x @ W + b)   = (x @ W + b - mean) / sqrt(var + eps) * γ + β
                              W' = W * s,  b' = (b - mean) * s + β
                              with s = γ / sqrt(var + eps) for each channel
    conv(x, W, b) * c       = conv(x, W * c, b * c)                             and likewise /
    conv(x, W, b) + c       = conv(x, W, b + c)                                 and likewise -

Conditions: all weights are constants; the result of the layer has no other reader, except for its
size; batch norm is in evaluation mode; `c` is a number, or a constant with one entry for each
output channel.

The results differ from the original's by rounding errors, so `freeze` folds only with
`optimize_numerics`.

How the real one differs: folding `* c` gives its bias the shape of `c`, so the next operation is
not folded; the check of dimensions that a batch norm begins with is removed, here it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.grad_mode import set_grad_mode
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.ir import Graph, Node, Value
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of
from internals.jit.passes.registry import graph_pass

# the last is the one in traces
CONVOLUTIONS = ("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::_convolution")
# other readers of a layer's result that may stay: folding does not change their answers
QUESTIONS = ("aten::dim", "aten::size", "prim::dtype", "prim::device")
DROPOUTS = (
    "aten::dropout",
    "aten::feature_dropout",
    "aten::alpha_dropout",
    "aten::feature_alpha_dropout",
)


@graph_pass("batch norm into the convolution before it")
def fold_frozen_conv_bn(graph: Graph) -> bool:
    """`batch_norm(conv(x))` becomes one convolution."""
    return _each(graph, ("aten::batch_norm",), lambda node: _fold_batch_norm(node, CONVOLUTIONS))


@graph_pass("batch norm into the linear layer before it")
def fold_frozen_linear_bn(graph: Graph) -> bool:
    """`batch_norm(linear(x))` becomes one linear layer."""
    return _each(
        graph, ("aten::batch_norm",), lambda node: _fold_batch_norm(node, ("aten::linear",))
    )


@graph_pass("constant arithmetic into the convolution before it")
def fold_frozen_conv_arithmetic(graph: Graph) -> bool:
    """`conv(x) + c`, `- c`, `* c`, `/ c` become one convolution."""
    return _each(graph, ("aten::add", "aten::sub", "aten::mul", "aten::div"), _fold_arithmetic)


@graph_pass("dropout that does nothing")
def remove_dropout(graph: Graph) -> bool:
    """Dropout in evaluation mode is its input."""
    changed = False
    for node in (n for kind in DROPOUTS for n in graph.findAllNodes(kind)):
        if named_constant(node, "train") is False:
            node.output().replaceAllUsesWith(node.inputsAt(0))
            node.destroy()
            changed = True
    return changed


def _each(graph: Graph, kinds: tuple[str, ...], fold: Callable[[Node], bool]) -> bool:
    """Try to fold every node of these kinds. True if one was."""
    changed = False
    for kind in kinds:
        for node in graph.findAllNodes(kind):
            changed = fold(node) or changed
    return changed


def _fold_batch_norm(norm: Node, kinds: tuple[str, ...]) -> bool:
    """Fold a batch norm into the layer before it, one of `kinds`. True if that was possible."""
    layer = norm.inputsAt(0).node()
    if not _is_foldable(layer, norm, kinds) or named_constant(norm, "training") is not False:
        return False
    gamma, beta, mean, var = (
        named_constant(norm, name) for name in ("weight", "bias", "running_mean", "running_var")
    )
    eps = named_constant(norm, "eps")
    if any(v is NOT_CONSTANT for v in (gamma, beta, mean, var, eps)) or mean is None or var is None:
        return False
    if layer.kind() == "aten::linear" and mean.numel() not in (
        1,
        constant(layer.inputsAt(1)).size(0),
    ):
        return False
    weight, bias = _weights(layer)
    scale = (var + eps).rsqrt()  # (channels,), like mean, var, gamma, beta and the bias
    scale = scale if gamma is None else scale * gamma
    shift = -mean * scale if bias is None else (bias - mean) * scale
    _replace(
        layer,
        norm,
        weight * _per_channel(scale, weight),
        shift if beta is None else shift + beta,
        "fused_bn",
    )
    return True


def _fold_arithmetic(node: Node) -> bool:
    """Fold `+ c`, `- c`, `* c` or `/ c` into the convolution before it. True if that was
    possible.
    """
    layer = node.inputsAt(0).node()
    if not _is_foldable(layer, node, CONVOLUTIONS) or overload_of(node).partition(".")[2] not in (
        "Tensor",
        "Scalar",
    ):
        return False
    other = constant(node.inputsAt(1))
    weight, bias = _weights(layer)
    c = _for_each_channel(other, weight)  # (channels,)
    if c is None:
        return False
    kind = node.kind().removeprefix("aten::")
    if kind in ("mul", "div"):
        c = c.reciprocal() if kind == "div" else c
        _replace(
            layer,
            node,
            weight * _per_channel(c, weight),
            None if bias is None else bias * c,
            f"fused_{kind}",
        )
        return True
    alpha = constant(node.inputsAt(2))
    if alpha is NOT_CONSTANT:
        return False
    c = c * (alpha if kind == "add" else -alpha)
    _replace(layer, node, weight, c if bias is None else bias + c, f"fused_{kind}")
    return True


def _is_foldable(layer: Node, reader: Node, kinds: tuple[str, ...]) -> bool:
    """Whether `layer` is of these kinds, with constant weights of a floating dtype, and its result
    is read by `reader` only.
    """
    if layer.kind() not in kinds or layer.owningBlock() is not reader.owningBlock():
        return False
    # The weights of a transposed convolution have their output channels in dimension 1.
    if layer.kind() == "aten::_convolution" and named_constant(layer, "transposed") is not False:
        return False
    if any(
        use.user is not reader and use.user.kind() not in QUESTIONS for use in layer.output().uses()
    ):
        return False
    weight, bias = constant(layer.inputsAt(1)), constant(layer.inputsAt(2))
    return (
        isinstance(weight, TensorImpl)
        and bool(weight.is_floating_point())
        and bias is not NOT_CONSTANT
    )


def _weights(layer: Node) -> tuple[Any, Any]:
    return constant(layer.inputsAt(1)), constant(layer.inputsAt(2))


def _for_each_channel(other: object, weight: Any) -> Any:
    """A number or a constant tensor as a vector (channels,). None for any other value, and for a
    tensor that is not broadcast over batch and space, (channels, 1, 1) or (1, channels, 1, 1).
    """
    channels, spatial = weight.size(0), weight.dim() - 2
    if isinstance(other, (int, float)) and not isinstance(other, bool):
        return weight.new_full((channels,), float(other))
    if not isinstance(other, TensorImpl):
        return None
    t: Any = other
    if not t.is_floating_point() or t.dtype != weight.dtype or t.dim() > spatial + 2:
        return None
    if t.numel() == 1:
        return t.reshape(1).expand(channels).contiguous()
    wanted = [channels, *[1] * spatial]
    return t.reshape(channels) if list(t.shape) in (wanted, [1, *wanted]) else None


def _per_channel(scale: Tensor, weight: Tensor) -> Any:
    """`scale` (channels,) as (channels, 1, ...), to multiply the weights with."""
    return scale.reshape([-1] + [1] * (weight.dim() - 1)).to(weight.dtype)


def _replace(layer: Node, reader: Node, weight: Tensor, bias: Any, suffix: str) -> None:
    """Give the layer other weights, and let it replace `reader`, which is destroyed. The constants
    are named after the old ones with `suffix`.
    """
    graph, old_weight, old_bias = layer.owningGraph(), layer.inputsAt(1), layer.inputsAt(2)
    was = set_grad_mode(False)
    try:
        with graph.insert_point_guard(layer):
            _set_input(layer, 1, weight, _name(old_weight, suffix))
            if bias is not None:
                _set_input(layer, 2, bias.to(weight.dtype), _name(old_bias, suffix))
    finally:
        set_grad_mode(was)
    result = reader.output()
    if result.hasDebugName():  # the layer's output takes over the name
        name = result.debugName()
        result.setDebugName("")
        layer.output().setDebugName(name)
    result.replaceAllUsesWith(layer.output())
    reader.destroy()


def _set_input(layer: Node, i: int, tensor: Tensor, name: str) -> None:
    new = layer.owningGraph().insertConstant(tensor.detach())
    layer.replaceInput(i, new.setDebugName(name) if name else new)


def _name(v: Value, suffix: str) -> str:
    return f"{v.debugName()}_{suffix}" if v.hasDebugName() else ""
