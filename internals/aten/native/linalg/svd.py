"""The singular value decomposition (`aten/src/ATen/native/BatchLinearAlgebra.cpp`: `linalg_svd`).

A matrix A of m rows and n columns is U diag(S) Vh: k = min(m, n) orthonormal columns in U, k
orthonormal rows in Vh, and k numbers S >= 0, the largest first. Of the operators here only
`_linalg_svd` has a derivative of its own, and its formula takes U and Vh. So `linalg_svdvals`,
which returns S alone, computes U and Vh only if a gradient may be asked for.

How the real one differs: on a GPU it has several routines, from which `driver` chooses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous

from . import checks
from .batches import column_major, each, routine, wants_gradient, zeros
from .errors import check_errors

NOT_FINITE = -4  # LAPACK's `info` for a wrong fourth argument: the matrix, which contains NaN


def linalg_svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> Any:
    """U, S and Vh of every matrix; with `full_matrices` U is (m, m) and Vh (n, n). Raises as
    `_linalg_svd`.
    """
    return named("linalg_svd", ("U", "S", "Vh"))(*ops._linalg_svd(A, full_matrices, True, driver))


def linalg_svdvals(A: Tensor, driver: str | None = None) -> Any:
    """The singular values of every matrix. Raises as `_linalg_svd`."""
    return ops._linalg_svd(A, False, wants_gradient(A), driver)[1]


def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V, in the older interface; without `compute_uv` U and V are square, and zero. Raises
    as `_linalg_svd`.
    """
    if self.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {self.dim()} dimensions "
            "instead"
        )
    if compute_uv:
        U, S, Vh = ops.linalg_svd(self, not some, None)
    else:
        *batch, m, n = self.shape
        S = ops.linalg_svdvals(self, None)
        U, Vh = (ops.new_zeros(self, [*batch, k, k], None, None, None, None) for k in (m, n))
    return named("svd", ("U", "S", "V"))(U, S, ops.adjoint(Vh))


def _linalg_svd(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> Any:
    """U (m, k), S (k) and Vh (k, n) of every matrix in the last two dimensions, k = min(m, n);
    without `compute_uv` U and Vh are empty.

    With `full_matrices` U is (m, m) and Vh (n, n). S is real. Raises RuntimeError for less than two
    dimensions, for integers and when a `driver` is named, NotImplementedError for half precision,
    LinAlgError when A contains NaN or infinity.
    """
    checks.matrices("linalg.svd", A)
    checks.floating("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )
    if A.numel():
        checks.supported("linalg_svd_cpu", A)
    *batch, m, n = A.shape
    k = min(m, n)
    S = zeros((*batch, k), A.dtype.to_real())
    U = Vh = None
    if compute_uv:
        U = column_major((*batch, m, m if full_matrices else k), A.dtype)
        Vh = column_major((*batch, n if full_matrices else k, n), A.dtype)
        if not A.numel():  # an empty matrix never reaches LAPACK; any orthonormal U and Vh will do
            array(U)[...], array(Vh)[...] = np.eye(*U.shape[-2:]), np.eye(*Vh.shape[-2:])
    _decompose(A, U, S, Vh, full_matrices)
    if not compute_uv:
        U, Vh = empty_contiguous((0,), A.dtype), empty_contiguous((0,), A.dtype)
    return named("_linalg_svd", ("U", "S", "Vh"))(U, S, Vh)


def _decompose(
    A: Tensor, U: Tensor | None, S: Tensor, Vh: Tensor | None, full_matrices: bool
) -> None:
    """Fill U, S and Vh, or only S if U is None, matrix by matrix, by LAPACK's `gesdd`. Raises
    LinAlgError where a matrix holds NaN or infinity, or `gesdd` does not converge.
    """
    a, info = array(A), np.zeros(A.shape[:-2], np.int32)
    info[~np.isfinite(a).all((-2, -1))] = NOT_FINITE
    check_errors(info, "linalg.svd", A.dim() == 2)
    gesdd, vectors = routine("gesdd", A.dtype), U is not None

    def decompose(a: Array) -> Any:
        u, s, vh, info = gesdd(a, compute_uv=vectors, full_matrices=full_matrices)
        return (s, info, u, vh) if vectors else (s, info)

    each(decompose, [A], [S, info, U, Vh] if vectors else [S, info])
    check_errors(info, "linalg.svd", A.dim() == 2)
