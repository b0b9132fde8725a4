"""Gradients of sums, means and extrema (`torch/csrc/autograd/FunctionsManual.cpp`).

A reduction computes one number from many; its gradient spreads one number over many. First the
dimensions that disappeared are put back with size 1 (`unsqueeze_multiple`). Then each element gets
the whole gradient (`sum`), an equal part of it (`mean`), an equal part if it is the extremum
(`amax`), or all of it if it is the chosen one (`max` along a dimension, `sort`, `topk`: the indices
say which).

How the real one differs: the sizes may be symbols (`SymInt`), for a graph that is traced once for
all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def sum_backward(
    grad: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """The gradient for every element that was added: a view of `grad` with stride 0."""
    if dim and not keepdim and sizes:
        grad = unsqueeze_multiple(grad, dim, len(sizes))
    return ops.expand(grad, sizes, False)


def mean_backward(
    grad: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """As `sum_backward`, divided by the number of elements averaged. The division comes after the
    expansion, as in PyTorch: so the gradient is a tensor with memory for each element.
    """
    n = prod([sizes[d] for d in dim]) if dim and sizes else prod(sizes)
    return sum_backward(grad, sizes, dim, keepdim) / max(n, 1)


def unsqueeze_multiple(t: Tensor, dim: Sequence[int] | None, ndim: int) -> Any:
    """`t`, the reduction of an `ndim`-dimensional tensor, with the reduced dimensions `dim` put
    back with size 1. For None and [], which mean all, `t` is 0-d and broadcasts as it is.
    """
    if not dim or not ndim:
        return t
    if len(dim) == 1:
        return ops.unsqueeze(t, dim[0])
    for d in sorted(d % ndim for d in dim):  # ascending: the earlier ones are then in place
        t = ops.unsqueeze(t, d)
    return t


def amax_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool
) -> Any:
    """The gradient, shared evenly by the elements that are equal to the extremum; 0 for others."""
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
    """The sum of `amax_backward` for both extrema; one of `grads` may be None."""
    dims = [] if dim is None else [dim]
    shares = [
        amax_backward(g, self, r, dims, keepdim)
        for g, r in zip(grads, (smallest, largest), strict=True)
        if g is not None
    ]
    return shares[0] if len(shares) == 1 else shares[0] + shares[1]


def nansum_backward(grad: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Any:
    """As `sum_backward`, but 0 for elements that are NaN, which were not added."""
    return sum_backward(grad, self.shape, dim, keepdim) * self.isnan().logical_not()


def evenly_distribute_backward(grad: Tensor, self: Tensor, value: Tensor) -> Any:
    """As `amax_backward` over all elements; if the extremum is NaN, the NaNs share the gradient."""
    mask = self == value
    count = mask.sum()
    if not count.item():  # NaN is not equal to itself
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
