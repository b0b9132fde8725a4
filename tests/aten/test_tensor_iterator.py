"""What the iterator decides can be read off it, and is what PyTorch decides where that shows:
shape, dtype, strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.tensor_iterator import TensorIterator
from internals.core.tensor_impl import array, from_array
from tests.answers import answer
from tests.aten.view_support import description
from tests.support import assert_same, examples, to_torch


def ones(*sizes: int) -> Any:
    return from_array(np.ones(sizes, np.float32))


def test_decisions_for_contiguous_operands() -> None:
    it = TensorIterator([ones(2, 3, 4), ones(2, 3, 4)])
    assert it.common_dtype is torch.float32
    assert tuple(it.shape) == (2, 3, 4)
    assert it.coalesced_shape == (24,), "one walk over 24 elements"
    assert it.output.stride() == (12, 4, 1)


def test_decisions_for_a_broadcast_row() -> None:
    it = TensorIterator([ones(2, 3, 4), ones(4)])
    assert it.coalesced_shape == (6, 4), "the first two dimensions are walked as one"
    assert it.coalesced_strides[2] == (0, 4), "the row starts over for each of the six"


def test_decisions_for_transposed_operands() -> None:
    it = TensorIterator([ones(3, 2).t(), ones(3, 2).t()])
    assert it.permutation == (1, 0)
    assert it.coalesced_shape == (6,)
    assert it.output.stride() == (1, 2), "the output lies in memory as its operands do"


def test_dtypes_decided() -> None:
    a, b = from_array(np.ones(2, np.int32)), from_array(np.ones(2, np.float64))
    assert TensorIterator([a, 1.5]).common_dtype is torch.float32
    assert TensorIterator([a, b]).common_dtype is torch.float64
    assert TensorIterator([a], promote="float").common_dtype is torch.float32
    compared = TensorIterator([a, b], result=torch.bool)
    assert compared.common_dtype is torch.float64 and compared.output.dtype is torch.bool


def test_run_calls_the_loop_with_what_was_decided() -> None:
    seen: list[Any] = []

    def loop(a: Any, b: Any, out: Any) -> None:
        seen.extend(x.shape for x in (a, b, out))
        np.add(a, b, out=out)

    it = TensorIterator([ones(2, 3, 4), ones(4)])
    result = it.run(loop)
    assert seen[2] == it.coalesced_shape
    assert array(result).tolist() == np.full((2, 3, 4), 2.0).tolist()


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(2, 3), (3,)], (2, 3)),
        ([(2, 1), (1, 3)], (2, 3)),
        ([(), (4,)], (4,)),
        ([(0, 3), (1, 3)], (0, 3)),
        ([()], ()),
    ],
)
def test_broadcast_shapes(shapes: Any, expected: Any) -> None:
    assert broadcast_shapes(*shapes) == expected == np.broadcast_shapes(*shapes)


def test_what_does_not_broadcast() -> None:
    message = (
        r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton "
        r"dimension 1"
    )
    with pytest.raises(RuntimeError, match=message):
        broadcast_shapes((2, 3), (2, 4))


@st.composite
def tensors(draw: Any, shape: list[int]) -> Any:
    """A tensor that broadcasts to `shape`, permuted, expanded or sliced somehow."""
    sizes = [n if draw(st.booleans()) else 1 for n in shape]
    order = draw(st.permutations(range(len(sizes))))
    step = draw(st.integers(1, 2))
    base = np.arange(np.prod([sizes[d] for d in order]) * step, dtype=np.float32)
    t = from_array(base)[::step].reshape([sizes[d] for d in order])
    t = t.permute([order.index(d) for d in range(len(sizes))]) if sizes else t
    return t.expand(shape) if draw(st.booleans()) else t


@examples(150)
@given(st.data())
def test_output_strides_are_pytorchs(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    a, b = data.draw(tensors(shape)), data.draw(tensors(shape))

    def results(T: Any, a: Any, b: Any) -> list[Any]:
        return [T.add(a, b), T.gt(a, b), a.exp()]

    theirs = answer(
        lambda real: results(real, to_torch(a), to_torch(b)), description([a, b]), family="views"
    )
    assert_same(results(torch, a, b), theirs, strides=True, rtol=1e-4)


def test_writing_over_ones_own_input() -> None:
    t = torch.arange(6.0)
    with pytest.raises(
        RuntimeError,
        match=(
            "some elements of the input tensor and the written-to tensor refer to a single memory"
        ),
    ):
        torch.add(t[:-1], 1, out=t[1:])
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        torch.ones(1).expand(3).add_(1)
    torch.add(t, 1, out=t)
    assert t.tolist() == [1, 2, 3, 4, 5, 6]
