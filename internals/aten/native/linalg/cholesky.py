"""The Cholesky decomposition, A = L Lᴴ, and the systems that are solved with it
(`aten/src/ATen/native/BatchLinearAlgebra.cpp`).

A is Hermitian and positive-definite, L lower triangular with a positive diagonal. Only the lower
triangle of A is read (with `upper` only the upper one, and the factor is Lᴴ). Where a pivot is not
positive, A was not positive-definite: LAPACK stops there and says in `info` at which pivot.

How the real one differs: A is copied into the result, where LAPACK factors it in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous

from . import checks
from .batches import broadcast_batch, column_major, each, routine, zeros
from .deprecation import deprecated
from .errors import check_errors as raise_for
from .systems import common_batch


def linalg_cholesky_ex(self: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor of every matrix, and `info`: 0, or which leading minor is not positive-definite.

    Raises RuntimeError for matrices that are not square and for integers, LinAlgError with
    `check_errors`.
    """
    checks.square("linalg.cholesky", self)
    checks.floating("linalg.cholesky", self)
    L, info = _factor(self, upper)
    if check_errors:
        raise_for(array(info), "linalg.cholesky_ex", self.dim() == 2)
    return named("linalg_cholesky_ex", ("L", "info"))(L, info)


def linalg_cholesky(self: Tensor, upper: bool = False) -> Any:
    """The factor of every matrix. Raises RuntimeError as `linalg_cholesky_ex`, LinAlgError for one
    that has none.
    """
    L, info = ops.linalg_cholesky_ex(self, upper, False)
    ops._linalg_check_errors(info, "linalg.cholesky", self.dim() == 2)
    return L


def cholesky(self: Tensor, upper: bool = False) -> Any:
    """An older name of `linalg.cholesky`. Raises the same errors."""
    deprecated("cholesky", "linalg.cholesky")
    if not self.numel():
        return empty_contiguous(self.shape, self.dtype)
    checks.square("cholesky", self)
    factor, info = _factor(self, upper)
    raise_for(array(info), "cholesky", self.dim() == 2)
    return factor


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Any:
    """X with A X = `self`, given the Cholesky factor `input2` of A. Batches are broadcast.

    A is (..., n, n), `self` (..., n, k). Raises RuntimeError for other shapes and for two dtypes.
    """
    for name, t in (("b", self), ("u", input2)):
        if t.dim() < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {t.dim()} dimensions instead"
            )
    checks.solver("cholesky_solve", self, input2)
    checks.supported("cholesky_solve_cpu", self)
    batch = common_batch(self.shape, input2.shape)
    result = column_major((*batch, *self.shape[-2:]), self.dtype)
    potrs = routine("potrs", self.dtype)
    factor, b = broadcast_batch(input2, batch), broadcast_batch(self, batch)
    each(lambda c, b: potrs(c, b, lower=not upper)[0], [factor, b], [result])
    return result


def cholesky_inverse(self: Tensor, upper: bool = False) -> Any:
    """The inverse of A, given its Cholesky factor. Raises RuntimeError for other shapes,
    LinAlgError for a singular factor.
    """
    checks.square("cholesky_inverse", self)
    checks.supported("cholesky_inverse_out_cpu", self)
    result, info = column_major(self.shape, self.dtype), zeros(self.shape[:-2], dt.int32)
    potri = routine("potri", self.dtype)

    def invert(c: Array) -> Any:
        inverse, info = potri(c, lower=not upper)
        # potri fills one triangle of the Hermitian inverse: the other is its conjugate transpose
        half = np.triu(inverse, 1) if upper else np.tril(inverse, -1)
        return half + half.conj().T + np.diag(np.diag(inverse)), info

    each(invert, [self], [result, info])
    raise_for(array(info), "cholesky_inverse", self.dim() == 2)
    return result


def _factor(A: Tensor, upper: bool) -> tuple[Any, Any]:
    """The factor of every matrix, and LAPACK's `info` in int32, one for each."""
    if A.numel():
        checks.supported("cholesky_cpu", A)
    L, info = column_major(A.shape, A.dtype), zeros(A.shape[:-2], dt.int32)
    potrf = routine("potrf", A.dtype)
    each(lambda a: potrf(a, lower=not upper), [A], [L, info])
    return L, info
