"""The gradients of the pseudo-inverse and of least squares
(`torch/csrc/autograd/FunctionsManual.cpp`: `pinv_backward`).

As long as A keeps its rank, the pseudo-inverse A⁺ is smooth. When A changes by dA, A⁺ changes by

    -A⁺ dA A⁺  +  A⁺ A⁺ᴴ dAᴴ (1 - A A⁺)  +  (1 - A⁺ A) dAᴴ A⁺ᴴ A⁺

The first term is that of an inverse; the others turn the column space and the row space of A. The
least squares solution is A⁺ B.
"""

from __future__ import annotations

from typing import Any

from internals._generated.linalg_functions import pinv
from internals.aten.native.linalg.systems import is_vector
from internals.core.tensor_impl import Tensor


def pinv_backward(grad: Tensor, pinvA: Tensor, A: Tensor) -> Any:
    """The gradient of A (..., m, n), given that of its pseudo-inverse (..., n, m).

    The two branches are the same three terms, multiplied in the order in which the matrices between
    are min(m, n) by min(m, n), or no larger than needed.
    """
    m, n = A.shape[-2:]
    pinvAh, gradh = pinvA.mH, grad.mH
    if m <= n:
        K = gradh @ pinvA
        outside = K @ pinvAh
        return (
            -(pinvA @ K).mH + outside - (A @ pinvA) @ outside + (pinvAh @ pinvA) @ (gradh - K @ A)
        )
    K = pinvA @ gradh
    outside = pinvAh @ K
    return -(K @ pinvA).mH + (gradh - A @ K) @ pinvA @ pinvAh + outside - (outside @ pinvA) @ A


def linalg_lstsq_backward(
    gX: Tensor | None,
    g_residuals: Tensor | None,
    A: Tensor,
    B: Tensor,
    X: Tensor,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The gradients of A (..., m, n) and B (..., m, k), given those of the solution X (..., n, k)
    and of the sums of squared residuals (..., k). Either of these may be None.
    """
    vector = is_vector(A, B)
    if vector:
        B, X, gX = B.unsqueeze(-1), X.unsqueeze(-1), None if gX is None else gX.unsqueeze(-1)
    gA = gB = None
    if gX is not None:
        inverse = pinv(A)
        gA = pinv_backward(gX @ B.mH, inverse, A) if wanted[0] else None
        gB = inverse.mH @ gX if wanted[1] else None
    if g_residuals is not None and g_residuals.numel():
        # the derivative of sum((A X - B)**2) by A X - B; a change of X has no effect
        g_difference = 2 * g_residuals.unsqueeze(-2) * (A @ X - B)
        gA = g_difference @ X.mH if gA is None else gA + g_difference @ X.mH
        gB = -g_difference if gB is None else gB - g_difference
    if vector and gB is not None:
        gB = gB.squeeze(-1)
    return gA if wanted[0] else None, gB if wanted[1] else None
