"""Gradients of solutions, determinants and the matrix exponential
(`torch/csrc/autograd/FunctionsManual.cpp`).

When A changes by dA, the X of A X = B changes by -A⁻¹ dA X. So the gradient of B is the G of Aᴴ G =
dX, and that of A is -G Xᴴ: another system of equations, with the matrix Aᴴ. Its factors are known
from the first one; they are used unless the gradient is to be differentiated again, which has to
see A. The gradient of det A is conj(det A) A⁻ᴴ, a system with the identity matrix, and that of its
logarithm A⁻ᴴ.

How the real one differs: the same formulas; but for a singular A it has the gradient of the
determinant only if that is to be differentiated again, else zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals._generated.functions import cat, eye, matmul, zeros_like
from internals._generated.linalg_functions import det, matrix_exp, solve, solve_triangular, svd
from internals.aten.native.linalg.factors import factors_transpose
from internals.aten.native.linalg.systems import is_vector
from internals.core.grad_mode import is_grad_enabled

from .complex import conj, imaginary_part

if TYPE_CHECKING:
    from internals._tensor import Tensor


def linalg_solve_backward(
    grad: Tensor,
    X: Tensor,
    A: Tensor,
    LU: Tensor,
    pivots: Tensor,
    left: bool,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The gradients of A and B in A X = B, or (without `left`) in X A = B."""
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
    """The gradients of A and B in A X = B with a triangular A; only what A is read of has one."""
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
    """The gradients of B and A in A X = B, or Aᵀ X = B with `transpose`; the second result was a
    copy of A.
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
    """grad conj(det A) A⁻ᴴ, which has a limit where A is singular: there it is found from the
    singular values.
    """
    if A.shape[-1] == 1:  # det A is A itself
        return grad.unsqueeze(-1).unsqueeze(-1).expand_as(A)
    singular = result.abs() < 100 * _epsilon(A)
    if not singular.any().item():
        return _scaled_inverse(A, LU, pivots, grad * conj(result))
    if singular.all().item():
        return _singular_det_backward(grad, A)
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
    """g A⁻ᴴ, where g is the gradient of the logarithm of |det A|, with that of its angle as the
    imaginary part.
    """
    g = grad_logabsdet
    if A.is_complex() and grad_sign is not None:
        angle = imaginary_part(conj(grad_sign) * sign) * -1j
        g = angle if g is None else g + angle
    return None if g is None else _scaled_inverse(A, LU, pivots, g)


def matrix_exp_backward(self: Any, grad: Tensor) -> Any:
    """The upper right of the exponential of [[Aᴴ, grad], [0, Aᴴ]]: the derivative of exp at Aᴴ in
    the direction of grad.
    """
    A, n = self.mH, self.shape[-1]
    block = cat([cat([A, grad], -1), cat([zeros_like(A), A], -1)], -2)
    return matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n)


def _scaled_inverse(A: Tensor, LU: Tensor, pivots: Tensor, g: Tensor) -> Any:
    """g A⁻ᴴ, for one number g a matrix, from the factors that determinants keep, where no one wants
    to differentiate it.
    """
    identity = eye(A.shape[-1], dtype=A.dtype, device=A.device)
    B = g.unsqueeze(-1).unsqueeze(-1) * identity
    if is_grad_enabled():
        return solve(A.mH, B)
    return ops.linalg_lu_solve(LU, pivots, B, True, not factors_transpose(A))


def _singular_det_backward(grad: Tensor, A: Tensor) -> Any:
    """grad times the conjugate of the cofactors of A = U S Vh: the product of the other singular
    values in the place of each.
    """
    U, S, Vh = svd(A)
    n = S.shape[-1]
    others = (
        S.unsqueeze(-2)
        .expand(*S.shape, n)
        .masked_fill(eye(n, dtype=S.dtype, device=S.device) == 1, 1)
        .prod(-1)
    )
    scale = conj(det(U) * det(Vh)) * grad
    return matmul(U * (scale.unsqueeze(-1) * others).unsqueeze(-2), Vh)


def _triangle(gradient: Tensor, upper: bool, unitriangular: bool) -> Any:
    return gradient.triu(int(unitriangular)) if upper else gradient.tril(-int(unitriangular))


def _epsilon(A: Tensor) -> float:
    """The distance from 1 to the next number of the (real) dtype."""
    return float(2.0**-52 if A.dtype.to_real().itemsize == 8 else 2.0**-23)
