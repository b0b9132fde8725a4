"""sort, argsort and topk on the device."""

from __future__ import annotations

from random import Random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import internals
from internals.cuda import fallback
from tests.cuda.comparing import (
    REALS,
    compare,
    compare_gradients,
    no_fallback,
    same,
    same_error,
    values,
)
from tests.support import examples


def compare_topk(t: Any, k: int, dim: int, largest: bool) -> None:
    """The values are determined; of equal ones at the border, any may be chosen."""
    compare(lambda x: x.topk(k, dim, largest)[0], t)
    chosen, where = t.cuda().topk(k, dim, largest)
    same(chosen, t.gather(dim, where.cpu()))
    assert where.dtype is internals.int64 and all(
        len(set(row)) == k for row in where.cpu().movedim(dim, -1).reshape(-1, k).tolist()
    )


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype_and_dimension(dtype: str, descending: bool) -> None:
    t = values((3, 9, 2), dtype)
    for dim in (0, 1, -1):
        compare(lambda x, dim=dim: x.sort(dim, descending), t)
        compare(lambda x, dim=dim: internals.argsort(x, dim, descending), t)
        if dtype != "bool":
            compare_topk(t, 2, dim, descending)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 63, 65, 128, 257])
def test_rows_of_any_length(n: int) -> None:
    t = values((2, n), "int64")
    compare(lambda x: x.sort(1), t)
    compare(lambda x: x.sort(1, descending=True), t)
    compare_topk(t, (n + 1) // 2, 1, True)


def test_the_longest_row() -> None:
    compare(lambda x: x.sort(), values((1024,)))


def test_a_longer_row_is_sorted_on_the_cpu_and_that_is_seen() -> None:
    t = values((1025,))
    for name, call in (
        ("sort.stable", lambda x: x.sort(stable=True)),
        ("topk", lambda x: x.topk(3)),
    ):
        before = fallback.fallbacks().get(f"aten::{name}", 0)
        same(call(t.cuda()), call(t))
        assert fallback.fallbacks()[f"aten::{name}"] == before + 1
        with (
            fallback.no_fallback(),
            pytest.raises(NotImplementedError, match="CPU fallback is switched off"),
        ):
            call(t.cuda())


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.booleans())
@examples(25)
def test_equal_values_keep_their_order(numbers: list[int], descending: bool) -> None:
    compare(lambda x: x.sort(stable=True, descending=descending), internals.tensor(numbers))


def test_nan_is_the_largest() -> None:
    inf, nan = float("inf"), float("nan")
    t = internals.tensor([[nan, 1.0, inf, -inf, nan, 0.0], [nan, nan, nan, -1.0, nan, inf]])
    for descending in (False, True):
        compare(lambda x, d=descending: x.sort(1, d), t)
        compare_topk(t, 3, 1, descending)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.randoms(use_true_random=False))
@examples(15)
def test_any_layout(shape: list[int], random: Random) -> None:
    t = values(tuple(2 * n for n in shape), "int64", seed=random.randrange(100))
    t = t[tuple(slice(0, 2 * n, random.choice([1, 2])) for n in shape)].permute(
        random.sample(range(len(shape)), len(shape))
    )
    dim = random.randrange(t.dim())
    result = compare(lambda x: x.sort(dim), t)
    assert result[0].stride() == t.sort(dim)[0].stride()


def test_nothing_one_and_out() -> None:
    compare(lambda x: x.sort(), internals.tensor(3.0))
    compare(lambda x: x.topk(1), internals.tensor(3.0))
    compare(lambda x: x.sort(0), internals.zeros(0, 3))
    compare(lambda x: x.topk(0, 1), internals.zeros(2, 3))
    t = values((3, 4))
    out = (
        internals.zeros(4, 3, device="cuda").t(),
        internals.zeros(3, 4, device="cuda", dtype=internals.int64),
    )
    with no_fallback():
        internals.sort(t.cuda(), 1, out=out)
    same(out, tuple(t.sort(1)))


def test_errors() -> None:
    same_error(lambda x: x.topk(5), values((3, 4)))
    same_error(lambda x: x.topk(1), values((3, 4), "bool"))
    same_error(lambda x: x.sort(2), values((3, 4)))
    same_error(lambda x: x.sort(), internals.tensor([1j]))


def test_gradients() -> None:
    compare_gradients(lambda x: x.sort(1, descending=True), values((3, 6), "float64"))
    compare_gradients(lambda x: x.topk(3, 0), values((5, 2), "float64"))
