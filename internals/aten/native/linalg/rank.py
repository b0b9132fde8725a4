"""The rank of matrices, `linalg.matrix_rank` (`aten/src/ATen/native/LinearAlgebra.cpp`).

The rank is the number of singular values that do not count as zero. The tolerances are those of the
pseudo-inverse (`pseudo_inverse`).

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

from . import checks
from .pseudo_inverse import as_tensor

NAME = "torch.linalg.matrix_rank"


def linalg_matrix_rank_atol_rtol_tensor(
    input: Tensor, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Any:
    """The number of singular values above `atol` and above `rtol` times the largest, as int64.

    Raises RuntimeError for less than two dimensions, dtypes other than float32, float64 and
    complex, and complex tolerances.
    """
    checks.matrices(NAME, input, "input")
    checks.real_tolerances(NAME, atol, rtol)
    a = as_tensor(input, 0.0) if atol is None else atol
    r = _default(input, a) if rtol is None else rtol
    if not input.numel():
        return ops.zeros(list(input.shape[:-2]), dt.int64, None, input.device, None)
    if hermitian:  # the absolute eigenvalues are the singular values, and cheaper
        S = ops.abs(ops.linalg_eigvalsh(input, "L"))
    else:
        S = ops.linalg_svdvals(input, None)
    # S (..., k), largest (..., 1); the tolerances have the sizes of the batch, and get a last 1
    largest = ops.amax(S, [-1], True)
    tolerance = ops.maximum(ops.unsqueeze(a, -1), ops.mul_Tensor(ops.unsqueeze(r, -1), largest))
    return ops.sum_dim_IntList(ops.gt_Tensor(S, tolerance), [-1], False, None)


def linalg_matrix_rank_atol_rtol_float(
    self: Tensor, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Any:
    """`linalg_matrix_rank.atol_rtol_tensor` with numbers. Raises the same errors."""
    return ops.linalg_matrix_rank_atol_rtol_tensor(
        self, as_tensor(self, atol), as_tensor(self, rtol), hermitian
    )


def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool = False) -> Any:
    """The number of singular values above `tol`. Raises as
    `linalg_matrix_rank.atol_rtol_tensor`.
    """
    return ops.linalg_matrix_rank_atol_rtol_float(self, tol, 0.0, hermitian)


def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Any:
    """`linalg_matrix_rank` with a tensor `tol`. Raises as
    `linalg_matrix_rank.atol_rtol_tensor`.
    """
    return ops.linalg_matrix_rank_atol_rtol_tensor(input, tol, as_tensor(input, 0.0), hermitian)


def _default(A: Tensor, atol: Tensor) -> Any:
    """The default of `rtol`: 0 where `atol` is positive, else the epsilon of the dtype times the
    larger side of the matrix. Raises RuntimeError for dtypes without a LAPACK routine.
    """
    if A.dtype not in checks.LAPACK_DTYPES:
        raise RuntimeError("This function doesn't handle types other than float and double")
    default = float(np.finfo(A.dtype.np).eps) * max(A.shape[-2:])
    return ops.where_ScalarOther(ops.le_Scalar(atol, 0), as_tensor(A, default), 0.0)
