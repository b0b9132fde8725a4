"""Reading with `x[...]`: against real PyTorch where it is installed, and against numpy where the
two agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as T
from internals.core.tensor_impl import array, from_array
from tests.aten.view_support import assert_same_value, table

BASIC = table("""
    x[0]
    x[-1]
    x[5]
    x[-3]
    x[0, 5]
    x[0, 0, -5]
    x[...,5]
    x[None, 5]
    x[True, 5]
    x[0, :, 5]
    x[10**30]
    x[0, 0, 0, 0]
    x[0, 0, 0, ...]
    x[0][1][2]
    x[None]
    x[...]
    x[..., 0]
    x[0, ..., 0]
    x[..., ...]
    x[None, ..., None]
    x[..., 0, ...]
    x[()]
    x[:]
    x[0:1:2]
    x[-1:]
    x[5:]
    x[2:1]
    x[:, 1:, ::2]
    x[:, -10:10]
    x[::0]
    x[::-1]
    x[1.0:2]
    x["a":]
    x[T.tensor(0):T.tensor(2)]
    x[T.tensor([0]):T.tensor([2])]
    x[T.tensor(0.):]
    x[np.int64(0):np.int64(1)]
    x[True:]
    x[1.0]
    x[0j]
    x["a"]
    x[b"a"]
    x[{0}]
    x[{}]
    x[object()]
    x[np.int64(1)]
    x[np.float64(1)]
    x[np.bool_(True)]
    x[T.tensor(1)]
    x[T.tensor(1, dtype=T.int8)]
    x[T.tensor(5)]
    x[0, T.tensor(5)]
    x[T.tensor(1.)]
    x[np.array(1)]
    x.permute(2, 0, 1)[1:, 0]
    T.tensor(1.)[0]
    T.tensor(1.)[...]
    T.tensor(1.)[None]
    T.tensor(1.)[:]
    T.tensor(1.)[()]
    T.zeros(0)[0]
    T.zeros(0, 3)[:, 1]
    [t for t in x]
    [t for t in x[0, 0]]
""")

BOOLEANS = table("""
    x[True]
    x[False]
    x[True, False]
    x[True, None, 0]
    x[0, True]
    x[..., True]
    x[T.tensor(True)]
    x[T.tensor(1, dtype=T.uint8)]
    x[np.array(True)]
    T.tensor(1.)[True]
    T.tensor(1.)[False]
    T.tensor(1.)[T.tensor(True)]
    T.tensor(1.)[T.tensor([True])]
    x[T.tensor([True, False])]
    x[T.tensor([True, False, True])]
    x[:, T.tensor([True, False])]
    x[T.ones(2, 3, dtype=T.bool)]
    x[T.ones(2, 4, dtype=T.bool)]
    x[T.ones(3, 4, dtype=T.bool)]
    x[:, T.ones(3, 4, dtype=T.bool)]
    x[:, T.ones(4, 3, dtype=T.bool)]
    x[T.ones(2, 3, 4, 1, dtype=T.bool)]
    x[T.ones(2, 3, dtype=T.bool), 1:]
    x[T.ones(2, 3, dtype=T.bool), 1]
    x[T.ones(2, 3, dtype=T.bool), None]
    x[T.ones(2, 3, dtype=T.bool), [1]]
    x[T.ones(2, 3, dtype=T.bool), ..., 1]
    x[T.ones(2, 3, dtype=T.bool), 0, 0]
    x[T.ones(2, 3, 4, dtype=T.bool), None]
    x[..., [[True] * 4] * 3]
    x[([[True, True, False], [False, True, True]], slice(1, None))]
    x[x > 5]
    x[:, x[0] > 5]
    x[[True, False]]
    x[[True, False], 0]
    x[[True, False], :, [0]]
    x[[True, True], [0, 1, 2]]
    x[[True, 0]]
    x[T.tensor([1, 0], dtype=T.uint8)]
    x[np.array([1, 0], dtype=np.uint8)]
    x[np.array([True, False])]
    x.transpose(0, 2)[T.ones(4, 3, dtype=T.bool)]
""")

TENSORS = table("""
    x[[0, 1]]
    x[[1, 1, 0, -1]]
    x[[0, 1], [1, 2]]
    x[([0, 1], [1, 2])]
    x[[0, 1], T.tensor([1, 2])]
    x[T.tensor([0, 1]), np.array([1, 2])]
    x[T.tensor([1, 0], dtype=T.int32)]
    x[T.tensor([1, 0], dtype=T.int16)]
    x[T.tensor([1., 0])]
    x[np.array([1, 0], dtype=np.int16)]
    x[np.array([1.0, 0.0])]
    x[[1.7, 0.0]]
    x[range(2)]
    x[T.Size([0, 1])]
    x[(i for i in range(2))]
    x[[5]]
    x[[-3]]
    x[0, [5]]
    x[:, [5]]
    x[:, [0], [7]]
    x[[0], 5]
    x[[0], [0], [0], [0]]
    x[T.tensor([0, 5])]
    x[[]]
    x[:, []]
    x[np.array([])]
    x[T.zeros(2, 0, dtype=T.int64)]
    x[T.tensor([], dtype=T.int64)]
    x[[0, 1], [0, 1, 2]]
    x[[0, 1], :, [1, 2]]
    x[:, [0, 1], [1, 2]]
    x[[0, 1], :, 1]
    x[0, :, [1, 2]]
    x[[0], None, [1, 2]]
    x[:, None, [1, 2], None]
    x[..., [1, 2]]
    x[[[0, 1]], ..., [1, 2]]
    x[T.tensor([[0, 1], [1, 0]]), :, T.tensor([0, 3])]
    x[:, T.tensor([[0, 1], [0, 1]]).t()]
    x[T.tensor([[0, 1], [0, 1]]).t()]
    x.permute(2, 1, 0)[[0, 1]]
    x.permute(2, 1, 0)[:, [0, 1]]
    x.permute(2, 1, 0)[:, :, [0, 1]]
    x.permute(2, 1, 0)[[0, 1], :, [0, 1]]
    x[:, T.tensor([0]).expand(3)]
    T.zeros(2, 0)[[0, 1]]
    T.zeros(2, 0)[:, [0]]
    T.zeros(0, 2)[[0]]
    T.zeros(0, 2)[:, [0]]
    T.zeros(0, 2)[:, [7]]
    T.zeros(2, 2)[[7], []]
    T.tensor(1.)[[0]]
    x[([[0], [0, 1]],)]
    x[([0, None],)]
    x[([0, "a"],)]
    T.ops.aten.index(x, [None, T.tensor([0])])
    T.ops.aten.index(x, [])
    T.ops.aten.index(x, [None, None, None, T.tensor([0])])
""")

NESTED = table("""
    # a short list that holds sequences, slices, None or ... stands for a tuple, with a warning
    x[[[0, 1], [1, 2]]]
    x[[slice(0, 1), 0]]
    x[[None, 0]]
    x[[0, None]]
    x[[Ellipsis]]
    x[[[0, 1], slice(None)]]
    x[[T.tensor([0, 1]), T.tensor([1, 2])]]
    x[[T.tensor(0), T.tensor(1)]]
    x[[np.array([0, 1]), np.array([0, 1])]]
    x[[[0], [0, 1]]]
    x[[[]]]
    x[[0, "a"]]
    x[[np.int64(0), np.int64(1)]]
    x[[0] * 40]
    x[[[0] * 2] * 40]
    x[([[0] * 2] * 40,)]
""")


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("expression", BASIC + BOOLEANS + TENSORS + NESTED)
def test_reading_against_torch(expression: str) -> None:
    assert_same_value(expression)


a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "index",
    [
        0, -1, (0, 1), (0, 1, 2), None, ..., (..., 0), (0, ..., -1), slice(1, None),
        (slice(None), slice(None, None, 2)), (None, 0, None), [0, 1, 1], ([0, 1], [1, 2]),
        ([0, 1], slice(None), [1, 2]), (slice(None), [0, -1], [1, 2]), ([[0], [1]], [1, 2]),
        (..., [3, 0]), a > 5, (slice(None), a[0] > 5), ([True, False], 1), True, False, (True, 0),
        np.array([[1, 0]]), (np.int64(1), np.array([2])), (None, [0, 1], None, [1]), [],
        (slice(0, 0), [1]),
    ],
    ids=repr,
)  # fmt: skip
def test_reading_against_numpy(index: Any) -> None:
    np.testing.assert_array_equal(array(from_array(a)[index]), a[index])


def test_seed_004() -> None:
    x = T.Tensor(5, 5, 5)
    array(x)[...] = np.arange(125).reshape(5, 5, 5)
    picked = x[[1, 2], [3, 2], [1, 0]]
    assert picked.tolist() == [x[1][3][1].item(), x[2][2][0].item()] == [41.0, 60.0]


def test_basic_indexing_shares_memory_and_advanced_indexing_copies() -> None:
    x = from_array(a)
    for index in (0, slice(1, None), None, ..., (0, 1), ()):
        assert x[index].untyped_storage() is x.untyped_storage()
        assert x[index]._base is x
    for other in ([0, 1], x > 5, True, T.tensor([0])):
        assert x[other].untyped_storage() is not x.untyped_storage()
        assert x[other]._base is None


def test_indexing_errors() -> None:
    x = from_array(a)
    for index, error, message in [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        ([5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (T.tensor([True]), IndexError, r"The shape of the mask \[1\] at index 0 does not match"),
        (
            T.tensor([1.0]),
            IndexError,
            "tensors used as indices must be long, int, byte or bool tensors",
        ),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (1.5, IndexError, r"only integers, slices .* \(got float\)"),
    ]:
        with pytest.raises(error, match=message):
            x[index]
