"""The short ways of the kernels give what the long ways give, and where they are not meant for a
call it goes the long way.
"""

from __future__ import annotations

import warnings
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import internals
from internals.nn import functional as F


def numbers(*shape: int) -> Any:
    values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    return internals.tensor(values)


def floats(values: Any) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4,)),
        ((4,), (3, 4)),
        ((3, 1), (3, 4)),
        ((), (3, 4)),
        ((3, 4), ()),
        ((2, 1, 4), (3, 4)),
    ],
    ids=str,
)
def test_a_smaller_operand_is_repeated(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = numbers(*a), numbers(*b)
    assert np.array_equal((x - y).numpy(), x.numpy() - y.numpy())
    assert (x - y).is_contiguous()


def test_an_expanded_number_is_an_operand_too() -> None:
    x, one = numbers(3, 4), internals.tensor(2.0).expand(3, 4)
    assert (x * one).stride() == (one * x).stride() == (4, 1)
    assert (one * x).equal(x * 2)


def test_in_place_on_memory_that_the_other_operand_shares() -> None:
    x = numbers(4, 4)
    want = x.numpy() + x.numpy()[:1]
    assert np.allclose(x.clone().add_(x[0]).numpy(), want)
    rows = x.numpy().copy()
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single",
    ):
        x.view(16)[:8].add_(x.view(16)[4:12])
    assert np.array_equal(x.numpy(), rows)
    y = numbers(4)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        y.add_(x)


def test_a_scaled_operand_that_is_out_of_range() -> None:
    x = numbers(3)
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        x.add_(numbers(3), alpha=1e39)
    assert x.add_(internals.zeros(3), alpha=-0.5).equal(numbers(3))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    "dim", [None, (0,), (1,), (2,), (0, 1), (1, 2), (-1, 0), (0, 1, 2)], ids=str
)
@pytest.mark.parametrize("shape", [(3, 4, 5), (130, 2, 3), (2, 3, 300)], ids=str)
def test_sums_and_means(shape: tuple[int, ...], dim: tuple[int, ...] | None, keepdim: bool) -> None:
    x = numbers(*shape)
    for op in ("sum", "mean"):
        ours = getattr(x, op)(dim, keepdim)
        theirs = getattr(x.numpy().astype(float), op)(dim, keepdims=keepdim)
        assert tuple(ours.shape) == theirs.shape
        assert ours.is_contiguous() and np.allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-5)


def test_infinities_and_nan_go_through_in_silence() -> None:
    x = internals.tensor([[inf, 1.0, nan], [-inf, 2.0, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(x.sum(0).numpy(), floats([nan, 3, nan]), equal_nan=True)
        assert np.isnan(x.sum().item())
        assert np.array_equal((x @ x.t()).numpy(), floats([[nan, nan], [nan, inf]]), equal_nan=True)
        assert np.array_equal(x.relu().numpy(), floats([[inf, 1, nan], [0, 2, 3]]), equal_nan=True)
        assert F.nll_loss(x, internals.tensor([0, 0])).isnan().item()


@pytest.mark.parametrize(
    "make",
    [lambda t: t, lambda t: t.t().contiguous().t(), lambda t: t[::2, ::2]],
    ids=["rows", "columns", "gaps"],
)
def test_products_of_every_layout(make: Any) -> None:
    a, b = make(numbers(6, 8)), make(numbers(8, 6))
    for row in (
        numbers(b.shape[1]),
        numbers(a.shape[0], b.shape[1]),
        numbers(1),
        numbers(a.shape[0], 1),
    ):
        for beta, alpha in ((1, 1), (0, 1), (1, 2.0)):
            want = beta * row.numpy() + alpha * (a.numpy() @ b.numpy())
            assert np.allclose(
                internals.addmm(row, a, b, beta=beta, alpha=alpha).numpy(), want, atol=1e-5
            )
    assert np.allclose(a.mm(b).numpy(), a.numpy() @ b.numpy(), atol=1e-5)


def test_targets_that_are_no_class_or_do_not_count() -> None:
    logs = numbers(4, 3).log_softmax(1).requires_grad_()
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.nll_loss(logs, internals.tensor([0, 1, 2, 3]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        F.cross_entropy(logs, internals.tensor([0, 1, 2, -1]))
    target = internals.tensor([0, 1, 2, 1])
    F.nll_loss(logs, target, ignore_index=1).backward()
    assert np.allclose(
        logs.grad.numpy(), floats([[-0.5, 0, 0], [0, 0, 0], [0, 0, -0.5], [0, 0, 0]])
    )


def test_a_view_made_again_is_as_strict_as_the_first() -> None:
    x = numbers(4, 3)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="is invalid for input of size 12"):
            x.view(5)
        with pytest.raises(IndexError, match="Dimension out of range"):
            x.transpose(0, 2)
        with pytest.raises(RuntimeError, match="must match the existing size"):
            x.expand(4, 4)
    assert x.t().t().data_ptr() == x.data_ptr() and x.t()._base is x
    x.t()[0, 1] = 7.0
    assert x[1, 0].item() == 7.0 and x._version == 1
