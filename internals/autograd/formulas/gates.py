"""Derivatives around piecewise activations and gates (`torch/csrc/autograd/FunctionsManual.cpp`).

Two groups: the second derivatives of `hardswish` and `glu`, as in `activations.py`; and the first
derivatives of `mish` and `logit` in operators that can be differentiated again. The operators
`mish_backward` and `logit_backward` have no derivative: they serve where backward is not recorded.

How the real one differs: `hardsigmoid_backward` has no derivative there, so hardsigmoid has no
second one.
"""

from __future__ import annotations

import math
from typing import Any

from internals._generated.functions import cat, where
from internals._generated.nn_functions import softplus
from internals.core.tensor_impl import Tensor


def hardswish_double_backward(grad: Tensor, self: Tensor) -> Any:
    """grad * hardswish''(self): hardswish is x * (x + 3) / 6 from -3 to 3, beyond them 0 or x."""
    return where((self > -3) & (self < 3), grad / 3, 0.0)


def infinitely_differentiable_mish_backward(grad: Tensor, self: Tensor) -> Any:
    """grad * mish'(self), with mish(x) = x * tanh(softplus(x)); softplus' is sigmoid."""
    t = softplus(self).tanh()
    return grad * (t + self * self.sigmoid() * (1 - t * t))


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Any:
    """grad / (x * (1 - x)). With `eps`, logit clamps x to [eps, 1 - eps]: beyond them the gradient
    is 0. Without, it is NaN outside of [0, 1], as the result is.
    """
    low, beyond = (0.0, math.nan) if eps is None or eps < 0 else (eps, 0.0)
    outside = (self < low).logical_or(self > 1 - low)
    return where(outside, beyond, grad / (self * (1 - self)))


def glu_double_backward_grad_output(grad: Tensor, self: Tensor, dim: int) -> Any:
    """The gradient of glu_backward with respect to its `grad_output`, which has half the size of
    `grad` and `self` along `dim`.
    """
    to_half, to_gate = grad.chunk(2, dim)
    half, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    return to_half * s + to_gate * half * s * (1 - s)


def glu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Any:
    """The gradient of glu_backward with respect to `self`; glu is half * sigmoid(gate).

    glu_backward's two results are grad_output * s and grad_output * half * s * (1 - s), where s is
    sigmoid(gate). s changes by s * (1 - s), and that by s * (1 - s) * (1 - 2 * s).
    """
    to_half, to_gate = grad.chunk(2, dim)
    half, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    slope = s * (1 - s)
    return cat(
        [
            to_gate * grad_output * slope,
            grad_output * slope * (to_half + to_gate * half * (1 - 2 * s)),
        ],
        dim,
    )
