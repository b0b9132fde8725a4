"""Conjugates in formulas, and gradients of complex numbers' parts
(`torch/csrc/autograd/FunctionsManual.cpp`).

What gradient does a complex number z = x + iy get from a real result L? dL/dx + i dL/dy: both
numbers in one, and the direction in which L grows fastest, so that an optimizer may go the other
way as it does with real ones. (That is twice the derivative by the conjugate of z in Wirtinger's
sense; twice that by z itself is its conjugate.)

For w = f(z) with an f that can be differentiated as a complex function, like exp or a product, the
chain rule then says: the gradient of z is the gradient of w times the *conjugate* of f'(z). So the
formulas are those for real numbers, with `conj` around the derivative, which for real tensors does
nothing. Functions of another kind, `abs` or `angle`, have formulas made for them.

Where an operator made complex numbers of real ones the formula may give a complex gradient: the
engine takes its real part.

How the real one differs: formulas take the real part themselves (`handle_r_to_c`), and conjugate
lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.core.dtype import COMPLEX
from internals.core.tensor_impl import TensorImpl

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.device import device
    from internals.core.dtype import dtype


def conj(x: Any) -> Any:
    """The conjugate of a tensor or a number; a real one itself."""
    if isinstance(x, TensorImpl):
        return ops._conj(x) if x._geometry.dtype.category == COMPLEX else x
    return x.conjugate()


def real_part(t: Any) -> Any:
    """The real part of a tensor; a real one itself."""
    return ops.real(t) if t._geometry.dtype.category == COMPLEX else t


def imaginary_part(t: Tensor) -> Any:
    """The imaginary part of a complex tensor."""
    return ops.imag(t)


def to_copy_backward(grad: Tensor, device: device, dtype: dtype) -> Any:
    """The gradient where the tensor came from; of a complex one for a real tensor the real part,
    without a warning.
    """
    return (grad if dtype.category == COMPLEX else real_part(grad)).to(device, dtype)


def polar_backward(grad: Tensor, result: Tensor) -> tuple[Any, Any]:
    """How much of the gradient points along the number, and how much across, the way it turns."""
    return real_part(conj(grad) * result.sgn()), real_part(conj(grad) * (result * 1j))


def angle_backward(grad: Tensor, self: Tensor) -> Any:
    """Across the number, the more the nearer it is to 0; at 0, and for real numbers, 0."""
    if self._geometry.dtype.category != COMPLEX:
        return self.new_zeros(self.shape)
    return (grad * (self / self.abs().pow(2) * 1j)).masked_fill(self == 0, 0)


def sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    """What of the gradient lies across the number, over its length; 0 at 0. The sign of a real
    number is constant.
    """
    if self._geometry.dtype.category != COMPLEX:
        return self.new_zeros(self.shape)
    length = self.abs()
    across = grad / length - real_part(grad / result) * result / length
    return across.masked_fill(length == 0, 0)
