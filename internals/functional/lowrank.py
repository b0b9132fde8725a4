"""`svd_lowrank` and `pca_lowrank`: the largest singular values, by random projection
(`torch/_lowrank.py`).

If a matrix A has nearly a low rank, a few random combinations of its columns span nearly the same
space as all of them. So A is projected onto these, and the result, a matrix with few rows, is
decomposed. Each of `niter` rounds multiplies by A Aᴴ, which makes the large singular values
dominate. (Halko, Martinsson and Tropp, "Finding structure with randomness", 2009.)

How the real one differs: it also takes sparse matrices, for which it is meant most of all.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import matmul, randn
from internals._generated.linalg_functions import qr, svd
from internals.core.dtype import float32
from internals.core.tensor_impl import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Any, Any, Any]:
    """U (m, q), S (q) and V (n, q), with A - M (or A) nearly U diag(S) Vᴴ, if its rank is q or
    little more.

    Random numbers come from the default generator. Raises RuntimeError for a `q` that is larger
    than the matrix, and for integers.
    """
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    if M is not None:
        A = A - M.expand(A.shape)
    # a wide matrix is decomposed as its transpose, so that the side of q columns is the long one
    transposed = rows < columns
    if transposed:
        A = A.mH
    Q = approximate_basis(A, q, 2 if niter is None else niter)
    # A is nearly Q Qᴴ A: (m, q) @ (q, n). The second factor is small, and its U is Qᴴ times that of
    # A.
    U, S, Vh = svd(matmul(Q.mH, A), full_matrices=False)
    U, V = matmul(Q, U), Vh.mH
    return (V, S, U) if transposed else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Any, Any, Any]:
    """U, S and V of A less the mean of its rows: the columns of V are the `q` principal components
    of the rows. If not `center`, the mean is not subtracted.

    q is by default 6, or the smaller side of A. Raises ValueError for a negative `niter`, and for a
    `q` that is negative or too large.
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
    # (m, n) @ (n, q). Each product is made orthonormal again: otherwise all columns would turn to
    # the direction of the largest singular value.
    Q = qr(matmul(A, randn(A.shape[-1], q, dtype=dtype, device=A.device))).Q
    for _ in range(niter):
        Q = qr(matmul(A.mH, Q)).Q
        Q = qr(matmul(A, Q)).Q
    return Q
