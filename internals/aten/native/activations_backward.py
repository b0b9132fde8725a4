"""The gradients of the activations (`aten/src/ATen/native/Activation.cpp`).

Each could be written with a handful of operators. As one loop over memory it is several times
faster, so the gradient of an activation is an operator of its own, `X_backward(grad_output, self,
...)`, which has no function in Python. It has a derivative itself, in derivatives.yaml, so second
derivatives work as well.

How the real one differs: the loops are vectorised C++; and `silu_backward`, which has no derivative
there, gives way to plain operators when a graph of the backward pass is wanted.
"""

from __future__ import annotations

from functools import partial
from math import nan, pi, sqrt
from typing import Any

import numpy as np

from internals._generated.fast_lane import binary
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import COMPLEX, FLOATING, SCALAR_TYPE_NAME
from internals.core.promotion import promote_types
from internals.core.scalar import Scalar, real
from internals.core.tensor_impl import Tensor, empty_contiguous

from .activations_composed import halves
from .loops import Loop, in_single


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Scalar) -> Any:
    """`grad_output` where `self` is greater than `threshold`, 0 elsewhere. With threshold 0 it is
    the gradient of relu; `self` may then be relu's result, which is positive in the same places.
    """
    if self._geometry.dtype.category == COMPLEX:
        raise not_implemented("threshold_cpu", self.dtype)
    return binary(partial(threshold_loop, threshold=real(threshold, self.dtype)), grad_output, self)


def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Any:
    """`grad_output` where `self` is strictly between the limits, 0 elsewhere."""
    loop = partial(hardtanh_loop, low=real(min_val, self.dtype), high=real(max_val, self.dtype))
    return _run("hardshrink_backward_cpu", grad_output, self, loop)


def leaky_relu_backward(
    grad_output: Tensor, self: Tensor, negative_slope: Any, self_is_result: bool
) -> Any:
    """`grad_output`, times `negative_slope` where `self` is not positive.

    Raises RuntimeError if `self` is the result and the slope is negative: then the sign of the
    result does not say what the sign of the argument was.
    """
    negative_slope = real(negative_slope, self.dtype)
    if self_is_result and negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead. File an issue at "
            "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope"
        )
    loop = partial(scalar.leaky_relu_backward.loop, slope=negative_slope)
    return _run("leaky_relu_backward_cpu", grad_output, self, loop)


def elu_backward(
    grad_output: Tensor,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    self_or_result: Tensor,
) -> Any:
    """The gradient of elu, from its argument or (`is_result`) from its result. Raises RuntimeError
    for a result with a negative `alpha`.
    """
    alpha, scale, input_scale = (real(n, grad_output.dtype) for n in (alpha, scale, input_scale))
    if is_result and alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative slope, "
            "please call out-of-place version instead."
        )
    formula = scalar.elu_backward_from_result if is_result else scalar.elu_backward
    loop = partial(formula.loop, bottom=alpha * scale, top=scale, rate=input_scale)
    return _run("elu_backward_cpu", grad_output, self_or_result, loop)


def gelu_backward(grad_output: Tensor, self: Tensor, approximate: str = "none") -> Any:
    """The gradient of gelu, with `approximate` as in the forward pass."""
    formula = scalar.gelu_tanh_backward if approximate == "tanh" else scalar.gelu_backward
    return _run("GeluBackwardKernelImpl", grad_output, self, formula.loop)


def silu_backward(grad_output: Tensor, self: Tensor) -> Any:
    """grad_output * s * (1 + self * (1 - s)), where s is sigmoid(self)."""
    it = TensorIterator([grad_output, self])
    if it.common_dtype.category not in (FLOATING, COMPLEX):
        raise not_implemented("silu_backward_cpu", it.common_dtype)
    return it.run(scalar.silu_backward.loop)


def softplus_backward(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> Any:
    """grad_output * sigmoid(beta * self), and beyond `threshold` `grad_output` itself."""
    loop = partial(
        scalar.softplus_backward.loop,
        beta=real(beta, self.dtype),
        threshold=real(threshold, self.dtype),
    )
    return _run("softplus_backward_cpu", grad_output, self, loop)


def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Any:
    """grad_output * sigmoid(-self), from the exp(-|self|) that the forward pass left in
    `buffer`.
    """
    return _run(
        "log_sigmoid_backward_cpu", grad_output, self, scalar.log_sigmoid_backward.loop, buffer
    )


def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Any:
    """A sixth of `grad_output` where `self` is strictly between -3 and 3, 0 elsewhere."""
    return _run("hardsigmoid_backward", grad_output, self, scalar.hardsigmoid_backward.loop)


def hardswish_backward(grad_output: Tensor, self: Tensor) -> Any:
    """0 up to -3, `grad_output` from 3 on; between them grad_output * (self / 3 + 1/2), from the
    derivative of a parabola.
    """
    return _run("hardswish_backward_cpu", grad_output, self, scalar.hardswish_backward.loop)


def mish_backward(grad_output: Tensor, self: Tensor) -> Any:
    """grad_output * (t + self * s * (1 - t²)), where t is tanh(softplus(self)) and s is
    sigmoid(self).
    """
    return _run("mish_backward_cpu", grad_output, self, scalar.mish_backward.loop)


def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None) -> Any:
    """grad_output / (self * (1 - self)). Outside the bounds `eps` and 1 - eps it is 0; with `eps`
    None, it is NaN outside 0 and 1.
    """
    bounded = eps is not None and eps >= 0
    loop = partial(
        scalar.logit_backward.loop, low=eps if bounded else 0.0, beyond=0.0 if bounded else nan
    )
    return _run("logit_backward_cpu", grad_output, self, loop)


def shrink_backward(grad_output: Tensor, self: Tensor, lambd: Scalar) -> Any:
    """`grad_output` where `self` is not between -lambd and lambd, 0 elsewhere: the gradient of
    hardshrink and of softshrink.
    """
    return _run(
        "shrink_backward_cpu",
        grad_output,
        self,
        partial(shrink_loop, lambd=real(lambd, self.dtype)),
    )


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Any:
    """The gradients of both halves of `self`, one after the other along `dim`. Raises RuntimeError
    as `glu` does, and for two dtypes.
    """
    # glu is half * sigmoid(gate): its result, and `grad_output`, have half the size of `self`
    half, gate = halves(self, dim)
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"Found dtype {SCALAR_TYPE_NAME[grad_output.dtype]} but expected "
            f"{SCALAR_TYPE_NAME[self.dtype]}"
        )
    if not self.dtype.is_floating_point:
        raise not_implemented("glu_backward_cpu", self.dtype)
    broadcast = broadcast_shapes(half.shape, grad_output.shape)
    if tuple(broadcast) != tuple(half.shape):
        raise RuntimeError(
            f"output with shape {list(half.shape)} doesn't match the broadcast shape "
            f"{list(broadcast)}"
        )
    result = empty_contiguous(self.shape, self.dtype, self.device)
    to_half, to_gate = halves(result, dim)
    TensorIterator([grad_output, gate], to_half).run(scalar.gated.loop)
    TensorIterator([grad_output, half, gate], to_gate).run(scalar.gate_backward.loop)
    return result


def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Any:
    """grad_output * (1 - output) * output, where `output` is the result of sigmoid."""
    _check_not_integral("sigmoid_backward_cpu", grad_output, output)
    return binary(sigmoid_loop, grad_output, output)


def tanh_backward(grad_output: Tensor, output: Tensor) -> Any:
    """grad_output * (1 - output²), where `output` is the result of tanh."""
    _check_not_integral("tanh_backward_cpu", grad_output, output)
    return binary(tanh_loop, grad_output, output)


def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Any:
    """The gradient of gelu without approximation, made of operators, which autograd can
    differentiate any number of times.
    """
    # gelu is x * cdf(x), so its derivative is cdf(x) + x * pdf(x), for the normal distribution
    cdf = ((self * sqrt(0.5)).erf() + 1) * 0.5
    return (cdf + self * (self * self * -0.5).exp() * (1 / sqrt(2 * pi))) * grad


def _run(kernel: str, grad_output: Tensor, self: Tensor, loop: Loop, *more: Tensor) -> Any:
    """The result of `loop` over floating tensors. Raises NotImplementedError for other dtypes."""
    it = TensorIterator([grad_output, self, *more])
    if it.common_dtype.category != FLOATING:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)


def _check_not_integral(kernel: str, grad_output: Tensor, output: Tensor) -> None:
    """Raises NotImplementedError where the common dtype is an integer dtype or bool."""
    for d in (grad_output._geometry.dtype, output._geometry.dtype):
        if d.category in (FLOATING, COMPLEX):
            return
    raise not_implemented(kernel, promote_types(grad_output.dtype, output.dtype))


@scalar.threshold_backward.made_by
def threshold_loop(g: Any, x: Any, out: Any, threshold: Any) -> None:
    """g where x > threshold or x is NaN, else 0."""
    _zero_where(g, x <= threshold, out)


@scalar.hardtanh_backward.made_by
def hardtanh_loop(g: Any, x: Any, out: Any, low: Any, high: Any) -> None:
    """g where low < x < high or x is NaN, else 0."""
    _zero_where(g, (x <= low) | (x >= high), out)


@scalar.hardshrink_backward.made_by
def shrink_loop(g: Any, x: Any, out: Any, lambd: Any) -> None:
    """g where |x| > lambd or x is NaN, else 0."""
    _zero_where(g, (x >= -lambd) & (x <= lambd), out)


def _zero_where(g: Any, where: Any, out: Any) -> None:
    """Write `g` to `out`, with zeros where the mask `where` is true, even in place of NaN.

    It keeps all bits of an element or none, with a mask of -1 (all ones) or 0. There is no branch
    that the processor could mispredict: this is 13 times faster than np.where.
    """
    bits = np.dtype(f"i{g.itemsize}")
    mask = where.astype(bits)
    mask -= 1  # True, 1, becomes 0: no bits; False, 0, becomes -1: all bits
    np.bitwise_and(g.view(bits), mask, out=out.view(bits))


@scalar.sigmoid_backward.made_by
@in_single
def sigmoid_loop(g: Any, y: Any, out: Any) -> None:
    """g * conj((1 - y) * y)."""
    derivative = np.subtract(1, y)
    derivative *= y
    np.multiply(g, derivative.conj(), out=out)


@scalar.tanh_backward.made_by
@in_single
def tanh_loop(g: Any, y: Any, out: Any) -> None:
    """g * conj(1 - y²)."""
    derivative = np.multiply(y, y)
    # for 0-d arrays `derivative` is a scalar of numpy's, which cannot be written to
    derivative = np.subtract(1, derivative, out=derivative if derivative.ndim else None)
    np.multiply(g, derivative.conj(), out=out)
