"""Gradients of reading and writing by index: `x[...]`, `x[...] = y`, gather, scatter and their
relatives.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

import internals
from tests.answers import answer
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import examples, to_numpy

READING = cases("""
    x(3, 4)[1]
    x(3, 4)[-1, 2]
    x(3, 4)[1:, ::2]
    x(3, 4)[:]
    x(3, 4)[0:3]
    x(3, 4)[-3:, :9]
    x(3, 4)[:3, :]
    x(3, 4)[:, :]
    x(3, 4)[...]
    x(3, 4)[..., None, 0]
    x(3, 4)[None]
    x(3, 4)[True]
    x(3, 4)[[0, 2]]
    x(3, 4)[[0, 0, -1]]
    x(3, 4)[[0, 2], [1, 3]]
    x(3, 4)[[[0], [2]], [1, 3]]
    x(3, 4)[:, [1, 1, 0]]
    x(2, 3, 4)[[0, 1], :, [2, 2]]
    x(2, 3, 4)[1:, [0, 2], None]
    x(2, 3, 4)[..., [[0, 1], [2, 3]]]
    x.strided(2, 3, 4)[:, [0, 0], [1, 1]]
    x(3, 4)[x.mask(3, 4)]
    x(3, 4)[x.mask(3)]
    x(3, 4)[:, x.mask(4)]
    x(3, 4)[x.index(1)]
    x(3, 4)[x.index(1)[0]]
    x(3, 4)[[]]
    x(0, 4)[[]]
    x(3)[x.mask(3)][0:1]
    x(2, 3).masked_select(x.mask(2, 3))
    x(3, 1).masked_select(x.mask(3, 4))
    x(4).masked_select(x.mask(3, 1))
    x().masked_select(T.tensor(True))
    x().masked_select(T.tensor(False))
    x.strided(2, 3).masked_select(x.mask(3))
    x(3, 4).gather(1, x.index([0, 0], [1, 3], [2, 2]))
    x(3, 4).gather(-2, x.index([0, 2, 1, 1]))
    x(3).gather(0, x.index(2, 2, 2, 0))
    x().gather(0, T.tensor(0))
    x(3, 4).index_select(1, x.index(0, 3, 3))
    x(3, 4).index_select(-2, x.index(2, 0))
    x(3, 4).index_select(0, T.tensor(1))
    x().index_select(0, x.index(0))
    x.strided(3, 4).index_select(1, x.index(0, 3, 3))
    x(2, 3).nonzero()
""")

WRITING = cases("""
    put(x(3, 4), 1, x(4))
    put(x(3, 4), 1, 2.0)
    put(x(3, 4), s_[1:, ::2], x(2, 2))
    put(x(3, 4), s_[1:, ::2], x(2))
    put(x(3, 4), slice(None), x(4))
    put(x(3, 4), [0, 2], x(2, 4))
    put(x(3, 4), [0, 2], x(4))
    put(x(3, 4), [0, 2], x(1))
    put(x(3, 4), [0, 2], 1.5)
    put(x(3, 4), ([0, 2], [1, 3]), x(2))
    put(x(3, 4), s_[:, [1, 3]], x(3, 1))
    put(x(3, 4), x.mask(3, 4), 0.0)
    put(x(3, 4), x.mask(3), x(4))
    put(x(3, 4), x.mask(3, 4), x())
    put(x.strided(3, 4), s_[:, [1, 3]], x.strided(3, 2))
    put(T.zeros(3, 4, dtype=T.float64), [0, 2], x(2, 4))
    put(x(2, 3, 4), s_[0, :, [1, 2]], x(3, 2))
    x(3, 4).index_put((x.index(0, 2),), x(2, 4))
    x(3, 4).index_put((x.index(0, 0),), x(2, 4), accumulate=True)
    x(3, 4).index_put((x.index(0, 2), x.index(1, 1)), x(), accumulate=True)
    x(3, 4).clone().index_put_((x.index(0, 0),), x(2, 4), accumulate=True)
    T._index_put_impl_(x(3, 4).clone(), (x.index(0, 2),), x(2, 4), False, False)
    x(3, 4).scatter(1, x.index([0, 1], [2, 3], [1, 0]), x(3, 2))
    x(3, 4).scatter(0, x.index([0, 1, 2, 0]), 2.5)
    x(3, 4).scatter(1, x.index([0, 1]), x(3, 4))
    x(3, 4).clone().scatter_(1, x.index([0, 1], [2, 3], [1, 0]), x(3, 2))
    x(3, 4).scatter_add(1, x.index([0, 0], [2, 3], [1, 1]), x(3, 2))
    x(3).scatter_add(-1, x.index(0, 0, 1, 1), x(4))
    T.zeros(3, 4, dtype=T.float64).scatter_add(0, x.index([0, 1, 0, 1]), x(1, 4))
    x(3, 4).index_add(0, x.index(0, 2), x(2, 4))
    x(3, 4).index_add(-1, x.index(0, 0, 1), x(3, 3), alpha=2.5)
    x().index_add(0, T.tensor([0]), x())
    x(3, 4).clone().index_add_(0, x.index(0, 2), x(2, 4))
    x(3, 4).masked_fill(x.mask(3, 4), 2.0)
    x(3, 4).masked_fill(x.mask(4), x())
""")


@pytest.mark.parametrize("text", READING + WRITING)
def test_like_pytorch(text: str) -> None:
    check_gradients(expression(text))


@pytest.mark.parametrize("text", ["put(x(3, 4), ..., x())", "put(x(3, 4), slice(None), 2.0)"])
def test_filling_like_pytorch(text: str) -> None:
    """The node has another number: PyTorch's `fill` is an operator too and comes first."""
    check_gradients(expression(text), names=False)


INDICES = st.one_of(
    st.integers(-3, 2),
    st.slices(3),
    st.none(),
    st.lists(st.integers(-3, 2), min_size=2, max_size=2),
    st.lists(st.booleans(), min_size=3, max_size=3),
)


@examples(40)
@given(st.lists(INDICES, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_any_index_expression(parts: list[Any], ellipsis: bool, strided: bool) -> None:
    """Reading and writing x[...] with integers, slices, None, lists and masks in any order."""
    index = (*parts, ...) if ellipsis else tuple(parts)
    make = ".strided" if strided else ""

    def read(T: Any, x: Any) -> Any:
        t = eval(f"x{make}(3, 3, 3)", {"x": x})
        return t[index]

    def write(T: Any, x: Any) -> Any:
        t, number = eval(f"x{make}(3, 3, 3)", {"x": x}), x()
        t = t * 1
        t[index] = number
        return t

    check_gradients(read, about=(make, index))
    check_gradients(write, names=False, about=(make, index, "written"))


@pytest.mark.parametrize("index", ["i", "i - 20", "i.view(4, 150)"])
def test_many_long_rows_are_added_up_like_few(index: str) -> None:
    """They take another way from a certain size on."""

    def case(T: Any, x: Any) -> Any:
        i = T.arange(600) * 7 % 13
        return x(20, 5, 6)[eval(index, {"i": i})], x(5, 20, 6).index_select(1, i)

    check_gradients(case)


def test_what_is_read_twice_gets_both_gradients() -> None:
    x = internals.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[[0, 2, 0]].sum().backward()
    assert to_numpy(x.grad).tolist() == [2, 0, 1]


MOVED = [
    "x.masked_select(x.bool())", "x[x.bool()]", "x[[2, 0, 1, 3]]", "x.flip(0)", "x.roll(1)",
    "x.view(2, 2).t()", "x[1:]", "x[::2]", "x.split(2)[1]", "x.repeat_interleave(1)",
]  # fmt: skip


@pytest.mark.parametrize("call", MOVED)
def test_a_gradient_that_is_only_moved_keeps_the_signs_of_its_zeros(call: str) -> None:
    def signs(torch: Any) -> list[float]:
        x = torch.ones(4, requires_grad=True)
        y = eval(call, {"x": x})
        y.backward(torch.full(y.shape, -0.0))
        return [math.copysign(1, number) for number in x.grad.tolist()]

    assert signs(internals) == answer(signs)


def test_what_is_written_over_has_no_gradient() -> None:
    x, y = internals.ones(3, requires_grad=True), internals.tensor([5.0, 7.0], requires_grad=True)
    z = x * 2
    z[[0, 2]] = y
    (z * internals.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert to_numpy(x.grad).tolist() == [0, 20, 0]
    assert to_numpy(y.grad).tolist() == [1, 100]


@pytest.mark.parametrize("value", [2.0, internals.ones(2, requires_grad=True)])
def test_scatter_with_reduce_has_no_derivative(value: Any) -> None:
    x = internals.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::scatter is not implemented"):
        x.scatter(0, internals.tensor([0, 1]), value, reduce="add").sum().backward()


def test_a_source_larger_than_the_index_is_refused() -> None:
    """As in PyTorch, whose `gather` gives a gradient of the shape of the index."""
    src = internals.ones(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        internals.zeros(3, 4).scatter(1, internals.tensor([[0], [1], [2]]), src).sum().backward()


def test_sparse_gradients_are_refused() -> None:
    x = internals.ones(3, requires_grad=True)
    with pytest.raises(NotImplementedError, match="sparse_grad"):
        x.gather(0, internals.tensor([0, 1]), sparse_grad=True).sum().backward()
