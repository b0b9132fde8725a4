"""Gradients of reductions, scans, sorting, joining and moving elements: where they are, and what is
chosen where they are not.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import examples, to_numpy

REDUCTIONS = cases("""
    x(2, 3).sum()
    x(2, 3).sum(0)
    x(2, 3, 4).sum((0, -1))
    x(2, 3, 4).sum((-1, 0), keepdim=True)
    x.strided(2, 3).sum(-1, dtype=T.float64)
    x(2, 3, dtype="float32").sum(1, dtype=T.float64)
    x().sum()
    x().sum(0)
    x().sum(-1, keepdim=True)
    x(0, 3).sum(0)
    x(0).sum()
    x(2, 3).mean()
    x(2, 3).mean(1)
    x(2, 3, 4).mean((2, 0), keepdim=True)
    x(2, 3, dtype="float32").mean(dtype=T.float64)
    x(0, 3).mean(0)
    x().mean(0)
    x(2, 3).prod()
    x(2, 3).prod(1)
    x.strided(2, 3).prod(0, keepdim=True)
    x(2, 3, dtype="float32").prod(0, dtype=T.float64)
    x.of([2.0, 0.0, 3.0]).prod()
    x.of([2.0, 0.0, 3.0, 0.0]).prod()
    x.of([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [4.0, 5.0, 6.0]]).prod(1)
    x.of([0.0]).prod(0)
    x.coarse(4, 5).prod(-2)
    x().prod()
    x().prod(0)
    x(0).prod()
    x(3, 0).prod(0)
    x(3, 1).prod(1)
    x(2, 3).var()
    x(2, 3).var(0)
    x(2, 3).var(1, unbiased=False)
    x(2, 3, 4).var((0, 2), correction=2, keepdim=True)
    x(2, 3, 4).std((0, -1))
    x(2, 3).std()
    x(2, 3).std(1, correction=0)
    T.var_mean(x(2, 3), 1)
    T.var_mean(x(2, 3))
    T.var_mean(x(2, 3), (0, 1), correction=0, keepdim=True)[0]
    T.var_mean(x(2, 3), 0)[1]
    T.std_mean(x(2, 3), 1)
    T.std_mean(x(2, 3, 4), (1, 0), keepdim=True)[1]
    x(2, 3).amax(1)
    x(2, 3, 4).amin((0, -1))
    x(2, 3, 4).amax((0, -1), keepdim=True)
    x.coarse(3, 4).amax(1)
    x.coarse(3, 4).amin()
    x().amax()
    x(2, 3).max()
    x.coarse(3, 4).max()
    x.coarse(3, 4).min()
    x.of([1.0, np.nan, 2.0, np.nan]).max()
    x(2, 3).max(1)
    x(2, 3).max(-1, keepdim=True)
    x.coarse(4, 5).min(0)
    x.strided(2, 3).min(1)[0]
    x().max(0)
    x(3).max(0)
    T.max(x(2, 3), x(3))
    T.min(x.coarse(2, 3), x.coarse(2, 3))
    x(2, 3).logsumexp(1)
    x(2, 3, 4).logsumexp((0, 2), keepdim=True)
    x().logsumexp(0)
    x(2, 3).argmax(1)
    x(2, 3).any()
    x(2, 3).all(1)
""")

NORMS = cases("""
    x(2, 3).norm()
    x(2, 3).norm(2, 1)
    x(2, 3, 4).norm(2, (0, 2), True)
    x(2, 3).norm(1)
    x.coarse(2, 3).norm(1, 0)
    x(2, 3).norm(3)
    x(2, 3).norm(2.5, 1)
    x(2, 3).norm(1.5, 0)
    x(2, 3).norm(0.5)
    x(2, 3).norm(-1)
    x(2, 3).norm(0, 1)
    x(2, 3).norm(inf)
    x(2, 3).norm(-inf, 1)
    x.coarse(3, 4).norm(inf, 1)
    x.of([3.0, -3.0, 3.0, 1.0]).norm(inf)
    x().norm()
    x().norm(3)
    x(2, 3).norm("fro")
    x(2, 3, dtype="float32").norm(dtype=T.float64)
    T.norm(x(2, 3), p="nuc")
    T.nuclear_norm(x(3, 3))
    T.nuclear_norm(x(4, 2))
    T.nuclear_norm(x(2, 4), keepdim=True)
    T.nuclear_norm(x(2, 3, 4), (0, 2))
    T.nuclear_norm(x(4, 2, 3), (2, 0), keepdim=True)
""")

# No second derivative: PyTorch's formula divides 0 by 0 there.
FLAT = cases("""
    x.of([0.0, 0.0]).norm()
    x.of([[0.0, 0.0], [3.0, 4.0]]).norm(2, 1)
    x.of([0.0, 0.0]).norm(1)
    x.of([0.0, 0.0]).norm(3)
    x.of([0.0, 0.0]).norm(1.5)
    x.of([0.0, 0.0]).norm(inf)
    x.of([0.0, 0.0]).norm(0.5)
    x.of([2.0, 2.0]).std()
    x.of([[2.0, 2.0], [1.0, 3.0]]).std(1)
    T.std_mean(x.of([2.0, 2.0]))
    x.of([2.0]).std()
    x.of([2.0]).var()
    x.of([[2.0], [3.0]]).var(1)
    x.of([[2.0, 1.0], [3.0, 5.0]]).var(1, correction=3)
    x().var()
""")

MOVING = cases("""
    x(3).cumsum(0)
    x(2, 3).cumsum(-1)
    x(2, 3, dtype="float32").cumsum(0, dtype=T.float64)
    x().cumsum(0)
    x(0, 3).cumsum(1)
    x(2, 3).cumprod(1)
    x.strided(3, 4).cumprod(0)
    x.of([2.0, 0.0, 3.0, 4.0]).cumprod(0)
    x.of([0.0, 3.0, 0.0, 4.0, 5.0]).cumprod(0)
    x.of([0.0, 0.0]).cumprod(0)
    x.coarse(4, 5).cumprod(0)
    x.coarse(2, 3, 4).cumprod(1)
    x(2, 3, dtype="float32").cumprod(0, dtype=T.float64)
    x().cumprod(0)
    x(0).cumprod(0)
    x(3, 4).sort()
    x(3, 4).sort(0, descending=True)
    x.coarse(6).sort(stable=True)
    x().sort()
    x(3, 4).topk(2)
    x(3, 4).topk(2, 0, largest=False)
    x().topk(1)
    x(3, 4).gather(1, x(3, 4).argsort(1))
    T.cat([x(2, 3), x(4, 3)])
    T.cat([x(2, 3), x(2, 1), x.strided(2, 2)], -1)
    T.cat([x(2, 3), x(0), x(2, 3)], 1)
    T.cat([x(2, 3), x(2, 3, dtype="float32")])
    T.cat([x(2, 3), T.ones(1, 3)])
    T.stack([x(2, 3), x(2, 3)])
    T.stack([x(3), x(3), x(3)], -1)
    T.stack([x(), x(dtype="float32")])
    x(2, 3).flip(0, 1)
    x(2, 3).roll(1)
    x(3, 4).roll((1, -2), (0, 1))
    x(3, 4).roll((1, 2), (1, 1))
    x(2, 3).repeat(2, 3)
    x(2, 3).repeat(2, 1, 3)
    x(3).repeat(0, 2)
    x(1, 3).repeat(1, 1)
    x().repeat(3)
    x(2, 3).tile(2)
    x(2, 3).repeat_interleave(2)
    x(2, 3).repeat_interleave(2, 1)
    x(3, 2).repeat_interleave(x.index(2, 0, 1), 0)
    T.broadcast_tensors(x(2, 3), x(3))
    x(3, 4).tril()
    x(2, 3, 3).triu(1)
    x(3, 4).tril(-1)
""")


@pytest.mark.parametrize("text", REDUCTIONS + NORMS + MOVING)
def test_like_pytorch(text: str) -> None:
    check_gradients(expression(text))


@pytest.mark.parametrize("text", FLAT)
def test_where_there_is_no_derivative(text: str) -> None:
    check_gradients(expression(text), second=False)


OVER_DIMS = ["sum", "mean", "amax", "amin", "logsumexp", "var", "std"]


@examples(25)
@given(st.data())
def test_every_choice_of_dimensions(data: st.DataObject) -> None:
    """Over any dimensions, named from either end, kept or not, of contiguous and other tensors."""
    name = data.draw(st.sampled_from(OVER_DIMS))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, unique=True))
    dims = [d - len(sizes) if data.draw(st.booleans()) else d for d in chosen]
    keepdim, make = (
        data.draw(st.booleans()),
        data.draw(st.sampled_from(["", ".strided", ".coarse"])),
    )
    options = f"correction={data.draw(st.integers(-1, 0))}, " if name in ("var", "std") else ""
    second = not (name == "std")  # 0 / 0 where a slice is constant
    check_gradients(
        expression(f"T.{name}(x{make}(*{sizes}), {dims}, {options}keepdim={keepdim})"),
        second=second,
    )


@examples(15)
@given(st.data())
def test_running_and_whole_products_with_zeros(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dim = data.draw(st.integers(-len(sizes), len(sizes) - 1))
    name = data.draw(st.sampled_from(["prod", "cumprod"]))
    check_gradients(expression(f"x.coarse(*{sizes}).{name}({dim})"))


def test_equal_maxima_share_the_gradient() -> None:
    x = internals.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    (shared,) = internals.autograd.grad(x.amax(1).sum(), x)
    np.testing.assert_allclose(
        to_numpy(shared), [[0, 1 / 2, 1 / 2], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6
    )
    (chosen,) = internals.autograd.grad(x.max(1).values.sum(), x)
    assert to_numpy(chosen).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_an_empty_dim_means_all_dimensions_backward_too() -> None:
    """PyTorch's variance over `dim=[]` counts the degrees of freedom of one element there and gives
    infinities.
    """
    x = internals.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
    for over_all, over_none in (
        (x.var(), x.var([])),
        (x.logsumexp((0, 1)), x.logsumexp([])),
        (x.amax((0, 1)), x.amax([])),
    ):
        (a,), (b,) = internals.autograd.grad(over_all, x), internals.autograd.grad(over_none, x)
        assert to_numpy(a).tolist() == to_numpy(b).tolist()


def test_the_gradient_of_a_sum_is_a_view_of_one_number() -> None:
    x = internals.ones(3, 4, requires_grad=True)
    (grad,) = internals.autograd.grad(x.sum(), x)
    assert grad.stride() == (0, 0)


def test_a_running_product_with_zeros_can_be_differentiated_twice() -> None:
    """d(x0 x1)/dx0 is x1, also where x0 and x1 are 0; so the mixed second derivative is 1."""
    x = internals.zeros(2, requires_grad=True)
    (first,) = internals.autograd.grad(x.cumprod(0)[1], x, create_graph=True)
    (second,) = internals.autograd.grad(first[0], x)
    assert to_numpy(first).tolist() == [0, 0]
    assert to_numpy(second).tolist() == [0, 1]
