"""Norms, determinants, inverses, systems of equations and products, side by side with PyTorch, and
against numpy.

The random calls of tests/aten/test_op_fuzz.py cover the rest; here is what they do not reach:
vectors and batches on either side, empty matrices, what is refused and how, `out=`, strides, ties,
Python's signatures, scripts.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import internals
from internals import Tensor
from internals.aten.native.linalg.chains import cheapest
from tests.autograd.gradients_beside import check_gradients, expression as gradient_expression
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

VALUES = cases("""
    T.linalg.solve(x(2, 3, 3), x(3))
    T.linalg.solve(x(2, 3, 3), x(2, 3))
    T.linalg.solve(x(3, 3), x(2, 3, 4))
    T.linalg.solve(x(2, 1, 3, 3), x(4, 3, 2))
    T.linalg.solve(x(3, 3), x(2, 3), left=False)
    T.linalg.solve(x(2, 0, 0), x(2, 0, 3))
    T.linalg.solve(x(0, 3, 3), x(3, 2))
    T.linalg.solve_ex(T.ones(2, 2), T.ones(2, 1)).info
    T.linalg.solve_ex(x(3, 3), x(3)).result
    T.linalg.inv(x(2, 3, 3)).stride()
    T.linalg.solve(x(2, 3, 3), x(3, 2)).stride()
    T.linalg.solve(x(3, 3), x(2, 3), left=False).stride()
    T.linalg.solve_triangular(x(2, 3, 3), x(3, 2), upper=True).stride()
    T.linalg.solve_triangular(x(2, 3, 3), x(2, 3), upper=True, left=False).stride()
    T.linalg.matrix_power(x(2, 3, 3).mT, 0).stride()
    T.linalg.inv_ex(x.of([[1, 2], [2, 4]])).info
    T.linalg.inv_ex(T.eye(2).expand(3, 2, 2)).info
    T.linalg.inv(x(0, 0)), T.inverse(x(2, 0, 0))
    x(3, 3, dtype="complex64").inverse()
    T.det(x(0, 0)), x(2, 0, 0).det(), T.linalg.slogdet(x(0, 0))
    T.linalg.slogdet(T.zeros(2, 2)), T.linalg.det(T.zeros(2, 2))
    x(3, 3, dtype="complex128").slogdet()
    T.logdet(-T.eye(3)), T.logdet(2 * T.eye(3)), T.logdet(T.zeros(3, 3))
    T.linalg.slogdet(A=T.eye(2)).sign, T.slogdet(T.eye(2)).logabsdet
    T.linalg.solve_triangular(x(3, 3), x(3, 2), upper=False, unitriangular=True)
    T.linalg.solve_triangular(T.zeros(2, 2), x(2, 2), upper=True).isfinite()
    T.triangular_solve(x(2, 3, 1), x(3, 3), upper=False, transpose=True).cloned_coefficient
    T.triangular_solve(x(3, 2), x(3, 3), out=(x(0), x(0)))
    T.linalg.tensorinv(x(4, 2, 2), ind=1), T.linalg.tensorinv(x(2, 3, 6)).stride()
    T.linalg.tensorsolve(x(2, 3, 6), x(2, 3)), T.linalg.tensorsolve(x(2, 6, 3), x(2, 3), dims=(1,))
    T.linalg.matrix_power(x(3, 3), 5), T.matrix_power(x(2, 3, 3), 0), x(3, 3).matrix_power(-2)
    T.linalg.matrix_power(x(2, 2, dtype="int64"), 6)
    T.linalg.matrix_exp(x(2, 3, 3)), T.matrix_exp(x(0, 0)), x(1, 1).matrix_exp()
    T.linalg.matrix_exp(x.of([[nan, 1], [0, 1]])), T.linalg.matrix_exp(x(3, 3).mul(20))
    T.linalg.vander(x(2, 3)), T.linalg.vander(x(3, dtype="int32"), N=5), T.linalg.vander(x(), N=3)
    T.linalg.norm(x(2, 3, 4)), T.linalg.norm(x(3), 1), T.linalg.norm(x(3), 0.5),
        T.linalg.norm(x(2, 3), 1)
    T.linalg.norm(x(2, 3), -inf, keepdim=True), T.linalg.norm(x(2, 3), "nuc"),
        T.linalg.norm(x(2, 3), "fro")
    T.linalg.norm(x(2, 3, 4), 2, dim=(0, 2), keepdim=True), T.linalg.norm(x(2, 3, 4), 3, dim=1)
    T.linalg.norm(x(2, 3), 2, dtype=T.float64),
        T.linalg.norm(x(3, dtype="complex64"), dtype=T.complex128)
    T.linalg.norm(x(2, 3), ord=-2), T.linalg.matrix_norm(x(2, 3, 4), ord=inf, dim=(2, 0))
    T.linalg.matrix_norm(x(0, 3), 2), T.linalg.matrix_norm(x(3, 0), 1),
        T.linalg.matrix_norm(x(0, 3), inf, keepdim=True)
    T.linalg.matrix_norm(x(2, 0, 3), "nuc"), T.linalg.matrix_norm(x(0, 3, 3), -2)
    T.linalg.vector_norm(x(2, 3), ord=3, dim=-1), T.linalg.vector_norm(x(2, 3), out=x(0))
    T.norm(x(2, 3), "nuc", dim=(1, 0)), T.norm(x(2, 3), p="fro", dim=1),
        T.norm(x(2, 3, 2), p=3, dim=[0, 2], keepdim=True)
    T.norm(x(2, 3), "nuc", out=x(0)), T.norm(x(4, 2, 3), None, dim=(1, 2)),
        T.norm(x(4, 2), dtype=T.float64)
    T.frobenius_norm(x(2, 3), (0,)), T.nuclear_norm(x(4, 2, 3)),
        T.nuclear_norm(x(4, 2, 3), (0, 2), keepdim=True)
    T.norm_except_dim(x(2, 3, 4)), T.norm_except_dim(x(2, 3, 4), 1, 2)
    T.norm_except_dim(x(2, 3, 4), 2, 1), T.norm_except_dim(x(3), 2, -1)
    T.linalg.multi_dot([x(3), x(3, 4), x(4)]), T.linalg.multi_dot((x(2, 0), x(0, 4), x(4, 2)))
    T.linalg.multi_dot([x(9, 2), x(2, 8), x(8, 3), x(3, 7)], out=x(0)),
        T.chain_matmul(x(2, 3), x(3, 4), x(4, 5))
    T.chain_matmul(x(2, 3), out=x(0))
    T.tensordot(x(2, 3, 4), x(4, 3, 5), dims=([1, 2], [1, 0])), T.tensordot(x(2, 3), x(2, 3)),
        T.tensordot(x(2), x(3), 0)
    T.tensordot(x(2, 3), x(3, 2), T.tensor(1)), T.tensordot(x(2, 3), x(3, 2), T.tensor([[1], [0]]))
    T.tensordot(x(2, 3), x(3, 2), dims=1, out=x(0)), T.tensordot(x(2, 1), x(3, 2), dims=1)
    T.cross(x(2, 3), x(2, 3)), T.cross(x(3, 3), x(3, 3)), T.cross(x(3, 2), x(3, 1), dim=0)
    T.linalg.cross(x(1, 3, dtype="int32"), x(4, 3, dtype="int32")),
        x(3, dtype="float16").cross(x(3, dtype="float16"))
    T.linalg.vecdot(x(2, 3, dtype="complex64"), x(3, dtype="complex64")),
        T.linalg.vecdot(x(3), x(3))
    T.kron(x(2), x(2, 3)), T.kron(x(), x(2)), x(2, 2).kron(x(2, 2, dtype="int64")),
        T.kron(x(3, 2).t(), x(2, 2), out=x(0))
    T.inner(x(2, 3), x(4, 3)), T.inner(x(), x(2)), x(3).inner(x(3)), T.ger(x(2), x(3)),
        x(2).ger(x(3))
    T.addr(x(3), x(2), x(3), beta=2, alpha=0.5), T.addr(x(2, 3).fill_(nan), x(2), x(3), beta=0),
        x(2, 3).addr_(x(2), x(3))
    T.addr(x(2, 3, dtype="bool"), x(2, dtype="bool"), x(3, dtype="bool"), beta=0)
    T.trace(x(3, 2, dtype="uint8")), x(3, 4, dtype="float16").trace(), T.trace(x(0, 2))
    T.linalg.diagonal(x(2, 3, 4), offset=1), T.linalg.matmul(x(2, 3), x(3))
""")

ERRORS = cases("""
    T.linalg.inv(T.zeros(2, 2))
    T.linalg.inv(T.stack([T.eye(2), T.ones(2, 2)]))
    T.inverse(T.ones(2, 2))
    T.linalg.inv_ex(T.ones(2, 2), check_errors=True)
    T.linalg.inv(x(2, 3))
    T.linalg.inv(x(3))
    T.linalg.inv(x(2, 2, dtype="int64"))
    T.linalg.inv(x(2, 2, dtype="float16"))
    T.linalg.inv(x(2, 2), out=x(2, 2, dtype="float64"))
    T.linalg.inv_ex(x(2, 2), out=(x(2, 2), x(0, dtype="int64")))
    T.linalg.solve(T.ones(2, 2), x(2))
    T.linalg.solve(T.ones(3, 2, 2), x(2))
    T.linalg.solve_ex(T.ones(1, 2, 2), x(2), check_errors=True)
    T.linalg.solve(x(3, 3), x(4, 2))
    T.linalg.solve(x(3, 3), x(3, 2), left=False)
    T.linalg.solve(x(1, 1), x(1), left=False)
    T.linalg.solve(x(3, 3), x(3, 2, dtype="float64"))
    T.linalg.solve(x(3, 3, dtype="float16"), x(3, 2, dtype="float16"))
    T.linalg.solve(x(2, 3, 3), x(5, 3, 2))
    T.linalg.solve_triangular(x(3, 3), x(3), upper=True)
    T.linalg.solve_triangular(x(3, 3, dtype="int64"), x(3, 1, dtype="int64"), upper=True)
    T.linalg.solve_triangular(x(3, 3), x(3, 1))
    T.triangular_solve(x(3, 2), x(4, 4))
    T.triangular_solve(x(3), x(3, 3))
    T.det(x(2, 3))
    T.linalg.det(x(2, 2, dtype="float16"))
    T.linalg.det(x(2, 2, dtype="int64"))
    T.logdet(x(2))
    T.slogdet(x(2, 2, dtype="float16"))
    T.linalg.slogdet(x(2, 2), out=(x(0), x(0, dtype="float64")))
    T.linalg.tensorinv(x(2, 2, 4), ind=0)
    T.linalg.tensorinv(x(2, 2, 4), ind=1)
    T.linalg.tensorsolve(x(2, 4, 2), x(2, 3))
    T.linalg.matrix_power(x(2, 3), 2)
    T.linalg.matrix_power(x(2, 2, dtype="int64"), -1)
    T.linalg.matrix_exp(x(2, 2, dtype="int64"))
    T.linalg.vander(x(3), N=1)
    T.linalg.vander(x(3, dtype="bool"))
    T.linalg.norm(x(2, 3, 4), 2)
    T.linalg.norm(x(3), "fro")
    T.linalg.norm(x(2, 3), 3)
    T.linalg.norm(x(2, 3), "foo")
    T.linalg.norm(x(2, 3), 2, dim=(0, 1, 2))
    T.linalg.norm(x(2, 3), "nuc", dim=1)
    T.linalg.norm(x(2, 3, dtype="int64"))
    T.linalg.norm(x(2, 3, dtype="float16"), 2)
    T.linalg.norm(x(2, 3), 2, dtype=T.complex64)
    T.linalg.norm(x(2, 3), 2, dtype=T.float16)
    T.linalg.matrix_norm(x(3))
    T.linalg.matrix_norm(x(3, 3), dim=(0, -2))
    T.linalg.matrix_norm(x(3, 3), dim=(0, 5))
    T.linalg.matrix_norm(x(3, 3), 1j)
    T.linalg.matrix_norm(x(0, 3), -inf)
    T.norm(x(4, 2, 3), "nuc")
    T.norm(x(4, 2, 3), "fro", dim=(0, 1, 2))
    T.norm(x(4, 2), "a")
    T.linalg.multi_dot([x(2)])
    T.linalg.multi_dot([x(2, 3), x(3), x(4)])
    T.linalg.multi_dot([x(2, 3), x(2, 3)])
    T.linalg.multi_dot([x(2, 3), x(3, 4, dtype="float64"), x(4)])
    T.linalg.multi_dot([x(2, 3, 1), x(3, 4)])
    T.chain_matmul(x(2, 3), x(3))
    T.chain_matmul()
    T.tensordot(x(2, 3), x(2, 3), dims=1)
    T.tensordot(x(2, 3), x(2, 3), dims=([0, 1], [0]))
    T.tensordot(x(2, 3), x(2, 3), dims=-1)
    T.tensordot(x(2, 3), x(2, 3), dims=3)
    T.tensordot(x(2, 3), x(2, 3), dims="a")
    T.tensordot(x(2, 3), x(3, 2, dtype="float64"), dims=1)
    T.inner(x(2, 3), x(4, 2))
    T.cross(x(2, 4), x(2, 4))
    T.linalg.cross(x(3), x(2, 3))
    T.linalg.cross(x(2, 3), x(2, 3, dtype="float64"))
    T.linalg.cross(x(2, 4), x(2, 4))
    T.linalg.cross(x(2, 3, dtype="bool"), x(2, 3, dtype="bool"))
    T.linalg.vecdot(x(2, 3), x(3, dtype="float64"))
    T.linalg.vecdot(x(3, dtype="int64"), x(3, dtype="int64"))
    T.addr(x(2, 3), x(2, 1), x(3))
    T.addr(x(2, 3), x(2), x(3), beta=True)
    x(3).addr_(x(2), x(3))
    T.trace(x(3))
    T.trace(x(2, 2, dtype="bool"))
    T.linalg.diagonal(x(3))
""")

# Where PyTorch's error is in words of its own, or of another operator.
OTHER_WORDS = ("addr_", "out=", 'dtype="float16"), x(3', "upper=True)", "x(3, 1))")

GRADIENTS = cases("""
    T.linalg.inv(x(2, 3, 3))
    T.linalg.solve(x(3, 3), x(3))
    T.linalg.solve(x(3, 3).t(), x(2, 3, 2))
    T.linalg.solve(x(2, 3, 3), x(2, 3, 3), left=False)
    T.linalg.solve(x(3, 3, dtype="complex128"), x(3, 2, dtype="complex128"))
    T.linalg.solve_triangular(x(3, 3), x(2, 3, 2), upper=True)
    T.linalg.solve_triangular(x(3, 3), x(2, 3), upper=False, left=False, unitriangular=True)
    T.triangular_solve(x(3, 2), x(3, 3), transpose=True)
    T.linalg.det(x(2, 3, 3)), T.det(x(1, 1)), T.linalg.det(x(3, 3).t())
    T.linalg.slogdet(x(3, 3)), T.logdet(x(3, 3) @ T.eye(3))
    T.linalg.slogdet(x(3, 3, dtype="complex128"))
    T.linalg.det(x(3, 3, dtype="complex128"))
    T.linalg.matrix_exp(x(2, 3, 3)), T.linalg.matrix_power(x(3, 3), -3)
    T.linalg.norm(x(2, 3)), T.linalg.matrix_norm(x(2, 3), 2), T.linalg.matrix_norm(x(2, 3), "nuc")
    T.linalg.matrix_norm(x(2, 3), 1), T.linalg.matrix_norm(x(2, 3), -inf),
        T.frobenius_norm(x(2, 3), (0,))
    T.linalg.matrix_norm(x.of([[1, 1], [1, -1]]), 1),
        T.linalg.matrix_norm(x.of([[0, 0], [0, 0]]), inf)
    T.linalg.vector_norm(x.of([0, 0])), T.linalg.vector_norm(x.of([1, -1, 0]), inf),
        T.linalg.vector_norm(x.of([0, 2]), 1)
    T.linalg.multi_dot([x(3), x(3, 4), x(4, 2)]), T.linalg.multi_dot([x(2, 3), x(3, 2)])
    T.tensordot(x(2, 3, 4), x(4, 3), ([1, 2], [1, 0])), T.tensordot(x(4), x(4), 1)
    T.tensordot(x(2, 4), x(1, 2), ([0, 1], [1, 0]))
    T.kron(x(2), x(2, 3)), T.inner(x(2, 3), x(3)), T.linalg.cross(x(2, 3), x(1, 3)),
        T.trace(x(2, 3))
    T.linalg.vecdot(x(2, 3), x(3)), T.addr(x(3), x(2), x(3), beta=2, alpha=3),
        T.linalg.tensorinv(x(4, 2, 2), 1)
    T.linalg.vander(x(3))
""")


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    check(expression(case), rtol=2e-3 if "float16" in case else 2e-4, atol=2e-5)


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    check(expression(case), message=not any(words in case for words in OTHER_WORDS))


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients(case: str) -> None:
    check_gradients(gradient_expression(case))


def test_a_singular_matrix_is_an_error_of_its_own_type() -> None:
    with pytest.raises(
        internals.linalg.LinAlgError,
        match="linalg.inv: The diagonal element 2 is zero, the inversion",
    ):
        internals.linalg.inv(internals.ones(2, 2))
    assert issubclass(internals.linalg.LinAlgError, RuntimeError)


def test_the_determinant_of_a_singular_matrix_has_a_gradient() -> None:
    """Its cofactors. PyTorch finds them only when the gradient is to be differentiated again;
    otherwise it gives zeros.
    """
    a = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
        for i in range(3)
    ]
    batch = internals.tensor(np.stack([a, np.eye(3)])).requires_grad_()
    internals.linalg.det(batch).sum().backward()
    np.testing.assert_allclose(to_numpy(batch.grad), [cofactors, np.eye(3)], atol=1e-12)
    alone = internals.tensor(a).requires_grad_()
    (grad,) = internals.autograd.grad(internals.det(alone), alone, create_graph=True)
    np.testing.assert_allclose(to_numpy(grad), cofactors, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_against_numpy(dtype: str) -> None:
    x = ours()
    A, B = x(2, 4, 4, dtype=dtype), x(4, 3, dtype=dtype)
    a, b = to_numpy(A), to_numpy(B)
    loose: dict[str, Any] = (
        {"rtol": 1e-3, "atol": 1e-4}
        if dtype in ("float32", "complex64")
        else {"rtol": 1e-9, "atol": 1e-10}
    )
    assert_same(internals.linalg.inv(A), np.linalg.inv(a), **loose)
    assert_same(internals.linalg.solve(A, B), np.linalg.solve(a, b), **loose)
    assert_same(internals.linalg.det(A), np.linalg.det(a), **loose)
    assert_same(internals.linalg.slogdet(A), list(np.linalg.slogdet(a)), **loose)
    assert_same(internals.linalg.matrix_power(A, 3), np.linalg.matrix_power(a, 3), **loose)
    assert_same(internals.kron(A[0], B), np.kron(a[0], b), **loose)
    assert_same(
        internals.linalg.multi_dot([A[0], B, B.mT]), np.linalg.multi_dot([a[0], b, b.T]), **loose
    )
    assert_same(internals.tensordot(A, B, dims=1), np.tensordot(a, b, 1), **loose)
    for order in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        assert_same(
            internals.linalg.matrix_norm(A, order), np.linalg.norm(a, order, axis=(1, 2)), **loose
        )
    upper = internals.linalg.solve_triangular(A, B, upper=True)
    assert_same(
        internals.matmul(A.triu(), upper), np.broadcast_to(b, (2, 4, 3)), rtol=1e-2, atol=1e-2
    )


def test_the_exponential_adds_up() -> None:
    """exp(A) is the sum of A^n / n!, and exp(A) exp(-A) is 1."""
    A = internals.tensor(np.random.default_rng(0).standard_normal((3, 3)))
    a, term, total = to_numpy(A), np.eye(3), np.eye(3)
    for n in range(1, 40):
        term = term @ a / n
        total = total + term
    np.testing.assert_allclose(to_numpy(internals.linalg.matrix_exp(A)), total, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(A.matrix_exp() @ (-A).matrix_exp()), np.eye(3), atol=1e-12)


def test_the_cheapest_parentheses_are_found() -> None:
    """Against all ways to put them."""

    def cost(sizes: tuple[int, ...], split: dict[tuple[int, int], int], i: int, j: int) -> int:
        if i == j:
            return 0
        k = split[i, j]
        return (
            cost(sizes, split, i, k)
            + cost(sizes, split, k + 1, j)
            + sizes[i] * sizes[k + 1] * sizes[j + 1]
        )

    def best(sizes: tuple[int, ...], i: int, j: int) -> int:
        ways = (
            best(sizes, i, k) + best(sizes, k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1]
            for k in range(i, j)
        )
        return min(ways, default=0)

    for sizes in itertools.product([1, 5, 9], repeat=5):
        assert cost(sizes, cheapest(sizes), 0, 3) == best(sizes, 0, 3)


def norms(x: Tensor) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
    a = (
        internals.norm(x, dim=1),
        internals.norm(x, "nuc"),
        internals.norm(x, p="fro", dim=[0], keepdim=True),
    )
    b = (
        internals.norm(x, 3, 0),
        internals.norm(x, dtype=internals.float64),
        internals.linalg.norm(x, 2),
    )
    return a, b


def tensor_products(x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        internals.tensordot(x, x, n),
        internals.tensordot(x, x, ([0], [0])),
        internals.linalg.multi_dot([x, x, x]),
    )


def test_functions_of_python_in_scripts() -> None:
    x = ours()(3, 3)
    for found, expected in zip(internals.jit.script(norms)(x), norms(x)):
        assert_same(found, [to_numpy(e) for e in expected])
    scripted = internals.jit.script(tensor_products)
    for n in (0, 1, 2):
        assert_same(scripted(x, n), [to_numpy(e) for e in tensor_products(x, n)])
    with pytest.raises(internals.jit.Error, match="tensordot expects dims >= 0, but got dims=-1"):
        scripted(x, -1)
