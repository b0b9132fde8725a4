"""The gradient of the singular value decomposition (`torch/csrc/autograd/FunctionsManual.cpp`:
`svd_backward`).

A = U diag(S) Vh. When A changes by dA, the diagonal of Uᴴ dA V is what the singular values change
by; what is beside the diagonal turns the columns of U and the rows of Vh into each other, and for
that the squares of the singular values are divided by their differences. So S has a gradient
everywhere, U diag(dS) Vh; U and Vh have one where no two singular values are equal. Vectors of a
complex matrix are only known up to a phase, one for u and v together: a loss must not depend on it.

How the real one differs: it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.functions import allclose, diag_embed, eye, matmul, zeros_like

if TYPE_CHECKING:
    from internals._tensor import Tensor


def svd_backward(
    gU: Tensor | None,
    gS: Tensor | None,
    gVh: Tensor | None,
    U: Tensor,
    S: Tensor,
    Vh: Tensor,
    full_matrices: bool,
) -> Any:
    """The gradient of A, given those of U, S and Vh (each may be None).

    Raises RuntimeError if U and Vh were not computed (`compute_uv=False`), and if the loss depends
    on a phase.
    """
    if U.dim() < 2:
        raise RuntimeError("svd: the gradient needs U and Vh, which compute_uv=False leaves out")
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if full_matrices:
        U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
        gU, gVh = (
            gU if gU is None else gU.narrow(-1, 0, k),
            gVh if gVh is None else gVh.narrow(-2, 0, k),
        )
    if gU is None and gVh is None:
        return None if gS is None else matmul(U * gS.unsqueeze(-2), Vh)
    inner = _rotation(gU, gVh, U, S, Vh)
    if gS is not None:
        inner = inner + eye(k, dtype=S.dtype, device=S.device) * gS.unsqueeze(-1)
    if m > k and gU is not None:
        return matmul(matmul(U, inner) + _outside(U, gU / S.unsqueeze(-2)), Vh)
    if n > k and gVh is not None:
        return matmul(U, matmul(inner, Vh) + _outside(Vh.mH, (gVh / S.unsqueeze(-1)).mH).mH)
    return matmul(U, matmul(inner, Vh))


def _rotation(gU: Any, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Any:
    """What turns singular vectors into each other, seen in their own basis: k by k; zeros on the
    diagonal, or a phase.
    """
    squares = S * S
    gaps = (
        squares.unsqueeze(-2)
        - squares.unsqueeze(-1)
        + eye(S.shape[-1], dtype=S.dtype, device=S.device)
    )
    around_U = None if gU is None else _skew(matmul(U.mH, gU))
    around_V = None if gVh is None else _skew(matmul(Vh, gVh.mH))
    if U.is_complex():
        _check_phase(around_U, around_V)
    result = 0
    if around_U is not None:
        result = around_U * S.unsqueeze(-2)
    if around_V is not None:
        result = result + around_V * S.unsqueeze(-1)
    result = result / gaps
    if U.is_complex() and around_U is not None:
        phase = around_U.diagonal(0, -2, -1)
        result = result - diag_embed(result.diagonal(0, -2, -1)) + diag_embed(phase / (2 * S))
    return result


def _check_phase(around_U: Any, around_V: Tensor | None) -> None:
    total = sum(t.detach().diagonal(0, -2, -1).imag for t in (around_U, around_V) if t is not None)
    if not allclose(total, zeros_like(total), rtol=1e-2, atol=1e-2):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
        )


def _outside(basis: Tensor, t: Tensor) -> Any:
    """The part of the columns of `t` that the columns of `basis` do not span."""
    return t - matmul(basis, matmul(basis.mH, t))


def _skew(t: Tensor) -> Any:
    return t - t.mH
