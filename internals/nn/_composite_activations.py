"""Activations put together from others, most with an `inplace` flag: celu, rrelu, gumbel_softmax
(`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor
from internals.core.formats import contiguous_format


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """0 up to -3, 1 from 3 on, a straight line between: a sigmoid without `exp`."""
    if inplace:
        return nn.hardsigmoid_(input)
    return nn.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input): silu without `exp` (MobileNetV3)."""
    if inplace:
        return nn.hardswish_(input)
    return nn.hardswish(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    if inplace:
        return nn.mish_(input)
    return nn.mish(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where positive, alpha * (exp(input / alpha) - 1) elsewhere: continuously
    differentiable for any alpha but 0.
    """
    if inplace:
        result = F.celu_(input, alpha)
    else:
        result = F.celu(input, alpha)
    return result


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 from layer to layer."""
    if inplace:
        result = F.selu_(input)
    else:
        result = F.selu(input)
    return result


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """leaky_relu with a slope between `lower` and `upper`: their middle, or with `training` a
    random one for each element.
    """
    if inplace:
        result = F.rrelu_(input, lower, upper, training)
    else:
        result = F.rrelu(input, lower, upper, training)
    return result


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution: softmax of `logits` with noise, over the
    temperature `tau`.

    With `hard` it is one-hot, and its gradient that of the soft sample.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -F.empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = F.zeros_like(logits, memory_format=contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    if inplace:
        result = F.threshold_(input, threshold, value)
    else:
        result = F.threshold(input, threshold, value)
    return result
