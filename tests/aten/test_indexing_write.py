"""Writing with `x[...] = value` and `index_put_`: against real PyTorch where it is installed, and
against numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as T
from internals.core.tensor_impl import array, from_array
from tests.aten.view_support import assert_same_effect, assert_same_value, table

BASIC = table("""
    x[0] = 1
    x[0] = True
    x[0] = np.int64(3)
    x[0] = np.float64(3)
    x[0] = np.float32(3)
    x[0] = [1, 2, 3]
    x[0] = ()
    x[0] = np.array([1, 2, 3])
    x[0] = None
    x[0] = "a"
    x[0] = 1j
    x[0] = 2**70
    x[0] = T.tensor([1, 2, 3])
    x[0] = T.tensor([1., 2, 3], dtype=T.float64)
    x[0] = T.tensor([1, 2])
    x[0] = T.ones(1, 3)
    x[0] = T.ones(1, 1, 3)
    x[0] = T.ones(2, 3)
    x[0] = T.ones(1, 1)
    x[0] = T.ones(0)
    x[0, 0] = T.ones(1)
    x[0, 0] = T.ones(1, 1)
    x[0, 0] = T.ones(2)
    x[0] = x[1]
    x[0] = x[0]
    x[:, :2] = x[:, 1:]
    x[...] = 2
    x[None] = 2
    x[True] = 2
    x[False] = 2
    x[None] = T.ones(2, 3)
    x[:, 1:] = 5
    x[:] = T.ones(3)
    x[..., 0] = T.tensor([7., 8.])
    x[1:1] = 4
    x[1:1] = T.ones(5)
    x[0][1] = 2
    x[5] = 1
    x[0, 0, 0] = 1
    x[::-1] = 1
    x[1.0] = 1
    x["a"] = 1
    x[{}] = 1
    del x[0]
""")

ADVANCED = table("""
    x[[0, 1]] = 2
    x[[0, 1]] = T.ones(3)
    x[[0, 1]] = T.ones(1, 1, 3)
    x[[0, 1]] = T.ones(2)
    x[[0, 1]] = T.tensor([1, 2, 3])
    x[[0, 1]] = T.tensor(2)
    x[[0]] = T.tensor(3, dtype=T.float64)
    x[[0, 1], :] = T.ones(2, 3, dtype=T.float16)
    x[[0, 1], [1, 2]] = T.tensor([5., 6.])
    x[[0, 1], [1, 2]] = T.tensor([5., 6., 7.])
    x[[0, 0], [1, 1]] += 1
    x[[0, 1]] = x[[1, 0]]
    x[[0, 1]] = x
    x[[5]] = 1
    x[[-1]] = 7
    x[[-3]] = 7
    x[[]] = 2
    x[[]] = T.ones(0, 3)
    x[T.tensor([0, 1], dtype=T.int32)] = 3
    x[T.tensor([0, 1], dtype=T.int16)] = 3
    x[True, 0] = 1
    x[True, False] = 1
    x[0, True] = 4
    x[T.tensor(True)] = 4
    x[T.tensor(False)] = 4
""")

MASKS = table("""
    x[x == 0] = 3
    x[x == 0] = T.arange(6.)
    x[x == 0] = T.arange(5.)
    x[x == 0] = T.tensor(2)
    x[x == 0] = T.tensor([2])
    x[x == 0] = T.tensor([2.])
    x[x > 5] = T.ones(0)
    x[x > 5] = T.ones(1)
    x[x > 5] = T.ones(2)
    x[T.tensor([True, False])] = T.tensor([1., 2, 3])
    x[T.tensor([True, False])] = T.tensor(3, dtype=T.float64)
    x[T.tensor([True, False, True])] = 1
    x[:, [True, False, True]] = 7
    x[[True, False], [0]] = 7
    x[T.tensor([0, 1], dtype=T.uint8)] = 3
""")

INDEX_PUT = table("""
    x.index_put_([T.tensor([0, 0])], T.ones(3), accumulate=True)
    x.index_put_((T.tensor([0, 0]), T.tensor([1, 1])), T.tensor([1., 2.]), True)
    x.index_put_([T.tensor([0, 0])], T.ones(3, dtype=T.float64), accumulate=True)
    x.index_put_([T.tensor([0, 0])], T.ones(2))
    x.index_put_([T.tensor([9, 0])], T.ones(3))
    x.index_put_([T.tensor([9, 0])], T.ones(3), accumulate=True)
    x.index_put_([T.tensor([True, False])], T.ones(3), accumulate=True)
    x.index_put_([T.tensor([0])], 1.0)
    x.index_put_(T.tensor([0]), T.ones(3))
    x = x.index_put([T.tensor([0, 0])], T.ones(3), accumulate=True)
    x.index_put_([T.tensor([0.])], T.ones(3))
    x.index_put_([T.tensor([0, 1]), T.tensor([0, 1, 2])], T.tensor(1.))
    x.index_put_([T.tensor([True, False, True])], T.tensor(1.))
    x.index_put_([T.tensor(0)], T.tensor(1.))
    x.index_put_([T.tensor([[True, False, True], [False, True, True]])], T.tensor([1., 2, 3, 4]),
        accumulate=True)
    T.index_put_(x, [T.tensor([0])], T.tensor(1.))
    x = T.index_put(x, [T.tensor([-1])], T.tensor(1.))
""")


@pytest.mark.parametrize("statement", BASIC + ADVANCED + MASKS + INDEX_PUT)
def test_writing_against_torch(statement: str) -> None:
    assert_same_effect(statement)


OTHER_DTYPES = [
    ("int32", s)
    for s in table("""
    x[0] = 1.7
    x[0] = True
    x[[0]] = 1.7
    x[0] = T.tensor([1.7, 2.2, 3.])
    x[[0]] = T.tensor([1.7, 2.2, 3.])
    x[x == 0] = 1.7
    x[x == 0] = T.tensor(1.7)
    x[0] = 300
    x[0] = 1j
    x[0, 0] = nan
    x[0, 0] = T.tensor(1.7)
""")
] + [
    ("uint8", "x[0] = 300"), ("uint8", "x[[0]] = 300"), ("uint8", "x[0] = -1"),
    ("uint8", "x[0] = 1.7"), ("bool", "x[0] = 300"), ("bool", "x[[0]] = 2"), ("bool", "x[0] = 0.5"),
    ("complex64", "x[0] = 1j"), ("complex64", "x[[0, 0]] = 2j"), ("float16", "x[[1]] = 0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "statement"), OTHER_DTYPES)
def test_writing_into_other_dtypes_against_torch(dtype: str, statement: str) -> None:
    assert_same_effect(statement, f"x = T.zeros(2, 3, dtype=T.{dtype})")


@pytest.mark.parametrize(
    "statement",
    table("""
    x[0] = 1
    x[0, 0] = 1
    x[[0, 0], [0, 1]] = T.tensor([1., 2.])
    x[x == 0] = 1
    x[:, [0]] = 4
    x.index_put_([T.tensor([0])], T.ones(3), accumulate=True)
    """),
)
def test_writing_into_an_expanded_tensor_against_torch(statement: str) -> None:
    assert_same_effect(statement, "x = T.zeros(2, 1).expand(2, 3)")


@pytest.mark.parametrize("index", ["()", "...", "None", "True", "0", ":", "T.tensor(True)", "[]"])
def test_writing_into_a_0d_tensor_against_torch(index: str) -> None:
    assert_same_effect(f"x[{index}] = 3", "x = T.tensor(1.)")


def test_expanded_values_are_read_once_per_place() -> None:
    assert_same_value("x.index_put([T.tensor([0, 1])], T.tensor([[1.], [2.], [3.]]).expand(3, 4))")


a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, 5.0), ((0, 1, 2), -1.0), (slice(None, None, 2), 3.0), ((..., 0), a[..., 1]),
        ([0, 1], a[::-1].copy()), (([0, 1], slice(None), [1, 2]), 9.0),
        ((slice(None), [0, -1]), a[:, :2]), (a > 5, 0.0), (a > 20, a[0, 0, :3]),
        ((slice(None), a[0] > 5), 1.0), ((None, 1), a[0]), (([[0], [1]], [1, 2]), 4.0), ([], 1.0),
    ],
    ids=repr,
)  # fmt: skip
def test_writing_against_numpy(index: Any, value: Any) -> None:
    x, expected = from_array(a), a.copy()
    x[index] = from_array(value) if isinstance(value, np.ndarray) else value
    expected[index] = value
    np.testing.assert_array_equal(array(x), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "complex64", "bool"])
def test_accumulate_counts_duplicates(dtype: str) -> None:
    start, values = np.zeros((3, 2), dtype), np.ones((4, 2), dtype)
    x = from_array(start)
    x.index_put_([T.tensor([1, 1, -1, 1])], from_array(values), accumulate=True)
    np.add.at(start, [1, 1, -1, 1], values)
    np.testing.assert_array_equal(array(x), start)


def test_adding_at_repeated_indices_with_plus_counts_once() -> None:
    x = T.zeros(3)
    x[[0, 0, 1]] += 1
    assert x.tolist() == [1.0, 1.0, 0.0]


def test_a_failed_write_changes_nothing() -> None:
    x = T.zeros(2, 3)
    for index, value in [
        ([0, 9], 1.0),
        (0, T.ones(2)),
        (T.tensor([True]), 1.0),
        ([0], T.ones(3, dtype=T.float64)),
    ]:
        with pytest.raises((IndexError, RuntimeError)):
            x[index] = value
    assert x.tolist() == [[0.0] * 3] * 2
    with pytest.raises(TypeError, match="can't assign a list to a internals.FloatTensor"):
        x[0] = [1, 2, 3]
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]
