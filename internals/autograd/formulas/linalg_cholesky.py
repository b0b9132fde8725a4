"""The gradients of the Cholesky decomposition, and of solving and inverting with it
(`torch/csrc/autograd/FunctionsManual.cpp`).

A = L Lᴴ, with a lower triangular L. When A changes by dA, L changes by L Φ(L⁻¹ dA L⁻ᴴ), where Φ
takes the lower triangle and half of the diagonal. So the gradient of A is L⁻ᴴ Φ(Lᴴ gL) L⁻¹, made
Hermitian: two triangular systems.

All matrices may be batches: (..., n, n).

How the real one differs: it works in place where no second derivative is asked for.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import cholesky_solve, eye
from internals._generated.linalg_functions import solve_triangular
from internals.core.tensor_impl import Tensor


def cholesky_backward(grad: Tensor, upper: bool, L: Tensor) -> Any:
    """The gradient of A, given that of its factor. It is a Hermitian matrix, although the
    decomposition reads only one triangle of A.
    """
    if upper:
        grad, L = grad.mH, L.mH  # A = Uᴴ U
    inner = symmetrized((L.mH @ grad).tril()) / 2
    return solve_triangular(L, solve_triangular(L.mH, inner, upper=True), upper=False, left=False)


def symmetrized(triangle: Tensor) -> Any:
    """The Hermitian matrix with this triangle, and the real part of its diagonal."""
    n = triangle.shape[-1]
    whole = triangle + triangle.mH
    return whole - whole * eye(n, dtype=triangle.dtype, device=triangle.device) / 2


def cholesky_solve_backward(
    grad: Tensor, B: Tensor, L: Tensor, result: Tensor, upper: bool, wanted: tuple[bool, bool]
) -> tuple[Any, Any]:
    """The gradients of B and of the factor, for result = (L Lᴴ)⁻¹ B.

    `B` is an argument because PyTorch saves it too; the formula does not need it.
    """
    gB = cholesky_solve(grad, L, upper)
    if not wanted[1]:
        return gB, None
    # A's gradient is -gB resultᴴ; A = L Lᴴ contains L twice, so it arrives from both sides
    both = gB @ result.mH
    both = both + both.mH
    return gB, -(L @ both) if upper else -(both @ L)


def cholesky_inverse_backward(grad: Tensor, L: Tensor, upper: bool, inverse: Tensor) -> Any:
    """The gradient of the factor, for inverse = (L Lᴴ)⁻¹."""
    both = inverse @ (grad + grad.mH) @ inverse
    return -(L @ both) if upper else -(both @ L)
