"""Gradients of special functions (`torch/csrc/autograd/FunctionsManual.cpp`).

The Bessel functions i1 and i1e have formulas that divide by the argument. At 0 the value is the
limit.
"""

from __future__ import annotations

from internals._generated.functions import arange, i0, where
from internals._generated.special_functions import i0e
from internals.core.dtype import finfo
from internals.core.tensor_impl import Tensor


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad * (i0(x) - i1(x) / x); the limit at 0 is 1/2. `result` is i1(x)."""
    near_0, divisor = _without_0(self)
    return grad * where(near_0, 0.5, i0(divisor) - result / divisor)


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad * (i0e(x) - i1e(x) * (sign(x) + 1 / x)); the limit at 0 is 1/2. `result` is i1e(x)."""
    near_0, divisor = _without_0(self)
    return grad * where(
        near_0, 0.5, i0e(divisor) - result * (divisor.sign() + divisor.reciprocal())
    )


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """grad times the sum of digamma(x - j / 2) over j = 0 ... p - 1: mvlgamma is such a sum of
    lgamma, and a constant.
    """
    shifts = arange(p, dtype=self.dtype, device=self.device) / 2
    return grad * (self.unsqueeze(-1) - shifts).digamma().sum(-1)


def igamma_backward(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """The gradient of x (`other`) in igamma(a, x), for a in `self`. igamma is an integral up to x,
    divided by Γ(a), so the derivative is the integrand at x: x**(a - 1) * exp(-x) / Γ(a).
    """
    return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


def _without_0(self: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each element is nearly 0, and `self` with a number to divide by in its place."""
    eps = finfo(self.dtype).eps
    near_0 = self.abs() <= eps
    return near_0, self.masked_fill(near_0, eps)
