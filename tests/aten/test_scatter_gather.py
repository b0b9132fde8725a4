"""gather, scatter, index_select, index_add, masked_select, nonzero: against real PyTorch where it
is installed, and numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as T
from internals.core.tensor_impl import array, from_array
from tests.answers import answer
from tests.aten.view_support import assert_same_effect, assert_same_value, description, table
from tests.support import DTYPES, examples, to_torch

GATHER = table("""
    x.gather(1, T.zeros(2, 1, 4, dtype=T.int64))
    x.gather(1, T.zeros(2, 5, 4, dtype=T.int64))
    x.gather(2, T.tensor([[[3, 0]], [[1, 1]]]))
    x.gather(-1, T.tensor([[[3, 0]], [[1, 1]]], dtype=T.int32))
    x.gather(1, T.zeros(3, 1, 4, dtype=T.int64))
    x.gather(1, T.zeros(1, 1, dtype=T.int64))
    x.gather(1, T.full((1, 1, 1), 3))
    x.gather(1, T.full((1, 1, 1), -1))
    x.gather(3, T.zeros(1, 1, 1, dtype=T.int64))
    x.gather(1, T.zeros(1, 1, 1))
    x.gather(1, T.zeros(0, dtype=T.int64))
    x.gather(dim=0, index=T.zeros(1, 2, 2, dtype=T.int64))
    T.tensor(3.).gather(0, T.tensor(0))
    T.tensor(3.).gather(0, T.tensor([0, 0]))
    T.tensor([3.]).gather(0, T.tensor(0))
    T.tensor(3.).gather(0, T.tensor(1))
    T.zeros(0, 3).gather(0, T.zeros(1, 3, dtype=T.int64))
    T.zeros(0, 3).gather(0, T.zeros(0, 3, dtype=T.int64))
    T.gather(x, 1, T.zeros(2, 1, 4, dtype=T.int64), out=T.zeros(3))
    T.gather(x, 1, T.zeros(2, 1, 4, dtype=T.int64), out=T.zeros(2, 1, 4, dtype=T.float64))
    T.ones(3, 2).t().gather(0, T.tensor([[0, 1]]))
""")

SCATTER = table("""
    T.zeros(2, 3).scatter(1, T.tensor([[0, 2]]), T.tensor([[5., 6.]]))
    T.zeros(2, 3).scatter(1, T.tensor([[0, 2], [1, 1]]), T.tensor([[5., 6.], [7., 8.]]))
    T.zeros(2, 3).scatter(0, T.tensor([[1, 0, 1]]), T.tensor([[5., 6., 7.]]))
    T.zeros(2, 3).scatter(1, T.tensor([[0, 2]]), 7)
    T.zeros(2, 3).scatter(1, T.tensor([[0, 2]]), 7.5, reduce="add")
    T.ones(2, 3).scatter(1, T.tensor([[0, 0]]), 3, reduce="multiply")
    T.ones(2, 3).scatter(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]), reduce="multiply")
    T.ones(2, 3).scatter(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]), reduce="add")
    T.ones(2, 3).scatter(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]), reduce="mean")
    T.ones(2, 3).scatter(1, T.tensor([[0, 3]]), T.tensor([[5., 6.]]))
    T.ones(2, 3).scatter(1, T.tensor([[0, -1]]), T.tensor([[5., 6.]]))
    T.ones(2, 3).scatter(1, T.tensor([[0, 1]]), T.tensor([[5.]]))
    T.ones(2, 3).scatter(1, T.tensor([[0, 1], [0, 1], [0, 1]]), T.ones(3, 2))
    T.ones(2, 3).scatter(1, T.tensor([[0, 1], [0, 1], [0, 1]]), 2)
    T.ones(2, 3).scatter(1, T.tensor([0, 1]), T.ones(3, 2))
    T.ones(2, 3).scatter(1, T.tensor([[0, 1]]), T.ones(1, 2, dtype=T.float64))
    T.ones(2, 3).scatter(1, T.tensor([[0., 1]]), T.ones(1, 2))
    T.ones(2, 3).scatter(1, T.tensor([[0, 1]], dtype=T.int32), T.zeros(1, 2))
    T.ones(2, 3).scatter(1, T.zeros(0, dtype=T.int64), T.ones(1, 2))
    T.ones(2, 3).scatter(1, T.zeros(0, dtype=T.int64), 4)
    T.ones(2, 3).scatter(1, T.tensor([[0, 1]]), T.tensor([[5., 6., 7.], [1, 2, 3]]))
    T.tensor(3.).scatter(0, T.tensor(0), T.tensor(4.))
    T.tensor(3.).scatter(0, T.tensor([0]), T.tensor([4.]))
    T.ones(2, 3, dtype=T.int64).scatter(1, T.tensor([[0, 1]]), 8.7)
    T.ones(2, 3, dtype=T.uint8).scatter(1, T.tensor([[0, 1]]), 300)
    T.ones(1, 3).expand(2, 3).scatter(1, T.tensor([[0, 1]]), 8)
    T.ones(3, 2).t().scatter(1, T.tensor([[0, 1]]), 8)
    T.ones(2, 3).scatter(dim=1, index=T.tensor([[0, 1]]), src=T.zeros(1, 2))
    T.scatter(T.ones(2, 3), 1, T.tensor([[0, 1]]), value=3)
    T.scatter(T.ones(2), 0, T.tensor([0]), T.ones(1), out=T.ones(2, dtype=T.float64))
    T.scatter(T.ones(2), 0, T.tensor([0]), T.zeros(1), out=T.ones(5))
    T.ones(2, 3).scatter_add(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]))
    T.scatter_add(T.ones(2, 3), 1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]))
    T.ones(2, 3, dtype=T.bool).scatter_add(1, T.tensor([[0, 0]]), T.tensor([[True, False]]))
    T.ones(3, 2).t().scatter_add(1, T.tensor([[0, 1]]), T.ones(1, 2))
    T.scatter_add(T.ones(2), 0, T.tensor([0]), T.ones(1), out=T.ones(2, dtype=T.float64))
""")

SCATTER_INPLACE = table("""
    x.scatter_(1, T.tensor([[0, 1]]), 8)
    x.scatter_(1, T.tensor([[0, 1]]), T.tensor(8.))
    x.scatter_(1, T.tensor([[0, 1]]), T.tensor([[5., 6.]]))
    x.scatter_(1, T.tensor([[0, 0]]), 2, reduce="add")
    x.scatter_(0, T.tensor([[0, 1, 0]]), x)
    x.scatter_add_(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]]))
    x.scatter_add_(1, T.tensor([[3, 0]]), T.tensor([[5., 6.]]))
    x.scatter_add_(1, T.tensor([[0, 0]]), T.tensor([[5., 6.]], dtype=T.float64))
    x.index_add_(1, T.tensor([0, 0]), T.ones(2, 2))
    x.index_add_(1, T.tensor([0, 0]), T.ones(2, 2), alpha=3)
    x.t().index_add_(0, T.tensor([2]), T.ones(1, 2))
""")

BY_SLICES = table("""
    x.index_select(1, T.tensor([0, 2]))
    x.index_select(-1, T.tensor([0, 2, 2], dtype=T.int32))
    x.index_select(1, T.tensor([0, 3]))
    x.index_select(1, T.tensor([-1]))
    x.index_select(0, T.tensor([2]))
    x.index_select(3, T.tensor([0]))
    x.index_select(1, T.tensor([[0]]))
    x.index_select(1, T.tensor(0))
    x.index_select(1, T.tensor([0.]))
    x.index_select(1, T.tensor([0], dtype=T.uint8))
    x.index_select(1, T.tensor([], dtype=T.int64))
    T.tensor(3.).index_select(0, T.tensor([0]))
    T.tensor(3.).index_select(0, T.tensor(0))
    T.tensor(3.).index_select(0, T.tensor([0, 0]))
    T.zeros(0, 3).index_select(0, T.tensor([0]))
    T.zeros(3, 0).index_select(0, T.tensor([0]))
    T.zeros(3, 0).index_select(0, T.tensor([7]))
    T.zeros(3).index_select(0, T.tensor([3]))
    T.zeros(2, 3).t().index_select(1, T.tensor([3]))
    T.zeros(2, 3).t().index_select(0, T.tensor([1]))
    T.index_select(x, 0, T.tensor([0]), out=T.zeros(1, 3, 4, dtype=T.float64))
    T.index_select(x, 0, T.tensor([0]), out=T.zeros(0))
    x.index_add(1, T.tensor([0, 0]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([0, 0]), T.ones(2, 2, 4), alpha=2)
    T.index_add(x, 1, T.tensor([0, 0]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([0, 0]), T.ones(2, 3, 4))
    x.index_add(1, T.tensor([0, 0]), T.ones(2, 2, 5))
    x.index_add(1, T.tensor([0, 3]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([0, -1]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([0., 0]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([[0, 0]]), T.ones(2, 2, 4))
    x.index_add(1, T.tensor([0, 0]), T.ones(2, 2, 4, dtype=T.float64))
    x.index_add(1, T.tensor(0), T.ones(2, 1, 4))
    x.index_add(1, T.tensor(0), T.ones(()))
    T.zeros(3).index_add(0, T.tensor([1, 1], dtype=T.int32), T.ones(2))
    T.zeros(3).index_add(0, T.tensor(1), T.tensor(5.))
    T.tensor(3.).index_add(0, T.tensor([0]), T.tensor([1.]))
    T.zeros(3, dtype=T.bool).index_add(0, T.tensor([1, 1]), T.tensor([True, True]))
    T.zeros(3, dtype=T.int64).index_add(0, T.tensor([1, 1]), T.tensor([1, 2]), alpha=1.5)
    T.zeros(3).index_add(3, T.tensor([1, 1]), T.tensor([1, 2]))
    T.zeros(3).index_add(0, T.tensor([1, 1, 1]), T.tensor([1., 2]))
    T.ones(3, 2).t().index_add(0, T.tensor([0]), T.ones(1, 3))
    T.index_add(T.ones(2), 0, T.tensor([0]), T.ones(1), out=T.ones(2, dtype=T.float64))
""")

BY_VALUES = table("""
    x.masked_select(x > 20)
    x.masked_select(T.tensor([True, False, True, False]))
    x.masked_select(T.tensor([True, False]))
    x.masked_select(T.tensor([1, 0, 1, 0]))
    x.masked_select(T.tensor([1, 0, 1, 0], dtype=T.uint8))
    x.permute(2, 0, 1).masked_select(x.permute(2, 0, 1) > 15)
    T.tensor(3.).masked_select(T.tensor(True))
    T.tensor(3.).masked_select(T.tensor([True, False, True]))
    T.masked_select(x, x > 20, out=T.zeros(1, dtype=T.float64))
    T.masked_select(x, x > 20, out=T.zeros(1))
    x.nonzero()
    x.nonzero(as_tuple=True)
    x.nonzero(as_tuple=False)
    T.nonzero(x, as_tuple=True)
    T.nonzero(x.permute(2, 0, 1))
    T.nonzero(x, out=T.zeros(1, dtype=T.int64))
    T.nonzero(x, out=T.zeros(1))
    T.tensor(3.).nonzero()
    T.tensor(0.).nonzero()
    T.tensor(3.).nonzero(as_tuple=True)
    T.tensor(0.).nonzero(as_tuple=True)
    T.zeros(2, 0).nonzero().shape
    T.nonzero(T.tensor([nan, 0, -0.0, 1j]))
    T.argwhere(T.tensor(3.))
    T.argwhere(T.tensor(0.))
    T.argwhere(x > 5)
    x.argwhere()
""")


@pytest.mark.parametrize("expression", GATHER + SCATTER + BY_SLICES + BY_VALUES)
def test_against_torch(expression: str) -> None:
    assert_same_value(expression)


@pytest.mark.parametrize("statement", SCATTER_INPLACE)
def test_in_place_against_torch(statement: str) -> None:
    assert_same_effect(statement, "x = T.ones(2, 3)")


def test_in_place_on_an_expanded_tensor_against_torch() -> None:
    for statement in (
        "x.scatter_(1, T.tensor([[0, 1]]), 8)",
        "x.index_add_(1, T.tensor([0]), T.ones(2, 1))",
    ):
        assert_same_effect(statement, "x = T.ones(1, 3).expand(2, 3)")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, int, Any, Any]:
    """A permuted tensor, a dimension, an index no larger than it elsewhere, and a source of at
    least the index's shape.
    """
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    order = draw(st.permutations(range(len(sizes))))
    d = draw(st.integers(0, len(sizes) - 1))
    numbers = np.arange(np.prod(sizes), dtype=np.float32).reshape([sizes[i] for i in order])
    x = from_array(numbers).permute(list(np.argsort(order)))
    shape = [
        draw(st.integers(1, 4)) if i == d else draw(st.integers(1, n)) for i, n in enumerate(sizes)
    ]
    count = int(np.prod(shape))
    index = np.array(
        draw(st.lists(st.integers(0, sizes[d] - 1), min_size=count, max_size=count)), np.int64
    ).reshape(shape)
    source = 100 + np.arange(np.prod([n + 1 for n in shape]), dtype=np.float32).reshape(
        [n + 1 for n in shape]
    )
    return x, d, index, source


def places(index: Any, d: int) -> Any:
    """For every element of the index where it points: the numpy key."""
    key = list(np.indices(index.shape))
    key[d] = index
    return tuple(key)


@given(cases())
@examples(80)
def test_gather_and_scatter_against_numpy(case: tuple[Any, int, Any, Any]) -> None:
    x, d, index, source = case
    i, key, used = from_array(index), places(index, d), source[tuple(slice(n) for n in index.shape)]
    np.testing.assert_array_equal(array(x.gather(d, i)), array(x)[key])
    for result, loop in [
        (x.scatter_add(d, i, from_array(source)), np.add),
        (x.scatter(d, i, 2.0, reduce="multiply"), np.multiply),
    ]:
        expected = array(x).copy()
        loop.at(expected, key, used if loop is np.add else np.float32(2))
        np.testing.assert_array_equal(array(result), expected)
    expected = array(x).copy()
    expected[key] = -1
    np.testing.assert_array_equal(array(x.scatter(d, i, -1)), expected)
    np.testing.assert_array_equal(array(x.clone().scatter_(d, i, -1)), expected)


@given(cases())
@examples(60)
def test_gather_and_scatter_like_torch(case: tuple[Any, int, Any, Any]) -> None:
    x, d, index, source = case
    ours = [x, from_array(index), from_array(source)]

    def results(x: Any, i: Any, s: Any) -> list[Any]:
        found = [
            x.gather(d, i),
            x.scatter_add(d, i, s),
            x.scatter(d, i, 5),
            x.clone().scatter_add_(d, i, s),
        ]
        return description(
            [*found, x.index_select(d, i.reshape(-1)), x.masked_select(x > 3), (x - 3).nonzero()]
        )

    about = description([*ours, d])
    theirs = answer(
        lambda torch: results(*(to_torch(t).clone() for t in ours)), about, family="views"
    )
    assert results(*ours) == theirs


@given(cases(), st.integers(-2, 2))
@examples(60)
def test_slices_against_numpy(case: tuple[Any, int, Any, Any], alpha: int) -> None:
    x, d, index, _ = case
    flat = index.reshape(-1)
    selected = array(x).take(flat, d)
    np.testing.assert_array_equal(array(x.index_select(d, from_array(flat))), selected)
    expected = array(x).copy()
    np.add.at(expected, (slice(None),) * d + (flat,), alpha * selected)
    np.testing.assert_array_equal(
        array(x.index_add(d, from_array(flat), from_array(selected), alpha=alpha)), expected
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_every_dtype_against_numpy(dtype: Any) -> None:
    a = np.array([[3, 0, 2], [1, 0, 1]]).astype(dtype.np)
    x, i = from_array(a), T.tensor([[2, 0, 0]])
    np.testing.assert_array_equal(array(x.gather(1, i)), a[:1].take([[2, 0, 0]]))
    np.testing.assert_array_equal(array(x.index_select(1, T.tensor([2, 1]))), a[:, [2, 1]])
    np.testing.assert_array_equal(
        array(x.masked_select(T.tensor([True, False, True]))), a[:, [0, 2]].ravel()
    )
    np.testing.assert_array_equal(array(x.nonzero()), np.argwhere(a))
    np.testing.assert_array_equal(array(T.argwhere(x)), np.argwhere(a))
    for ours, theirs in zip(x.nonzero(as_tuple=True), np.nonzero(a)):
        np.testing.assert_array_equal(array(ours), theirs)
    expected = a.copy()
    np.add.at(expected, (np.array([[0]]), np.array([[2, 0, 0]])), a[:1])
    np.testing.assert_array_equal(array(x.scatter_add(1, i, x)), expected)


def test_errors() -> None:
    x = T.zeros(2, 3)
    for call, error, message in [
        (
            lambda: x.gather(1, T.tensor([[3]])),
            RuntimeError,
            "index 3 is out of bounds for dimension 1 with size 3",
        ),
        (
            lambda: x.scatter(1, T.tensor([[0]]), T.ones(1, 1, dtype=T.int64)),
            RuntimeError,
            "self.dtype to be equal to src.dtype",
        ),
        (
            lambda: x.scatter(1, T.tensor([[0]]), 1, reduce="max"),
            RuntimeError,
            "reduce argument must be either add or multiply",
        ),
        (lambda: x.index_select(0, T.tensor([5])), IndexError, "index out of range in self"),
        (
            lambda: x.index_add(0, T.tensor([5]), T.ones(1, 3)),
            IndexError,
            "index out of range in self",
        ),
        (lambda: x.masked_select(T.ones(3)), RuntimeError, "expected BoolTensor for mask"),
    ]:
        with pytest.raises(error, match=message):
            call()
