"""The gradient of the singular value decomposition (`torch/csrc/autograd/FunctionsManual.cpp`: `svd_backward`).

A = U diag(S) Vh. When A changes by dA, the diagonal of Uᵀ dA V is what the singular values change by; what is beside the
diagonal turns the columns of U and the rows of Vh into each other, and for that the squares of the singular values are
divided by their differences. So S has a gradient everywhere, U diag(dS) Vh; U and Vh have one where no two singular values are
equal. The nuclear norm needs only the first to be differentiated once, and the second to be differentiated twice.

How the real one differs: it covers complex matrices, whose singular vectors are only known up to a phase.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import eye, matmul


def svd_backward(gU: Any, gS: Any, gVh: Any, U: Any, S: Any, Vh: Any, full_matrices: bool) -> Any:
    """The gradient of A, given those of U, S and Vh (each may be None).

    Raises RuntimeError if U and Vh were not computed (`compute_uv=False`).
    """
    if U.dim() < 2:
        raise RuntimeError("svd: the gradient needs U and Vh, which compute_uv=False leaves out")
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if full_matrices:
        U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
        gU, gVh = gU if gU is None else gU.narrow(-1, 0, k), gVh if gVh is None else gVh.narrow(-2, 0, k)
    if gU is None and gVh is None:
        return matmul(U * gS.unsqueeze(-2), Vh)
    inner = _rotation(gU, gVh, U, S, Vh)
    if gS is not None:
        inner = inner + eye(k, dtype=S.dtype, device=S.device) * gS.unsqueeze(-1)
    if m > k and gU is not None:
        return matmul(matmul(U, inner) + _outside(U, gU / S.unsqueeze(-2)), Vh)
    if n > k and gVh is not None:
        return matmul(U, matmul(inner, Vh) + _outside(Vh.mT, (gVh / S.unsqueeze(-1)).mT).mT)
    return matmul(U, matmul(inner, Vh))


def _rotation(gU: Any, gVh: Any, U: Any, S: Any, Vh: Any) -> Any:
    """What turns singular vectors into each other, seen in their own basis: k by k, with zeros on the diagonal."""
    squares = S * S
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + eye(S.shape[-1], dtype=S.dtype, device=S.device)
    result = 0
    if gU is not None:
        result = _skew(matmul(U.mT, gU)) * S.unsqueeze(-2)
    if gVh is not None:
        result = result + _skew(matmul(Vh, gVh.mT)) * S.unsqueeze(-1)
    return result / gaps


def _outside(basis: Any, t: Any) -> Any:
    """The part of the columns of `t` that the columns of `basis` do not span."""
    return t - matmul(basis, matmul(basis.mT, t))


def _skew(t: Any) -> Any:
    return t - t.mT
