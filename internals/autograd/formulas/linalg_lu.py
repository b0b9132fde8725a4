"""The gradients of the LU decomposition, and of solving with it
(`torch/csrc/autograd/FunctionsManual.cpp`).

A = P L U, with a permutation P, which is constant. For a square A the gradient is

    P L⁻ᴴ (tril(Lᴴ gL, -1) + triu(gU Uᴴ)) U⁻ᴴ

where tril(..., -1) is the triangle below the diagonal: the diagonal of L is 1, and the one in the
middle belongs to U. A tall A (m > n) has rows L₂ U below the square part, a wide one columns L U₂
to its right. They have a gradient of their own, and add to that of the factor that they share.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals._generated.functions import cat, lu_unpack, zeros_like
from internals._generated.linalg_functions import lu_solve, solve_triangular
from internals.core.tensor_impl import Tensor


def linalg_lu_backward(gL: Tensor, gU: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Any:
    """The gradient of A, given those of L and U (either may be None)."""
    if gL is None and gU is None:
        return None
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    L1, U1 = L.narrow(-2, 0, k), U.narrow(-1, 0, k)
    # (k, k) both: the matrices whose triangles are put together
    lower = zeros_like(U1) if gL is None else L1.mH @ gL.narrow(-2, 0, k)
    upper = zeros_like(U1) if gU is None else gU.narrow(-1, 0, k) @ U1.mH
    rest = None
    if m > k and gL is not None:
        gL2 = gL.narrow(-2, k, m - k)
        upper = upper - L.narrow(-2, k, m - k).mH @ gL2
        # A₂ = L₂ U: gL₂ U⁻ᴴ
        rest = solve_triangular(U1.mH, gL2, upper=False, left=False)
    elif n > k and gU is not None:
        gU2 = gU.narrow(-1, k, n - k)
        lower = lower - gU2 @ U.narrow(-1, k, n - k).mH
        # A₂ = L U₂: L⁻ᴴ gU₂
        rest = solve_triangular(L1.mH, gU2, upper=True, unitriangular=True)
    gA = solve_triangular(U1.mH, lower.tril(-1) + upper.triu(), upper=False, left=False)
    gA = solve_triangular(L1.mH, gA, upper=True, unitriangular=True)
    gA = padded(gA, m, n) if rest is None else cat([gA, rest], -2 if m > k else -1)
    return P @ gA if P.dim() > 1 else gA


def lu_factor_ex_backward(grad: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Any:
    """The gradient of A, given that of `LU`, one matrix with U in its upper triangle and L, without
    its diagonal of ones, below. (`pivot=False` never arrives here on the CPU: it has no kernel.)
    """
    P, L, U = lu_unpack(LU, pivots)
    k = L.shape[-1]
    return linalg_lu_backward(grad.narrow(-1, 0, k), grad.narrow(-2, 0, k), P, L, U)


def lu_unpack_backward(gL: Any, gU: Any, sizes: Any) -> Any:
    """The gradient of the matrix that holds L and U, of these sizes, given those of L and U."""
    lower = None if gL is None else padded(gL.tril(-1), *sizes[-2:])
    upper = None if gU is None else padded(gU.triu(), *sizes[-2:])
    return upper if lower is None else lower if upper is None else lower + upper


def linalg_lu_solve_LU(gX: Any, LU: Any, pivots: Any, X: Any, left: bool, adjoint: bool) -> Any:
    """The gradient of the matrix that holds L and U, for the X of A X = B (`left`) or X A = B, or
    of these with Aᴴ (`adjoint`).
    """
    gB = lu_solve(LU, pivots, gX, left=left, adjoint=not adjoint)
    first, second = (X, gB) if left == adjoint else (gB, X)
    # for A X = B it is -gB Xᴴ
    gA = -(first @ second.mH) if left else -(first.mH @ second)
    P, L, U = lu_unpack(LU, pivots)
    # from A = P L U: gL = Pᵀ gA Uᴴ and gU = Lᴴ Pᵀ gA, each in its own triangle
    permuted = P.mT @ gA
    return (permuted @ U.mH).tril(-1) + (L.mH @ permuted).triu()


def padded(t: Tensor, m: int, n: int) -> Any:
    """`t` with zeros below and to the right, so that it becomes m by n."""
    below, behind = m - t.shape[-2], n - t.shape[-1]
    return ops.constant_pad_nd(t, [0, behind, 0, below], 0) if below or behind else t
