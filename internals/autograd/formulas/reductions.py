"""Gradients of sums, means and extrema (`torch/csrc/autograd/FunctionsManual.cpp`).

A reduction makes one number of many; its gradient goes the other way and makes many of one. First
the dimensions that disappeared are put back with size 1 (`unsqueeze_multiple`), then the gradient
is handed out: to all elements alike (`sum`), in equal parts (`mean`), to the elements that are the
extremum (`amax`: all of them share), or to the one that was chosen (`max` along a dimension,
`sort`, `topk`: the indices say which).

How the real one differs: the sizes there may be symbols, for a graph that is traced once for all of
them (`SymInt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor


def sum_backward(
    grad: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """Every element that was added gets the gradient: a view of it with stride 0."""
    if dim and not keepdim and sizes:
        grad = unsqueeze_multiple(grad, dim, len(sizes))
    return ops.expand(grad, sizes, False)


def mean_backward(
    grad: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """As the sum's, divided by how many elements were averaged: after it was expanded, so that each
    has memory of its own.
    """
    n = prod([sizes[d] for d in dim]) if dim and sizes else prod(sizes)
    return sum_backward(grad, sizes, dim, keepdim) / max(n, 1)


def unsqueeze_multiple(t: Tensor, dim: Sequence[int] | None, ndim: int) -> Any:
    """`t` with the reduced dimensions `dim` of an `ndim`-dimensional tensor back, of size 1. None
    and [] leave `t` as it is.
    """
    if not dim or not ndim:
        return t
    if len(dim) == 1:
        return ops.unsqueeze(t, dim[0])
    for d in sorted(d % ndim for d in dim):
        t = ops.unsqueeze(t, d)
    return t


def amax_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool
) -> Any:
    """Elements that are equal to the extremum share the gradient evenly."""
    if not keepdim:
        grad = unsqueeze_multiple(grad, dim, self.dim())
        result = unsqueeze_multiple(result, dim, self.dim())
    mask = self == result
    return grad / mask.sum(dim, True) * mask


def aminmax_backward(
    grads: Sequence[Any],
    self: Tensor,
    smallest: Tensor,
    largest: Tensor,
    dim: int | None,
    keepdim: bool,
) -> Any:
    """As `amax_backward`, for both extrema."""
    dims = [] if dim is None else [dim]
    shares = [
        amax_backward(g, self, r, dims, keepdim)
        for g, r in zip(grads, (smallest, largest), strict=True)
        if g is not None
    ]
    return shares[0] if len(shares) == 1 else shares[0] + shares[1]


def nansum_backward(grad: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Any:
    """As the sum's, but 0 for NaN."""
    return sum_backward(grad, self.shape, dim, keepdim) * self.isnan().logical_not()


def evenly_distribute_backward(grad: Tensor, self: Tensor, value: Tensor) -> Any:
    """As `amax_backward` over all elements; when the extremum is NaN, the NaNs share."""
    mask = self == value
    count = mask.sum()
    if not count.item():
        mask = self != self
        count = mask.sum()
    return (grad / count).expand(self.shape).masked_fill(mask.logical_not(), 0)


def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool
) -> Any:
    """The gradient at the places along `dim` that the values were taken from, zero elsewhere."""
    if not keepdim and sizes:
        grad, indices = ops.unsqueeze(grad, dim), ops.unsqueeze(indices, dim)
    return grad.new_zeros(sizes).scatter_(dim, indices, grad)
