"""Second derivatives of activations and softmax (`torch/csrc/autograd/FunctionsManual.cpp`).

The first derivatives are operators of their own (`gelu_backward`, ...). A `*_double_backward` is
the gradient of such an operator with respect to the activation's input (or, for softmax, its
output). `grad` is the gradient that the second backward pass brings, `grad_output` the one that the
first got. All but the last two functions only need the product of both, and take it as `grad`.

How the real one differs: silu's is not there, because under a recorded backward pass PyTorch
computes silu's gradient with plain operators in the first place.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from internals.core.tensor_impl import Tensor


def gelu_double_backward(grad: Tensor, self: Tensor, approximate: str) -> Any:
    """grad * gelu''(self), for the exact gelu or its tanh approximation."""
    if approximate == "tanh":
        # gelu(x) = x / 2 * (1 + t) with t = tanh(u), u = factor * (x + cubic * x**3); `slope` is u'
        factor, cubic = sqrt(2 / pi), 0.044715
        square = self * self
        t = (factor * self * (1 + cubic * square)).tanh()
        slope = factor * (1 + 3 * cubic * square)
        steepness = 1 - t * t  # tanh'(u)
        return grad * steepness * (slope + self * (3 * factor * cubic * self - t * slope * slope))
    # gelu(x) = x * P(x) with P' = density: gelu''(x) is (2 - x**2) * density
    density = (self * self * -0.5).exp() * (1 / sqrt(2 * pi))
    return grad * density * (2 - self * self)


def silu_double_backward(grad: Tensor, self: Tensor) -> Any:
    """grad * silu''(self), with silu(x) = x * sigmoid(x)."""
    s = self.sigmoid()
    return grad * s * (1 - s) * (2 + self * (1 - 2 * s))


def softplus_double_backward(grad: Tensor, self: Tensor, beta: int, threshold: int) -> Any:
    """grad * softplus''(self), with softplus(x) = log(1 + exp(beta * x)) / beta; 0 where beta * x
    is at least `threshold`: there softplus is a straight line.
    """
    scaled = self * beta
    s = scaled.sigmoid()
    return grad * s * (1 - s) * beta * (scaled < threshold)


def log_sigmoid_double_backward(grad: Tensor, self: Any) -> Any:
    """grad * log_sigmoid''(self), which is -sigmoid * (1 - sigmoid)."""
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
    """The derivative of elu's gradient by the tensor that it was computed from: elu's input, or, if
    `is_result`, its result.

    Below 0, elu is alpha * scale * (exp(input_scale * x) - 1), and its derivative, from the result,
    is input_scale * (result + alpha * scale): linear in the result, with the derivative
    input_scale.
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
    # sums over `dim`, which stays with size 1
    inner = (output * grad_output).sum(dim, True)
    outer = (output * grad).sum(dim, True)
    return grad_output * grad - inner * grad - grad_output * outer


def log_softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Any:
    """The gradient of grad_output - exp(output) * sum(grad_output) with respect to `output`."""
    return grad_output.sum(dim, True) * output.exp() * -grad
