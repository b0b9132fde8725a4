"""Activations with an `inplace` flag: hardsigmoid, hardswish, mish, celu, selu, threshold (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn


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


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    return F.threshold_(input, threshold, value) if inplace else F.threshold(input, threshold, value)
