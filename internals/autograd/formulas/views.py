"""Gradients of views (`torch/csrc/autograd/FunctionsManual.cpp`).

A view moves no element, so its gradient moves back: `permute` by the inverse permutation, `view` by
the old shape. A view that shows a part (`select`, `slice`) gives zeros to the rest; one that shows
elements several times (`expand`) adds up. Of a view into several tensors (`split`, `unbind`), those
that nobody used have no gradient: zeros take their place.

`as_strided` can do all of this at once, and its formula covers it: it thinks of the memory, not of
the tensor.

How the real one differs: `as_strided_backward` writes without adding when it can tell that nothing
overlaps.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals._generated.functions import arange, cat, ones_like, stack
from internals.autograd.validation import sum_to as _sum_to

if TYPE_CHECKING:
    from internals._tensor import Tensor


def sum_to(grad: Tensor, sizes: Sequence[int]) -> Any:
    """The sum over the dimensions that were expanded."""
    return _sum_to(grad, tuple(sizes))


def permute_backward(grad: Tensor, dims: Sequence[int]) -> Any:
    """Where `permute` put dimension `dims[i]` at place i, put place i back at `dims[i]`."""
    inverse = [0] * len(dims)
    for place, d in enumerate(dims):
        inverse[d] = place
    return ops.permute(grad, inverse)


def slice_backward_wrapper(
    grad: Tensor, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Any:
    """`slice_backward`, which wants its bounds as numbers."""
    return ops.slice_backward(
        grad, sizes, dim, 0 if start is None else start, sys.maxsize if end is None else end, step
    )


def split_backward(grads: Sequence[Any], split_size: int, dim: int, sizes: Sequence[int]) -> Any:
    """The parts put together again; the last one may be shorter."""
    n = sizes[dim]
    return split_with_sizes_backward(
        grads, [min(split_size, n - i * split_size) for i in range(len(grads))], dim, sizes
    )


def split_with_sizes_backward(
    grads: Sequence[Any], split_sizes: Sequence[int], dim: int, sizes: Sequence[int]
) -> Any:
    """The parts put together again, with zeros for those that have no gradient."""
    some = _first(grads)
    parts = []
    for grad, length in zip(grads, split_sizes):
        if grad is None:
            shape = list(sizes)
            shape[dim] = length
            grad = some.new_zeros(shape)
        parts.append(grad)
    return cat(parts, dim)


def unbind_backward(grads: Sequence[Any], dim: int) -> Any:
    """The positions stacked again, with zeros for those that have no gradient."""
    some = _first(grads)
    return stack([some.new_zeros(some.shape) if grad is None else grad for grad in grads], dim)


def as_strided_backward(
    grad: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Any:
    """The gradient of a tensor (`sizes`, `strides`, `offset`) that was looked at as (`size`,
    `stride`, `storage_offset`).

    First the gradient of every place in memory: zero, plus those of all elements that showed it.
    Then the tensor's elements read theirs; several at the same place share it. Which places a
    geometry shows, an `arange` seen through it tells.
    """
    if 0 in sizes or 0 in size:
        return grad.new_zeros(sizes)
    start = offset if storage_offset is None else storage_offset
    first = min(offset, start)
    n = max(_reach(sizes, strides, offset), _reach(size, stride, start)) - first
    places = arange(n, device=grad.device)
    shown = ops.as_strided(places, size, stride, start - first).reshape(-1)
    memory = grad.new_zeros((n,)).index_add(0, shown, grad.reshape(-1))
    if _overlaps(sizes, strides):
        owners = ops.as_strided(places, sizes, strides, offset - first).reshape(-1)
        memory = memory / grad.new_zeros((n,)).index_add(
            0, owners, ones_like(owners, dtype=grad.dtype)
        ).clamp_min(1)
    return ops.as_strided(memory, sizes, strides, offset - first)


def _first(grads: Sequence[Any]) -> Any:
    return next(grad for grad in grads if grad is not None)


def _reach(sizes: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """One more than the last place that is shown."""
    return offset + sum((n - 1) * s for n, s in zip(sizes, strides)) + 1


def _overlaps(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements may share a place: unless each stride steps over all that the smaller
    ones reach.
    """
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(sizes, strides) if n != 1):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False
