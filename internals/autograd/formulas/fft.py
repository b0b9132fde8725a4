"""The gradients of the Fourier transforms (`torch/csrc/autograd/FunctionsManual.cpp`:
`fft_r2c_backward`, `fft_c2r_backward`).

A transform is a product with a matrix, and its gradient the product with the conjugate transpose:
the transform in the other direction, with the same normalization.

Of the spectrum of a real signal only half is stored; the other half is its mirror image,
conjugated. Real to complex: the omitted half has no influence on the result, so its gradient is
zero. Complex to real: a stored element is used twice, for itself and its mirror image, so its
gradient counts twice; except for frequencies that mirror themselves, 0 and, for an even number of
points, the middle one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, shape: Sequence[int]
) -> Any:
    """The gradient of a real tensor of this shape, from that of its (half) spectrum."""
    if onesided:
        # zeros behind the stored half of the last transformed dimension
        last, ndim = dim[-1] % len(shape), len(shape)
        padding = [0] * (2 * ndim)
        # `padding` begins with the last dimension: (before, after), (before, after), ...
        padding[2 * (ndim - 1 - last) + 1] = shape[last] - grad.shape[last]
        grad = ops.constant_pad_nd(grad, padding, 0)
    return ops.real(ops._fft_c2c(grad, dim, normalization, False))


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Any:
    """The gradient of half a spectrum, from that of the real signal."""
    half = ops._fft_r2c(grad, dim, normalization, True)
    last = dim[-1]
    points, stored = grad.shape[last], half.shape[last]
    if points == stored:
        return half  # 1 or 2 points: every frequency mirrors itself
    weights = ops.ones([stored], grad.dtype, None, grad.device, None)
    weights[1 : 1 + points - stored] = 2  # points - stored: how many were omitted
    sizes = [1] * grad.dim()
    sizes[last] = stored
    return half * weights.view(sizes)
