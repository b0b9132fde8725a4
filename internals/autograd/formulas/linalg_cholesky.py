"""The gradient of the Cholesky decomposition, and of what is solved with it
(`torch/csrc/autograd/FunctionsManual.cpp`).

A = L Lᴴ. When A changes by dA, L changes by L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and
half of the diagonal. Going back, Φ is applied to Lᴴ gL, and the result to the same two triangular
systems.

How the real one differs: it works in place where no second derivative is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.functions import cholesky_solve, eye
from internals._generated.linalg_functions import solve_triangular

if TYPE_CHECKING:
    from internals._tensor import Tensor


def cholesky_backward(grad: Tensor, upper: bool, L: Tensor) -> Any:
    """The gradient of A, given that of its factor: a Hermitian matrix, though only one triangle of
    A was read.
    """
    if upper:
        grad, L = grad.mH, L.mH
    inner = symmetrized((L.mH @ grad).tril()) / 2
    return solve_triangular(L, solve_triangular(L.mH, inner, upper=True), upper=False, left=False)


def symmetrized(triangle: Tensor) -> Any:
    """The Hermitian matrix that has this triangle; of the diagonal the real part."""
    n = triangle.shape[-1]
    whole = triangle + triangle.mH
    return whole - whole * eye(n, dtype=triangle.dtype, device=triangle.device) / 2


def cholesky_solve_backward(
    grad: Tensor, B: Tensor, L: Tensor, result: Tensor, upper: bool, wanted: tuple[bool, bool]
) -> tuple[Any, Any]:
    """The gradients of B and of the factor, for (L Lᴴ)⁻¹ B. B itself is saved as PyTorch saves it;
    the formula does without.
    """
    gB = cholesky_solve(grad, L, upper)
    if not wanted[1]:
        return gB, None
    both = gB @ result.mH
    both = both + both.mH
    return gB, -(L @ both) if upper else -(both @ L)


def cholesky_inverse_backward(grad: Tensor, L: Tensor, upper: bool, inverse: Tensor) -> Any:
    """The gradient of the factor, for (L Lᴴ)⁻¹."""
    both = inverse @ (grad + grad.mH) @ inverse
    return -(L @ both) if upper else -(both @ L)
