"""Gradients of losses that have no operator of their own, and second derivatives of losses
(`torch/csrc/autograd/FunctionsManual.cpp`).

In a `*_double_backward`, `grad` is the gradient from the second backward pass, already multiplied
by the `grad_output` of the first. `reduction` is 0 for none, 1 for the mean and 2 for the sum; for
a mean, every derivative is divided by the number of elements.

How the real one differs: the second derivative of binary_cross_entropy adds 1e-12 to probabilities,
though its first derivative uses 1e-12 as the smallest denominator; here both do the latter, so that
one is the derivative of the other.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor

MEAN = 1
_EPSILON = 1e-12  # the smallest denominator in derivatives of binary_cross_entropy


def mse_loss_double_backward(grad: Tensor, self: Tensor, reduction: int) -> Any:
    """2: the loss is (self - target)²."""
    return grad * (2 / max(self.numel(), 1) if reduction == MEAN else 2)


def smooth_l1_loss_double_backward(
    grad: Tensor, self: Any, target: Any, reduction: int, beta: float
) -> Any:
    """1 / beta where the loss is a parabola, abs(self - target) < beta; 0 where it is a line."""
    if beta == 0:
        return grad * 0
    return _averaged(grad / beta, self, reduction) * ((self - target).abs() < beta)


def huber_loss_double_backward(
    grad: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float
) -> Any:
    """1 where the loss is a parabola, abs(self - target) < delta, and 0 where it is a line."""
    return _averaged(grad, self, reduction) * ((self - target).abs() < delta)


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor, reduction: int
) -> Any:
    """The derivative by the target, log(1 - self) - log(self): the loss is linear in it."""
    slope = ((1 - self).log() - self.log()) * grad
    return _weighted(_averaged(slope, target, reduction), weight)


def binary_cross_entropy_double_backward(
    grad: Tensor, self: Any, target: Any, weight: Tensor | None, reduction: int
) -> Any:
    """The second derivative by self: (self² - 2 self target + target) / (self (1 - self))²."""
    square = self * self
    bend = (square - 2 * self * target + target) / _denominator(self).square() * grad
    return _weighted(_averaged(bend, self, reduction), weight)


def binary_cross_entropy_double_backward_target(
    grad: Tensor, self: Any, target: Any, weight: Tensor | None, reduction: int
) -> Any:
    """The derivative by self and target: -1 / (self (1 - self))."""
    return _weighted(_averaged(-grad / _denominator(self), target, reduction), weight)


def binary_cross_entropy_with_logits_backward(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Any,
    reduction: int,
) -> Any:
    """The derivative by self: sigmoid(self) - target, or, with `pos_weight` p,
    (p target + 1 - target) sigmoid(self) - p target.
    """
    if pos_weight is None:
        slope = self.sigmoid() - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * self.sigmoid() - positive
    return _weighted(_averaged(slope * grad, self, reduction), weight)


def binary_cross_entropy_with_logits_target_backward(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Any,
    reduction: int,
) -> Any:
    """The derivative by the target: -self, or, with `pos_weight` p,
    log_sigmoid(-self) - p log_sigmoid(self).
    """
    if pos_weight is None:
        slope = -self * grad
    else:
        slope = (ops.log_sigmoid(-self) - pos_weight * ops.log_sigmoid(self)) * grad
    return _weighted(_averaged(slope, target, reduction), weight)


def soft_margin_loss_double_backward(grad: Tensor, self: Any, target: Any, reduction: int) -> Any:
    """The second derivative of log(1 + z) with z = exp(-target * self): target² z / (1 + z)²."""
    z = (-target * self).exp()
    return _averaged(grad * target * target * z / (z + 1).square(), self, reduction)


def soft_margin_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, self: Any, target: Any, reduction: int
) -> Any:
    """The gradient of soft_margin_loss_backward by its `grad_output`: `grad` times the derivatives,
    summed if `grad_output` is one number for all elements.
    """
    slopes = ops.soft_margin_loss_backward(grad, self, target, reduction)
    return slopes if grad_output.dim() else slopes.sum()


def _denominator(self: Any) -> Any:
    """self * (1 - self), but not less than `_EPSILON`: probabilities may be exactly 0 or 1."""
    return ((1 - self) * self).clamp_min(_EPSILON)


def _averaged(t: Tensor, elements: Tensor, reduction: int) -> Any:
    """`t`, divided by the number of elements if the loss is their mean."""
    return t / max(elements.numel(), 1) if reduction == MEAN else t


def _weighted(t: Tensor, weight: Tensor | None) -> Any:
    return t if weight is None else t * weight
