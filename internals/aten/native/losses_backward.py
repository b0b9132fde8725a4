"""The gradients of the element-wise losses (`aten/src/ATen/native/Loss.cpp`, `BinaryOps.cpp`'s
mse_backward and its kind).

A loss is a function of each element, reduced or not; so its gradient is the slope at each element,
times the gradient of the result, divided by the number of elements if a mean was taken.
`grad_output` is a tensor of all elements, or 0-d.

How the real one differs: nothing but the language.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.device import CPU
from internals.core.dtype import BOOL, COMPLEX, INTEGRAL
from internals.core.promotion import result_type
from internals.core.tensor_impl import array

from .loops import Loop
from .losses import MEAN

if TYPE_CHECKING:
    from internals._tensor import Tensor


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
    slopes = _derivatives(
        scalar.binary_cross_entropy_backward.loop, 1, grad_output, self, target, reduction
    )
    return slopes if weight is None else TensorIterator([slopes, weight]).run(np.multiply)


def _check_dtypes(kernel: str, without: tuple[int, ...], *tensors: Tensor) -> None:
    """Raises NotImplementedError where the dtype that the tensors have in common is one of a
    category that has no kernel.
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
    """`loop` with the gradient, which it scales: by the number of elements for a mean. A 0-d one on
    the CPU is but a number.
    """
    scale = factor / max(self.numel(), 1) if reduction == MEAN else factor
    is_number = not grad_output.dim() and grad_output.device is CPU
    g = array(grad_output).item() if is_number else grad_output
    return TensorIterator([g, self, target]).run(partial(loop, scale=scale))
