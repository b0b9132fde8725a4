"""Embedding: rows of a table, looked up by index (`aten/src/ATen/native/Embedding.cpp`).

The gradient of the table adds up, for each row, the gradients of all positions where the row was
used. It sorts the indices first, so that equal ones are adjacent.

How the real one differs: the gradient may also be sparse, and the renormalisation is parallel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, snapshot


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """weight[indices], of shape (*indices.shape, dim). `padding_idx` and the flags only matter for
    the derivative.

    Raises IndexError for an index that is negative or too large, RuntimeError for a table that is
    not a matrix.
    """
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    out = empty_contiguous((*indices.shape, weight.shape[1]), weight.dtype, weight.device)
    if indices._geometry.stored:
        rows = _checked_rows(weight, indices)
        # the rows are checked; mode "raise" would check again, and copy through a buffer
        np.take(array(weight), rows, axis=0, out=array(out), mode="clip")
        return out
    return on_device("embedding.embedding", out, weight, indices)


def embedding_dense_backward(
    grad_output: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    """The gradient of the table (num_weights, dim): for each row, the sum of the gradients
    (*indices.shape, dim) where its index stands.

    The gradient of row `padding_idx` is 0 (unless that is negative); with `scale_grad_by_freq` the
    sums become averages. Raises IndexError for indices out of range.
    """
    check_indices("embedding_backward", indices, 2)
    if grad_output.device is not CPU:
        table = empty_contiguous(
            (num_weights, grad_output.size(-1)), grad_output.dtype, grad_output.device
        )
        return on_device(
            "embedding.dense_backward", table, grad_output, indices, padding_idx, scale_grad_by_freq
        )
    rows, columns = snapshot(indices).reshape(-1), grad_output.size(-1)
    if grad_output.numel() != rows.size * columns:
        raise RuntimeError(
            f"shape '[{rows.size}, {columns}]' is invalid for input of size {grad_output.numel()}"
        )
    g = array(grad_output).reshape(rows.size, columns)
    if padding_idx >= 0 and (rows == padding_idx).any():
        rows, g = rows[rows != padding_idx], g[rows != padding_idx]
    check_rows(rows, num_weights)
    return sums_by_row(rows, g, num_weights, grad_output.dtype, scale_grad_by_freq)


def sums_by_row(
    rows: Array, g: Array, num_weights: int, dtype: dtype, average: bool = False
) -> Tensor:
    """A table (num_weights, dim) whose row i is the sum, or the average, of those `g[k]` where
    `rows[k]` is i.
    """
    result = empty_contiguous((num_weights, g.shape[1]), dtype)
    table = array(result)
    table.fill(0)
    if not rows.size or not g.size:
        return result
    # Sorted, equal rows are adjacent: a segment starts where a row differs from the one before.
    order = np.argsort(rows, kind="stable")
    sorted_rows = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_rows[1:] != sorted_rows[:-1]]))
    lengths, sorted_rows = np.diff(starts, append=rows.size), sorted_rows[starts]
    sums = segment_sums(
        g.take(order, 0).astype(np.float32 if g.dtype == np.float16 else g.dtype, copy=False),
        starts,
        lengths,
    )
    if average:
        sums = (sums / lengths[:, None]).astype(sums.dtype, copy=False)
    table[sorted_rows] = sums
    return result


def segment_sums(a: Array, starts: Array, lengths: Array) -> Any:
    """The sum of `lengths[i]` rows of `a` from `starts[i]` on, for each i.

    The first 8 rows are added to all segments at once: all first rows, all second rows, and so on.
    Most words of a text are rare, so few segments are longer; these are added up one by one.
    """
    sums = a.take(starts, 0)
    for k in range(1, min(lengths.max(), 8)):
        longer = np.flatnonzero(lengths > k)
        sums[longer] += a.take(starts[longer] + k, 0)
    for i in np.flatnonzero(lengths > 8):
        sums[i] += np.add.reduce(a[starts[i] + 8 : starts[i] + lengths[i]], 0)
    return sums


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down, in place, those rows of `self` that `indices` names and whose `norm_type`-norm is
    greater than `max_norm`, to that norm.
    """
    if self.dim() != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for argument "
            "#1 'self'"
        )
    check_no_internal_overlap(self)
    check_indices("embedding_renorm_", indices)
    if self.device is not CPU:
        result: Tensor = on_device("embedding.renorm_", self, indices, max_norm, norm_type)
        return result
    rows = np.unique(_checked_rows(self, indices))
    table = array(self)
    norms = np.linalg.norm(table[rows], norm_type, axis=1)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(table.dtype)
    table[rows] *= scale[:, None]
    return self


def _checked_rows(weight: Tensor, indices: Tensor) -> Any:
    """A copy of the indices as an array. Raises IndexError unless all are rows of `weight`."""
    rows = snapshot(indices)
    check_rows(rows, weight.shape[0])
    return rows


def check_rows(rows: Array, n: int) -> None:
    """Raises IndexError unless all indices are in 0 ... n - 1."""
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise IndexError("index out of range in self")


def check_indices(name: str, indices: Tensor, position: int = 1) -> None:
    """Raises RuntimeError unless the indices are int64 or int32; `position` is the argument's."""
    if indices.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            f"Expected tensor for argument #{position} 'indices' to have one of the following "
            "scalar types: Long, Int; but got "
            f"internals.{SCALAR_TYPE_NAME[indices.dtype]}Tensor instead (while checking arguments "
            f"for {name})"
        )
