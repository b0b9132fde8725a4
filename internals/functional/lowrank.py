"""Singular values of a matrix that has nearly a low rank: `svd_lowrank`, `pca_lowrank`
(`torch/_lowrank.py`).

A few random combinations of the columns of A nearly span what all of them do. So A is projected on
those, and what is left, a few rows, is decomposed. Every round of `niter` multiplies by A Aᴴ, which
brings out the large singular values. Halko, Martinsson and Tropp, "Finding structure with
randomness", 2009.

How the real one differs: it takes sparse matrices, which is what it is good for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.functions import matmul, randn
from internals._generated.linalg_functions import qr, svd
from internals.core.dtype import float32

if TYPE_CHECKING:
    from internals._tensor import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Any, Any, Any]:
    """U (m, q), S (q) and V (n, q) with A, or A - M, nearly U diag(S) Vᴴ, for matrices of rank q or
    little more.

    Chance is the default generator's. Raises RuntimeError for a `q` that is larger than the matrix
    and for integers.
    """
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    if M is not None:
        A = A - M.expand(A.shape)
    turned = rows < columns
    if turned:
        A = A.mH
    Q = approximate_basis(A, q, 2 if niter is None else niter)
    U, S, Vh = svd(matmul(Q.mH, A), full_matrices=False)
    U, V = matmul(Q, U), Vh.mH
    return (V, S, U) if turned else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Any, Any, Any]:
    """The `q` principal components of the rows of A, as columns of V: `svd_lowrank` of A less the
    mean of its rows.

    q is 6 by default, or the smaller side of A. Raises ValueError for a `q` or an `niter` that is
    negative or too large.
    """
    smaller = min(A.shape[-2:])
    if q is None:
        q = min(6, smaller)
    elif not 0 <= q <= smaller:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)


def approximate_basis(A: Tensor, q: int, niter: int = 2) -> Any:
    """`q` orthonormal columns (m, q) that nearly span the columns of A."""
    dtype = A.dtype if A.is_floating_point() or A.is_complex() else float32
    Q = qr(matmul(A, randn(A.shape[-1], q, dtype=dtype, device=A.device))).Q
    for _ in range(niter):
        Q = qr(matmul(A.mH, Q)).Q
        Q = qr(matmul(A, Q)).Q
    return Q
