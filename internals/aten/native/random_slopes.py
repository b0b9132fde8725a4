"""leaky_relu with a random slope for each negative element (`aten/src/ATen/native/Activation.cpp`:
rrelu).

The slopes are what the gradient needs, so `rrelu_with_noise` writes them to its argument `noise`,
with 1 for the other elements. It is the rare operator whose schema says that it fills in an
argument and yet returns a new tensor: `Tensor(b!) noise`.

How the real one differs: in training a loop draws and multiplies, element after element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.dtype_checks import check_same_dtype, not_implemented
from internals.aten.writing import write_inplace
from internals.core.dtype import FLOATING, float16, float64
from internals.core.scalar import real

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.generator import Generator
    from internals.core.scalar import Scalar


def rrelu(
    self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Any:
    """leaky_relu with a slope between `lower` and `upper`: their middle, in training a random one
    for each negative element.
    """
    _check_bounds(lower, upper)
    return ops.rrelu_with_noise(
        self, self.detach().new_empty(self.shape), lower, upper, training, generator
    )


def rrelu_(
    self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Any:
    _check_bounds(lower, upper)
    return ops.rrelu_with_noise_(
        self, self.detach().new_empty(self.shape), lower, upper, training, generator
    )


def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Generator | None,
) -> Any:
    """The same; in training `noise` becomes what each element was multiplied by.

    Raises RuntimeError where `noise` has another shape or dtype, or `lower` is more than `upper`
    and numbers are drawn.
    """
    if self.shape != noise.shape:
        raise RuntimeError(
            f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} "
            f"noise.shape = {list(noise.shape)}"
        )
    x = self.detach().contiguous()
    if not training:
        return ops.leaky_relu(x, _middle(lower, upper))
    if self.dtype.category != FLOATING or self.dtype is float16:
        raise not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    check_same_dtype(self, noise)
    negative = (x <= 0).reshape(-1)
    low, high = real(lower, float64), real(upper, float64)
    drawn = x.new_empty([int(negative.sum())], dtype=float64).uniform_(
        low, high, generator=generator
    )
    slopes = x.new_ones(x.numel()).index_put([negative], drawn.to(x.dtype)).reshape(x.shape)
    noise.copy_(slopes)
    return x * slopes


def rrelu_with_noise_(
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Generator | None,
) -> Any:
    return write_inplace(self, rrelu_with_noise(self, noise, lower, upper, training, generator))


def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    self_is_result: bool,
) -> Any:
    """`grad_output` times the noise; without training there was one slope, and it is leaky_relu's
    gradient.
    """
    if training:
        return grad_output.detach() * noise
    return ops.leaky_relu_backward(
        grad_output.detach(), self.detach(), _middle(lower, upper), self_is_result
    )


def _middle(lower: Any, upper: Any) -> float:
    return (float(real(lower, float64)) + float(real(upper, float64))) / 2


def _check_bounds(lower: Any, upper: Any) -> None:
    if real(lower, float64) > real(upper, float64):
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
