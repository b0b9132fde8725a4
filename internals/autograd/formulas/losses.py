"""Gradients of losses that have no operator of their own, and second derivatives
(`torch/csrc/autograd/FunctionsManual.cpp`).

In a `*_double_backward`, `grad` comes in from the second backward pass, already multiplied by the
`grad_output` of the first. `reduction` is a number, 0 for none, 1 for the mean, 2 for the sum: a
mean divides by the number of elements once more.

How the real one differs: in binary_cross_entropy it adds 1e-12 to probabilities in second
derivatives, where its first derivative keeps the denominator from falling below 1e-12; here both do
the latter, so that one is the derivative of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor

MEAN = 1
_EPSILON = 1e-12


def mse_loss_double_backward(grad: Tensor, self: Tensor, reduction: int) -> Any:
    return grad * (2 / max(self.numel(), 1) if reduction == MEAN else 2)


def smooth_l1_loss_double_backward(
    grad: Tensor, self: Any, target: Any, reduction: int, beta: float
) -> Any:
    """1 / beta where the loss is a parabola, 0 where it is a line. With `beta` 0 there is no
    parabola.
    """
    if beta == 0:
        return grad * 0
    return _mean_factor(grad / beta, self, reduction) * ((self - target).abs() < beta)


def huber_loss_double_backward(
    grad: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float
) -> Any:
    return _mean_factor(grad, self, reduction) * ((self - target).abs() < delta)


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor, reduction: int
) -> Any:
    """The loss is linear in the target: log(1 - self) - log(self)."""
    slope = ((1 - self).log() - self.log()) * grad
    return _weighted(_mean_factor(slope, target, reduction), weight)


def binary_cross_entropy_double_backward(
    grad: Tensor, self: Any, target: Any, weight: Tensor | None, reduction: int
) -> Any:
    """(self² - 2 self target + target) / (self (1 - self))²."""
    square = self * self
    bend = (square - 2 * self * target + target) / _denominator(self).square() * grad
    return _weighted(_mean_factor(bend, self, reduction), weight)


def binary_cross_entropy_double_backward_target(
    grad: Tensor, self: Any, target: Any, weight: Tensor | None, reduction: int
) -> Any:
    return _weighted(_mean_factor(-grad / _denominator(self), target, reduction), weight)


def binary_cross_entropy_with_logits_backward(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Any,
    reduction: int,
) -> Any:
    """sigmoid(self) - target; with `pos_weight` p, (p target + 1 - target) sigmoid(self) - p
    target.
    """
    if pos_weight is None:
        slope = self.sigmoid() - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * self.sigmoid() - positive
    return _weighted(_mean_factor(slope * grad, self, reduction), weight)


def binary_cross_entropy_with_logits_target_backward(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Any,
    reduction: int,
) -> Any:
    """-self; with `pos_weight` p, log_sigmoid(-self) - p log_sigmoid(self)."""
    if pos_weight is None:
        slope = -self * grad
    else:
        slope = (ops.log_sigmoid(-self) - pos_weight * ops.log_sigmoid(self)) * grad
    return _weighted(_mean_factor(slope, target, reduction), weight)


def soft_margin_loss_double_backward(grad: Tensor, self: Any, target: Any, reduction: int) -> Any:
    """target² z / (1 + z)², z = exp(-target * self)."""
    z = (-target * self).exp()
    return _mean_factor(grad * target * target * z / (z + 1).square(), self, reduction)


def soft_margin_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, self: Any, target: Any, reduction: int
) -> Any:
    """The slopes times `grad`; summed, if `grad_output` is one number for all elements."""
    slopes = ops.soft_margin_loss_backward(grad, self, target, reduction)
    return slopes if grad_output.dim() else slopes.sum()


def _denominator(self: Any) -> Any:
    return ((1 - self) * self).clamp_min(_EPSILON)


def _mean_factor(t: Tensor, elements: Tensor, reduction: int) -> Any:
    return t / max(elements.numel(), 1) if reduction == MEAN else t


def _weighted(t: Tensor, weight: Tensor | None) -> Any:
    return t if weight is None else t * weight
