"""The gradients of the element-wise losses (`aten/src/ATen/native/Loss.cpp`, `BinaryOps.cpp`'s mse_backward and its kind).

A loss is a function of each element, reduced or not; so its gradient is the slope at each element, times the gradient of the
result, divided by the number of elements if a mean was taken. `grad_output` is a tensor of all elements, or 0-d.

How the real one differs: nothing but the language.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.tensor_iterator import TensorIterator
from internals.core.tensor_impl import TensorImpl, array

from .losses import MEAN
from .special_functions import Loop, in_single

_EPSILON = float(np.float32(1e-12))  # a float in C++, also for doubles


def mse_loss_backward(grad_output: TensorImpl, self: TensorImpl, target: TensorImpl, reduction: int) -> Any:
    """2 * (self - target) * grad_output."""

    def slope(x: Any, y: Any, out: Any) -> None:
        np.subtract(x, y, out=out)

    return _slopes(slope, 2, grad_output, self, target, reduction)


def smooth_l1_loss_backward(
    grad_output: TensorImpl, self: TensorImpl, target: TensorImpl, reduction: int, beta: float
) -> Any:
    """The difference over `beta`, clamped to [-1, 1], times grad_output."""

    def slope(x: Any, y: Any, out: Any) -> None:
        d = x - y
        np.copyto(out, np.where(np.abs(d) < beta, d / d.dtype.type(beta), np.sign(d)))

    return _slopes(slope, 1, grad_output, self, target, reduction)


def huber_loss_backward(
    grad_output: TensorImpl, self: TensorImpl, target: TensorImpl, reduction: int, delta: float
) -> Any:
    """The difference, clamped to [-delta, delta], times grad_output."""

    def slope(x: Any, y: Any, out: Any) -> None:
        np.subtract(x, y, out=out)
        np.clip(out, -delta, delta, out=out)

    return _slopes(slope, 1, grad_output, self, target, reduction)


def binary_cross_entropy_backward(
    grad_output: TensorImpl, self: TensorImpl, target: TensorImpl, weight: Any = None, reduction: int = MEAN
) -> Any:
    """(self - target) / (self * (1 - self)) * weight * grad_output, the denominator at least 1e-12."""

    def slope(x: Any, y: Any, *weights: Any, out: Any) -> None:
        np.divide(x - y, np.maximum((1 - x) * x, x.dtype.type(_EPSILON)), out=out)
        for w in weights:
            np.multiply(out, w, out=out)

    return _slopes(slope, 1, grad_output, self, target, reduction, *(() if weight is None else (weight,)))


def _slopes(
    slope: Loop,
    factor: int,
    grad_output: TensorImpl,
    self: TensorImpl,
    target: TensorImpl,
    reduction: int,
    *more: TensorImpl,
) -> Any:
    """factor * slope(self, target, *more) * grad_output, divided by the number of elements for a mean."""
    scale = factor / max(self.numel(), 1) if reduction == MEAN else factor
    if grad_output.dim():

        def loop(g: Any, *operands: Any, out: Any) -> None:
            slope(*operands, out=out)
            np.multiply(out, g * g.dtype.type(scale), out=out)

        return TensorIterator([grad_output, self, target, *more]).run(in_single(loop))
    number = array(grad_output)[()] * scale

    def scaled(*operands: Any, out: Any) -> None:
        slope(*operands, out=out)
        np.multiply(out, out.dtype.type(number), out=out)

    return TensorIterator([self, target, *more]).run(in_single(scaled))
