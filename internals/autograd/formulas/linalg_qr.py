"""The gradients of the QR decomposition and of products of reflections
(`torch/csrc/autograd/FunctionsManual.cpp`).

A = Q R. What gradient arrives at Q along its own columns, and what arrives at R, meet in one small
matrix, of which a triangle counts; what arrives at Q from outside of them is only multiplied by
R⁻ᴴ. Of a wide A the left square part is decomposed, and the rest of R is Qᴴ times the rest of A.

How the real one differs: for a product of reflections it begins at the result, which is saved for
that, and takes one reflection after the other out of it by its inverse; here the product is built
up again, and kept as it was before each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.functions import cat, eye, stack
from internals._generated.linalg_functions import solve_triangular

from .linalg_cholesky import symmetrized
from .linalg_lu import padded

if TYPE_CHECKING:
    from internals._tensor import Tensor


def linalg_qr_backward(
    gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor, mode: str
) -> Any:
    """The gradient of A. Raises RuntimeError for mode "r", and for "complete" if that completed Q
    by arbitrary columns.
    """
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to require differentiation through "
            "linalg.qr."
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if gQ is None and gR is None:
        return None
    if m >= n:
        return _tall_backward(gQ, gR, Q, R)
    if gR is None:
        return padded(_tall_backward(gQ, None, Q, R.narrow(-1, 0, m)), m, n)
    rest, g_rest = R.narrow(-1, m, n - m), gR.narrow(-1, m, n - m)
    from_rest = Q @ rest @ g_rest.mH
    gQ = from_rest if gQ is None else gQ + from_rest
    return cat([_tall_backward(gQ, gR.narrow(-1, 0, m), Q, R.narrow(-1, 0, m)), Q @ g_rest], -1)


def _tall_backward(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    inner: Any = 0 if gR is None else gR @ R.mH
    if gQ is not None:
        inner = inner - Q.mH @ gQ
    gA = Q @ symmetrized(inner.triu())
    return solve_triangular(R.mH, gA if gQ is None else gA + gQ, upper=False, left=False)


def householder_product_backward(
    grad: Tensor, result: Any, input: Any, tau: Any
) -> tuple[Any, Any]:
    """The gradients of the vectors and of the factors of the reflections.

    `result`, their product, is saved as PyTorch saves it; this formula does without.
    """
    m, n = input.shape[-2:]
    if not (input.numel() and tau.numel()):
        return None, None
    start = eye(m, n, dtype=input.dtype, device=input.device)
    g_input, g_tau, _ = _reflect_backward(grad, input, tau, start, False)
    return g_input, g_tau


def ormqr_backward(
    grad: Tensor,
    result: Tensor,
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool,
    transpose: bool,
    wanted: tuple[bool, bool, bool],
) -> tuple[Any, Any, Any]:
    """The gradients of the vectors, of the factors, and of what the reflections are applied to. C Q
    is (Qᴴ Cᴴ)ᴴ.

    `result` is saved as PyTorch saves it; this formula does without.
    """
    if left:
        return _reflect_backward(grad, input, tau, other, transpose)
    g_input, g_tau, g_other = _reflect_backward(grad.mH, input, tau, other.mH, not transpose)
    return g_input, g_tau, g_other.mH


def _reflect_backward(
    grad: Tensor, input: Tensor, tau: Tensor, C: Tensor, adjoint: bool
) -> tuple[Any, Any, Any]:
    """For H₁ H₂ … H_k C, or the adjoint of that product times C: the gradients of the vectors, the
    factors, and C.

    Each H is 1 - tau v vᴴ. Its gradient is W Rᴴ, where R is what it was applied to and W what
    arrives there.
    """
    m, k = input.shape[-2], tau.shape[-1]
    if not (input.numel() and tau.numel()):
        return None, None, grad
    vectors = input.narrow(-1, 0, k).tril(-1) + eye(m, k, dtype=input.dtype, device=input.device)
    # the first to be applied comes first
    order = list(range(k)) if adjoint else list(range(k))[::-1]
    v = [vectors.narrow(-1, i, 1) for i in order]
    t = [tau.narrow(-1, i, 1).unsqueeze(-1) for i in order]
    t = [x.conj() for x in t] if adjoint else t
    before = [C]
    for x, factor in zip(v[:-1], t):
        before.append(_reflected(before[-1], x, factor))
    g_vectors: list[Any] = [None] * k
    g_factors: list[Any] = [None] * k
    for place, x, factor, R in zip(reversed(order), reversed(v), reversed(t), reversed(before)):
        Rv, Wv = R.mH @ x, grad.mH @ x
        g_vectors[place] = -(factor.conj() * (grad @ Rv) + factor * (R @ Wv)).squeeze(-1)
        g_factor = -(Wv.mH @ Rv).squeeze(-1).squeeze(-1)
        g_factors[place] = g_factor.conj() if adjoint else g_factor
        grad = _reflected(grad, x, factor.conj())
    g_input = padded(stack(g_vectors, -1).tril(-1), m, input.shape[-1])
    return g_input, stack(g_factors, -1), grad


def _reflected(t: Tensor, v: Tensor, tau: Tensor) -> Any:
    return t - tau * (v @ (v.mH @ t))
