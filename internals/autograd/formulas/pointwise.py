"""Gradients of functions applied element by element (`torch/csrc/autograd/FunctionsManual.cpp`).

Most of them are one line in `derivatives/`: the gradient times the derivative, of the input (`grad
* self.cos()`) or of the result where that is cheaper (`grad * result` for exp, `grad * (1 - result
* result)` for tanh). Here are those with cases: where a derivative jumps, a formula has to choose
its value at the edge. `clamp` passes the gradient on at its bounds, `maximum` shares it between
equal operands, `pow` is 0 at 0**0.

Operands may have been broadcast: formulas return gradients of the result's shape, and the engine
sums them to the operand's.

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
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from .complex import conj

if TYPE_CHECKING:
    from internals.jit.passes.sym import Sym


def maybe_multiply(grad: Tensor, factor: float) -> Any:
    """The gradient of an operand that was multiplied by the number `factor`; `grad` itself, without
    a new tensor, if that is 1.
    """
    return grad if factor == 1 else grad * conj(factor)


def dropout_scale(p: float, train: bool | None) -> float:
    """The factor that `native_dropout` multiplies the remaining elements by. With p = 1 none
    remain, and the factor is 0 rather than 1 / 0.
    """
    return 1.0 if train is False else 0.0 if p == 1 else 1 / (1 - p)


def div_self_backward(grad: Tensor, other: float | Tensor, rounding_mode: str | None) -> Any:
    """grad / other; 0 for a rounded quotient, which is constant between its jumps."""
    return grad / conj(other) if rounding_mode is None else zeros_like(grad)


def div_other_backward(grad: Any, self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    """-grad * self / other². It divides twice by `other`, whose square might overflow."""
    return -grad * conj((self / other) / other) if rounding_mode is None else zeros_like(grad)


def pow_backward(grad: Tensor, self: Tensor, exponent: complex) -> Any:
    """The gradient of the base, for an exponent that is a number: exponent * self**(exponent - 1).
    x**0 is 1 everywhere, also at 0: its gradient is 0.
    """
    if exponent == 0:
        return zeros_like(grad)
    if exponent == 2:
        return grad * conj(2 * self)
    power = exponent if isinstance(exponent, complex) else float(exponent)
    return grad * conj(exponent * self.pow(power - 1))


def pow_backward_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Any:
    """The gradient of the base, for an exponent that is a tensor."""
    return (grad * conj(exponent * self.pow(exponent - 1))).masked_fill(exponent == 0, 0)


def pow_backward_exponent(
    grad: Tensor | Sym, self: Scalar | Tensor, exponent: Tensor | Sym, result: Any
) -> Any:
    """grad * self**exponent * log(self). Where self is 0 and the exponent is not negative, the
    formula would be 0 * -inf, NaN; the gradient is 0 there, since 0**exponent is 0 for all positive
    ones.
    """
    if isinstance(self, (int, float, complex)):
        if self == 0:
            return grad * where(_not_negative(exponent), 0.0, -math.inf)
        return grad * conj(result * _log(self, exponent.is_complex()))
    slope = conj(result * self.to(result.dtype).log())
    return grad * where((self == 0).logical_and(_not_negative(exponent)), 0, slope)


def _not_negative(exponent: Any) -> Any:
    """Whether each exponent is a real number >= 0, for which 0**exponent is 0 or 1."""
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
    """The gradients (other, -self) / (self² + other²) of self and other, for the angle of the point
    with x = other and y = self; 0 at the origin, where the angle is not defined.
    """
    squared = self * self + other * other
    scale = grad * squared.reciprocal().masked_fill(squared == 0, 0)
    return scale * other if wanted[0] else None, scale * -self if wanted[1] else None


def grad_where(condition: Any, grad: Any) -> Any:
    """`where(condition, grad, 0)`, without a tensor for the 0."""
    return ops.masked_fill_Scalar(grad, ops.logical_not(condition), 0)


def clamp_backward(grad: Any, self: Any, min: object, max: object) -> Any:
    """`grad` where `self` lies between the bounds or on one of them, else 0. Each bound is a
    number, a tensor or None, but not both are None.
    """
    if min is None:
        return grad_where(self <= max, grad)
    inside = self >= min
    return grad_where(inside if max is None else inside.logical_and(self <= max), grad)


def clamp_backward_min_max(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, wanted: Sequence[bool]
) -> tuple[Any, Any]:
    """The gradients of the bounds: each gets `grad` where it is the result. Where min > max, the
    result is max.
    """
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
    """1 / sqrt(self² - 1). For complex numbers the root is the product of two, whose branch cuts
    together are those of acosh.
    """
    return (
        (self + 1).rsqrt() * (self - 1).rsqrt() if self.is_complex() else (self * self - 1).rsqrt()
    )


def sinc_backward(grad: Tensor, self: Any) -> Any:
    """grad * (cos(pi x) - sinc(x)) / x, with sinc(x) = sin(pi x) / (pi x); 0 at 0."""
    angle = self * math.pi
    slope = (angle * angle.cos() - angle.sin()) / (angle * self)
    return (grad * conj(slope)).masked_fill(self == 0, 0)


def copysign_backward(grad: Tensor, self: Any, result: Any) -> Any:
    """grad * result / self, which is 1 where the sign stayed and -1 where it changed; 0 at 0."""
    return grad * (result / self).masked_fill(self == 0, 0)
