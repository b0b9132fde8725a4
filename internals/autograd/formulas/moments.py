"""Gradients of variance and standard deviation (`torch/csrc/autograd/FunctionsManual.cpp`).

The variance of n numbers is Σ(x - mean)² / (n - correction). Its derivative with respect to an x is
2 (x - mean) / (n - correction): the mean depends on x too, but that adds a multiple of Σ(x - mean),
which is 0. The standard deviation is its root; where it is 0 it has no derivative, and 0 is taken.

How the real one differs: when `dim` is [], it reduces over all elements but divides by the degrees
of freedom of one, which gives infinities; here [] means all in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, prod
from typing import Any

from internals.aten.native.moments import number_of
from internals.core.tensor_impl import Tensor

from .reductions import mean_backward, unsqueeze_multiple

Dim = Sequence[int] | None


def var_backward(
    grad: Tensor, self: Tensor, dim: Dim, correction: int | None, keepdim: bool
) -> Any:
    """The gradient of `self`: 2 grad (x - mean) / (n - correction), in the shape of `self`.

    Without degrees of freedom, n - correction = 0, the gradient is infinite, and NaN where x is the
    mean. PyTorch takes fewer than none for none when it reduces over all elements, and computes
    with the negative number when it reduces over some dimensions; so does this.
    """
    if not dim or not self.dim():
        distance = self - self.mean()
        freedom = self.numel() - number_of(correction)
        if freedom <= 0:
            return (grad * inf).expand(self.shape).masked_fill(distance == 0, nan)
        return grad * (2 / freedom) * distance
    if not keepdim:
        # the reduced dimensions come back with size 1, so that grad broadcasts against self
        grad = unsqueeze_multiple(grad, dim, self.dim())
    freedom = prod([self.shape[d] for d in dim]) - number_of(correction)
    return grad * (2 / freedom if freedom else inf) * (self - self.mean(dim, True))


def std_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Dim, correction: int, keepdim: bool
) -> Any:
    """The variance's gradient with `grad / (2 * std)` in place of `grad`; 0 where std is 0."""
    return var_backward(
        (grad / (result * 2)).masked_fill(result == 0, 0), self, dim, correction, keepdim
    )


def var_mean_backward(
    grads: Sequence[Any], self: Any, dim: Dim, correction: Any, keepdim: bool
) -> Any:
    """The sum of the gradients through the variance and the mean; `grads` has those of both
    results, either of which may be None.
    """
    by_variance, by_mean = grads
    through_variance = (
        None if by_variance is None else var_backward(by_variance, self, dim, correction, keepdim)
    )
    return _plus_mean(through_variance, by_mean, self, dim, keepdim)


def std_mean_backward(
    grads: Sequence[Any], self: Any, std: Any, dim: Dim, correction: Any, keepdim: bool
) -> Any:
    """As `var_mean_backward`, for the standard deviation and the mean."""
    by_std, by_mean = grads
    through_std = (
        None if by_std is None else std_backward(by_std, self, std, dim, correction, keepdim)
    )
    return _plus_mean(through_std, by_mean, self, dim, keepdim)


def _plus_mean(gradient: Any, by_mean: Any, self: Any, dim: Dim, keepdim: bool) -> Any:
    """`gradient` plus the gradient through the mean; None stands for zeros."""
    if by_mean is None:
        return gradient
    through_mean = mean_backward(by_mean, self.shape, dim, keepdim)
    return through_mean if gradient is None else gradient + through_mean
