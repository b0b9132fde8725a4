"""Derivatives around piecewise activations and gates (`torch/csrc/autograd/FunctionsManual.cpp`).

The second derivatives of `hardswish` and `glu`, as in `activations.py`. And the first ones of
`mish` and `logit`, made of operators: `mish_backward` and `logit_backward` have no derivative, so
they serve only where the backward pass is not recorded.

How the real one differs: `hardsigmoid_backward` has no derivative there, so hardsigmoid no second
one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from internals._generated.functions import cat, where
from internals._generated.nn_functions import softplus

if TYPE_CHECKING:
    from internals._tensor import Tensor


def hardswish_double_backward(grad: Tensor, self: Tensor) -> Any:
    """A third of `grad` on the parabola, strictly between -3 and 3."""
    return where((self > -3) & (self < 3), grad / 3, 0.0)


def infinitely_differentiable_mish_backward(grad: Tensor, self: Tensor) -> Any:
    """grad * mish'(self): what the operator mish_backward computes, of operators that have
    derivatives.
    """
    t = softplus(self).tanh()
    return grad * (t + self * self.sigmoid() * (1 - t * t))


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Any:
    """grad / (x (1 - x)) between the bounds; beyond them 0, or NaN if there are none but 0 and
    1.
    """
    low, beyond = (0.0, math.nan) if eps is None or eps < 0 else (eps, 0.0)
    outside = (self < low).logical_or(self > 1 - low)
    return where(outside, beyond, grad / (self * (1 - self)))


def glu_double_backward_grad_output(grad: Tensor, self: Tensor, dim: int) -> Any:
    """What both halves of `grad` do to the one gradient they came from."""
    to_half, to_gate = grad.chunk(2, dim)
    half, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    return to_half * s + to_gate * half * s * (1 - s)


def glu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Any:
    """The gradient of glu_backward with respect to both halves of `self`."""
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
