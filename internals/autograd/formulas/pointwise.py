"""Gradients of functions applied element by element (`torch/csrc/autograd/FunctionsManual.cpp`).

Most of them are one line in `derivatives/`: the gradient times the derivative, of the input (`grad
* self.cos()`) or of the result where that is cheaper (`grad * result` for exp, `grad * (1 - result
* result)` for tanh). Here are those with cases: where the derivative jumps, somebody has to say
what it is at the edge. `clamp` passes the gradient on at its bounds, `maximum` shares it between
equal operands, `pow` is 0 at 0**0.

Operands may have been broadcast; the engine sums what belongs to one element.

How the real one differs: it takes the real part of a complex gradient itself (`handle_r_to_c`);
here the engine does.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from internals._generated import ops
from internals._generated.functions import where, zeros_like

from .complex import conj

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.scalar import Scalar
    from internals.jit.passes.sym import Sym


def maybe_multiply(grad: Tensor, factor: float) -> Any:
    """The gradient of something that was multiplied by the number `factor`: no work when that is
    1.
    """
    return grad if factor == 1 else grad * conj(factor)


def dropout_scale(p: float, train: bool | None) -> float:
    """What `native_dropout` multiplies the elements that stay with."""
    return 1.0 if train is False else 0.0 if p == 1 else 1 / (1 - p)


def div_self_backward(grad: Tensor, other: float | Tensor, rounding_mode: str | None) -> Any:
    """A quotient that is rounded is constant between its jumps."""
    return grad / conj(other) if rounding_mode is None else zeros_like(grad)


def div_other_backward(grad: Any, self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    """-grad · self / other²; dividing twice does not overflow where squaring would."""
    return -grad * conj((self / other) / other) if rounding_mode is None else zeros_like(grad)


def pow_backward(grad: Tensor, self: Tensor, exponent: complex) -> Any:
    """With a number for the exponent. x**0 is 1 everywhere, also at 0: its gradient is 0."""
    if exponent == 0:
        return zeros_like(grad)
    if exponent == 2:
        return grad * conj(2 * self)
    power = exponent if isinstance(exponent, complex) else float(exponent)
    return grad * conj(exponent * self.pow(power - 1))


def pow_backward_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Any:
    """The same with a tensor for the exponent."""
    return (grad * conj(exponent * self.pow(exponent - 1))).masked_fill(exponent == 0, 0)


def pow_backward_exponent(
    grad: Tensor | Sym, self: Scalar | Tensor, exponent: Tensor | Sym, result: Any
) -> Any:
    """grad · self**exponent · log(self). At 0 the power is 0 for all positive exponents: the
    gradient is 0, not 0 · -inf.
    """
    if isinstance(self, (int, float, complex)):
        if self == 0:
            return grad * where(_not_negative(exponent), 0.0, -math.inf)
        return grad * conj(result * _log(self, exponent.is_complex()))
    slope = conj(result * self.to(result.dtype).log())
    return grad * where((self == 0).logical_and(_not_negative(exponent)), 0, slope)


def _not_negative(exponent: Any) -> Any:
    """Where 0 to this power is 0 or 1."""
    if exponent.is_complex():
        return (exponent.imag == 0).logical_and(exponent.real >= 0)
    return exponent >= 0


def _log(number: Scalar, among_complex: bool) -> Any:
    """The logarithm of a number; of a negative one a complex number, or NaN where all are real."""
    if isinstance(number, complex) or (among_complex and number < 0):
        return cmath.log(number)
    return math.log(number) if number > 0 else math.nan


def atan2_backward(
    grad: Tensor, self: Tensor, other: Tensor, wanted: Sequence[bool]
) -> tuple[Any, Any]:
    """The angle of the point (other, self): it turns the faster, the nearer the point is to the
    origin; there it is 0.
    """
    squared = self * self + other * other
    scale = grad * squared.reciprocal().masked_fill(squared == 0, 0)
    return scale * other if wanted[0] else None, scale * -self if wanted[1] else None


def grad_where(condition: Any, grad: Any) -> Any:
    """`where(condition, grad, 0)`, without a tensor for the 0."""
    return ops.masked_fill_Scalar(grad, ops.logical_not(condition), 0)


def clamp_backward(grad: Any, self: Any, min: object, max: object) -> Any:
    """The gradient where `self` lies between the bounds or on one of them; either may be None, a
    number or a tensor.
    """
    if min is None:
        return grad_where(self <= max, grad)
    inside = self >= min
    return grad_where(inside if max is None else inside.logical_and(self <= max), grad)


def clamp_backward_min_max(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, wanted: Sequence[bool]
) -> tuple[Any, Any]:
    """Each bound gets the gradient where it is the result. Where they cross, the upper one wins."""
    to_min = to_max = None
    if wanted[0]:
        below = self < min
        to_min = grad_where(below if max is None else below.logical_and(min < max), grad)
    if wanted[1]:
        above = self > max
        to_max = grad_where(above if min is None else above.logical_or(max < min), grad)
    return to_min, to_max


def derivative_not_implemented(name: str) -> NoReturn:
    """Raises RuntimeError: PyTorch has no derivative for the operator either."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


def no_derivative(name: str) -> NoReturn:
    """Raises NotImplementedError: PyTorch has a node, but no formula for the gradient of this
    argument either.
    """
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


def acosh_derivative(self: Tensor | Sym) -> Any:
    """1 / sqrt(self² - 1); of complex numbers as a product of two roots, whose branches fit those
    of acosh.
    """
    return (
        (self + 1).rsqrt() * (self - 1).rsqrt() if self.is_complex() else (self * self - 1).rsqrt()
    )


def sinc_backward(grad: Tensor, self: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x; 0 at 0."""
    angle = self * math.pi
    slope = (angle * angle.cos() - angle.sin()) / (angle * self)
    return (grad * conj(slope)).masked_fill(self == 0, 0)


def copysign_backward(grad: Tensor, self: Any, result: Any) -> Any:
    """The sign that was changed, or not; 0 at 0."""
    return grad * (result / self).masked_fill(self == 0, 0)
