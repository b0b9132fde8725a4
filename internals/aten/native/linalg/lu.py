"""The LU decomposition, A = P L U (`aten/src/ATen/native/BatchLinearAlgebra.cpp`).

It records a Gaussian elimination: U is the upper triangle that is left; L, lower triangular with
ones on the diagonal, holds the multiples of rows that were subtracted from other rows; P is the
order in which the rows were taken. LAPACK keeps L and U in one matrix, and P as a list of pivots:
step i exchanged row i with row `pivots[i]`, counted from 1.

How the real one differs: on a GPU it can also factor without pivots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, from_array, snapshot

from . import checks
from .batches import broadcast_batch
from .deprecation import deprecated
from .errors import check_errors as raise_for
from .factors import factor


def linalg_lu_factor_ex(A: Tensor, pivot: bool = True, check_errors: bool = False) -> Any:
    """L and U in one matrix, the int32 pivots, and `info`: 0, or the number of the first diagonal
    element of U that is zero.

    Raises RuntimeError for less than two dimensions, without `pivot`, and, with `check_errors`,
    where `info` is not 0; NotImplementedError for dtypes that LAPACK does not know.
    """
    if A.dim() < 2:
        raise RuntimeError(
            "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(A.shape)} instead"
        )
    LU, pivots, info = _factor(A, pivot)
    if check_errors:
        raise_for(array(info), "torch.linalg.lu_factor_ex", A.dim() == 2)
    return named("linalg_lu_factor_ex", ("LU", "pivots", "info"))(LU, pivots, info)


def linalg_lu_factor(A: Tensor, pivot: bool = True) -> Any:
    """L and U in one matrix, and the pivots. Raises as `linalg_lu_factor_ex`, and RuntimeError for
    a zero on U's diagonal.
    """
    LU, pivots, info = ops.linalg_lu_factor_ex(A, pivot, False)
    ops._linalg_check_errors(info, "torch.linalg.lu_factor", A.dim() == 2)
    return named("linalg_lu_factor", ("LU", "pivots"))(LU, pivots)


def _lu_with_info(self: Tensor, pivot: bool = True, check_errors: bool = True) -> Any:
    """The operator that `torch.lu` calls: `linalg_lu_factor_ex` without `check_errors`, whatever
    the caller passes.
    """
    deprecated("lu", "linalg.lu_factor / torch.linalg.lu_factor_ex")
    return named("_lu_with_info", ("LU", "pivots", "info"))(
        *ops.linalg_lu_factor_ex(self, pivot, False)
    )


def linalg_lu(A: Tensor, pivot: bool = True) -> Any:
    """P (m, m), L (m, k) and U (k, n) of every (m, n) matrix, k the smaller of the two. Raises as
    `linalg_lu_factor_ex`.
    """
    if A.dim() < 2:
        raise RuntimeError(
            f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} "
            "instead"
        )
    LU, pivots, _ = _factor(A, pivot)
    P = (
        from_array(_permutation(array(pivots), A.shape[-2]).astype(A.dtype.np))
        if pivot
        else empty_contiguous((0,), A.dtype)
    )
    return named("linalg_lu", ("P", "L", "U"))(P, *_triangles(array(LU)))


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from the result of `linalg_lu_factor`; those that are not asked for are empty.

    Raises RuntimeError for less than two dimensions and for pivots that are not int32 or name no
    row.
    """
    if LU_data.dim() < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots.dtype is not dt.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\n"
            "Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    P, L, U = (empty_contiguous((0,), LU_data.dtype) for _ in range(3))
    *batch, m, n = LU_data.shape
    if unpack_pivots:
        batch_sizes = zip(reversed(LU_pivots.shape[:-1]), reversed(batch))
        if not 1 <= LU_pivots.dim() <= len(batch) + 1 or any(
            k not in (1, b) for k, b in batch_sizes
        ):
            raise RuntimeError(
                f"torch.lu_unpack: pivots of sizes {list(LU_pivots.shape)} do not fit LU of "
                f"{list(LU_data.shape)}"
            )
        pivots = broadcast_batch(snapshot(LU_pivots), batch, 1)[..., : min(m, n)]
        if pivots.size and not 1 <= pivots.min() <= pivots.max() <= m:
            raise RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                "Did you properly pass the result of lu_factor?"
            )
        P = from_array(_permutation(pivots, m).astype(LU_data.dtype.np))
    if unpack_data:
        L, U = _triangles(array(LU_data))
    return named("lu_unpack", ("P", "L", "U"))(P, L, U)


def _factor(A: Tensor, pivot: bool) -> tuple[Any, Any, Any]:
    """LU, pivots and `info`. Raises RuntimeError without `pivot`, which only a GPU supports."""
    if A.numel() and not pivot:
        checks.supported("lu_cpu", A)
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return factor(A)


def _permutation(pivots: Array, m: int) -> Any:
    """The matrix P (..., m, m) of every list of pivots (..., k), as bools.

    Row j of L U is row order[j] of A, so P is 1 at (order[j], j).
    """
    *batch, k = pivots.shape
    order = np.broadcast_to(np.arange(m), (*batch, m)).copy()
    for step in range(k):  # exchange order[step] and order[pivots[step] - 1], in all the batch
        other = pivots[..., step : step + 1] - 1
        taken = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., step : step + 1], -1)
        order[..., step : step + 1] = taken
    return np.arange(m)[:, None] == order[..., None, :]


def _triangles(LU: Array) -> tuple[Any, Any]:
    """L (..., m, k) and U (..., k, n), from the (m, n) matrix that holds both; k is min(m, n)."""
    k = min(LU.shape[-2:])
    L = np.tril(LU[..., :k], -1) + np.eye(LU.shape[-2], k, dtype=LU.dtype)
    return from_array(L), from_array(np.triu(LU[..., :k, :]))
