"""Merging a batch normalization into the layer before it, for evaluation
(`torch/nn/utils/fusion.py`).

In evaluation, batch normalization is a fixed scale and shift. With running mean m and variance v,
bn(w x + b) = w' x + b' where w' = w s, b' = (b - m) s + bias and s = weight / sqrt(v + eps).
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from internals import ones_like, zeros_like
from internals.core.tensor_impl import Tensor
from internals.nn.module import Module
from internals.nn.parameter import Parameter

M = TypeVar("M", bound=Module)


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """A convolution with the result of `conv` followed by `bn`.

    Raises AssertionError in training mode, or without running statistics.
    """
    fused = _copy(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the fused convolution; `transpose` if it is a transposed one."""
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    # the scale is per output channel, which is dimension 1 of a transposed weight, else 0
    channels = [1, -1] if transpose else [-1, 1]
    shape = channels + [1] * (conv_w.dim() - 2)
    return _fused(conv_w, conv_b, bn_w * (bn_rv + bn_eps).rsqrt(), shape, bn_rm, bn_b)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """A linear layer with the result of `linear` followed by `bn`.

    Raises AssertionError like `fuse_conv_bn_eval`, and for sizes that do not fit.
    """
    fused = _copy(linear, bn)
    outputs, features = linear.out_features, bn.num_features
    if outputs != features and features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={outputs} and bn.num_features={features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the fused linear layer."""
    return _fused(linear_w, linear_b, bn_w * (bn_rv + bn_eps).rsqrt(), [-1, 1], bn_rm, bn_b)


def _fused(
    w: Tensor, b: Tensor | None, scale: Tensor, shape: list[int], mean: Tensor, shift: Tensor
) -> tuple[Parameter, Parameter]:
    """w' = w s and b' = (b - m) s + shift, in the dtypes of `w` and `b`."""
    bias = zeros_like(mean) if b is None else b
    weight = (w * scale.reshape(shape)).to(w.dtype)
    moved = ((bias - mean) * scale + shift).to(w.dtype if b is None else b.dtype)
    return Parameter(weight, w.requires_grad), Parameter(moved, bias.requires_grad)


def _copy(layer: M, bn: Module) -> Any:
    """A copy of the layer to be fused. Raises AssertionError where fusion is impossible."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copy.deepcopy(layer)
