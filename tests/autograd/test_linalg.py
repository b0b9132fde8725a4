"""Gradients of matrix products, of the singular value decomposition, and how they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals._generated import ops
from tests.autograd.gradients_beside import check_gradients, expression
from tests.core.large_results import few_numbers
from tests.side_by_side import cases
from tests.support import assert_same_outcome, examples, to_numpy

PRODUCTS = cases("""
    T.mm(x(2, 3), x(3, 4))
    T.mm(x.strided(2, 3), x.strided(3, 4))
    T.mm(x(3, 2).t(), x(4, 3).t())
    T.mm(x(0, 3), x(3, 4))
    T.mm(x(2, 0), x(0, 4))
    T.mm(x(1, 1), x(1, 1))
    x(2, 3) @ x(3)
    x(3) @ x(3)
    x(2, 2, 3) @ x(3, 4)
    x(2, 1, 2, 3) @ x(5, 3, 4)
    x(2, 3) @ x(5, 3, 4)
    T.bmm(x(5, 2, 3), x(5, 3, 4))
    T.bmm(x.strided(5, 2, 3), x(5, 4, 3).transpose(1, 2))
    T.bmm(x(0, 2, 3), x(0, 3, 4))
    T.mv(x(2, 3), x(3))
    T.mv(x(3, 2).t(), x(6)[::2])
    T.mv(x(2, 0), x(0))
    T.dot(x(3), x(3))
    T.dot(x(0), x(0))
    T.outer(x(2), x(3))
    T.addmm(x(2, 4), x(2, 3), x(3, 4))
    T.addmm(x(4), x(2, 3), x(3, 4), beta=2, alpha=0.5)
    T.addmm(x(2, 1), x.strided(2, 3), x(4, 3).t())
    T.addmm(x(), x(2, 3), x(3, 4), beta=0)
    T.addmv(x(2), x(2, 3), x(3))
    T.addmv(x(), x(2, 3), x(3), beta=3, alpha=2)
    T.baddbmm(x(5, 2, 4), x(5, 2, 3), x(5, 3, 4))
    T.baddbmm(x(4), x(5, 2, 3), x(5, 3, 4), beta=0.5, alpha=3)
    T.addbmm(x(2, 4), x(5, 2, 3), x(5, 3, 4))
    T.addbmm(x(4), x(5, 2, 3), x(5, 3, 4), beta=2, alpha=3)
    x(2, 4).clone().addmm_(x(2, 3), x(3, 4))
    x(5, 2, 4).clone().baddbmm_(x(5, 2, 3), x(5, 3, 4), alpha=2)
    F.linear(x(5, 3), x(4, 3), x(4))
    F.linear(x(2, 5, 3), x(4, 3))
    F.linear(x(2, 5, 3), x(4, 3), x(4))
    F.linear(x.strided(2, 5, 3), x(4, 3), x(4))
    F.linear(x(3), x(4, 3), x(4))
""")

# Composites that arrange their views in another way than PyTorch's, or in-place.
ARRANGED = cases("""
    x(3) @ x(3, 4)
    F.linear(x(3), x(4, 3))
    T.einsum("ij,jk->ik", x(2, 3), x(3, 4))
    T.einsum("bij,bkj->bik", x(5, 2, 3), x(5, 4, 3))
    T.einsum("i,i", x(3), x(3))
    T.einsum("...ij->...ji", x(2, 3, 4))
""")


@pytest.mark.parametrize("text", PRODUCTS)
def test_like_pytorch(text: str) -> None:
    check_gradients(expression(text))


@pytest.mark.parametrize("text", ARRANGED)
def test_composites_like_pytorch(text: str) -> None:
    check_gradients(expression(text), names=False)


@examples(20)
@given(st.data())
def test_any_layout_of_the_factors(data: st.DataObject) -> None:
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    a = data.draw(
        st.sampled_from(
            [f"x({n}, {k})", f"x.strided({n}, {k})", f"x({k}, {n}).t()", f"x({n}, {2 * k})[:, ::2]"]
        )
    )
    b = data.draw(
        st.sampled_from(
            [
                f"x({k}, {m})",
                f"x.strided({k}, {m})",
                f"x({m}, {k}).t()",
                f"x({k}).unsqueeze(1).expand({k}, {m})",
            ]
        )
    )
    check_gradients(expression(f"{a} @ {b}"))


@pytest.mark.parametrize("make", ["ones(4, 3)", "ones(3, 4).t()"])
def test_a_weight_finds_its_gradient_laid_out_as_itself(make: str) -> None:
    weight = eval(f"internals.{make}", {"internals": internals}).detach().requires_grad_()
    (grad,) = internals.autograd.grad(
        internals.nn.functional.linear(internals.ones(2, 3), weight).sum(), weight
    )
    assert grad.stride() == weight.stride()


def test_a_product_saves_only_what_is_needed() -> None:
    """The gradient of A in A @ B needs B, and only B."""
    a, b = internals.ones(2, 3, requires_grad=True), internals.ones(3, 4)
    node = (a @ b).grad_fn
    assert node._saved_mat2 is not None
    assert node._saved_self is None


SVD = ["(3, 3)", "(4, 2)", "(2, 4)", "(2, 3, 4)", "(5, 4, 3)", "(1, 1)"]


@pytest.mark.parametrize("sizes", SVD)
@pytest.mark.parametrize("full", [False, True])
def test_svd_like_pytorch(sizes: str, full: bool) -> None:
    """The signs of singular vectors are open, so a function that does not depend on them is
    differentiated, twice.
    """

    def case(T: Any, x: Any) -> Any:
        a = eval(f"x{sizes}", {"x": x})
        U, S, Vh = (
            ops._linalg_svd(a, full, True, None) if T is internals else T._linalg_svd(a, full)
        )
        k = S.shape[-1]
        U, Vh = U[..., :k], Vh[..., :k, :]
        return (
            U @ (S.exp().unsqueeze(-1) * Vh),
            (U * S.unsqueeze(-2).sin()) @ U.mT,
            (Vh.mT * S.unsqueeze(-2).cos()) @ Vh,
        )

    check_gradients(case, rtol=1e-6, atol=1e-6)


def test_svd_gives_back_its_matrix() -> None:
    a = internals.tensor(np.random.default_rng(0).standard_normal((2, 3, 4)))
    U, S, Vh = ops._linalg_svd(a, False, True, None)
    np.testing.assert_allclose(to_numpy(U @ (S.unsqueeze(-1) * Vh)), to_numpy(a), atol=1e-12)
    np.testing.assert_allclose(
        to_numpy(U.mT @ U), np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12
    )
    alone = ops._linalg_svd(a, False, False, None)
    assert alone[0].shape == (0,) and alone[2].shape == (0,)
    np.testing.assert_allclose(to_numpy(alone[1]), to_numpy(S), atol=1e-12)


def test_svd_without_vectors_has_no_gradient() -> None:
    a = internals.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="compute_uv=False"):
        ops._linalg_svd(a, False, False, None)[1].sum().backward()


def test_gradients_of_a_layer_like_pytorch_in_single_precision() -> None:
    stream = np.random.default_rng(0)
    arrays = [stream.standard_normal(s).astype("float32") for s in [(64, 784), (128, 784), (128,)]]

    def gradients(T: Any) -> Any:
        x, w, b = (T.from_numpy(a).clone().requires_grad_() for a in arrays)
        T.nn.functional.linear(x, w, b).relu().sum().backward()
        return few_numbers(T, [x.grad, w.grad, b.grad])

    assert_same_outcome(
        lambda: gradients(internals), gradients, rtol=1e-4, atol=1e-4, family="autograd"
    )
