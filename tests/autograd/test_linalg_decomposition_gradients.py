"""Gradients of decompositions, of functions that do not depend on the signs and phases of their
vectors: by differences, of the first and the second order, of real and complex matrices; and beside
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import internals
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from tests.aten.test_linalg_decompositions import hermitian, positive, random
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import full

L = internals.linalg

# Functions of a matrix that do not depend on signs and phases, and a matrix to differentiate them
# at.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "cholesky": (lambda a: L.cholesky(positive(a)), (2, 2, 2)),
    "cholesky, upper": (lambda a: L.cholesky(positive(a), upper=True), (3, 3)),
    "cholesky_solve": (lambda a: internals.cholesky_solve(a, L.cholesky(positive(a))), (3, 3)),
    "cholesky_solve, upper, batches": (
        lambda a: internals.cholesky_solve(a[0], L.cholesky(positive(a), upper=True), True),
        (2, 2, 2),
    ),
    "cholesky_inverse": (lambda a: internals.cholesky_inverse(L.cholesky(positive(a))), (3, 3)),
    "cholesky_inverse, upper": (
        lambda a: internals.cholesky_inverse(L.cholesky(positive(a), upper=True), True),
        (3, 3),
    ),
    "qr": (lambda a: L.qr(a), (3, 3)),
    "qr, tall": (lambda a: L.qr(a), (2, 3, 2)),
    "qr, wide": (lambda a: L.qr(a), (2, 3)),
    "R of a wide matrix": (lambda a: L.qr(a).R, (2, 3)),
    "Q of a wide matrix": (lambda a: L.qr(a).Q, (2, 3)),
    "householder_product": (lambda a: L.householder_product(a, a[0, :2]), (4, 3)),
    "ormqr": (lambda a: internals.ormqr(a, a[0], a), (3, 2)),
    "ormqr, transpose": (lambda a: internals.ormqr(a, a[0], a, transpose=True), (3, 2)),
    "ormqr, right": (lambda a: internals.ormqr(a, a[0], a.mT, left=False), (3, 2)),
    "ormqr, right, transpose": (
        lambda a: internals.ormqr(a, a[0], a.mT, left=False, transpose=True),
        (3, 2),
    ),
    "svdvals": (lambda a: L.svdvals(a), (2, 3, 2)),
    "svd": (lambda a: _of_svd(*L.svd(a, False)), (2, 2)),
    "svd, tall": (lambda a: _of_svd(*L.svd(a, False)), (3, 2)),
    "svd, wide": (lambda a: _of_svd(*L.svd(a, False))[0], (2, 3)),
    "torch.svd": (lambda a: internals.svd(a)[1], (3, 2)),
    "eigvalsh": (lambda a: L.eigvalsh(hermitian(a)), (2, 3, 3)),
    "eigh": (lambda a: _of_eigh(*L.eigh(hermitian(a))), (3, 3)),
    "eigh, only vectors": (lambda a: L.eigh(hermitian(a)).eigenvectors.abs(), (3, 3)),
    "eigvals": (lambda a: L.eigvals(a).abs(), (2, 3, 3)),
    "eig": (lambda a: _of_eig(*L.eig(a)), (3, 3)),
    "eig, only vectors": (lambda a: L.eig(a).eigenvectors.abs(), (3, 3)),
    "lu": (lambda a: L.lu(a)[1:], (3, 3)),
    "lu, tall": (lambda a: L.lu(a)[1:], (2, 3, 2)),
    "lu, wide": (lambda a: L.lu(a)[1:], (2, 3)),
    "L of a wide matrix": (lambda a: L.lu(a).L, (2, 3)),
    "U of a tall matrix": (lambda a: L.lu(a).U, (3, 2)),
    "lu_factor": (lambda a: L.lu_factor(a).LU, (4, 2)),
    "lu_solve": (lambda a: L.lu_solve(*L.lu_factor(a), a), (3, 3)),
    "lu_solve, adjoint": (lambda a: L.lu_solve(*L.lu_factor(a), a, adjoint=True), (3, 3)),
    "lu_solve, right": (lambda a: L.lu_solve(*L.lu_factor(a), a, left=False), (3, 3)),
    "lu_solve, right, adjoint": (
        lambda a: L.lu_solve(*L.lu_factor(a), a[0], left=False, adjoint=True),
        (2, 2, 2),
    ),
    "pinv": (lambda a: L.pinv(a), (2, 3, 2)),
    "pinv, wide": (lambda a: L.pinv(a), (2, 3)),
    "pinv, hermitian": (lambda a: L.pinv(hermitian(a), hermitian=True), (3, 3)),
    "pinv of rank 1": (lambda a: L.pinv(a @ a.mH, rtol=1e-3), (3, 1)),
    "lstsq": (lambda a: L.lstsq(a, a * a).solution, (3, 2)),
    "residuals": (lambda a: L.lstsq(a, a * a, driver="gels")[:2], (3, 2)),
    "cond": (lambda a: (L.cond(a), L.cond(a, 1), L.cond(a, "nuc")), (3, 3)),
}


def _of_svd(U: Any, S: Any, Vh: Any) -> Any:
    return (
        U @ (S.exp().unsqueeze(-1) * Vh),
        (U * S.unsqueeze(-2).sin()) @ U.mH,
        (Vh.mH * S.unsqueeze(-2).cos()) @ Vh,
    )


def _of_eigh(values: Any, vectors: Any) -> Any:
    return (vectors * values.sin().unsqueeze(-2)) @ vectors.mH, vectors.abs() ** 2


def _of_eig(values: Any, vectors: Any) -> Any:
    made = (vectors * values.exp().unsqueeze(-2)) @ vectors.mH
    return made.real, made.imag


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str, dtype: str) -> None:
    """By differences, of the first and the second order."""
    function, sizes = FUNCTIONS[name]
    a = random(*sizes, dtype=dtype, seed=3).requires_grad_()
    assert gradcheck(function, [a], rtol=1e-5, atol=1e-6)
    if dtype == "float64" or full():
        assert gradgradcheck(function, [a], rtol=1e-4, atol=1e-5)


BESIDE = cases("""
    T.linalg.cholesky(pd(x(3, 3)))
    T.linalg.cholesky(pd(x(2, 2, 2)), upper=True)
    T.linalg.cholesky_ex(x(2, 2).tril() * 0 + pd(x(2, 2)))
    T.cholesky_solve(x(2, 1), x(2, 2).tril())
    T.cholesky_solve(x(2, 1), x(3, 2, 2).triu(), True)
    T.cholesky_inverse(x(2, 2).tril())
    T.linalg.qr(x(4, 2))
    T.linalg.qr(x(2, 4))
    T.qr(x(3, 3), some=False)
    T.linalg.householder_product(x(4, 2), x(2))
    T.orgqr(x(4, 3), x(2))
    T.ormqr(x(3, 2), x(2), x(3, 4))
    T.ormqr(x(3, 2), x(2), x(4, 3), False, True)
    T.linalg.svdvals(x(2, 3, 4))
    gauge_free(*T.linalg.svd(x(3, 2), full_matrices=False))
    T.svd(x(3, 2), compute_uv=False)[1].detach() * x(2)
    T.linalg.eigvalsh(x(3, 3))
    T.linalg.eigvalsh(x(3, 3), UPLO="U")
    T.linalg.eigh(x(3, 3)).eigenvectors.abs()
    T.linalg.eigvals(x(3, 3)).abs().sum(-1)
    T.linalg.eig(x(3, 3)).eigenvectors.abs().sum()
    T.linalg.lu(x(3, 3))[1:]
    T.linalg.lu(x(4, 2))[1:]
    T.linalg.lu(x(2, 4))[1:]
    T.linalg.lu_factor(x(3, 2)).LU
    T.linalg.lu_factor_ex(x(2, 3)).LU
    T.linalg.lu_solve(*T.linalg.lu_factor(x(3, 3)), x(3, 2))
    T.linalg.lu_solve(*T.linalg.lu_factor(x(2, 3, 3)), x(2, 3), left=False, adjoint=True)
    T.lu_solve(x(3, 2), *T.linalg.lu_factor(x(3, 3)))
    T.lu_unpack(*T.linalg.lu_factor(x(3, 3)))[1:]
    T.lu(x(3, 3))[0]
    T.linalg.lstsq(x(4, 2), x(4, 3)).solution
    T.linalg.lstsq(x(2, 4, 2), x(2, 4), driver="gels")[:2]
    T.linalg.lstsq(x(2, 4, 2), x(1, 4, 1), driver="gelsd")[:2]
    T.linalg.pinv(x(4, 2))
    T.linalg.pinv(x(2, 4), 1e-8)
    T.linalg.pinv(pd(x(2, 2)), hermitian=True)
    T.pinverse(x(2, 3))
    T.linalg.cond(x(3, 3))
    T.linalg.cond(x(3, 2), -2)
    T.linalg.cond(x(3, 3), "nuc")
""")


@pytest.mark.parametrize("text", BESIDE)
def test_like_pytorch(text: str) -> None:
    def case(T: Any, x: Any) -> Any:
        def pd(a: Any) -> Any:
            return a @ a.mH + T.eye(a.shape[-1], dtype=a.dtype)

        return eval(text, {"T": T, "x": x, "pd": pd, "gauge_free": _of_svd})

    check_gradients(case, rtol=1e-6, atol=1e-8)


REFUSED = cases("""
    T.linalg.qr(x(3, 2), mode="r")[1]
    T.linalg.qr(x(3, 2), mode="complete")[0]
    T.geqrf(x(3, 2))[0]
    T.linalg.ldl_factor(x(2, 2))[0]
    T.linalg.eigvalsh(x(2, 2).to(T.complex128))
    T.linalg.svd(x(2, 2) * 1j)[0].abs()
    T.linalg.svd(x(2, 2) * 1j)[0].real
    T.linalg.eig(x(2, 2))[1].imag
""")


@pytest.mark.parametrize("text", REFUSED)
def test_refused_like_pytorch(text: str) -> None:
    """No derivative, or a loss that depends on an arbitrary phase."""
    check_gradients(expression(text), second=False, names=False)
