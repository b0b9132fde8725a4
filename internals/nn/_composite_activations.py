"""More activations, most with an `inplace` flag: hardswish, celu, rrelu, gumbel_softmax, ...
(`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor
from internals.core.formats import contiguous_format


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """clamp(input / 6 + 1/2, 0, 1): a piecewise linear approximation of sigmoid."""
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
    """`input` where positive, alpha * (exp(input / alpha) - 1) elsewhere.

    Unlike elu, it is continuously differentiable for every alpha but 0.
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
    """leaky_relu with a slope between `lower` and `upper`: in training a random one for each
    element, else their mean.
    """
    if inplace:
        result = F.rrelu_(input, lower, upper, training)
    else:
        result = F.rrelu(input, lower, upper, training)
    return result


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution: softmax((logits + noise) / tau).

    With `hard` the sample is one-hot, but has the gradient of the soft sample.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    # -log(e) of an exponentially distributed e has the Gumbel distribution
    noise = -F.empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = F.zeros_like(logits, memory_format=contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft  # the value of one_hot, the gradient of soft


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    if inplace:
        result = F.threshold_(input, threshold, value)
    else:
        result = F.threshold(input, threshold, value)
    return result
