"""Linear systems whose matrix `lu_factor` has factored
(`aten/src/ATen/native/BatchLinearAlgebra.cpp`: `linalg_lu_solve`).

How the real one differs: it chooses between several backends on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, snapshot

from . import checks
from .batches import broadcast_batch, column_major
from .deprecation import deprecated
from .factors import solve_factored
from .systems import check_system, common_batch


def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False
) -> Any:
    """X with A X = B, or X A = B without `left`; with `adjoint` Aᴴ stands for A. Batches are
    broadcast.

    Raises RuntimeError for sizes that do not fit, for two dtypes, for integers, and for pivots that
    are not int32 or name no row; NotImplementedError for half precision.
    """
    name = "linalg.lu_solve"
    checks.floating(f"torch.{name}", LU)
    checks.same_dtype(name, LU, B)
    if pivots.dtype is not dt.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_system(f"torch.{name}" if _is_not_square(LU) else name, LU, B, left)
    if not pivots.dim() or LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    batch = common_batch(LU.shape, B.shape)
    if LU.numel() and B.numel():
        checks.supported("linalg.lu_solve_cpu", LU)
    p = snapshot(pivots)
    if p.size and not 1 <= p.min() <= p.max() <= LU.shape[-1]:
        which = (
            "smaller or equal to LU.size(-2)" if p.max() > LU.shape[-1] else "greater or equal to 1"
        )
        raise RuntimeError(
            f"Pivots given to lu_solve must all be {which}. Did you properly pass the result of "
            "lu_factor?"
        )
    sizes = (*batch, *B.shape[-2:])
    result = column_major(sizes, B.dtype) if left else empty_contiguous(sizes, B.dtype)
    factors, rows, b = (
        broadcast_batch(LU, batch),
        broadcast_batch(p, batch, 1),
        broadcast_batch(B, batch),
    )
    _solve(factors, rows, b, array(result), left, adjoint)
    return result


def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Any:
    """An older name of `linalg.lu_solve`, with B first. Raises the same errors."""
    deprecated("lu_solve", "linalg.lu_solve")
    return ops.linalg_lu_solve(LU_data, LU_pivots, self, True, False)


def _solve(LU: Array, pivots: Array, b: Array, out: Array, left: bool, adjoint: bool) -> None:
    """Fill `out` with X, by `solve_factored`, which solves only A x = b and Aᵀ x = b.

    X A = B is Aᵀ Xᵀ = Bᵀ. Aᴴ X = B is Aᵀ conj(X) = conj(B). Both together need A itself again.
    """
    b = b if left else b.swapaxes(-1, -2)
    x = np.empty_like(b)
    solve_factored(LU, pivots, b.conj() if adjoint else b, x, left == adjoint)
    x = x.conj() if adjoint else x
    out[...] = x if left else x.swapaxes(-1, -2)


def _is_not_square(t: Tensor) -> bool:
    """Whether the last two sizes differ, or there are fewer than two."""
    return t.dim() < 2 or t.shape[-1] != t.shape[-2]
