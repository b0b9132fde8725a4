"""The gradients of the QR decomposition and of products of reflections
(`torch/csrc/autograd/FunctionsManual.cpp`).

A = Q R, with Qᴴ Q = 1 and an upper triangular R. For a tall or square A (m >= n) the gradient is

    (gQ + Q S) R⁻ᴴ,    S: Hermitian, with the upper triangle of gR Rᴴ - Qᴴ gQ

Of a wide A the left square part is decomposed, and the rest of R is Qᴴ times the rest of A.

How the real one differs: for a product of reflections it starts from the saved result and removes
one reflection after the other by its inverse. Here the product is built up again, and its value
before each reflection is kept.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import cat, eye, stack
from internals._generated.linalg_functions import solve_triangular
from internals.core.tensor_impl import Tensor

from .linalg_cholesky import symmetrized
from .linalg_lu import padded


def linalg_qr_backward(
    gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor, mode: str
) -> Any:
    """The gradient of A. Raises RuntimeError for mode "r", which computes no Q, and for "complete"
    if A is tall: then the last columns of Q are arbitrary.
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
    # wide: A = [A₁ A₂], R = [R₁ R₂] with A₁ = Q R₁ and R₂ = Qᴴ A₂. So R₂ gives Q the gradient
    # A₂ gR₂ᴴ, where A₂ is Q R₂, and A₂ the gradient Q gR₂.
    rest, g_rest = R.narrow(-1, m, n - m), gR.narrow(-1, m, n - m)
    from_rest = Q @ rest @ g_rest.mH
    gQ = from_rest if gQ is None else gQ + from_rest
    return cat([_tall_backward(gQ, gR.narrow(-1, 0, m), Q, R.narrow(-1, 0, m)), Q @ g_rest], -1)


def _tall_backward(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    """The gradient of A (..., m, n) with m >= n; gQ or gR may be None."""
    inner: Any = 0 if gR is None else gR @ R.mH
    if gQ is not None:
        inner = inner - Q.mH @ gQ
    gA = Q @ symmetrized(inner.triu())
    return solve_triangular(R.mH, gA if gQ is None else gA + gQ, upper=False, left=False)


def householder_product_backward(
    grad: Tensor, result: Any, input: Any, tau: Any
) -> tuple[Any, Any]:
    """The gradients of `input` (..., m, n), whose columns are the vectors of the reflections, and
    of their factors `tau` (..., k).

    `result`, their product, is an argument because PyTorch saves it too; it is not needed here.
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
    """The gradients of `input`, the vectors of the reflections, of `tau`, their factors, and of
    `other`, the matrix C that Q is multiplied by. C Q (`left` is False) is taken as (Qᴴ Cᴴ)ᴴ.

    `result` is an argument because PyTorch saves it too; it is not needed here.
    """
    if left:
        return _reflect_backward(grad, input, tau, other, transpose)
    g_input, g_tau, g_other = _reflect_backward(grad.mH, input, tau, other.mH, not transpose)
    return g_input, g_tau, g_other.mH


def _reflect_backward(
    grad: Tensor, input: Tensor, tau: Tensor, C: Tensor, adjoint: bool
) -> tuple[Any, Any, Any]:
    """The gradients of the vectors, the factors and C, for H₁ H₂ … H_k C, or, with `adjoint`, for
    (H₁ H₂ … H_k)ᴴ C. Each H is 1 - tau v vᴴ.

    If H R has the gradient W, then H has the gradient W Rᴴ, from which those of v and tau follow,
    and R the gradient Hᴴ W, which is passed on to the reflection before.
    """
    m, k = input.shape[-2], tau.shape[-1]
    if not (input.numel() and tau.numel()):
        return None, None, grad
    # element i of vector i is 1 and those above are 0; only those below are stored
    vectors = input.narrow(-1, 0, k).tril(-1) + eye(m, k, dtype=input.dtype, device=input.device)
    # the reflection that is applied first comes first: of H₁ H₂ C it is H₂
    order = list(range(k)) if adjoint else list(range(k))[::-1]
    v = [vectors.narrow(-1, i, 1) for i in order]
    t = [tau.narrow(-1, i, 1).unsqueeze(-1) for i in order]
    t = [x.conj() for x in t] if adjoint else t
    before = [C]  # R, the matrix that each reflection is applied to
    for x, factor in zip(v[:-1], t):
        before.append(_reflected(before[-1], x, factor))
    # from the last reflection back to the first; `grad` is W, the gradient of H R
    g_vectors: list[Any] = [None] * k
    g_factors: list[Any] = [None] * k
    for position, x, factor, R in zip(reversed(order), reversed(v), reversed(t), reversed(before)):
        Rv, Wv = R.mH @ x, grad.mH @ x
        g_vectors[position] = -(factor.conj() * (grad @ Rv) + factor * (R @ Wv)).squeeze(-1)
        g_factor = -(Wv.mH @ Rv).squeeze(-1).squeeze(-1)
        g_factors[position] = g_factor.conj() if adjoint else g_factor
        grad = _reflected(grad, x, factor.conj())
    g_input = padded(stack(g_vectors, -1).tril(-1), m, input.shape[-1])
    return g_input, stack(g_factors, -1), grad


def _reflected(t: Tensor, v: Tensor, tau: Tensor) -> Any:
    """(1 - tau v vᴴ) t, without the m by m matrix: v is (..., m, 1), t (..., m, columns)."""
    return t - tau * (v @ (v.mH @ t))
