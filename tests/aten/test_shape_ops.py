"""Putting tensors together and moving elements around: against real PyTorch where it is installed,
and against numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as T
from internals.core.tensor_impl import array, from_array
from tests.answers import answer
from tests.aten.view_support import assert_same_effect, assert_same_value, table
from tests.support import DTYPES, examples, to_torch

JOINING = table("""
    T.cat([x, x])
    T.cat([x, x], 1)
    T.cat((x, x), dim=-1)
    T.cat(T.zeros(2, 3).unbind())
    T.cat([])
    T.cat([T.zeros(2, 3), T.zeros(3, 3)], 1)
    T.cat([T.zeros(2, 3), T.zeros(3)], 0)
    T.cat([T.zeros(2, 3), T.zeros(2, 4, 1)])
    T.cat([T.zeros(2, 3), T.zeros(0)], 0)
    T.cat([T.zeros(0), T.zeros(2, 3)], 1)
    T.cat([T.zeros(0), T.zeros(0)], 0)
    T.cat([T.zeros(2, 3), T.zeros(0, 3)])
    T.cat([T.zeros(2, 3), T.zeros(0, 4)])
    T.cat([T.zeros(()), T.zeros(())], 0)
    T.cat([T.zeros(1), T.zeros(())], 0)
    T.cat([T.zeros(2, 3), T.zeros(2, 3)], 2)
    T.cat([T.zeros(2, 3), T.zeros(2, 3)], -3)
    T.cat(T.zeros(2, 3))
    T.cat([T.zeros(2, dtype=T.int32), T.zeros(2)])
    T.cat([T.zeros(0, dtype=T.float64), T.zeros(2, 3)])
    T.cat([T.zeros(2, dtype=T.int32), T.zeros(2, dtype=T.bool)])
    T.cat([T.zeros(2, dtype=T.uint8), T.zeros(2, dtype=T.int8)])
    T.cat([T.zeros(2, 3).t(), T.zeros(2, 3).t()])
    T.cat([x.permute(2, 0, 1), x.permute(2, 0, 1)], 1)
    T.cat([T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last)] * 2, 1)
    T.cat([T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last), T.zeros(2, 3, 4, 5)], 1)
    T.cat([T.ones(2), T.zeros(2)], 0, out=T.zeros(4, dtype=T.float64))
    T.cat([T.ones(2), T.zeros(2)], 0, out=T.zeros(3))
    T.cat([T.zeros(2, dtype=T.int32), T.zeros(2)], 0, out=T.zeros(4, dtype=T.int32))
    T.cat([x[0], x[1]], 0, out=x.view(6, 4))
    T.stack([x, x])
    T.stack([x, x], -1)
    T.stack([x, x], dim=1)
    T.stack([])
    T.stack([T.zeros(2), T.zeros(3)])
    T.stack([T.zeros(2), T.zeros(2)], 2)
    T.stack([T.zeros(2), T.zeros(2, dtype=T.float64)], 1)
    T.stack([T.zeros(()), T.zeros(())])
    T.stack([T.zeros(0), T.zeros(0)], 1)
    T.stack([T.zeros(0), T.zeros(2)], 1)
    T.stack([T.ones(2), T.zeros(2)], out=T.zeros(3))
    T.stack([T.ones(2)], out=T.ones(1, 2, dtype=T.int64))
    T.stack([T.ones(2)], out=T.ones(1, 2, dtype=T.float64))
""")

REPEATING = table("""
    x.repeat(1, 2, 1)
    x.repeat(2, 1, 2, 1)
    x.repeat((2, 1, 1))
    x.repeat(2)
    x.repeat(-1, 1, 1)
    x.repeat(0, 1, 1)
    x.permute(2, 0, 1).repeat(1, 2, 1)
    T.tensor(1.).repeat(3)
    T.tensor(1.).repeat(())
    T.tensor(1.).repeat()
    x.tile(2)
    x.tile((2, 2, 1, 1))
    x.tile(())
    T.tile(x, (2,))
    x.repeat_interleave(2)
    x.repeat_interleave(2, 1)
    x.repeat_interleave(2, dim=-1)
    x.repeat_interleave(0, 1)
    x.repeat_interleave(-2, 1)
    x.repeat_interleave(2, 3)
    x.repeat_interleave(T.tensor([1, 2, 3]), 1)
    x.repeat_interleave(T.tensor([1, 2]), 1)
    x.repeat_interleave(T.tensor([2]), 1)
    x.repeat_interleave(T.tensor(2), 1)
    x.repeat_interleave(T.tensor(2))
    x.repeat_interleave(T.tensor([1, 2, 3]), 1, output_size=6)
    x.repeat_interleave(T.tensor([1, 2, 3]), 1, output_size=5)
    x.repeat_interleave(2, 1, output_size=6)
    x.repeat_interleave(2, 1, output_size=7)
    x.repeat_interleave(T.tensor([[1, 2, 3]]), 1)
    T.repeat_interleave(x, 2, dim=0)
    T.repeat_interleave(T.tensor([1, 2, 0]))
    T.repeat_interleave(T.tensor([1, 2, 0], dtype=T.int32))
    T.repeat_interleave(T.tensor([1, -2, 0]))
    T.repeat_interleave(T.tensor([1, 2, 0]), output_size=3)
    T.repeat_interleave(T.tensor([1, 2, 0]), output_size=4)
    T.repeat_interleave(T.tensor([1., 2, 0]))
    T.repeat_interleave(T.tensor([[1]]))
    T.tensor(3.).repeat_interleave(2)
    T.tensor(3.).repeat_interleave(2, 0)
""")

MOVING = table("""
    x.flip(0)
    x.flip(0, 2)
    x.flip((0, -1))
    x.flip((0, 0))
    x.flip(3)
    x.flip(())
    x.flip()
    T.flip(x, [0])
    T.flip(x, 0)
    T.tensor(1.).flip(0)
    T.zeros(2, 3).t().flip(0)
    T.zeros(0, 3).flip(1)
    x.roll(1)
    x.roll(1, 0)
    x.roll(-5, 2)
    x.roll((1, 2), (0, 1))
    x.roll((1, 2), (0, 0))
    x.roll((1, 2))
    x.roll((1, 2), 0)
    x.roll(1, 3)
    x.roll((), ())
    x.roll(shifts=1, dims=1)
    T.roll(x, 2, 1)
    T.zeros(0).roll(1)
    T.tensor(1.).roll(1)
    T.tensor(1.).roll(1, 0)
    T.arange(4).roll(-5)
    x.permute(2, 0, 1).roll(1, 0)
    x.tril()
    x.triu()
    x.tril(-1)
    x.triu(diagonal=1)
    T.tril(x, 1)
    T.triu(x, -1)
    T.zeros(3).tril()
    T.zeros(3).triu()
    T.ones(3, 3).t().tril()
    T.ones(3, 3, dtype=T.bool).tril(-1)
    T.ones(2, 3).triu(5)
    T.ones(2, 0).triu()
    T.tril(T.ones(3, 3), out=T.ones(2))
    T.tril(T.ones(2, 2), out=T.ones(2, 2, dtype=T.float64))
    T.ones(3, 3).tril_(1)
    x.triu_()
    x.permute(2, 0, 1).triu_()
""")


@pytest.mark.parametrize("expression", JOINING + REPEATING + MOVING)
def test_shape_op_against_torch(expression: str) -> None:
    assert_same_value(expression)


def test_out_tensors_keep_their_identity_against_torch() -> None:
    assert_same_effect("T.cat([T.ones(1, 3), T.ones(1, 3)], out=x)")
    assert_same_effect("T.stack([T.ones(3), T.ones(3)], out=x)")
    assert_same_effect("T.tril(T.ones(2, 3), out=x)")
    assert_same_effect("T.cat([T.ones(1, 3), T.ones(1, 3)], out=x)", "x = T.zeros(3, 2).t()")
    assert_same_effect(
        "T.cat([T.ones(1, 3), T.ones(1, 3)], out=x)", "x = T.zeros(1, 3).expand(2, 3)"
    )


def sample(dtype: Any, *sizes: int) -> Any:
    """An array of numbers that every dtype can hold, some of them zero."""
    return (np.arange(np.prod(sizes)).reshape(sizes) % 5).astype(dtype.np)


CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "cat": (lambda x: T.cat([x, x[:, :1]], 1), lambda a: np.concatenate([a, a[:, :1]], 1)),
    "stack": (lambda x: T.stack([x, x], 1), lambda a: np.stack([a, a], 1)),
    "repeat": (lambda x: x.repeat(2, 1, 2), lambda a: np.tile(a, (2, 1, 2))),
    "tile": (lambda x: x.tile(3), lambda a: np.tile(a, 3)),
    "flip": (lambda x: x.flip(0, 1), lambda a: np.flip(a, (0, 1))),
    "roll": (lambda x: x.roll((1, -2), (0, 1)), lambda a: np.roll(a, (1, -2), (0, 1))),
    "roll flat": (lambda x: x.roll(2), lambda a: np.roll(a, 2)),
    "repeat_interleave": (
        lambda x: x.repeat_interleave(T.tensor([2, 0, 1]), 1),
        lambda a: np.repeat(a, [2, 0, 1], 1),
    ),
    "repeat_interleave int": (lambda x: x.repeat_interleave(2), lambda a: np.repeat(a, 2)),
    "tril": (lambda x: x.tril(-1), lambda a: np.tril(a, -1)),
    "triu": (lambda x: x.triu(1), lambda a: np.triu(a, 1)),
    "broadcast_to": (lambda x: x.broadcast_to(2, 2, 3), lambda a: np.broadcast_to(a, (2, 2, 3))),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_every_dtype_against_numpy(name: str, dtype: Any) -> None:
    ours, theirs = CALLS[name]
    a = sample(dtype, 3, 2).T  # not contiguous
    result = ours(from_array(np.ascontiguousarray(a.T)).t())
    np.testing.assert_array_equal(array(result), theirs(a))
    assert result.dtype is dtype


def test_cat_skips_legacy_empty_tensors_and_promotes() -> None:
    assert T.cat([T.zeros(0), T.ones(2, 3)]).shape == (2, 3)
    assert T.cat([T.zeros(2, dtype=T.int32), T.ones(2, dtype=T.float16)]).dtype is T.float16
    with pytest.raises(ValueError, match="expected a non-empty list"):
        T.cat([])
    with pytest.raises(RuntimeError, match="Expected size 2 but got size 3 for tensor number 1"):
        T.cat([T.zeros(2, 3), T.zeros(3, 3)], 1)


@given(st.data())
@examples(80)
def test_cat_of_random_tensors(data: st.DataObject) -> None:
    """Any dtypes, any dimension, any memory order: values and promotion are numpy's here; torch
    adds the strides.
    """
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    d = data.draw(st.integers(-len(sizes), len(sizes) - 1))
    order = data.draw(st.permutations(range(len(sizes))))
    tensors, arrays = [], []
    for dtype in data.draw(
        st.lists(st.sampled_from([T.float32, T.int64, T.bool, T.float64]), min_size=1, max_size=3)
    ):
        shape = list(sizes)
        shape[d] = data.draw(st.integers(0, 3))
        packed = np.ascontiguousarray(sample(dtype, *shape).transpose(order))
        tensors.append(from_array(packed).permute(list(np.argsort(order))))
        arrays.append(array(tensors[-1]))
    if any(a.shape == (0,) for a in arrays):
        return
    result = T.cat(tensors, d)
    expected = np.concatenate(arrays, d)
    np.testing.assert_array_equal(array(result), expected)
    assert result.dtype is reduce(T.promote_types, [t.dtype for t in tensors])


@given(
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.booleans(),
    st.permutations([0, 1, 2, 3]),
)
@examples(40)
def test_memory_format_of_cat_like_torch(sizes: list[int], both: bool, order: list[int]) -> None:
    a = from_array(np.ones([sizes[d] for d in order], np.float32)).permute(list(np.argsort(order)))
    b = a if both else from_array(np.ones(sizes, np.float32))
    theirs = answer(
        lambda torch: torch.cat([to_torch(a), to_torch(b)], 1).stride(),
        (sizes, both, order),
        "views",
    )
    assert T.cat([a, b], 1).stride() == theirs
