"""Systems of linear equations (`aten/src/ATen/native/BatchLinearAlgebra.cpp`, `LinearAlgebra.cpp`).

A is factored into triangular matrices, P A = L U, and A X = B is then solved by two substitutions.
The factors are results too: the derivative solves a system with the matrix Aᴴ, and by then its
factors are known. X A = B is solved as Aᵀ Xᵀ = Bᵀ.

How the real one differs: it copies the factors for each matrix of a broadcast batch, and LAPACK
writes X straight to the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.return_types import named
from internals.core.tensor_impl import Tensor, alias, array, empty_contiguous

from . import checks
from .batches import broadcast_batch, column_major
from .errors import check_errors as raise_for
from .factors import factor, solve_factored
from .systems import check_system, common_batch, is_vector


def _linalg_solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> Any:
    """(X, LU, pivots, info): X with A X = B (without `left`, X A = B), the factors of A in one
    matrix, their pivots, and LAPACK's `info` for each A: 0, or the number of the first zero pivot.

    B is a vector or matrix, or a batch of either; batches are broadcast. Raises RuntimeError for
    sizes that do not fit and dtypes other than float32, float64 and complex, and, with
    `check_errors`, LinAlgError for a singular matrix.
    """
    name = "linalg.solve"
    checks.floating(name, A)
    checks.same_dtype(name, A, B, ("A", "B"))
    vector = is_vector(A, B)
    # a vector (..., n) is solved as a matrix (..., n, 1)
    sides = alias(B, (*B.shape, 1), (*B.stride(), 1), B.storage_offset()) if vector else B
    check_system(name, A, sides, left)
    batch = common_batch(sides.shape, A.shape)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
            f"In this case {name} is equivalent to B / A.squeeze(-1)"
        )
    LU, pivots, info = factor(A)
    if check_errors:
        raise_for(array(info), "torch.linalg.solve_ex", A.dim() == 2)
    sizes = (*batch, *sides.shape[-2:])[: -1 if vector else None]
    # LAPACK's order for X; without `left` it is Xᵀ that it solves for, so X is row-major
    result = (
        column_major(sizes, A.dtype)
        if left and len(sizes) > 1
        else empty_contiguous(sizes, A.dtype)
    )
    b, x = broadcast_batch(sides, batch), array(result)[..., None] if vector else array(result)
    if not left:
        b, x = b.swapaxes(-1, -2), x.swapaxes(-1, -2)
    solve_factored(
        broadcast_batch(LU, batch), broadcast_batch(pivots, batch, 1), b, x, transpose=not left
    )
    return named("_linalg_solve_ex", ("result", "LU", "pivots", "info"))(result, LU, pivots, info)


def linalg_solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> Any:
    """X with A X = B (without `left`, X A = B), and `info`: 0 for each A that is not singular.
    Raises as `_linalg_solve_ex`.
    """
    result, _, _, info = ops._linalg_solve_ex(A, B, left, check_errors)
    return named("linalg_solve_ex", ("result", "info"))(result, info)


def linalg_solve(A: Tensor, B: Tensor, left: bool = True) -> Any:
    """X with A X = B (without `left`, X A = B). Raises as `_linalg_solve_ex`, and LinAlgError for a
    singular matrix.
    """
    result, info = ops.linalg_solve_ex(A, B, left, False)
    ops._linalg_check_errors(info, "torch.linalg.solve", A.dim() == 2)
    return result


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Any:
    """X with tensordot(self, X, X.dim()) = other; `dims` of self are moved to the end first.

    The first `other.dim()` sizes of self are those of other, the rest those of X. Raises
    RuntimeError unless both have the same product: as a matrix, self is square.
    """
    n, k = self.dim(), other.dim()
    if dims is not None:
        self = ops.movedim_intlist(self, dims, list(range(n - len(dims), n)))
    sizes = self.shape[k:]
    if prod(sizes) != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(sizes)} != {other.numel()}"
        )
    matrix = ops.reshape(self, [prod(sizes), prod(sizes)])
    return ops.reshape(
        ops.linalg_solve(matrix, ops.flatten_using_ints(other, 0, -1), True), list(sizes)
    )
