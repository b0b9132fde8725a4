"""Second derivatives of piecewise activations and gates (`torch/csrc/autograd/FunctionsManual.cpp`).

As in `activations.py`: the gradients of operators like `hardswish_backward` with respect to their arguments, of `grad`, the
gradient that the second backward pass brings. They are made of differentiable operators, so every further one follows.

How the real one differs: `mish_backward` and `logit_backward` have no derivative there. Under a recorded backward pass PyTorch
computes the first gradient of these two with plain operators. `hardsigmoid_backward` has none at all.
"""

from __future__ import annotations

import math
from typing import Any

import internals


def hardswish_double_backward(grad: Any, self: Any) -> Any:
    """A third of `grad` on the parabola, strictly between -3 and 3."""
    return internals.where((self > -3) & (self < 3), grad / 3, 0.0)


def mish_double_backward(grad: Any, self: Any) -> Any:
    """grad * mish''(self)."""
    t, s = internals.nn.functional.softplus(self).tanh(), self.sigmoid()
    return grad * s * (1 - t * t) * (2 + self * (1 - s) - 2 * self * s * t)


def logit_double_backward(grad: Any, self: Any, eps: float | None) -> Any:
    """grad * (2x - 1) / (x (1 - x))²; beyond the bounds what logit_backward gives there: 0, or NaN without bounds."""
    low, beyond = (0.0, math.nan) if eps is None or eps < 0 else (eps, 0.0)
    outside = (self < low).logical_or(self > 1 - low)
    product = self * (1 - self)
    return internals.where(outside, beyond, grad * (2 * self - 1) / (product * product))


def glu_double_backward_grad_output(grad: Any, self: Any, dim: int) -> Any:
    """What both halves of `grad` do to the one gradient they came from."""
    to_half, to_gate = grad.chunk(2, dim)
    half, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    return to_half * s + to_gate * half * s * (1 - s)


def glu_double_backward(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    """The gradient of glu_backward with respect to both halves of `self`."""
    to_half, to_gate = grad.chunk(2, dim)
    half, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    slope = s * (1 - s)
    return internals.cat(
        [to_gate * grad_output * slope, grad_output * slope * (to_half + to_gate * half * (1 - 2 * s))], dim
    )
