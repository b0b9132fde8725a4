"""Gradients of pooling, padding and embedding, by means of other operators
(`torch/csrc/autograd/FunctionsManual.cpp`).

Each of these operations copies elements from one place to another. Its gradient copies them back,
and the gradient of that, a `*_double_backward`, reads them from the same places again.

How the real one differs: `embedding_dense_double_backward` does not divide for
`scale_grad_by_freq`, although the first derivative does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def constant_pad_nd_backward(grad: Tensor, pad: Sequence[int]) -> Any:
    """`grad` padded by the negative amounts: added elements are cut off, and those that were cut
    off get the gradient 0.
    """
    return ops.constant_pad_nd(grad, [-p for p in pad], 0)


def max_pool_double_backward(grad: Tensor, indices: Tensor, dim: int) -> Any:
    """The elements of `grad`, which has the shape of the input, at the places of the maxima.
    `indices` count within the last `dim` dimensions, flattened.
    """
    flat_indices = indices.flatten(-dim)
    return grad.flatten(-dim).gather(-1, flat_indices).view(indices.shape)


def embedding_backward(
    grad: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """The gradient of the table (num_weights, columns). Raises NotImplementedError if `sparse`."""
    if sparse:
        raise NotImplementedError(
            "embedding(sparse=True): sparse gradients are not implemented; leave sparse out"
        )
    return ops.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_dense_double_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The rows of `grad` (num_weights, columns) that `indices` names; 0 for `padding_idx`. With
    `scale_grad_by_freq` each is divided by the number of times that its index occurs.
    """
    flat = indices.reshape(-1)
    rows = grad.index_select(0, flat)
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        # the gradient of ones without scaling is how often each index occurs: (num_weights, 1)
        ones = grad.new_ones([flat.numel(), 1])
        rows = rows / ops.embedding_dense_backward(ones, flat, num_weights, -1, False).index_select(
            0, flat
        )
    return rows.view([*indices.shape, grad.shape[1]])


def not_implemented(name: str) -> NoReturn:
    """Raises NotImplementedError: PyTorch has no such derivative either."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
