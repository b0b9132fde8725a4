"""Activations that are made of other operators: hardsigmoid, hardswish, mish, celu, selu, prelu, threshold, the shrinks.

Their formulas are written with differentiable operators, so they need no derivative of their own. `inplace=True` computes from
a copy and writes the result over the input: the graph then remembers the copy, which nobody modifies.

How the real one differs: in PyTorch (`aten/src/ATen/native/Activation.cpp`) each is an operator with a kernel of its own that
reads the input once; `celu` and `selu` are `elu` with other constants there too.
"""

from __future__ import annotations

from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals.aten.dtype_checks import not_implemented
from internals.core.dtype import SCALAR_TYPE_NAME, finfo

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """0 up to -3, 1 from 3 on, a straight line between: a sigmoid without `exp`."""
    _check_floating("hardsigmoid_cpu", input)
    return _overwrite(input, hardsigmoid(input.clone())) if inplace else nn.hardtanh(input + 3, 0, 6) / 6


def hardswish(input: Any, inplace: bool = False) -> Any:
    """input * hardsigmoid(input): silu without `exp` (MobileNetV3)."""
    _check_floating("hardswish_cpu", input)
    return _overwrite(input, hardswish(input.clone())) if inplace else input * nn.hardtanh(input + 3, 0, 6) / 6


def mish(input: Any, inplace: bool = False) -> Any:
    """input * tanh(softplus(input))."""
    _check_floating("mish_cpu", input)
    return _overwrite(input, mish(input.clone())) if inplace else input * nn.softplus(input).tanh()


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`input` where positive, alpha * (exp(input / alpha) - 1) elsewhere: continuously differentiable for any alpha but 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return (nn.elu_ if inplace else nn.elu)(input, alpha, 1, 1 / alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    """elu with the two constants that keep mean 0 and variance 1 from layer to layer."""
    return (nn.elu_ if inplace else nn.elu)(input, _SELU_ALPHA, _SELU_SCALE)


def prelu(input: Any, weight: Any) -> Any:
    """leaky_relu whose slope is learned: `weight` has one element, or one for each channel (dimension 1) of `input`.

    Raises RuntimeError when it has another number of elements.
    """
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.dim() != 1 or weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if input.dim() > 1 and weight.dim() == 1:
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    return F.where(input > 0, input, input * weight)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    return input.masked_fill_(input <= threshold, value) if inplace else input.masked_fill(input <= threshold, value)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input`, with 0 in place of the elements between -lambd and lambd."""
    _check_floating("hardshrink_cpu", input)
    return input.masked_fill((input >= -lambd) & (input <= lambd), 0)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input` moved towards 0 by `lambd`, and 0 where it would cross it. Raises RuntimeError for a negative `lambd`."""
    _check_floating("softshrink_check", input)
    largest = finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        name = SCALAR_TYPE_NAME[input.dtype]
        raise RuntimeError(f"lambda must be in range [0, {largest:g}] for input dtype {name}, but found {lambd:g}")
    return input - input.clamp(-lambd, lambd)


def _overwrite(input: Any, result: Any) -> Any:
    return input.copy_(result)


def _check_floating(kernel: str, input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise not_implemented(kernel, input.dtype)
