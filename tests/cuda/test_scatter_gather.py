"""gather, scatter, index_select, index_add and embedding on the device: what the CPU gives, without
a fallback.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.core.tensor_impl import array
from tests.cuda.indexing_support import MOVABLE, numbers, same_on_both
from tests.support import examples

ADDABLE = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
]
INDEX = torch.tensor([[2, 0, 0], [1, 1, 2]])


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
def test_gather_moves_every_dtype(dtype: Any) -> None:
    same_on_both(lambda x, i: x.gather(0, i), numbers(3, 3, dtype=dtype), INDEX)


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_along_any_dimension_of_any_layout(dim: int, index_dtype: Any) -> None:
    x = numbers(4, 3).t()
    index = INDEX.to(index_dtype)
    same_on_both(lambda x, i: x.gather(dim, i), x, index, grad=True)
    same_on_both(
        lambda x, i: x.gather(dim, i[:, ::2]), x[:, ::2].contiguous() if dim == 0 else x, index
    )


def test_no_dimensions_and_no_elements() -> None:
    same_on_both(lambda x, i: x.gather(0, i), numbers(), torch.tensor(0))
    same_on_both(lambda x, i: x.gather(1, i), numbers(2, 3), torch.zeros(2, 0, dtype=torch.int64))
    same_on_both(
        lambda x, i: x.index_select(0, i), numbers(0, 3), torch.zeros(0, dtype=torch.int64)
    )
    same_on_both(lambda x, i: x.index_select(0, i), numbers(), torch.tensor([0]))
    same_on_both(
        lambda x, i, s: x.index_add(0, i, s),
        numbers(3, 2),
        torch.zeros(0, dtype=torch.int64),
        numbers(0, 2),
    )


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
def test_scatter_moves_every_dtype(dtype: Any) -> None:
    index = torch.tensor([[2, 0, 1], [0, 1, 2]])  # no place twice
    same_on_both(
        lambda x, i, s: x.scatter(0, i, s),
        numbers(3, 3, dtype=dtype),
        index,
        numbers(3, 4, dtype=dtype, seed=1),
    )
    same_on_both(lambda x, i: x.scatter(1, i, 1), numbers(3, 3, dtype=dtype), index)


@pytest.mark.parametrize("dtype", ADDABLE, ids=str)
def test_what_meets_at_one_place_adds_up(dtype: Any) -> None:
    x, s = numbers(3, 3, dtype=dtype), numbers(2, 3, dtype=dtype, seed=1)
    same_on_both(lambda x, i, s: x.scatter_add(0, i, s), x, INDEX, s)
    same_on_both(lambda x, i, s: x.index_add(0, i, s), x, torch.tensor([1, 1]), s)
    same_on_both(lambda x, i, s: x.scatter(0, i, s, reduce="multiply"), x, INDEX, s)
    same_on_both(lambda x, i: x.scatter(0, i, 1, reduce="add"), x, INDEX)


def test_small_integers_wrap_around() -> None:
    x = torch.full((2,), 250, dtype=torch.uint8)
    same_on_both(
        lambda x, i, s: x.scatter_add(0, i, s),
        x,
        torch.tensor([0, 0, 0]),
        torch.full((3,), 100, dtype=torch.uint8),
    )


def test_index_add_scales() -> None:
    same_on_both(
        lambda x, i, s: x.index_add(1, i, s, alpha=3),
        numbers(2, 3),
        torch.tensor([2, 2]),
        numbers(2, 2),
        grad=True,
    )


def test_gradients() -> None:
    index = torch.tensor([[2, 0, 1], [0, 1, 2]])
    same_on_both(lambda x, i, s: x.scatter(0, i, s), numbers(3, 3), index, numbers(2, 3), grad=True)
    same_on_both(
        lambda x, i, s: x.scatter_add(0, i, s), numbers(3, 3), INDEX, numbers(2, 3), grad=True
    )
    same_on_both(
        lambda x, i: x.index_select(1, i), numbers(2, 3), torch.tensor([2, 0, 2]), grad=True
    )
    same_on_both(
        lambda x, i, s: x.index_add(0, i, s),
        numbers(3, 3),
        torch.tensor([1, 1]),
        numbers(2, 3),
        grad=True,
    )


def test_in_place_and_out() -> None:
    x, out = numbers(3, 3).cuda(), torch.empty(0, device="cuda")
    same = x.scatter_(0, INDEX.cuda()[:1], 7)
    assert same is x and x.cpu()[2, 0] == 7
    assert torch.gather(x, 1, INDEX.cuda(), out=out) is out and tuple(out.shape) == (2, 3)


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(
    "call", ["gather", "index_select", "scatter", "scatter_add", "index_add", "embedding"]
)
def test_an_index_out_of_range_is_never_silent(call: str) -> None:
    x, index = numbers(3).cuda(), torch.tensor([0, 3]).cuda()
    calls = {
        "gather": lambda: x.gather(0, index),
        "index_select": lambda: x.index_select(0, index),
        "scatter": lambda: x.scatter(0, index, 1),
        "scatter_add": lambda: x.scatter_add(0, index, x[:2]),
        "index_add": lambda: x.index_add(0, index, x[:2]),
        "embedding": lambda: torch.nn.functional.embedding(index, x.view(3, 1)),
    }
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        calls[call]()
        torch.cuda.synchronize()


@given(st.data())
@examples(15)
def test_any_shapes(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dim = data.draw(st.integers(0, len(sizes) - 1))
    counts = [
        data.draw(st.integers(0, 4)) if d == dim else data.draw(st.integers(1, n))
        for d, n in enumerate(sizes)
    ]
    stream = np.random.default_rng(data.draw(st.integers(0, 99)))
    index = torch.tensor(stream.integers(0, sizes[dim], counts))
    x, s = numbers(*sizes), numbers(*counts, seed=2)
    same_on_both(lambda x, i: x.gather(dim, i), x, index)
    same_on_both(lambda x, i, s: x.scatter_add(dim, i, s), x, index, s)
    same_on_both(lambda x, i, s: x.scatter(dim, i, s, reduce="multiply"), x, index, s)


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding", [None, 1])
def test_embedding(padding: int | None, by_frequency: bool) -> None:
    indices = torch.tensor([[0, 3, 1], [3, 3, 1]])

    def look_up(table: Any, indices: Any) -> Any:
        return torch.nn.functional.embedding(
            indices, table, padding, scale_grad_by_freq=by_frequency
        )

    same_on_both(look_up, numbers(4, 3), indices, grad=True)
    same_on_both(look_up, numbers(3, 4).t(), indices[:, ::2], grad=True)


def test_the_gradient_of_a_table_of_float16_is_added_in_float32() -> None:
    table = torch.zeros(2, 1, dtype=torch.float16, device="cuda", requires_grad=True)
    indices = torch.zeros(2100, dtype=torch.int64, device="cuda")
    torch.nn.functional.embedding(indices, table).sum().backward()
    assert array(table.grad.cpu())[0, 0] == 2100  # adding ones in float16 would stop at 2048


@pytest.mark.parametrize("norm_type", [2.0, 1.0, math.inf])
def test_rows_that_are_too_long_are_shortened_where_they_lie(norm_type: float) -> None:
    def look_up(table: Any, indices: Any) -> Any:
        table = table.clone()
        return torch.nn.functional.embedding(
            indices, table, max_norm=2.0, norm_type=norm_type
        ), table

    same_on_both(look_up, numbers(4, 3), torch.tensor([[0, 3], [3, 1]]))
