"""Gradients of reading and writing by index tensors (`torch/csrc/autograd/FunctionsManual.cpp`).

Reading and writing are each other's derivatives. The gradient of a read is written into zeros at
the same places; *added*, since an element may have been read more than once. A write has two
gradients: that of the tensor is 0 where elements were overwritten, since they have no influence any
more; that of the written values is read at the same places.

How the real one differs: `gather(sparse_grad=True)` gives a sparse gradient; sparse tensors do not
exist here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.core.tensor_impl import Tensor


def index_backward(grad: Tensor, sizes: Sequence[int], indices: Sequence[Any]) -> Any:
    """The gradient of the indexed tensor: zeros of these sizes with `grad` added at `indices`."""
    return ops._index_put_impl_(grad.new_zeros(sizes), indices, grad, True, True)


def index_put_self_backward(grad: Tensor, indices: Sequence[Any], accumulate: bool) -> Any:
    """The gradient of the tensor that was written to: `grad` with zeros at `indices`; or all of
    `grad` if the values were added (`accumulate`).
    """
    return grad if accumulate else ops.index_put(grad, indices, grad.new_zeros(()), False)


def index_put_values_backward(grad: Tensor, indices: Sequence[Any]) -> Any:
    """The gradient of the written values: `grad` at `indices`."""
    return ops.index_Tensor(grad, indices)


def gather_backward(
    grad: Tensor, sizes: Sequence[int], dim: int, index: Tensor, sparse_grad: bool
) -> Any:
    """Zeros with `grad` added at `index` along `dim`. Raises NotImplementedError for a sparse
    gradient.
    """
    if sparse_grad:
        raise NotImplementedError(
            "gather(sparse_grad=True): sparse gradients are not implemented; leave sparse_grad out"
        )
    return grad.new_zeros(sizes).scatter_add_(dim, index, grad)


def index_select_backward(grad: Tensor, sizes: Sequence[int], dim: int, index: Tensor) -> Any:
    """Zeros with the slices of `grad` added at `index` along `dim`."""
    return grad.new_zeros(sizes).index_add_(dim, index, grad)


def masked_select_backward(grad: Tensor, sizes: Sequence[int], mask: Tensor) -> Any:
    """Zeros with `grad` where the mask is true, in the shape that `self` and the mask were
    broadcast to.
    """
    shape = broadcast_shapes(sizes, mask.shape)
    if not shape:
        return grad.sum()  # a 0-d tensor: `grad` has one element, or none if the mask is false
    return ops._index_put_impl_(grad.new_zeros(shape), [mask.expand(shape)], grad, False, True)


def scatter_not_implemented() -> NoReturn:
    """Raises RuntimeError: `scatter` with `reduce=` has no derivative in PyTorch either;
    `scatter_add` has one.
    """
    raise RuntimeError("derivative for aten::scatter is not implemented")
