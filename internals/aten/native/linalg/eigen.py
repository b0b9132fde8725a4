"""Eigenvalues and eigenvectors (`aten/src/ATen/native/BatchLinearAlgebra.cpp`: `linalg_eig`,
`linalg_eigh`).

A V = V diag(L), for the eigenvalues L and the eigenvectors in the columns of V. A Hermitian matrix
has real eigenvalues, here in ascending order, and orthonormal eigenvectors; only one of its
triangles is read. The results for any other matrix are complex, even if it is real itself. Complex
eigenvalues of a real matrix come in conjugate pairs; LAPACK returns two real columns for a pair,
the real and the imaginary part of one eigenvector, whose conjugate is the other.

How the real one differs: `eigvals` of a matrix with NaN can crash there.
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

FIELDS = ("eigenvalues", "eigenvectors")


def linalg_eigh(self: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices. Raises as `_linalg_eigh`."""
    return named("linalg_eigh", FIELDS)(*ops._linalg_eigh(self, UPLO, True))


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices. Raises as `_linalg_eigh`."""
    return ops._linalg_eigh(self, UPLO, wants_gradient(self))[0]


def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> Any:
    """Real eigenvalues, and (empty without `compute_v`) eigenvectors; `UPLO` says which triangle is
    read, lower or upper.

    Raises RuntimeError for matrices that are not square and another `UPLO`, NotImplementedError for
    dtypes that LAPACK does not know, LinAlgError where the algorithm does not converge.
    """
    checks.square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if A.numel():
        checks.supported("linalg_eigh_cpu", A)
    *batch, n, _ = A.shape
    values, info = zeros((*batch, n), A.dtype.to_real()), np.zeros(batch, np.int32)
    syevd, lower = routine("heevd" if A.is_complex() else "syevd", A.dtype), UPLO.upper() == "L"
    if compute_v:
        vectors = column_major(A.shape, A.dtype)
        each(lambda a: syevd(a, lower=lower), [A], [values, vectors, info])
    else:
        vectors = empty_contiguous((0,), A.dtype)
        # syevd returns (values, vectors, info): [::2] omits the vectors
        each(lambda a: syevd(a, compute_v=False, lower=lower)[::2], [A], [values, info])
    check_errors(info, "linalg.eigh", A.dim() == 2)
    return named("_linalg_eigh", FIELDS)(values, vectors)


def linalg_eig(self: Tensor) -> Any:
    """Complex eigenvalues and eigenvectors, each of length 1.

    Raises RuntimeError for matrices that are not square, for integers, and for NaN and infinity;
    NotImplementedError for half precision; LinAlgError where the algorithm does not converge.
    """
    values, vectors = _geev(self, "linalg.eig", True)
    return named("linalg_eig", FIELDS)(values, vectors)


def linalg_eigvals(self: Tensor) -> Any:
    """The complex eigenvalues of square matrices. Raises as `linalg_eig`."""
    return ops.linalg_eig(self)[0] if wants_gradient(self) else ops._linalg_eigvals(self)


def _linalg_eigvals(self: Tensor) -> Any:
    """`linalg_eigvals` where no gradient is needed: that takes the eigenvectors, too. Raises as
    `linalg_eig`.
    """
    return _geev(self, "linalg.eigvals", False)[0]


def _geev(A: Tensor, name: str, compute_v: bool) -> tuple[Any, Any]:
    """Eigenvalues (..., n) and eigenvectors (..., n, n), or None without `compute_v`."""
    checks.square(name, A)
    complex_dtype = A.dtype.to_complex()
    checks.supported("linalg_eig_out_cpu", A)
    if not np.isfinite(array(A)).all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")
    values, vectors = (
        zeros(A.shape[:-1], complex_dtype),
        column_major(A.shape, complex_dtype) if compute_v else None,
    )
    info = np.zeros(A.shape[:-2], np.int32)
    geev = routine("geev", A.dtype)

    def decompose(a: Array) -> tuple[Any, ...]:
        """(eigenvalues, info), and the eigenvectors with `compute_v`, of a matrix (n, n)."""
        # geev returns (w, left vectors, right vectors, info) for a complex matrix, and
        # (real parts of w, imaginary parts of w, left vectors, right vectors, info) for a real one
        *w, _, v, info = geev(a, compute_vl=False, compute_vr=compute_v)
        is_real = len(w) == 2
        eigenvalues = w[0] + 1j * w[1] if is_real else w[0]
        if not compute_v:
            return eigenvalues, info
        return eigenvalues, info, _complex_vectors(w[1], v) if is_real else v

    each(decompose, [A], [values, info, vectors] if compute_v else [values, info])
    check_errors(info, name, A.dim() == 2)
    return values, vectors


def _complex_vectors(imaginary: Array, v: Array) -> Any:
    """The complex eigenvectors of a real (n, n) matrix, from LAPACK's real columns `v` and the
    imaginary parts (n,) of the eigenvalues.
    """
    # A pair is two neighbouring columns (re, im), the eigenvalue with imaginary > 0 first:
    # re + i im, and its conjugate. Columns of real eigenvalues stay as they are.
    first, second = imaginary > 0, imaginary < 0
    result = v.astype(np.result_type(v, np.complex64))
    result[:, first] += 1j * v[:, second]
    result[:, second] = result[:, first].conj()
    return result
