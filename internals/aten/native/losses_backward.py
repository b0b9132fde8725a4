"""The gradients of the element-wise losses (`aten/src/ATen/native/Loss.cpp`, `BinaryOps.cpp`'s
mse_backward and its kind).

A loss is a function of each element, reduced or not. So its gradient is the derivative at each
element, times `grad_output`, the gradient of the result, divided by the number of elements if a
mean was taken. `grad_output` has a number for each element without reduction, else it is 0-d.

How the real one differs: a 0-d gradient is one more operand of its loop, with stride 0; here it is
a number on the CPU.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.device import CPU
from internals.core.dtype import BOOL, COMPLEX, INTEGRAL
from internals.core.promotion import result_type
from internals.core.tensor_impl import Tensor, array

from .loops import Loop
from .losses import MEAN


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Any:
    """2 * (self - target) * grad_output."""
    _check_dtypes("mse_backward_cpu_out", (COMPLEX, BOOL), grad_output, self, target)
    return _derivatives(scalar.mse_backward.loop, 2, grad_output, self, target, reduction)


def smooth_l1_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float
) -> Any:
    """The difference over `beta`, clamped to [-1, 1], times grad_output."""
    _check_dtypes(
        "smooth_l1_backward_cpu_out", (COMPLEX, BOOL, INTEGRAL), grad_output, self, target
    )
    return _derivatives(
        partial(scalar.smooth_l1_backward.loop, beta=beta), 1, grad_output, self, target, reduction
    )


def huber_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float
) -> Any:
    """The difference, clamped to [-delta, delta], times grad_output."""
    _check_dtypes("huber_backward_cpu_out", (COMPLEX, BOOL, INTEGRAL), grad_output, self, target)
    return _derivatives(
        partial(scalar.huber_backward.loop, delta=delta), 1, grad_output, self, target, reduction
    )


def binary_cross_entropy_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """(self - target) / (self * (1 - self)) * weight * grad_output, the denominator at least
    1e-12.
    """
    _check_dtypes(
        "binary_cross_entropy_backward", (COMPLEX, BOOL, INTEGRAL), grad_output, self, target
    )
    derivatives = _derivatives(
        scalar.binary_cross_entropy_backward.loop, 1, grad_output, self, target, reduction
    )
    return derivatives if weight is None else TensorIterator([derivatives, weight]).run(np.multiply)


def _check_dtypes(kernel: str, without: tuple[int, ...], *tensors: Tensor) -> None:
    """Raises NotImplementedError, naming `kernel`, where the tensors promote to a dtype of one of
    the categories `without` a kernel.
    """
    common = result_type(tensors)
    if common.category in without:
        raise not_implemented(kernel, common)


def _derivatives(
    loop: Loop,
    factor: int,
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    reduction: int,
) -> Any:
    """`loop` over grad_output, self and target, with `scale`: `factor`, divided by the number of
    elements for a mean.
    """
    scale = factor / max(self.numel(), 1) if reduction == MEAN else factor
    # a 0-d gradient on the CPU becomes a Python number, which numpy's loops take without a copy
    is_number = not grad_output.dim() and grad_output.device is CPU
    g = array(grad_output).item() if is_number else grad_output
    return TensorIterator([g, self, target]).run(partial(loop, scale=scale))
