"""Gradients of pooling, padding and embedding that other operators give
(`torch/csrc/autograd/FunctionsManual.cpp`).

Each of these operations moves elements without mixing them, so a gradient of a gradient only looks
up again where they went.

How the real one differs: `embedding_dense_double_backward` forgets that `scale_grad_by_freq`
divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor


def constant_pad_nd_backward(grad: Tensor, pad: Sequence[int]) -> Any:
    """Padding by negative amounts: what was added is cut off, what was cut off is filled with
    zeros.
    """
    return ops.constant_pad_nd(grad, [-p for p in pad], 0)


def max_pool_double_backward(grad: Tensor, indices: Tensor, dim: int) -> Any:
    """What lies where the maxima were. `indices` count within the last `dim` dimensions."""
    places = indices.flatten(-dim)
    return grad.flatten(-dim).gather(-1, places).view(indices.shape)


def embedding_backward(
    grad: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """The gradient of the table. Raises NotImplementedError for a sparse one."""
    if sparse:
        raise NotImplementedError(
            "embedding(sparse=True): sparse gradients are not implemented; leave sparse out"
        )
    return ops.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_dense_double_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The rows of `grad` that `indices` names: 0 for `padding_idx`, and divided as the rows of the
    gradient were.
    """
    flat = indices.reshape(-1)
    rows = grad.index_select(0, flat)
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        ones = grad.new_ones([flat.numel(), 1])
        rows = rows / ops.embedding_dense_backward(ones, flat, num_weights, -1, False).index_select(
            0, flat
        )
    return rows.view([*indices.shape, grad.shape[1]])


def not_implemented(name: str) -> NoReturn:
    """Raises NotImplementedError: PyTorch has no such derivative either."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
