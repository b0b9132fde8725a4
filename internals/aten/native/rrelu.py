"""leaky_relu with a random slope for each negative element (`aten/src/ATen/native/Activation.cpp`:
rrelu).

The gradient needs the slopes, so `rrelu_with_noise` writes them to its argument `noise`, with 1 for
the other elements. It is one of few operators that write to an argument and yet return a new
tensor; its schema says so: `Tensor(b!) noise`.

These kernels run other operators, on `detach()`ed tensors: `rrelu_with_noise` has a derivative of
its own, so what it is composed of must not be recorded.

How the real one differs: in training its loop draws and multiplies, element after element.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.aten.dtype_checks import check_same_dtype, not_implemented
from internals.aten.writing import write_inplace
from internals.core.dtype import FLOATING, float16, float64
from internals.core.generator import Generator
from internals.core.scalar import Scalar, real
from internals.core.tensor_impl import Tensor


def rrelu(
    self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Any:
    """leaky_relu with a slope between `lower` and `upper`: in training a random one for each
    element that is not positive, otherwise their mean. Raises RuntimeError unless lower <= upper.
    """
    _check_bounds(lower, upper)
    return ops.rrelu_with_noise(
        self, self.detach().new_empty(self.shape), lower, upper, training, generator
    )


def rrelu_(
    self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Any:
    """`rrelu` in place."""
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
    """`rrelu` that in training fills `noise` with the factor of each element: its slope, or 1.

    Raises RuntimeError where `noise` has another shape or dtype, or where numbers are drawn and
    `lower` is more than `upper`; NotImplementedError for float16 and integers in training.
    """
    if self.shape != noise.shape:
        raise RuntimeError(
            f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} "
            f"noise.shape = {list(noise.shape)}"
        )
    x = self.detach().contiguous()
    if not training:
        return ops.leaky_relu(x, _mean_slope(lower, upper))
    if self.dtype.category != FLOATING or self.dtype is float16:
        raise not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    check_same_dtype(self, noise)
    negative = (x <= 0).reshape(-1)
    low, high = real(lower, float64), real(upper, float64)
    # one number for each negative element only, in double, as PyTorch's loop draws them
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
    """`rrelu_with_noise` whose result is written to `self`."""
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
    """`grad_output` times `noise`, the slopes; without training, where all slopes were the same,
    the gradient of leaky_relu.
    """
    if training:
        return grad_output.detach() * noise
    return ops.leaky_relu_backward(
        grad_output.detach(), self.detach(), _mean_slope(lower, upper), self_is_result
    )


def _mean_slope(lower: Any, upper: Any) -> float:
    """The mean of the bounds: the slope that is used without training."""
    return (float(real(lower, float64)) + float(real(upper, float64))) / 2


def _check_bounds(lower: Any, upper: Any) -> None:
    """Raises RuntimeError unless lower <= upper."""
    if real(lower, float64) > real(upper, float64):
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
