"""Gradients of matrix products (`torch/csrc/autograd/FunctionsManual.cpp`: `mm_mat1_backward`,
`mm_mat2_backward`).

For C = A B the gradients are dA = dC Bᴴ and dB = Aᴴ dC (ᴴ is the transpose, for complex numbers
conjugated): products again, of the same cost each as the one going forward. That is most of the
work of training a network, so its layout matters: where B is the transpose of a weight matrix, as
in `linear`, dB is computed as the transpose of dCᵀ A, and the weight finds its gradient laid out in
memory as itself.

How the real one differs: it does the same, for sparse matrices too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.native.views import t
from internals.core.grad_mode import is_grad_enabled
from internals.core.hot import hot

from .complex import conj
from .pointwise import maybe_multiply

if TYPE_CHECKING:
    from internals._tensor import Tensor


def mm_mat1_backward(
    grad: Tensor, mat2: Tensor, sizes: Sequence[int], strides: Sequence[int], alpha: int = 1
) -> Any:
    """alpha * grad @ mat2ᴴ, column-major if `mat1`, of the given sizes and strides, was."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        result = _t(ops.mm(conj(mat2), _t(grad)))
    else:
        result = ops.mm(grad, conj(_t(mat2)))
    return maybe_multiply(result, alpha)


def mm_mat2_backward(
    grad: Tensor, mat1: Tensor, sizes: Sequence[int], strides: Sequence[int], alpha: int = 1
) -> Any:
    """alpha * mat1ᴴ @ grad, column-major if `mat2`, of the given sizes and strides, was."""
    if strides[0] == 1 and strides[1] == sizes[0]:
        result = _t(ops.mm(_t(grad), conj(mat1)))
    else:
        result = ops.mm(conj(_t(mat1)), grad)
    return maybe_multiply(result, alpha)


def bmm_mat1_backward(grad: Tensor, mat2: Tensor, alpha: int = 1) -> Any:
    """alpha * grad @ mat2ᴴ, batch by batch."""
    return maybe_multiply(ops.bmm(grad, conj(ops.transpose_int(mat2, 1, 2))), alpha)


def bmm_mat2_backward(grad: Tensor, mat1: Tensor, alpha: int = 1) -> Any:
    """alpha * mat1ᴴ @ grad, batch by batch."""
    return maybe_multiply(ops.bmm(conj(ops.transpose_int(mat1, 1, 2)), grad), alpha)


def _t(matrix: Tensor) -> Any:
    """`matrix.t()`. Where nothing is recorded and nobody is watching, without what ties a view to
    its base.
    """
    return ops.t(matrix) if hot.off or is_grad_enabled() else t(matrix)
