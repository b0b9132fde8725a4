"""Gradients of special functions (`torch/csrc/autograd/FunctionsManual.cpp`).

Those whose formula divides by the argument need its limit at 0.

How the real one differs: nothing but the language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.functions import arange, i0, where
from internals._generated.special_functions import i0e
from internals.core.dtype import finfo

if TYPE_CHECKING:
    from internals._tensor import Tensor


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Any:
    """i0(x) - i1(x) / x; 1/2 at 0."""
    near_0, divisor = _without_0(self)
    return grad * where(near_0, 0.5, i0(divisor) - result / divisor)


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1 / x); 1/2 at 0."""
    near_0, divisor = _without_0(self)
    return grad * where(
        near_0, 0.5, i0e(divisor) - result * (divisor.sign() + divisor.reciprocal())
    )


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Any:
    """The sum of digamma(x - j / 2) over j = 0 ... p - 1."""
    shifts = arange(p, dtype=self.dtype, device=self.device) / 2
    return grad * (self.unsqueeze(-1) - shifts).digamma().sum(-1)


def igamma_backward(grad: Tensor, self: Tensor, other: Tensor) -> Any:
    """What the integral for Γ gains at its upper end: x**(a - 1) exp(-x) / Γ(a)."""
    return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


def _without_0(self: Tensor) -> tuple[Any, Any]:
    """Where self is 0 but for rounding, and self with another number there."""
    eps = finfo(self.dtype).eps
    near_0 = self.abs() <= eps
    return near_0, self.masked_fill(near_0, eps)
