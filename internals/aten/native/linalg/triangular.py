"""Triangular systems of linear equations (`aten/src/ATen/native/BatchLinearAlgebra.cpp`:
`linalg_solve_triangular_out`).

Nothing has to be factored: the last row of an upper triangular system has one unknown, the row
above it one more. BLAS's `trsm` solves it. The elements on the other side of the diagonal are not
read, and with `unitriangular`, which takes 1 for the diagonal, that is not read either.

How the real one differs: where A lies transposed or conjugated in memory it tells `trsm` so,
instead of copying A.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.deferred import linalg
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, array

from ..copying import warn_of_loss
from . import checks
from .batches import broadcast_batch, column_major
from .deprecation import deprecated
from .systems import check_system, common_batch


def linalg_solve_triangular(
    self: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """X with self X = B (without `left`, X self = B), batches broadcast, in the dtype of `self`.

    A singular matrix raises nothing: it gives infinities or NaN. Raises RuntimeError for sizes that
    do not fit, NotImplementedError for dtypes other than float32, float64 and complex.
    """
    check_system("linalg.solve_triangular", self, B, left)
    a, b = _broadcast(self, B)
    checks.supported("triangular_solve_cpu", self)
    result = column_major(b.shape, self.dtype)
    warn_of_loss(B, result)
    b = b.real if B.dtype.is_complex and not self.dtype.is_complex else b
    _solve(a, b.astype(a.dtype), array(result), upper, left, unitriangular)
    return result


def triangular_solve(
    self: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """X with A X = self (with `transpose`, Aᵀ X = self) and a copy of A, both broadcast to one
    batch.

    Raises as `linalg_solve_triangular`.
    """
    deprecated("triangular_solve", "linalg.solve_triangular")
    _check_old(self, A)
    a, b = _broadcast(A, self)
    checks.supported("triangular_solve_cpu", A)
    result, copy = column_major(b.shape, self.dtype), column_major(a.shape, A.dtype)
    _solve(
        a.swapaxes(-1, -2) if transpose else a,
        b,
        array(result),
        upper != transpose,  # the transpose of an upper triangular matrix is a lower one
        True,
        unitriangular,
    )
    array(copy)[...] = a
    return named("triangular_solve", ("solution", "cloned_coefficient"))(result, copy)


def _broadcast(A: Tensor, B: Tensor) -> tuple[Any, Any]:
    """The arrays of A (..., n, n) and B (..., n, k), broadcast to one batch."""
    batch = common_batch(B.shape, A.shape)
    return broadcast_batch(A, batch), broadcast_batch(B, batch)


def _solve(a: Array, b: Array, out: Array, upper: bool, left: bool, unitriangular: bool) -> None:
    """Fill `out` with X, batch by batch; all three have the same batch sizes."""
    if b.size:
        (trsm,) = linalg.get_blas_funcs(("trsm",), dtype=b.dtype)
        # its flags: side 0 is A X = B, 1 is X A = B; diag 1 takes the diagonal as 1
        for i in np.ndindex(*b.shape[:-2]):
            out[i] = trsm(1, a[i], b[i], side=not left, lower=not upper, diag=unitriangular)


def _check_old(self: Tensor, A: Tensor) -> None:
    """`triangular_solve`'s own checks: RuntimeError for fewer than two dimensions, or sizes that do
    not fit.
    """
    for name, t in (("b", self), ("A", A)):
        if t.dim() < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {t.dim()} dimensions instead"
            )
    checks.solver("triangular_solve", self, A)
