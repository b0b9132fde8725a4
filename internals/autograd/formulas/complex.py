"""Conjugates in formulas, and gradients of complex numbers' parts
(`torch/csrc/autograd/FunctionsManual.cpp`).

The gradient of a complex number z = x + iy, for a real result L, is dL/dx + i dL/dy. It is the
direction in which L grows fastest, so an optimizer takes a step against it, as with real numbers.
(It is twice Wirtinger's derivative by the conjugate of z.)

For w = f(z) with a complex differentiable f, like exp or a product, the chain rule says: the
gradient of z is the gradient of w times the *conjugate* of f'(z). So the formulas are those for
real numbers with `conj` around the derivative, which does nothing for real tensors. Functions
without such a derivative, like `abs` or `angle`, have their own formulas here.

Where an operator makes complex numbers of real ones, a formula may return a complex gradient for
the real input: the engine takes its real part.

How the real one differs: formulas take the real part themselves (`handle_r_to_c`), and conjugate
lazily.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.device import device
from internals.core.dtype import COMPLEX, dtype
from internals.core.tensor_impl import Tensor, TensorImpl


def conj(x: Any) -> Any:
    """The conjugate of a tensor or a number; `x` itself if it is real."""
    if isinstance(x, TensorImpl):
        return ops._conj(x) if x._geometry.dtype.category == COMPLEX else x
    return x.conjugate()


def real_part(t: Any) -> Any:
    """The real part of a tensor; `t` itself if it is real."""
    return ops.real(t) if t._geometry.dtype.category == COMPLEX else t


def imaginary_part(t: Tensor) -> Any:
    """The imaginary part of a complex tensor."""
    return ops.imag(t)


def to_copy_backward(grad: Tensor, device: device, dtype: dtype) -> Any:
    """The gradient on the device and in the dtype of the tensor that was copied; for a real tensor
    the real part of a complex gradient. (`to` alone would warn about the lost imaginary part.)
    """
    return (grad if dtype.category == COMPLEX else real_part(grad)).to(device, dtype)


def polar_backward(grad: Tensor, result: Tensor) -> tuple[Any, Any]:
    """The gradients of abs and angle for result = abs * exp(i * angle): how much of `grad` points
    along the result's direction, d result / d abs, and along its derivative by the angle, i *
    result.
    """
    return real_part(conj(grad) * result.sgn()), real_part(conj(grad) * (result * 1j))


def angle_backward(grad: Tensor, self: Tensor) -> Any:
    """The gradient of angle(z): it is perpendicular to z, i * z / abs(z)**2 times `grad`. 0 where z
    is 0, and for real numbers, whose angle is piecewise constant.
    """
    if self._geometry.dtype.category != COMPLEX:
        return self.new_zeros(self.shape)
    return (grad * (self / self.abs().pow(2) * 1j)).masked_fill(self == 0, 0)


def sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of sgn(z) = z / abs(z): the component of `grad` perpendicular to z, divided by
    abs(z). 0 where z is 0, and for real numbers, whose sign is piecewise constant.
    """
    if self._geometry.dtype.category != COMPLEX:
        return self.new_zeros(self.shape)
    length = self.abs()
    # grad / result * result is grad: with the real part of the ratio it is the part along z
    across = grad / length - real_part(grad / result) * result / length
    return across.masked_fill(length == 0, 0)
