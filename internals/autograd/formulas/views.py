"""Gradients of views (`torch/csrc/autograd/FunctionsManual.cpp`).

The gradient of a view is the inverse view of the gradient: `permute` by the inverse permutation,
`view` with the old shape. Elements that a view omits (`select`, `slice`) have the gradient zero;
for elements that it repeats (`expand`) the gradients are added. If an operator returns several
views (`split`, `unbind`), those that were not used have no gradient: zeros take their place.

`as_strided` can do all of this at once. Its formula does not look at the dimensions of a tensor,
but at the places of its elements in memory.

How the real one differs: `as_strided_backward` writes without adding when it can tell that nothing
overlaps.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals._generated.functions import arange, cat, ones_like, stack
from internals.autograd.validation import sum_to as _sum_to
from internals.core.tensor_impl import Tensor


def sum_to(grad: Tensor, sizes: Sequence[int]) -> Any:
    """The sum of `grad` over the dimensions that were expanded, in the shape `sizes`."""
    return _sum_to(grad, tuple(sizes))


def permute_backward(grad: Tensor, dims: Sequence[int]) -> Any:
    """`permute` put dimension `dims[i]` at place i; this puts dimension i back at place
    `dims[i]`.
    """
    inverse = [0] * len(dims)
    for position, d in enumerate(dims):
        inverse[d] = position
    return ops.permute(grad, inverse)


def slice_backward_wrapper(
    grad: Tensor, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Any:
    """`slice_backward`, with numbers in place of bounds that are None."""
    return ops.slice_backward(
        grad, sizes, dim, 0 if start is None else start, sys.maxsize if end is None else end, step
    )


def split_backward(grads: Sequence[Any], split_size: int, dim: int, sizes: Sequence[int]) -> Any:
    """The gradients of the parts, joined along `dim`; the last part may be shorter."""
    n = sizes[dim]
    return split_with_sizes_backward(
        grads, [min(split_size, n - i * split_size) for i in range(len(grads))], dim, sizes
    )


def split_with_sizes_backward(
    grads: Sequence[Any], split_sizes: Sequence[int], dim: int, sizes: Sequence[int]
) -> Any:
    """The gradients of the parts, joined along `dim`, with zeros for those that are None."""
    template = _first(grads)
    parts = []
    for grad, length in zip(grads, split_sizes):
        if grad is None:
            shape = list(sizes)
            shape[dim] = length
            grad = template.new_zeros(shape)
        parts.append(grad)
    return cat(parts, dim)


def unbind_backward(grads: Sequence[Any], dim: int) -> Any:
    """The gradients of the slices, stacked along `dim`, with zeros for those that are None."""
    template = _first(grads)
    return stack(
        [template.new_zeros(template.shape) if grad is None else grad for grad in grads], dim
    )


def as_strided_backward(
    grad: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Any:
    """The gradient of a tensor (`sizes`, `strides`, `offset`) of which a view (`size`, `stride`,
    `storage_offset`) was made.

    First the gradient of each place in memory is computed: the sum over all elements of the view at
    that place. Then each element of the tensor reads the gradient of its place; elements that share
    a place share its gradient. An `arange` with the strides of a tensor has its elements' places.
    """
    if 0 in sizes or 0 in size:
        return grad.new_zeros(sizes)
    start = offset if storage_offset is None else storage_offset
    # `memory` is the part of the storage that either of the two reaches: n places from `first` on
    first = min(offset, start)
    n = max(_reach(sizes, strides, offset), _reach(size, stride, start)) - first
    positions = arange(n, device=grad.device)
    viewed = ops.as_strided(positions, size, stride, start - first).reshape(-1)
    memory = grad.new_zeros((n,)).index_add(0, viewed, grad.reshape(-1))
    if _overlaps(sizes, strides):  # divide by the number of elements at each place
        occupied = ops.as_strided(positions, sizes, strides, offset - first).reshape(-1)
        memory = memory / grad.new_zeros((n,)).index_add(
            0, occupied, ones_like(occupied, dtype=grad.dtype)
        ).clamp_min(1)
    return ops.as_strided(memory, sizes, strides, offset - first)


def _first(grads: Sequence[Any]) -> Any:
    """The first gradient that is not None: zeros are made like it."""
    return next(grad for grad in grads if grad is not None)


def _reach(sizes: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """One more than the last place in memory of a tensor with this geometry."""
    return offset + sum((n - 1) * s for n, s in zip(sizes, strides)) + 1


def _overlaps(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements may share a place in memory. They do not if each stride is larger than
    the distance that all dimensions with smaller strides together reach.
    """
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(sizes, strides) if n != 1):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False
