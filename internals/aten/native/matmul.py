"""Products of any number of dimensions: `matmul`, `linear` and `outer`
(`aten/src/ATen/native/LinearAlgebra.cpp`, `Linear.cpp`).

`matmul` chooses an operator by the number of dimensions: `dot` for two vectors, `mv` for a matrix
and a vector, `mm` for two matrices. Anything more is batched. If one side is only a matrix, the
batch dimensions of the other are folded into its rows, and one `mm` does it all:
(b, n, k) @ (k, m) is (b * n, k) @ (k, m). Otherwise both sides are broadcast to the same batch and
go through `bmm`.

These functions are composite: they call operators only, so their derivatives follow from those of
`mm`, `bmm` and the views.

How the real one differs: it has further cases for sparse and MKL-DNN tensors and writes into `out=`
without a copy.
"""

from __future__ import annotations

from math import prod
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.core.tensor_impl import Tensor


def matmul(self: Tensor, other: Tensor) -> Any:
    """The product of vectors, matrices or batches of matrices: (..., n, k) by (..., k, m), where
    the batches broadcast; a vector is (k). Raises RuntimeError for 0-d tensors and sizes that don't
    fit.
    """
    n, m = self.dim(), other.dim()
    if n == 0 or m == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D"
        )
    if n == 2 and m == 2:
        return ops.mm(self, other)
    if n == 1 and m == 1:
        return ops.dot(self, other)
    if n == 2 and m == 1:
        return ops.mv(self, other)
    if n == 1 and m == 2:
        return ops.mm(self.unsqueeze(0), other).squeeze_(0)
    return _folded(self, other) if _should_fold(self, other) else _batched(self, other)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """input @ weight.t() + bias for (..., in) and weight (out, in): (..., out)."""
    n, m = len(input._geometry.sizes), len(weight._geometry.sizes)
    if n == 0 or m == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {n}D and {m}D"
        )
    if bias is None:
        return ops.matmul(input, weight.t())
    if n == 2:
        return ops.addmm(bias, input, ops.t(weight), 1, 1)
    if bias.dim() == 1 and input.is_contiguous():
        # fold the leading dimensions into rows, so that `addmm` adds the bias in the same pass
        rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
        return ops.view(
            ops.addmm(bias, rows, weight.t(), 1, 1), [*input.shape[:-1], weight.shape[0]]
        )
    return ops.matmul(input, weight.t()).add(bias)


def outer(self: Tensor, vec2: Tensor) -> Any:
    """The product of each element of one vector with each of another, (n) by (m) to (n, m)."""
    for name, t in (("self", self), ("vec2", vec2)):
        if t.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.dim()}-D")
    return self.reshape(self.shape[0], 1) * vec2


def _should_fold(a: Tensor, b: Tensor) -> bool:
    """Whether one side is at most a matrix and folding the other side's batch into rows needs no
    copy.
    """
    large, small = (a, b) if a.dim() >= b.dim() else (b.mT, a)
    if large.dim() < 3 or small.dim() > 2:
        return False
    if small.requires_grad:  # its gradient is then one product, not a sum over an expanded batch
        return True
    if a.dim() == 2:
        return False
    if large.numel() == 0:
        return True
    # the batch dimensions and the rows must follow each other in memory as one dimension would
    sizes, strides = large.shape, large.stride()
    return all(strides[d] == strides[d + 1] * sizes[d + 1] for d in range(large.dim() - 2))


def _folded(a: Tensor, b: Tensor) -> Any:
    """The product of a batch and a matrix or vector. Where `b` is the batch, a @ b is computed as
    (bᵀ @ aᵀ)ᵀ, so that the batch is on the left.
    """
    a_is_larger = a.dim() >= b.dim()
    large = a if a_is_larger else b.mT
    small = b if a_is_larger else (a.t() if a.dim() == 2 else a)
    *batch, last = large.shape
    rows = large.reshape(prod(batch), last)  # (b * n, k)
    if small.dim() == 1:
        return ops._unsafe_view(ops.mv(rows, small), batch)
    result = ops._unsafe_view(ops.mm(rows, small), [*batch, small.shape[1]])
    return result if a_is_larger else result.mT.contiguous()


def _batched(a: Tensor, b: Tensor) -> Any:
    """The product by `bmm`: both sides are broadcast to one batch, and a vector becomes a matrix of
    one row or one column, which the result's sizes leave out.
    """
    n = a.shape[-2:-1] if a.dim() > 1 else ()
    p = b.shape[-1:] if b.dim() > 1 else ()
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size = prod(batch)
    # (size, n, k) @ (size, k, p)
    left = a.expand([*batch, *(n or (1,)), a.shape[-1]]).reshape(
        size, n[0] if n else 1, a.shape[-1]
    )
    k = b.shape[-2] if p else b.shape[-1]
    right = (
        (b if p else b.unsqueeze(-1))
        .expand([*batch, k, p[0] if p else 1])
        .reshape(size, k, p[0] if p else 1)
    )
    return ops._unsafe_view(ops.bmm(left, right), [*batch, *n, *p])
