"""sort, argsort, topk: against real PyTorch where it is installed, and against numpy."""

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

EXPRESSIONS = table("""
    T.tensor([3., 1, 2]).sort()
    T.sort(T.tensor([3., 1, 2]), descending=True)
    T.sort(T.tensor([3., nan, 2]), descending=True)
    T.sort(T.tensor([3., nan, 2]))
    T.sort(T.tensor(3.))
    T.sort(T.zeros(0))
    T.sort(T.zeros(2, 0), 1)
    T.sort(T.zeros(2, 0), 2)
    T.sort(T.tensor([1j, 2]))
    T.sort(T.tensor([True, False, True]))
    T.tensor([[3, 1], [2, 5]]).sort(0)
    T.tensor([3., 1, 2]).sort(0, True)
    T.tensor([3., 1, 2]).sort(stable=True, dim=0)
    T.sort(T.tensor([1, 1, 0, 0]), descending=True, stable=True)
    T.sort(T.tensor([1, 1, 0, 0] * 10), stable=True, descending=True)
    T.arange(6.).view(3, 2).t().sort(0)
    T.arange(6.).view(3, 2).t().sort(1, descending=True)
    T.arange(2.).view(2, 1).expand(2, 3).sort(0)
    T.arange(8.).view(4, 2)[::2].sort()
    T.sort(T.tensor([3., 1, 2]), out=(T.zeros(3), T.zeros(3, dtype=T.int64)))
    T.sort(T.tensor([3., 1, 2]), out=(T.zeros(3), T.zeros(3)))
    T.sort(T.tensor([3., 1, 2]), out=(T.zeros(3, dtype=T.float64), T.zeros(3, dtype=T.int64)))
    T.sort(T.tensor([3., 1, 2]), out=(T.zeros(2), T.zeros(2, dtype=T.int64)))
    T.sort(T.tensor([3., 1, 2]), stable=True, out=(T.zeros(3), T.zeros(3, dtype=T.int64)))
    T.argsort(T.tensor([3., 1, 2]))
    T.argsort(T.tensor([3., 1, 2]), descending=True, stable=True)
    T.argsort(T.tensor([3., 1, 2]), 0, True)
    T.tensor([3., 1, 2]).argsort(stable=True, dim=0)
    T.topk(T.tensor([3., 1, 2, 5]), 2)
    T.topk(T.tensor([3., 1, 2, 5]), 2, largest=False)
    T.topk(T.tensor([3., 1, 2, 5]), 5)
    T.topk(T.tensor([3., 1, 2, 5]), -1)
    T.topk(T.tensor([3., 1, 2, 5]), 0)
    T.topk(T.tensor([3., 1, 2, 5]), 4)
    T.topk(T.tensor(3.), 1)
    T.topk(T.tensor(3.), 0)
    T.topk(T.tensor(3.), 2)
    T.topk(T.tensor([3., nan, 2, 5]), 2)
    T.topk(T.tensor([3., nan, 2, 5]), 2, largest=False)
    T.topk(T.zeros(2, 0), 0)
    T.topk(x, 2, 1)
    T.topk(x.permute(2, 0, 1), 2, 0)
    x.topk(k=1, dim=-1, largest=False, sorted=True)
    T.topk(T.tensor([True, False]), 1)
    T.topk(T.tensor([1j, 2]), 1)
    T.topk(T.tensor([3., 1]), 1, out=(T.zeros(1), T.zeros(1, dtype=T.int64)))
    T.topk(T.tensor([3., 1]), 1, out=(T.zeros(1, dtype=T.float64), T.zeros(1, dtype=T.int64)))
    T.topk(T.tensor([3., 1]), 1, out=(T.zeros(1), T.zeros(1, dtype=T.int32)))
    T.topk(T.zeros(2, 3), 4, 1)
    T.topk(T.zeros(2, 3), 1, 2)
    T.sort(T.tensor([2., 1])).values
    T.topk(T.tensor([2., 1]), 1).indices
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_sorting_against_torch(expression: str) -> None:
    assert_same_value(expression)


def test_out_against_torch() -> None:
    assert_same_effect("T.sort(T.tensor([[3., 1, 2]] * 2), out=(x, T.zeros(2, 3, dtype=T.int64)))")
    assert_same_effect(
        "T.topk(T.tensor([[3., 1, 2, 5]] * 2), 3, out=(x, T.zeros(2, 3, dtype=T.int64)))",
        "x = T.zeros(3, 2).t()",
    )


def test_results_have_names_and_print_as_pytorch_prints() -> None:
    values, indices = result = T.sort(T.tensor([2.0, 1.0]))
    assert result.values is values and result.indices is indices
    assert (
        repr(result)
        == "internals.return_types.sort(\nvalues=tensor([1., 2.]),\nindices=tensor([1, 0]))"
    )
    assert (
        repr(T.topk(T.tensor([2.0, 1.0]), 1))
        == "internals.return_types.topk(\nvalues=tensor([2.]),\nindices=tensor([0]))"
    )


arrays = st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=1, max_size=3).flatmap(
    lambda sizes: st.lists(
        st.sampled_from([0.0, 1.0, 2.0, -1.5, 3.0, float("nan"), float("inf"), -float("inf")]),
        min_size=int(np.prod(sizes)),
        max_size=int(np.prod(sizes)),
    ).map(lambda values: np.array(values, np.float32).reshape(sizes))
)


@given(arrays, st.data(), st.booleans())
@examples(100)
def test_sort_like_torch_and_numpy(a: Any, data: st.DataObject, descending: bool) -> None:
    """Stable, NaN above everything, whatever the memory order of the tensor."""
    order = data.draw(st.permutations(range(a.ndim)))
    d = data.draw(st.integers(-a.ndim, a.ndim - 1))
    x = from_array(a).permute(order)
    values, indices = x.sort(stable=True, dim=d, descending=descending)
    expected = np.sort(array(x), d, kind="stable")
    np.testing.assert_array_equal(array(values), np.flip(expected, d) if descending else expected)
    np.testing.assert_array_equal(np.take_along_axis(array(x), array(indices), d), array(values))
    np.testing.assert_array_equal(
        array(x.argsort(dim=d, descending=descending, stable=True)), array(indices)
    )


@given(arrays, st.data(), st.booleans())
@examples(60)
def test_stable_sort_like_torch(a: Any, data: st.DataObject, descending: bool) -> None:
    x = from_array(a).permute(data.draw(st.permutations(range(a.ndim))))
    d = data.draw(st.integers(-a.ndim, a.ndim - 1))
    if 0 in a.shape:
        return

    def sorted_(t: Any) -> Any:
        return description(list(t.sort(stable=True, dim=d, descending=descending)))

    about = description([x, d, descending])
    assert sorted_(x) == answer(lambda torch: sorted_(to_torch(x)), about, family="views")


@given(arrays, st.data(), st.booleans())
@examples(60)
def test_topk_like_numpy(a: Any, data: st.DataObject, largest: bool) -> None:
    x = from_array(a).permute(data.draw(st.permutations(range(a.ndim))))
    d = data.draw(st.integers(-a.ndim, a.ndim - 1))
    k = data.draw(st.integers(0, x.shape[d]))
    values, indices = x.topk(k, d, largest)
    ordered = np.sort(array(x), d)
    np.testing.assert_array_equal(
        array(values), (np.flip(ordered, d) if largest else ordered).take(range(k), d)
    )
    np.testing.assert_array_equal(np.take_along_axis(array(x), array(indices), d), array(values))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex], ids=repr)
def test_every_dtype_against_numpy(dtype: Any) -> None:
    a = np.array([[3, 0, 2], [1, 1, 5]]).astype(dtype.np)
    values, indices = T.sort(from_array(a), 1)
    np.testing.assert_array_equal(array(values), np.sort(a, 1))
    np.testing.assert_array_equal(array(indices), np.argsort(a, 1, kind="stable"))
    assert values.dtype is dtype and indices.dtype is T.int64
    if dtype is not T.bool:
        np.testing.assert_array_equal(
            array(T.topk(from_array(a), 1).values), a.max(1, keepdims=True)
        )


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        T.zeros(2).topk(3)
    with pytest.raises(RuntimeError, match="Sort does not support complex dtypes on CPU"):
        T.zeros(2, dtype=T.complex64).sort()
    with pytest.raises(IndexError, match="Dimension out of range"):
        T.zeros(2).sort(1)
