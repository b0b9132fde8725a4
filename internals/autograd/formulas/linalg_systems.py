"""Gradients of solutions, determinants and the matrix exponential
(`torch/csrc/autograd/FunctionsManual.cpp`).

When A changes by dA, the X of A X = B changes by -A⁻¹ dA X. So with gX, the gradient of X, that of
B is the solution gB of Aᴴ gB = gX, and that of A is -gB Xᴴ. The LU factors of A are saved, and
solve this system too. But if the gradient is to be differentiated again, it has to be written as a
function of A: then the system is solved anew.

The gradient of det A is conj(det A) A⁻ᴴ, from a system with the identity matrix, and that of
log |det A| is A⁻ᴴ.

How the real one differs: for a singular A it has the gradient of the determinant only if that is to
be differentiated again, else zeros.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals._generated.functions import cat, eye, matmul, zeros_like
from internals._generated.linalg_functions import det, matrix_exp, solve, solve_triangular, svd
from internals.aten.native.linalg.factors import factors_transpose
from internals.aten.native.linalg.systems import is_vector
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor

from .complex import conj, imaginary_part


def linalg_solve_backward(
    grad: Tensor,
    X: Tensor,
    A: Tensor,
    LU: Tensor,
    pivots: Tensor,
    left: bool,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The gradients of A (..., n, n) and B (..., n, k) in A X = B, or, if not `left`, X A = B."""
    vector = is_vector(LU, X)
    if vector:
        grad, X = grad.unsqueeze(-1), X.unsqueeze(-1)
    if is_grad_enabled():
        gB = solve(A.mH, grad, left=left)
    else:
        gB = ops.linalg_lu_solve(LU, pivots, grad, left, True)
    gA = None
    if wanted[0]:
        gA = -matmul(gB, X.mH) if left else -matmul(X.mH, gB)
    return gA, gB.squeeze(-1) if vector else gB


def linalg_solve_triangular_backward(
    grad: Tensor,
    A: Tensor,
    X: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The gradients of A and B in A X = B with a triangular A. That of A has the same triangle: the
    elements outside of it are never read.
    """
    gB = solve_triangular(A.mH, grad, upper=not upper, left=left, unitriangular=unitriangular)
    gA = None
    if wanted[0]:
        gA = _triangle(-matmul(gB, X.mH) if left else -matmul(X.mH, gB), upper, unitriangular)
    return gA, gB


def triangular_solve_backward(
    grad: Tensor,
    grad_copy: Any,
    A: Any,
    X: Any,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The gradients of B and A in A X = B, or Aᵀ X = B with `transpose`. The operator's second
    result is a copy of A, whose gradient, `grad_copy`, is added to that of A. Both may be None.
    """
    gA, gB = grad_copy, None
    if grad is not None:
        adjoint = conj(A) if transpose else A.mH
        gB = solve_triangular(adjoint, grad, upper=upper == transpose, unitriangular=unitriangular)
        if wanted[1]:
            found = -matmul(conj(X), gB.mT) if transpose else -matmul(gB, X.mH)
            found = _triangle(found, upper, unitriangular)
            gA = found if gA is None else gA + found
    return gB, gA


def linalg_det_backward(grad: Tensor, result: Tensor, A: Tensor, LU: Tensor, pivots: Tensor) -> Any:
    """grad * conj(det A) * A⁻ᴴ. Where A is singular there is no A⁻ᴴ, but the product has a limit,
    which is computed from the singular values.
    """
    if A.shape[-1] == 1:  # det A is the only element of A
        return grad.unsqueeze(-1).unsqueeze(-1).expand_as(A)
    singular = result.abs() < 100 * _epsilon(A)
    if not singular.any().item():
        return _scaled_inverse(A, LU, pivots, grad * conj(result))
    if singular.all().item():
        return _singular_det_backward(grad, A)
    # a batch with both kinds: each formula for the matrices that it is for
    regular = singular.logical_not()
    given = grad.expand(result.shape)
    gradient = _scaled_inverse(
        A[regular], LU[regular], pivots[regular], (given * conj(result))[regular]
    )
    gradients = zeros_like(A).index_put((regular,), gradient)
    return gradients.index_put((singular,), _singular_det_backward(given[singular], A[singular]))


def slogdet_backward(
    grad_sign: Any, grad_logabsdet: Any, A: Any, sign: Any, LU: Any, pivots: Any
) -> Any:
    """g * A⁻ᴴ, where g is the gradient of log(det A): its real part is that of log |det A|, its
    imaginary part that of the angle, for a complex A.
    """
    g = grad_logabsdet
    if A.is_complex() and grad_sign is not None:
        angle = imaginary_part(conj(grad_sign) * sign) * -1j
        g = angle if g is None else g + angle
    return None if g is None else _scaled_inverse(A, LU, pivots, g)


def matrix_exp_backward(self: Any, grad: Tensor) -> Any:
    """The derivative of exp at Aᴴ in the direction of grad. It is the upper right quarter of the
    exponential of the block matrix [[Aᴴ, grad], [0, Aᴴ]], (..., 2n, 2n).
    """
    A, n = self.mH, self.shape[-1]
    block = cat([cat([A, grad], -1), cat([zeros_like(A), A], -1)], -2)
    return matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n)


def _scaled_inverse(A: Tensor, LU: Tensor, pivots: Tensor, g: Tensor) -> Any:
    """g * A⁻ᴴ with one number g for each matrix, from the saved LU factors unless gradients are
    being recorded.
    """
    identity = eye(A.shape[-1], dtype=A.dtype, device=A.device)
    B = g.unsqueeze(-1).unsqueeze(-1) * identity
    if is_grad_enabled():
        return solve(A.mH, B)
    # determinants may factorize Aᵀ instead of A, depending on its strides
    return ops.linalg_lu_solve(LU, pivots, B, True, not factors_transpose(A))


def _singular_det_backward(grad: Tensor, A: Tensor) -> Any:
    """grad times the conjugated cofactors of A = U diag(S) Vh. They are U diag(others) Vh, times
    the determinants of U and Vh, where `others` has for each singular value the product of all
    others.
    """
    U, S, Vh = svd(A)
    n = S.shape[-1]
    # (..., n, n): the singular values in each row, with a 1 on the diagonal; the product of a row
    others = (
        S.unsqueeze(-2)
        .expand(*S.shape, n)
        .masked_fill(eye(n, dtype=S.dtype, device=S.device) == 1, 1)
        .prod(-1)
    )
    scale = conj(det(U) * det(Vh)) * grad
    return matmul(U * (scale.unsqueeze(-1) * others).unsqueeze(-2), Vh)


def _triangle(gradient: Tensor, upper: bool, unitriangular: bool) -> Any:
    """The triangle of `gradient`; without its diagonal if A's is taken to be 1
    (`unitriangular`).
    """
    return gradient.triu(int(unitriangular)) if upper else gradient.tril(-int(unitriangular))


def _epsilon(A: Tensor) -> float:
    """The distance from 1 to the next number of A's dtype, or of the real one if A is complex."""
    return float(2.0**-52 if A.dtype.to_real().itemsize == 8 else 2.0**-23)
