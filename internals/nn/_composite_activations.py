"""Activations put together from others, most with an `inplace` flag: celu, rrelu, gumbel_softmax (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals.core.formats import contiguous_format


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """0 up to -3, 1 from 3 on, a straight line between: a sigmoid without `exp`."""
    return nn.hardsigmoid_(input) if inplace else nn.hardsigmoid(input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """input * hardsigmoid(input): silu without `exp` (MobileNetV3)."""
    return nn.hardswish_(input) if inplace else nn.hardswish(input)


def mish(input: Any, inplace: bool = False) -> Any:
    """input * tanh(softplus(input))."""
    return nn.mish_(input) if inplace else nn.mish(input)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`input` where positive, alpha * (exp(input / alpha) - 1) elsewhere: continuously differentiable for any alpha but 0."""
    return F.celu_(input, alpha) if inplace else F.celu(input, alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    """elu with the two constants that keep mean 0 and variance 1 from layer to layer."""
    return F.selu_(input) if inplace else F.selu(input)


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """leaky_relu with a slope between `lower` and `upper`: their middle, or with `training` a random one for each element."""
    return F.rrelu_(input, lower, upper, training) if inplace else F.rrelu(input, lower, upper, training)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the Gumbel-softmax distribution: softmax of `logits` with noise, over the temperature `tau`.

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


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    return F.threshold_(input, threshold, value) if inplace else F.threshold(input, threshold, value)
