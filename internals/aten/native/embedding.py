"""Embedding: rows of a table, looked up by index (`aten/src/ATen/native/Embedding.cpp`).

How the real one differs: a sparse gradient, and a parallel renorm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import TensorImpl, array, empty_contiguous


def embedding(
    weight: TensorImpl,
    indices: TensorImpl,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """weight[indices], shape (*indices.shape, dim). `padding_idx` and the flags only matter to the derivative.

    Raises IndexError for an index that is negative or too large, RuntimeError for a table that is not a matrix.
    """
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = _checked_rows("embedding", weight, indices)
    out = empty_contiguous((*indices.shape, weight.shape[1]), weight.dtype)
    if out.numel():
        np.take(
            array(weight), rows, axis=0, out=array(out), mode="clip"
        )  # checked above; "raise" would copy through a buffer
    return out


def embedding_renorm_(self: TensorImpl, indices: TensorImpl, max_norm: float, norm_type: float) -> TensorImpl:
    """Scale those rows of `self` that `indices` names and whose `norm_type`-norm is beyond `max_norm` down to it, in place."""
    if self.dim() != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for argument #1 'self'"
        )
    rows = np.unique(_checked_rows("embedding_renorm_", self, indices))
    table = array(self)
    norms = np.linalg.norm(table[rows], norm_type, axis=1)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(table.dtype)
    table[rows] *= scale[:, None]
    return self


def _checked_rows(name: str, weight: TensorImpl, indices: TensorImpl) -> Any:
    if indices.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"internals.{SCALAR_TYPE_NAME[indices.dtype]}Tensor instead (while checking arguments for {name})"
        )
    rows = array(indices)
    if rows.size and (rows.min() < 0 or rows.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return rows
