"""Gradients of matrix products (`torch/csrc/autograd/FunctionsManual.cpp`: `mm_mat1_backward`,
`mm_mat2_backward`).

For C = A B the gradients are gA = gC Bᴴ and gB = Aᴴ gC (ᴴ: transposed, and conjugated if complex).
Each costs as much as the product itself; together they are most of the work of training a network.

The layout in memory matters too. Where B is the transpose of a weight matrix, as in `linear`, gB is
computed as the transpose of gCᵀ A, so that the gradient of the weight has the weight's own layout
and becomes its `.grad` without a copy.

How the real one differs: it takes sparse matrices too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.native.views import t
from internals.core.grad_mode import is_grad_enabled
from internals.core.hot import hot
from internals.core.tensor_impl import Tensor

from .complex import conj
from .pointwise import maybe_multiply


def mm_mat1_backward(
    grad: Tensor, mat2: Tensor, sizes: Sequence[int], strides: Sequence[int], alpha: int = 1
) -> Any:
    """alpha * grad @ mat2ᴴ: (rows, columns) @ (columns, inner). The result is column-major if
    `mat1`, which had these sizes and strides, was.
    """
    if strides[0] == 1 and strides[1] == sizes[0]:
        result = _t(ops.mm(conj(mat2), _t(grad)))
    else:
        result = ops.mm(grad, conj(_t(mat2)))
    return maybe_multiply(result, alpha)


def mm_mat2_backward(
    grad: Tensor, mat1: Tensor, sizes: Sequence[int], strides: Sequence[int], alpha: int = 1
) -> Any:
    """alpha * mat1ᴴ @ grad: (inner, rows) @ (rows, columns). The result is column-major if `mat2`,
    which had these sizes and strides, was.
    """
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
    """`matrix.t()`. Where no gradients are recorded, the kernel is called directly, which saves the
    bookkeeping of a view.
    """
    return ops.t(matrix) if hot.off or is_grad_enabled() else t(matrix)
