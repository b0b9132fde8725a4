"""LU factors, P A = L U, for the operators that compute something else with them
(`aten/src/ATen/native/BatchLinearAlgebra.cpp`: `lu_factor_stub`).

They are the result of Gaussian elimination with the largest element of a column as its pivot. Both
are triangular, and stored in one matrix; `pivots` says for each row with which one it was
exchanged, counted from 1. Determinants, solutions and inverses are computed from them.

How the real one differs: LAPACK factors in the memory of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array

from . import checks
from .batches import column_major, each, routine, zeros


def factor(A: Tensor, transpose: bool = False) -> tuple[Any, Any, Any]:
    """(LU, pivots, info): the (m, n) factors of every matrix, or with `transpose` of its transpose,
    min(m, n) pivots in int32, and LAPACK's `info`.

    Raises NotImplementedError for dtypes that LAPACK does not know.
    """
    if A.numel():
        checks.supported("lu_cpu", A)
    a = array(A).swapaxes(-1, -2) if transpose else array(A)
    *batch, m, n = a.shape
    LU, pivots, info = (
        column_major(a.shape, A.dtype),
        zeros((*batch, min(m, n)), dt.int32),
        zeros(batch, dt.int32),
    )
    if A.numel():
        each(routine("getrf", A.dtype), [a], [LU, pivots, info])
        array(pivots)[...] += 1  # scipy counts from 0
    return LU, pivots, info


def factors_transpose(A: Tensor) -> bool:
    """Whether a determinant is computed from Aᵀ, which has the same one.

    LAPACK reads columns: the memory of a row-major A is a column-major Aᵀ, so no copy is needed.
    """
    return A.is_contiguous() and not A.dtype.is_complex


def solve_factored(LU: Array, pivots: Array, b: Array, out: Array, transpose: bool = False) -> None:
    """Fill `out` with the x of A x = b, with `transpose` of Aᵀ x = b, for the A with factors `LU`
    and `pivots`.

    All four are arrays with the same batch. The columns of b are solved at once. If A is singular x
    is infinite or NaN.
    """
    if b.size:
        getrs = routine("getrs", dt.BY_NUMPY[b.dtype])
        with np.errstate(all="ignore"):
            for i in np.ndindex(*b.shape[:-2]):
                out[i], _ = getrs(LU[i], pivots[i] - 1, b[i], int(transpose))
