"""Segments, powers added up, functional twins, tensors of many sizes in one: what random arguments
do not reach.
"""

from __future__ import annotations

import numpy as np
import pytest

import internals as T
from tests.autograd.gradients_beside import check_gradients, expression as gradient
from tests.side_by_side import cases, check, expression

SEGMENTS = cases("""
    T.segment_reduce(x(6), "sum", lengths=T.tensor([2, 0, 1, 3]))
    T.segment_reduce(x(6), "mean", lengths=T.tensor([2, 0, 1, 3]))
    T.segment_reduce(x(6), "mean", lengths=T.tensor([2, 0, 4]), initial=2)
    T.segment_reduce(x(6), "max", lengths=T.tensor([2, 0, 1, 3]))
    T.segment_reduce(x(6), "amin", lengths=T.tensor([2, 0, 1, 3], dtype=T.int32))
    T.segment_reduce(x(6), "prod", lengths=T.tensor([2, 0, 1, 3]), initial=0.5)
    T.segment_reduce(x.of([1, float("nan"), 2, 3]), "max", lengths=T.tensor([2, 2]))
    T.segment_reduce(x(6, 2), "max", offsets=T.tensor([0, 2, 2, 6]))
    T.segment_reduce(x(6), "sum", offsets=T.tensor([1, 2, 5]))
    T.segment_reduce(x(6), "sum", offsets=T.tensor([0, 3, 2, 6]))
    T.segment_reduce(x(2, 3, 4), "sum", lengths=T.tensor([[1, 2], [3, 0]]), axis=1)
    T.segment_reduce(x(2, 3, 4), "sum", lengths=T.tensor([[1, 1], [3, 0]]), axis=1)
    T.segment_reduce(x(2, 3, 4), "sum", lengths=T.tensor([3]), axis=1)
    T.segment_reduce(x(0, 3), "mean", lengths=T.tensor([0, 0]))
    T.segment_reduce(x(6), "median", lengths=T.tensor([6]))
    T.segment_reduce(x(6), "sum")
    T.segment_reduce(x(6), "sum", indices=T.tensor([0, 1]))
    T.segment_reduce(x(6), "sum", lengths=T.tensor([5]))
    T.segment_reduce(x(6), "sum", lengths=T.tensor([5]), unsafe=True)
    T.segment_reduce(x(6), "sum", lengths=T.tensor([7, -1]))
    T.segment_reduce(x(6), "sum", lengths=T.tensor([6.0]))
    T.segment_reduce(x(6), "sum", lengths=T.tensor([6]), axis=1)
    T.segment_reduce(x(6, dtype="int64"), "sum", lengths=T.tensor([6]))
    T.segment_reduce(x.of([1, 2, 4], "float16"), "prod", lengths=T.tensor([3]))
    T.segment_reduce(x.of(1), "sum", lengths=T.tensor([1]))
    T.segment_reduce(x(6), "sum", T.tensor([6]))
""")

OTHERS = cases("""
    T.linalg._powsum(x(2, 3))
    T.linalg._powsum(x(2, 3), 3, [1], True)
    T.linalg._powsum(x.of([1, -2, 0]), 0)
    T.linalg._powsum(x.of([1, -2, 0]), -1)
    T.linalg._powsum(x.of([1, -2, 0]), float("inf"))
    T.linalg._powsum(x(2, 3, dtype="complex64"), 1)
    T.linalg._powsum(x(2, 3), dtype=T.float64)
    T.linalg._powsum(x(2, 3, dtype="int64"), dtype=T.float32)
    T.linalg._powsum(x(2, 3, dtype="int64"))
    T.linalg._powsum(x(2, 3), 2, [0, 0])
    T.ops.aten.copy(x(3), x(1, dtype="float64"))
    T.ops.aten.copy(x(2, 3).t(), x(3, 2)).stride()
    T.ops.aten.copy(x(3, dtype="int64"), x(3) * 1.5)
    T.ops.aten.copy(x(1), x(3))
    [T.manual_seed(3), T.ops.aten.normal_functional(x(20), 1.0, 2.0)][1]
    T.ops.aten.normal_functional(x(3), 1.0, -2.0)
    T.ops.aten.normal_functional(x(3, dtype="int64"), 1.0, 2.0)
    x(2).to_dense()
    x(2).to_dense(T.float64)
    x(2).to_dense(masked_grad=True)
    T.ops.aten.flatten_dense_tensors([x(2, 3), x(2), x(0, 4)])
    T.ops.aten.flatten_dense_tensors([x(2, 3, dtype="int64"), x(2)])
    T.ops.aten.flatten_dense_tensors([])
    T.ops.aten.unflatten_dense_tensors(x(9), [x(2, 3), x(0, 4), x(2)])
    T.ops.aten.unflatten_dense_tensors(x(7), [x(2, 3), x(2)])
    T.ops.aten.pad_sequence([x(2, 3), x(4, 3)])
    T.ops.aten.pad_sequence([x(2), x(4)], True, -1.0, "left")
    T.ops.aten.pad_sequence([x(2), x(4)], True, -1.0, "top")
    T.ops.aten.pad_sequence([])
""")

GRADIENTS = cases("""
    T.segment_reduce(x(6), "sum", lengths=T.tensor([2, 0, 1, 3]))
    T.segment_reduce(x(6), "mean", offsets=T.tensor([0, 2, 2, 5]), initial=2)
    T.segment_reduce(x.coarse(8), "max", lengths=T.tensor([5, 0, 3]))
    T.segment_reduce(x.coarse(8), "min", lengths=T.tensor([5, 0, 3]), initial=-1)
    T.segment_reduce(x.coarse(8, 2), "prod", lengths=T.tensor([5, 0, 3]), initial=0.5)
    T.segment_reduce(x(2, 3, 4), "prod", lengths=T.tensor([[1, 2], [3, 0]]), axis=1)
    T.segment_reduce(x.of([1, float("nan"), 2, 3]), "max", lengths=T.tensor([2, 2])).nan_to_num(7)
    T.ops.aten.copy(x(3), x(3)).sum()
    T.linalg._powsum(x(3)).sum()
    T.ops.aten.unflatten_dense_tensors(T.ops.aten.flatten_dense_tensors([x(2, 3), x(2)]),
        [T.ones(4), T.ones(2, 2)])
""")


@pytest.mark.parametrize("line", [*SEGMENTS, *OTHERS])
def test_like_pytorch(line: str) -> None:
    check(expression(line), message=False)


@pytest.mark.parametrize("line", GRADIENTS)
def test_gradients_like_pytorch(line: str) -> None:
    check_gradients(gradient(line), second=False)  # the segments have none, in PyTorch neither


def test_segments_are_reduced_as_numpy_reduces_them() -> None:
    a = np.random.default_rng(0).standard_normal((7, 2))
    cuts = [0, 3, 3, 7]
    t = T.tensor(a)
    for name, reduce in (("sum", np.sum), ("prod", np.prod)):
        expected = [reduce(a[i:j], axis=0) for i, j in zip(cuts, cuts[1:])]
        np.testing.assert_allclose(
            T.segment_reduce(t, name, offsets=T.tensor(cuts)).numpy(), expected, rtol=1e-12
        )


def test_segments_do_not_reach_beyond_the_data() -> None:
    """PyTorch reads whatever lies there."""
    for bounds in ({"offsets": T.tensor([0, 7])}, {"lengths": T.tensor([7]), "unsafe": True}):
        with pytest.raises(RuntimeError, match="reaches beyond the 6 elements along axis 0"):
            T.segment_reduce(T.ones(6), "sum", **bounds)
    with pytest.raises(RuntimeError, match="do not go with data"):
        T.segment_reduce(T.ones(2, 3), "sum", lengths=T.tensor([[3]]), axis=1)


def test_pieces_of_a_flat_tensor_are_views_of_it() -> None:
    flat = T.arange(8.0)
    first, second = T.ops.aten.unflatten_dense_tensors(flat, [T.ones(2, 3), T.ones(2)])
    flat.zero_()
    assert first._base is flat and second._base is flat and not first.any() and not second.any()
    assert T.ones(2).to_dense().tolist() == [1, 1]
