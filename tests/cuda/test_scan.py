"""cumsum and cumprod on the device."""

from __future__ import annotations

from random import Random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import internals
from internals.cuda.native import scans
from tests.cuda.comparing import (
    REALS,
    compare,
    compare_gradients,
    no_fallback,
    same,
    same_error,
    values,
)
from tests.support import examples, to_numpy


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_every_dtype_and_dimension(name: str, dtype: str) -> None:
    t = values((3, 5, 4), dtype)
    for dim in (0, 1, -1):
        compare(lambda x, dim=dim: getattr(x, name)(dim), t)
        compare(lambda x, dim=dim: getattr(x, name)(dim, dtype=internals.float64), t)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 128, 129, 1000, 1025, 2500])
def test_rows_of_any_length(n: int) -> None:
    compare(lambda x: x.cumsum(1), values((2, n), "int64"))
    compare(lambda x: x.cumsum(0), values((n, 3), "int64"))


def test_a_long_row_is_cut_into_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU from 8,192 elements on; here with a smaller tile."""
    assert scans._chunk(1 << 26, 1, 1056) == 63 * 1024  # 2^26 / 1056, in whole tiles
    assert scans._chunk(4096, 1, 1056) == 4096 and scans._chunk(1 << 20, 2000, 1056) == 1 << 20
    monkeypatch.setattr(scans, "TILE", 8)
    assert scans._chunk(100, 1, 16) == 40
    for shape in ((100,), (3, 100), (2, 333)):
        compare(lambda x: x.cumsum(-1), values(shape, "int64"))
        compare(lambda x: x.cumsum(-1), values(shape))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.randoms(use_true_random=False))
@examples(15)
def test_any_layout(shape: list[int], random: Random) -> None:
    t = values(tuple(2 * n for n in shape), "int64", seed=random.randrange(100))
    t = t[tuple(slice(0, 2 * n, random.choice([1, 2])) for n in shape)].permute(
        random.sample(range(len(shape)), len(shape))
    )
    dim = random.randrange(t.dim())
    compare(lambda x: x.cumsum(dim), t)
    compare(lambda x: x.cumprod(dim), t)


def test_infinity_and_nan_stay() -> None:
    inf, nan = float("inf"), float("nan")
    t = internals.tensor([[1, inf, 2, -inf, 1], [1, nan, 2, 3, 4], [2, 0, inf, 1, 1]])
    compare(lambda x: x.cumsum(1), t)
    compare(lambda x: x.cumprod(1), t)


def test_nothing_one_and_out() -> None:
    compare(lambda x: x.cumsum(0), internals.tensor(3.0))
    compare(lambda x: x.cumsum(1), internals.zeros(3, 0))
    compare(lambda x: x.cumsum(0), internals.zeros(0, 3))
    t = values((3, 4))
    with no_fallback():
        inplace = t.cuda().cumsum_(1)
        strided = internals.zeros(4, 3, device="cuda").t()
        internals.cumsum(t.cuda(), 0, out=strided)
        memory = t.cuda().reshape(-1)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            internals.cumsum(memory[:-1], 0, out=memory[1:])
    same(inplace, t.cumsum(1))
    same(strided, t.cumsum(0))
    same(memory, t.reshape(-1))


def test_errors() -> None:
    same_error(lambda x: x.cumsum(2), values((3, 4)))
    same_error(lambda x: x.cumsum(0, dtype=internals.bool), values((3, 4)))
    same_error(lambda x: x.cumsum_(0, dtype=internals.float64), values((3, 4)))


def test_halves_are_added_up_in_single_precision() -> None:
    t = internals.full((3000,), 0.1, dtype=internals.float16)
    np.testing.assert_allclose(to_numpy(t.cuda().cumsum(0).cpu()), to_numpy(t.cumsum(0)), rtol=2e-3)


def test_gradients() -> None:
    compare_gradients(lambda x: x.cumsum(1), values((3, 6), "float64"))
    compare_gradients(lambda x: x.cumprod(0), values((5, 2), "float64"))
