"""The gradient of the singular value decomposition (`torch/csrc/autograd/FunctionsManual.cpp`:
`svd_backward`).

A = U diag(S) Vh, with U (..., m, k), S (..., k) and Vh (..., k, n), k = min(m, n). When A changes
by dA, look at M = Uᴴ dA V. Its diagonal (the real part) is the change of the singular values. Its
other elements rotate the singular vectors among themselves: element (i, j) with weights of the form
S[j] / (S[j]² - S[i]²). So S has the gradient U diag(gS) Vh everywhere, but U and Vh have one only
where no two singular values are equal.

The vectors of a complex matrix have an arbitrary phase, one for each pair u and v together: a loss
must not depend on it.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import allclose, diag_embed, eye, matmul, zeros_like
from internals.core.tensor_impl import Tensor


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
    if full_matrices:  # the additional columns of U and rows of Vh are arbitrary: no gradient
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
    # a tall U also turns out of its own column space, a wide Vh out of its row space
    if m > k and gU is not None:
        return matmul(matmul(U, inner) + _outside(U, gU / S.unsqueeze(-2)), Vh)
    if n > k and gVh is not None:
        return matmul(U, matmul(inner, Vh) + _outside(Vh.mH, (gVh / S.unsqueeze(-1)).mH).mH)
    return matmul(U, matmul(inner, Vh))


def _rotation(gU: Any, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Any:
    """The part of Uᴴ gA V, (..., k, k), that comes from rotating singular vectors among themselves.
    Its diagonal is 0, or, for complex matrices, imaginary: a phase.
    """
    squares = S * S
    # element (i, j) is S[j]² - S[i]²; ones on the diagonal, which is 0 in the skew matrices below
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
    """Raises RuntimeError if the loss changes when a pair u, v is multiplied by a phase: the
    effects on both, the imaginary parts of the diagonals, have to cancel out.
    """
    total = sum(t.detach().diagonal(0, -2, -1).imag for t in (around_U, around_V) if t is not None)
    if not allclose(total, zeros_like(total), rtol=1e-2, atol=1e-2):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
        )


def _outside(basis: Tensor, t: Tensor) -> Any:
    """The component of the columns of `t` that is orthogonal to those of `basis`."""
    return t - matmul(basis, matmul(basis.mH, t))


def _skew(t: Tensor) -> Any:
    return t - t.mH
