"""Second derivatives of activations and softmax (`torch/csrc/autograd/FunctionsManual.cpp`).

The first derivatives are operators of their own (`gelu_backward`, ...). A `*_double_backward` gives
the gradient with respect to the *argument* of such an operator: `grad` is what comes in from the
second backward pass, `grad_output` what the first one got. All but the last two only need the
product of both, and take it as `grad`.

How the real one differs: silu's is not there, because under a recorded backward pass PyTorch
computes silu's gradient with plain operators in the first place.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from internals._tensor import Tensor


def gelu_double_backward(grad: Tensor, self: Tensor, approximate: str) -> Any:
    """grad * gelu''(self): from the normal density, or from the tanh approximation."""
    if approximate == "tanh":
        factor, cubic = sqrt(2 / pi), 0.044715
        square = self * self
        t = (factor * self * (1 + cubic * square)).tanh()
        slope = factor * (1 + 3 * cubic * square)
        steepness = 1 - t * t
        return grad * steepness * (slope + self * (3 * factor * cubic * self - t * slope * slope))
    density = (self * self * -0.5).exp() * (1 / sqrt(2 * pi))
    return grad * density * (2 - self * self)


def silu_double_backward(grad: Tensor, self: Tensor) -> Any:
    """grad * silu''(self)."""
    s = self.sigmoid()
    return grad * s * (1 - s) * (2 + self * (1 - 2 * s))


def softplus_double_backward(grad: Tensor, self: Tensor, beta: int, threshold: int) -> Any:
    """grad * softplus''(self); 0 beyond `threshold`, where softplus is a straight line."""
    scaled = self * beta
    s = scaled.sigmoid()
    return grad * s * (1 - s) * beta * (scaled < threshold)


def log_sigmoid_double_backward(grad: Tensor, self: Any) -> Any:
    """grad * log_sigmoid''(self)."""
    s = self.sigmoid()
    return grad * (s - 1) * s


def elu_double_backward(
    grad: Tensor,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
    self_or_result: Tensor,
) -> Any:
    """grad * elu''(self), or, from the result, what its slope input_scale * (result + alpha *
    scale) changes by.
    """
    below = self_or_result < 0
    if is_result:
        return grad * input_scale * below
    bend = alpha * scale * input_scale * input_scale
    return grad * bend * (self_or_result.clamp_max(0) * input_scale).exp() * below


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Any:
    """The gradient of output * (grad_output - sum(grad_output * output)) with respect to
    `output`.
    """
    inner = (output * grad_output).sum(dim, True)
    outer = (output * grad).sum(dim, True)
    return grad_output * grad - inner * grad - grad_output * outer


def log_softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Any:
    """The gradient of grad_output - exp(output) * sum(grad_output) with respect to `output`."""
    return grad_output.sum(dim, True) * output.exp() * -grad
