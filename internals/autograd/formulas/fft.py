"""The gradients of the Fourier transforms (`torch/csrc/autograd/FunctionsManual.cpp`:
`fft_r2c_backward`, `fft_c2r_backward`).

A transform is a matrix, and the gradient goes through its conjugate transpose: the transform back,
divided by what the forward one was divided by. Where only half of a spectrum is stored, the other
half is its mirror image. Real to complex: what was left out had no influence, so its gradient is
zero. Complex to real: what is stored counted twice, but for what mirrors itself.

How the real one differs: it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, shape: Sequence[int]
) -> Any:
    """The gradient of a real tensor of this shape."""
    if onesided:
        last, ndim = dim[-1] % len(shape), len(shape)
        padding = [0] * (2 * ndim)
        padding[2 * (ndim - 1 - last) + 1] = shape[last] - grad.shape[last]
        grad = ops.constant_pad_nd(grad, padding, 0)
    return ops.real(ops._fft_c2c(grad, dim, normalization, False))


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Any:
    """The gradient of half a spectrum."""
    half = ops._fft_r2c(grad, dim, normalization, True)
    last = dim[-1]
    points, stored = grad.shape[last], half.shape[last]
    if points == stored:
        return half
    weights = ops.ones([stored], grad.dtype, None, grad.device, None)
    weights[1 : 1 + points - stored] = 2
    sizes = [1] * grad.dim()
    sizes[last] = stored
    return half * weights.view(sizes)
