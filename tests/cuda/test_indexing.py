"""Indexing with tensors and masks on the device: what the CPU gives, with gradients, without a
fallback.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.core.tensor_impl import array
from internals.cuda.native.compaction import true_positions
from tests.cuda.indexing_support import MOVABLE, numbers, same_on_both
from tests.support import examples

ROWS, COLUMNS = torch.tensor([2, -1, 0]), torch.tensor([[1], [3]])
MASK = torch.tensor(
    [[True, False, True, True], [False, False, True, False], [True, True, False, False]]
)


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
def test_every_dtype_is_read_and_written(dtype: Any) -> None:
    same_on_both(lambda x, i: x[i], numbers(3, 4, dtype=dtype), ROWS)

    def write(x: Any, i: Any, v: Any) -> Any:
        x = x.clone()
        x[i] = v
        return x

    same_on_both(
        write, numbers(3, 4, dtype=dtype), torch.tensor([2, 0]), numbers(2, 4, dtype=dtype, seed=1)
    )


@pytest.mark.parametrize("index", [
    lambda i, j: i, lambda i, j: (slice(None), j), lambda i, j: (i[:2], j), lambda i,
    j: (Ellipsis, i), lambda i, j: (i, slice(None), i), lambda i, j: (slice(None), i, i), lambda i,
    j: (0, i), lambda i, j: (i, None, 1), lambda i, j: (i.to(torch.int32), slice(1, None)),
    lambda i, j: (i[:0],), lambda i, j: ([0, 1], [2, 0]),
])  # fmt: skip
def test_any_combination_of_indices(index: Any) -> None:
    x = numbers(4, 4, 4)
    same_on_both(lambda x, i, j: x[index(i, j)], x, ROWS, COLUMNS, grad=True)
    same_on_both(lambda x, i, j: x.permute(2, 0, 1)[index(i, j)], x, ROWS, COLUMNS)


def test_masks() -> None:
    x = numbers(3, 4)
    same_on_both(lambda x, m: x[m], x, MASK, grad=True)
    same_on_both(lambda x, m: x[:, m[0]], x, MASK, grad=True)
    same_on_both(lambda x, m: x[m[:, 0], 1], x, MASK)
    same_on_both(lambda x, m: x.masked_select(m[:, :1]), x, MASK, grad=True)
    same_on_both(lambda x, m: x[m & False], x, MASK)
    same_on_both(lambda x, m: x.t()[m.t()], x, MASK)


def test_indices_of_the_cpu_are_moved() -> None:
    x = numbers(3, 4).cuda()
    assert x[ROWS].tolist() == x.cpu()[ROWS].tolist()
    assert x[MASK].tolist() == x.cpu()[MASK].tolist()


def test_writing_with_masks_and_numbers() -> None:
    def write(x: Any, m: Any) -> Any:
        x = x.clone()
        x[m] = 9
        x[:, m[0]] = x[:, :1]
        x[m[:, 1], 2] = 5
        return x

    same_on_both(write, numbers(3, 4), MASK)


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64],
    ids=str,
)
def test_accumulate_counts_repeats(dtype: Any) -> None:
    def add(x: Any, i: Any, v: Any) -> Any:
        return x.index_put((i,), v, accumulate=True)

    index = torch.tensor([1, 1, -1, 1])
    same_on_both(add, numbers(3, 2, dtype=dtype), index, numbers(4, 2, dtype=dtype, seed=1))
    same_on_both(add, numbers(2, 3, dtype=dtype).t(), index, numbers(1, 2, dtype=dtype, seed=1))


def test_gradients_of_writing() -> None:
    def put(x: Any, i: Any, v: Any) -> Any:
        return x.index_put((i,), v)

    same_on_both(put, numbers(3, 2), torch.tensor([2, 0]), numbers(2, 2, seed=1), grad=True)


@pytest.mark.parametrize("sizes", [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.float16, torch.int64, torch.complex64], ids=str
)
def test_nonzero(sizes: tuple[int, ...], dtype: Any) -> None:
    x = (numbers(*sizes) - 2).clamp(0).to(dtype)
    same_on_both(lambda x: x.nonzero(), x)
    same_on_both(lambda x: x.nonzero(as_tuple=True), x)


def test_positions_across_many_blocks_come_in_order() -> None:
    mask = torch.tensor(np.random.default_rng(0).integers(0, 2, 1500).astype(bool))
    assert array(true_positions(mask.cuda()).cpu()).tolist() == np.flatnonzero(array(mask)).tolist()


@given(st.integers(0, 600), st.floats(0, 1), st.integers(0, 99))
@examples(8)
def test_masked_select_keeps_the_order(n: int, p: float, seed: int) -> None:
    mask = torch.tensor(np.random.default_rng(seed).random(n) < p)
    same_on_both(lambda x, m: x.masked_select(m), torch.arange(n), mask)


def test_repeat_interleave() -> None:
    repeats = torch.tensor([2, 0, 3])
    same_on_both(lambda x, r: x.repeat_interleave(r, 0), numbers(3, 2), repeats, grad=True)
    same_on_both(lambda x, r: x.repeat_interleave(r, 1, output_size=5), numbers(2, 3), repeats)
    same_on_both(lambda x: x.repeat_interleave(2, 1), numbers(2, 3), grad=True)
    same_on_both(lambda r: torch.repeat_interleave(r.to(torch.int32)), repeats)


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(
    ("repeats", "size"), [([2, 0, 3], 4), ([1000, -990, 3], None), ([-2, 7], None)]
)
def test_repeat_interleave_into_fewer_elements(repeats: list[int], size: int | None) -> None:
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        torch.repeat_interleave(torch.tensor(repeats).cuda(), output_size=size)
        torch.cuda.synchronize()


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("index", [3, -4])
def test_an_index_out_of_range_is_found_out_by_the_kernel(index: int) -> None:
    x = numbers(3).cuda()
    i, v = torch.tensor([0, index]).cuda(), numbers(2).cuda()
    for use in (
        lambda: x[i],
        lambda: x.index_put_((i,), v),
        lambda: x.index_put_((i,), v, accumulate=True),
    ):
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            use()
            torch.cuda.synchronize()


def test_errors_that_need_no_kernel_are_those_of_the_cpu() -> None:
    x = numbers(3, 4).cuda()
    with pytest.raises(IndexError, match="too many indices"):
        x[ROWS.cuda(), ROWS.cuda(), ROWS.cuda()]
    with pytest.raises(IndexError, match="shape mismatch: indexing tensors could not be broadcast"):
        x[torch.tensor([0, 1]).cuda(), ROWS.cuda()]
    with pytest.raises(RuntimeError, match="shape mismatch: value tensor"):
        x.index_put_((ROWS.cuda(),), numbers(2, 4).cuda())
    with pytest.raises(IndexError, match="The shape of the mask"):
        x[torch.tensor([True, False]).cuda()]
