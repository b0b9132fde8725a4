"""First derivatives of piecewise activations and gates (`aten/src/ATen/native/Activation.cpp`).

They are made of differentiable operators, so the second derivative follows from them.

How the real one differs: each is an operator with a kernel, `hardswish_backward` and so on.
"""

from __future__ import annotations

from typing import Any

import internals


def hardsigmoid_gradient(grad: Any, self: Any) -> Any:
    """A sixth of `grad` between -3 and 3, 0 elsewhere."""
    return (grad / 6).masked_fill((self <= -3) | (self >= 3), 0)


def hardswish_gradient(grad: Any, self: Any) -> Any:
    """0 up to -3, `grad` from 3 on, a straight line between."""
    slope = (self / 3 + 0.5).masked_fill(self <= -3, 0).masked_fill(self >= 3, 1)
    return grad * slope


def mish_gradient(grad: Any, self: Any) -> Any:
    """grad * mish'(self)."""
    t = internals.nn.functional.softplus(self).tanh()
    return grad * (t + self * self.sigmoid() * (1 - t * t))


def shrink_gradient(grad: Any, self: Any, lambd: Any) -> Any:
    """`grad` where `self` was not shrunk to 0."""
    return grad.masked_fill((self >= -lambd) & (self <= lambd), 0)


def glu_gradient(grad: Any, self: Any, dim: int) -> Any:
    """The gradients of both halves, side by side again."""
    half, gate = self.chunk(2, dim)
    open_by = gate.sigmoid()
    through = grad * open_by
    return internals.cat([through, through * half * (1 - open_by)], dim)
