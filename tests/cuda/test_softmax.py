"""softmax and log_softmax on the device, their gradients, and the losses that are made of them."""

from __future__ import annotations

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

import internals
from internals._generated import ops
from internals.nn import functional as F
from tests.cuda.comparing import (
    FLOATS,
    compare,
    compare_gradients,
    no_fallback,
    same,
    same_error,
    values,
)
from tests.support import examples

NAMES = ("softmax", "log_softmax")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_every_dimension(name: str, dtype: str) -> None:
    t = values((3, 5, 4), dtype)
    for dim in (0, 1, 2, -1):
        compare(lambda x, dim=dim: getattr(x, name)(dim), t)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "shape",
    [(1,), (), (0, 3), (3, 0), (2, 1), (3, 15), (3, 16), (5, 33), (2, 130), (1, 600), (70, 3)],
)
def test_short_and_long_rows(name: str, shape: tuple[int, ...]) -> None:
    compare(lambda x: getattr(x, name)(-1), values(shape))
    compare(lambda x: getattr(x, name)(0), values(shape))


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from(NAMES),
)
@examples(15)
def test_any_layout(shape: list[int], random: Random, name: str) -> None:
    t = values(tuple(2 * n for n in shape), seed=random.randrange(100))
    t = t[tuple(slice(0, 2 * n, random.choice([1, 2])) for n in shape)]
    t = t.permute(random.sample(range(t.dim()), t.dim()))
    dim = random.randrange(t.dim())
    compare(lambda x: getattr(x, name)(dim), t)
    compare_gradients(lambda x: getattr(x, name)(dim), t.double())


def test_numbers_that_would_overflow() -> None:
    inf, nan = float("inf"), float("nan")
    rows = [
        [1000.0, 999, 0, -1000],
        [-inf, 0, 1, -inf],
        [inf, 0, 1, 2],
        [nan, 0, 1, 2],
        [-inf] * 4,
        [-200.0, 0, 0, 0],
    ]
    for name in NAMES:
        compare(lambda x, name=name: getattr(x, name)(1), internals.tensor(rows))
        compare(lambda x, name=name: getattr(x, name)(0), internals.tensor(rows[:2] + rows[5:]))
    assert internals.tensor([[-200.0, 0]]).cuda().log_softmax(1)[0, 0].item() == -200


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients(name: str, dim: int) -> None:
    for t in (values((4, 20), "float64"), values((40, 3), "float64"), values((3, 4), "float16")):
        compare_gradients(lambda x: getattr(x, name)(dim), t)
    y = getattr(values((4, 20)), name)(dim)
    compare(
        lambda g, y: getattr(ops, f"_{name}_backward_data")(g, y, dim, internals.float32),
        values((4, 20)),
        y,
    )


def test_out_and_errors() -> None:
    t = values((3, 4)).cuda()
    out = internals.zeros(4, 3, device="cuda").t()
    with no_fallback():
        ops._softmax_out(t, 1, False, out)
    same(out, t.cpu().softmax(1))
    ops._softmax_out(t, 1, False, t)
    same(t, out.cpu())
    same_error(lambda x: x.softmax(2), values((3, 4)))
    same_error(lambda x: x.softmax(1), values((3, 4), "int64"))


def test_a_dtype_converts_first() -> None:
    compare(lambda x: F.softmax(x, 1, dtype=internals.float64), values((3, 4), "int32"))
    compare(lambda x: x.log_softmax(0, dtype=internals.float32), values((3, 4), "float16"))
