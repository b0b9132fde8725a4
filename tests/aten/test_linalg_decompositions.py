"""Decompositions of matrices: they give their matrix back, and all that is not open is as in
PyTorch.

Singular vectors and eigenvectors are only known up to a sign or a phase: what is compared does not
depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals.linalg import LinAlgError
from tests.answers import answer
from tests.side_by_side import cases, check, expression
from tests.support import assert_same_outcome, to_numpy

L = internals.linalg
DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (0, 0), (2, 0), (0, 3), (0, 2, 2)]


def random(*sizes: int, dtype: str = "float64", seed: int = 0) -> Any:
    stream = np.random.default_rng(seed)
    a = stream.standard_normal(sizes) + (
        1j * stream.standard_normal(sizes) if dtype[0] == "c" else 0
    )
    return internals.tensor(np.asarray(a).astype(dtype))


def hermitian(a: Any) -> Any:
    return a + a.mH


def positive(a: Any) -> Any:
    return a @ a.mH + internals.eye(a.shape[-1], dtype=a.dtype)


def close(a: Any, b: Any) -> None:
    single = a.dtype in (internals.float32, internals.complex64)
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), atol=1e-4 if single else 1e-10)


def is_unitary(q: Any) -> None:
    close(
        q.mH @ q,
        internals.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], q.shape[-1], q.shape[-1]),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_the_factors_of_any_matrix_give_it_back(sizes: tuple[int, ...], dtype: str) -> None:
    a = random(*sizes, dtype=dtype)
    k = min(sizes[-2:])
    for full in (False, True):
        U, S, Vh = L.svd(a, full)
        is_unitary(U)
        is_unitary(Vh.mH)
        close((U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :], a)
        close(L.svdvals(a), S)
    for mode in ("reduced", "complete"):
        Q, R = L.qr(a, mode)
        is_unitary(Q)
        close(Q @ R, a)
        close(R.triu(), R)
    P, lower, upper = L.lu(a)
    close(P @ lower @ upper, a)
    LU, pivots, info = L.lu_factor_ex(a)
    for x, y in zip(internals.lu_unpack(LU, pivots), (P, lower, upper)):
        close(x, y)
    packed, tau = internals.geqrf(a)
    if sizes[-2] >= sizes[-1]:
        close(L.householder_product(packed, tau), L.qr(a).Q)
    close(internals.ormqr(packed, tau, a, transpose=True)[..., :k, :], L.qr(a).R)
    inverse = L.pinv(a)
    close(a @ inverse @ a, a)
    close((inverse @ a).mH, inverse @ a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [s for s in SIZES if s[-1] == s[-2]])
def test_the_factors_of_square_matrices_give_them_back(sizes: tuple[int, ...], dtype: str) -> None:
    a = random(*sizes, dtype=dtype)
    b = random(*sizes[:-1], 2, dtype=dtype, seed=1)
    p, h = positive(a), hermitian(a)
    for upper in (False, True):
        C = L.cholesky(p, upper=upper)
        close(C.mH @ C if upper else C @ C.mH, p)
        close(p @ internals.cholesky_solve(b, C, upper), b)
        close(internals.cholesky_inverse(C, upper) @ p, L.pinv(p) @ p)
        values, vectors = L.eigh(h, UPLO="U" if upper else "L")
        is_unitary(vectors)
        close((vectors * values.unsqueeze(-2)) @ vectors.mH, h)
        close(L.eigvalsh(h), values)
    values, vectors = L.eig(a)
    close(a.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2))
    close(L.eigvals(a), values)
    LD, pivots = L.ldl_factor(h, hermitian=True)
    close(h @ L.ldl_solve(LD, pivots, b, hermitian=True), b)
    LU, pivots = L.lu_factor(a)
    close(a @ L.lu_solve(LU, pivots, b), b)
    close(a.mH @ L.lu_solve(LU, pivots, b, adjoint=True), b)
    close(L.lu_solve(LU, pivots, b.mT, left=False) @ a, b.mT)
    close(L.lu_solve(LU, pivots, b.mT, left=False, adjoint=True) @ a.mH, b.mT)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_least_squares(driver: str, dtype: str) -> None:
    a, b = random(2, 4, 2, dtype=dtype), random(2, 4, 3, dtype=dtype, seed=1)
    found = L.lstsq(a, b, driver=driver)
    close(found.solution, L.pinv(a) @ b)
    if driver != "gelsy":
        close(found.residuals, ((a @ found.solution - b).abs() ** 2).sum(-2))
    if driver != "gels":
        assert found.rank.tolist() == [2, 2]
    if driver in ("gelsd", "gelss"):
        close(found.singular_values, L.svdvals(a))


RESULTS = cases("""
    T.linalg.cholesky_ex(x.of([[1, 2], [2, 1]]))
    T.linalg.cholesky_ex(x.of([[4, 9], [2, 5]]), upper=True)
    T.cholesky(x.of([[4, 2], [2, 5]]), upper=True)
    T.cholesky_solve(x(3, 2, 1), x.of([[4, 0], [2, 5]]))
    T.cholesky_solve(x(2, 1), T.zeros(2, 2)).isnan()
    T.cholesky_inverse(x.of([[4, 9], [2, 5]]))
    T.linalg.qr(x(3, 2), mode="r")
    T.linalg.qr(x(2, 0, 2), "complete")
    T.qr(x(3, 2), some=False)
    x(3, 2).qr()
    T.geqrf(x(3, 2, dtype="complex64"))
    T.linalg.householder_product(x(3, 2), x(1))
    T.linalg.householder_product(x(3, 2), x(0))
    x(3, 2).orgqr(x(2))
    x(3, 2).ormqr(x(2), x(2, 3), left=False, transpose=True)
    T.svd(x(3, 2), compute_uv=False)
    T.svd(x(3, 2), some=False)[1]
    T.linalg.svd(x(2, 0))
    T.linalg.svdvals(x(2, 3, dtype="complex128"))
    T.linalg.eigh(T.zeros(2, 0, 0))
    T.linalg.eigvalsh(x(3, 3), UPLO="u")
    T.linalg.eig(T.eye(2))
    T.linalg.eigvals(T.zeros(0, 3, 3))
    T.linalg.lu(x(4, 2))
    T.linalg.lu_factor_ex(T.zeros(2, 3, 3))
    T.lu(x(2, 3, 3))
    T.lu(x(3, 2), get_infos=True)
    x(3, 3).lu()
    T.lu(x(2, 2), out=(T.empty(0), T.empty(0, dtype=T.int32)))
    T.lu_unpack(x(3, 2), x.of([2, 2], "int32"), unpack_data=False)
    T.lu_unpack(x(3, 2), x.of([2, 2], "float32"), unpack_pivots=False)
    T.lu_solve(x(2, 1), x(2, 2), x.of([2, 2], "int32"))
    T.linalg.lu_solve(x(2, 2), x.of([2, 2], "int32"), x(3, 2), left=False)
    T.linalg.lu_solve(x(2, 2), x.of([2, 2], "int32"), x(3, 2), left=False, adjoint=True)
    T.linalg.ldl_factor(x.of([[0, 9], [2, 0]]))
    T.linalg.ldl_factor_ex(T.zeros(2, 2))
    T.linalg.ldl_factor_ex(x.of([[1 + 1j, 2j], [1, 2 + 1j]], "complex64"), hermitian=True)
    T.linalg.ldl_solve(T.eye(2), x.of([1, 2], "int64"), x(3, 2, 1))
    T.linalg.lstsq(x(3, 2), x(3))
    T.linalg.lstsq(x(2, 3, 2), x(1, 3, 2), driver="gelss")
    T.linalg.lstsq(x(2, 3, 2), x(2, 3), rcond=0.5, driver="gelsd")
    T.linalg.lstsq(x(1, 3, 2), x(2, 3, 1), driver="gelsd")
    T.linalg.lstsq(x(2, 1, 3, 2), x(2, 3, 3, 2))
    T.linalg.lstsq(T.ones(2, 0), T.ones(2, 1), driver="gelsd")
    T.linalg.lstsq(T.ones(0, 2), T.ones(0, 1), driver="gels")
    T.linalg.pinv(T.ones(2, 3), x.of([1e-3, 1]))
    T.linalg.pinv(T.ones(2, 2), atol=1.0, hermitian=True)
    T.linalg.pinv(T.ones(2, 2), rtol=x.of(1, "int64"))
    T.linalg.matrix_rank(T.ones(2, 3), x.of([1, 100]))
    T.linalg.matrix_rank(T.ones(2, 3), atol=x.of([1, 100]), rtol=x.of(0.1))
    T.linalg.matrix_rank(T.ones(2, 2), atol=1.0, rtol=0.1, hermitian=True)
    T.linalg.matrix_rank(T.ones(2, 0, 3))
    T.linalg.matrix_rank(x(3, 3) @ T.ones(3, 3))
    T.linalg.cond(T.zeros(2, 2), 1)
    T.linalg.cond(T.stack([T.eye(2), T.ones(2, 2)]), "nuc")
    T.linalg.cond(T.zeros(2, 0, 0), "fro")
    T.linalg.svd(x(2, 2), full_matrices=False, out=(T.empty(0), T.empty(0), T.empty(0)))[1]
    T.linalg.eigh(T.eye(2), out=(T.empty(0), T.empty(0)))
    T.linalg.qr(x(3, 2), out=(T.empty(0), T.empty(0))).Q
""")

ERRORS = cases("""
    T.linalg.cholesky(x.of([[1, 2], [2, 1]]))
    T.linalg.cholesky(T.stack([T.eye(2), -T.eye(2)]))
    T.linalg.cholesky_ex(-T.eye(2), check_errors=True)
    T.cholesky(-T.eye(2))
    T.linalg.cholesky(x(2, 3))
    T.linalg.cholesky(x(2))
    T.linalg.cholesky(x(2, 2, dtype="int64"))
    T.linalg.cholesky(x(2, 2, dtype="float16"))
    T.cholesky_solve(x(2), T.eye(2))
    T.cholesky_solve(x(3, 1), T.eye(2))
    T.cholesky_solve(x(2, 1), T.eye(2).double())
    T.cholesky_inverse(T.zeros(2, 2))
    T.linalg.qr(x(3, 2), mode="x")
    T.linalg.qr(x(3))
    T.linalg.householder_product(x(3, 2), x(3))
    T.linalg.householder_product(x(2, 3), x(2))
    T.linalg.householder_product(x(3, 2), x(2, 1))
    T.linalg.householder_product(x(3, 2), x(2, dtype="float64"))
    T.ormqr(x(3, 3), x(2), x(3, 2))
    T.ormqr(x(3, 2), x(2), x(2, 2))
    T.ormqr(x(2, 2), x(2), x(2))
    T.ormqr(x(2, 2), x(1, 2), x(1, 2, 2))
    T.linalg.svd(x(2, 2), driver="gesvd")
    T.linalg.svd(T.full((2, 2), nan))
    T.linalg.svdvals(x(2))
    T.svd(x(2))
    T.linalg.eigh(x(2, 2), UPLO="x")
    T.linalg.eigh(x(2, 2, dtype="int64"))
    T.linalg.eig(T.full((2, 2), nan))
    T.linalg.eig(x(2, 2, dtype="int64"))
    T.linalg.eigvals(x(2, 3))
    T.linalg.lu_factor(T.zeros(2, 2))
    T.linalg.lu_factor_ex(T.zeros(3, 2, 2), check_errors=True)
    T.linalg.lu_factor(x(2, 2), pivot=False)
    T.linalg.lu(x(2))
    T.lu_unpack(x(2, 2), x(2))
    T.lu_unpack(x(2, 2), x.of([3, 3], "int32"))
    T.linalg.lu_solve(x(2, 2), x(2), x(2, 1))
    T.linalg.lu_solve(x(2, 2), x.of([1, 2, 2], "int32"), x(2, 1))
    T.linalg.lu_solve(x(2, 2), x.of([1, 2], "int32"), x(3, 1))
    T.linalg.lu_solve(x(2, 2), x.of([1, 3], "int32"), x(2, 1))
    T.linalg.lu_solve(x(3, 2, 2), x.of([1, 2], "int32"), x(2, 1))
    T.linalg.ldl_factor(x(2, 3))
    T.linalg.ldl_solve(x(2, 2), x(2), x(2, 1))
    T.linalg.ldl_solve(x(1, 1, dtype="float16"), x.of([1], "int32"), x(1, 0, dtype="float16"))
    T.linalg.lstsq(x(3, 2), x(2, 1))
    T.linalg.lstsq(x(3, 2), x(3, 1), driver="x")
    T.linalg.lstsq(x(2, 3, 2), x(3))
    T.linalg.lstsq(x(2, 3, 2), x(3, 1))
    T.linalg.lstsq(x(3, 2), x(3, 1, dtype="float64"))
    T.linalg.pinv(x(2))
    T.linalg.pinv(x(2, 2), rtol=x.of(1j, "complex64"))
    T.linalg.pinv(x(2, 3), hermitian=True)
    T.linalg.matrix_rank(x(2))
    T.linalg.matrix_rank(x(2, 2), tol=x.of(1j, "complex64"))
    T.linalg.cond(x(2, 2), 3)
    T.linalg.cond(x(2, 2), "x")
    T.linalg.cond(x(2, 3), 1)
    T.linalg.qr(x(2, 2), out=(T.empty(0, dtype=T.float64), T.empty(0)))
    T.linalg.svdvals(x(2, 2), out=T.empty(0, dtype=T.float64))
""")

REMOVED = ["lstsq(x, x)", "symeig(x)", "eig(x)", "solve(x, x)", "matrix_rank(x)"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", RESULTS)
def test_results_like_pytorch(text: str) -> None:
    """Values, and the strides of what they lie in: LAPACK's are column by column."""
    check(expression(text), rtol=1e-4, atol=1e-5)
    if "out=" in text:
        return
    code = compile(
        "[tuple(t.stride()) for t in (lambda r: r if isinstance(r, (tuple, list)) else "
        f"(r,))({text})]",
        "<case>",
        "eval",
    )
    check(lambda T, x: eval(code, {"T": T, "x": x}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", ERRORS)
def test_errors_like_pytorch(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("text", REMOVED)
def test_removed_functions_say_so(text: str) -> None:
    def call(lib: Any) -> Any:
        return eval(f"lib.{text}", {"lib": lib, "x": lib.ones(2, 2)})

    with pytest.raises(RuntimeError, match="now removed"):
        call(internals)
    assert_same_outcome(lambda: call(internals), call, message=False)


@pytest.mark.filterwarnings("ignore")
def test_compiled() -> None:
    """Script and trace give what is computed directly; `lu` is two functions, by a flag."""
    a = random(3, 3)

    def decompose(a: internals.Tensor) -> list[internals.Tensor]:
        LU, pivots = internals.lu(a)
        same, rows, info = internals.lu(a, get_infos=True)
        Q, R = internals.linalg.qr(a)
        values = internals.linalg.eigvalsh(a)
        nearest = internals.linalg.lstsq(a, a, driver="gelsd").solution
        return [
            LU,
            same,
            R,
            values,
            nearest,
            internals.linalg.pinv(a),
            internals.linalg.cond(a, "nuc"),
        ]

    for compiled in (internals.jit.script(decompose), internals.jit.trace(decompose, (a,))):
        for x, y in zip(compiled(a), decompose(a)):
            close(x, y)


def test_older_names_say_so() -> None:
    with pytest.warns(UserWarning, match="torch.qr is deprecated in favor of torch.linalg.qr"):
        internals.qr(random(2, 2))
    with pytest.warns(UserWarning, match="torch.chain_matmul is deprecated") as said:
        internals.chain_matmul(random(2, 2))
    assert said[0].filename == __file__


def test_solving_in_real_numbers_warns_of_lost_imaginary_parts() -> None:
    B = internals.ones(2, 1, dtype=internals.complex128) * (1 + 2j)
    with pytest.warns(UserWarning, match="discards the imaginary part") as said:
        X = L.solve_triangular(internals.eye(2, dtype=internals.float64), B, upper=True)
    assert said[0].filename == __file__
    assert X.tolist() == [[1.0], [1.0]]


def test_the_error_of_a_matrix_that_has_no_decomposition() -> None:
    assert issubclass(LinAlgError, RuntimeError)
    with pytest.raises(
        LinAlgError,
        match=r"linalg.cholesky: \(Batch element 1\): .*minor of order 2 is not positive-definite",
    ):
        L.cholesky(internals.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]))
    with pytest.raises(RuntimeError, match="infs or NaNs"):
        L.eigvals(internals.full((2, 2), float("nan")))  # PyTorch can crash


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("sizes", [(8, 5), (2, 5, 8)])
def test_a_matrix_of_low_rank(sizes: tuple[int, ...], dtype: str) -> None:
    *batch, m, n = sizes
    a = random(*batch, m, 2, dtype=dtype) @ random(*batch, 2, n, dtype=dtype, seed=1)
    U, S, V = internals.svd_lowrank(a, q=3)
    assert (U.shape, S.shape, V.shape) == ((*batch, m, 3), (*batch, 3), (*batch, n, 3))
    close((U * S.unsqueeze(-2)) @ V.mH, a)
    close(S, L.svdvals(a)[..., :3])
    close(internals.svd_lowrank(a, q=3, M=a)[1], S * 0)
    close(internals.pca_lowrank(a)[1][..., :3], L.svdvals(a - a.mean(-2, True))[..., :3])


@pytest.mark.parametrize(
    "text",
    [
        "pca_lowrank(x(4, 3), q=4)",
        "pca_lowrank(x(4, 3), niter=-1)",
        "svd_lowrank(x(4, 3, dtype='int64'))",
    ],
)
def test_low_rank_refuses_like_pytorch(text: str) -> None:
    check(expression(f"T.{text}"))


def test_return_types_are_there_before_they_are_returned() -> None:
    """Unpickling a result asks for its type by name."""

    def types_and_fields(torch: Any) -> Any:
        types = vars(torch.return_types)
        wanted = [
            n
            for n in types
            if n.startswith(("linalg_", "lu_", "svd", "qr", "geqrf")) and not n.endswith("_out")
        ]
        return {name: types[name].__match_args__ for name in wanted}

    for name, fields in answer(types_and_fields).items():
        assert getattr(internals.return_types, name)._fields == fields, name
    assert not hasattr(internals.return_types, "linalg_nothing")


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize(
    "pivots",
    [[0, 2, 3], [1, 2, 4], [-4, -4, 3], [-1, 2, 3], [1, 2, -3], [-1, -1, -1], [1, 1 << 30, 3]],
    ids=str,
)
def test_pivots_that_would_lead_out_of_the_matrix_are_refused(
    pivots: list[int], hermitian: bool
) -> None:
    """PyTorch hands them to LAPACK, which believes them."""
    a, b = (
        internals.eye(3, dtype=internals.complex128),
        internals.ones(3, 1, dtype=internals.complex128),
    )
    given = internals.tensor(pivots, dtype=internals.int32)
    with pytest.raises(RuntimeError, match="ldl_solve: pivots have to be rows from 1 to 3"):
        internals.linalg.ldl_solve(a, given, b, hermitian=hermitian)
    right = internals.tensor([1, 2, 3], dtype=internals.int32)
    assert internals.linalg.ldl_solve(a, right, b, hermitian=hermitian).tolist() == b.tolist()
