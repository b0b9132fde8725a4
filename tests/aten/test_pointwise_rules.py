"""Rules of arithmetic that are PyTorch's own, with its answers and its words: division, powers,
clamping, bools, half.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.aten.native.loops import erf
from internals.core.tensor_impl import array

nan, inf = torch.nan, torch.inf


def t(values: Any, dtype: Any = None) -> Any:
    return torch.tensor(values, dtype=dtype)


def same(result: Any, values: Any, dtype: Any) -> None:
    assert result.dtype is dtype
    np.testing.assert_array_equal(array(result), np.array(values, dtype.np))


@pytest.mark.parametrize(
    ("call", "values", "dtype"),
    [
        (lambda: t([7, -7, 7, -7]) // t([2, 2, -2, -2]), [3, -4, -4, 3], torch.int64),
        (lambda: t([7, -7, 7, -7]) % t([2, 2, -2, -2]), [1, 1, -1, -1], torch.int64),
        (lambda: t([7, -7, 7, -7]).fmod(t([2, 2, -2, -2])), [1, -1, 1, -1], torch.int64),
        (
            lambda: t([7, -7, 7, -7]).div(t([2, 2, -2, -2]), rounding_mode="trunc"), [3, -3, -3, 3],
            torch.int64,
        ),
        (lambda: t([7, -7]) / 2, [3.5, -3.5], torch.float32),
        (lambda: t([7.5, -7.5]) // 2, [3.0, -4.0], torch.float32),
        (lambda: t([1.0, -1.0, 0.0]) // 0, [inf, -inf, nan], torch.float32),
        (lambda: t([1.0, -1.0, 0.0]) % 0, [nan, nan, nan], torch.float32),
        (lambda: t([2, 1, -1, -1, 0]) ** t([-1, -5, -3, -2, -2]), [0, 1, -1, 1, 0], torch.int64),
        (lambda: 2 ** t([-1, 3]), [0, 8], torch.int64),
        (lambda: t([2], torch.int8) ** 7, [-128], torch.int8),
        (lambda: t([4.0, -4.0, -inf]) ** 0.5, [2, nan, nan], torch.float32),
        (lambda: t([True, False]) ** 2.0, [1, 0], torch.float32),
        (
            lambda: t([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]).round(), [-2, -2, -0.0, 0, 2, 2],
            torch.float32,
        ),
        (lambda: t([15.0, 25.0, 35.0]).round(decimals=-1), [20, 20, 40], torch.float32),
        (lambda: t([nan, -0.0, -3.0]).sign(), [0, 0, -1], torch.float32),
        (lambda: t([1.75, -1.75]).frac(), [0.75, -0.75], torch.float32),
        (lambda: t([1, 200], torch.uint8) + 300, [45, 244], torch.uint8),
        (lambda: -t([1, 0], torch.uint8), [255, 0], torch.uint8),
        (lambda: t([-128], torch.int8).abs(), [-128], torch.int8),
        (lambda: t([1, 200], torch.uint8) == -56, [False, True], torch.bool),
        (lambda: t([1, 2, 3]).clamp(2.5), [2.5, 2.5, 3], torch.float32),
        (lambda: t([3.0]).clamp(5, 1), [1], torch.float32),
        (lambda: t([1.0, nan]).clamp(nan), [nan, nan], torch.float32),
        (lambda: t([1.0, nan]).clamp(t([nan, 2.0])), [nan, nan], torch.float32),
        (lambda: t([nan, 1.0]).maximum(t([0.0, nan])), [nan, nan], torch.float32),
        (lambda: t([nan, 1.0]).minimum(t([0.0, nan])), [nan, nan], torch.float32),
        (lambda: t([5, 6]) & 3 | 8, [9, 10], torch.int64),
        (lambda: 5 ^ t([5, 6]), [0, 3], torch.int64),
        (lambda: ~t([True, False]), [False, True], torch.bool),
        (lambda: t([True, False]) + t([True, True]), [True, True], torch.bool),
        (lambda: t([True, False]) * 2, [2, 0], torch.int64),
        (lambda: 2 - t([1, 2]), [1, 0], torch.int64),
        (lambda: 5 // t([2, -2]), [2, -3], torch.int64),
        (lambda: 5 % t([2.0, -3.0]), [1, -1], torch.float32),
        (lambda: 1 / t([2, 4]), [0.5, 0.25], torch.float32),
        (lambda: torch.where(t([True, False]), 1, 2.5), [1, 2.5], torch.float32),
        (
            lambda: torch.where(t([True, False]), t(1, torch.int8), t([2.0]).half()), [1, 2],
            torch.float16,
        ),
        (lambda: t([1, 2]).masked_fill(t([True, False]), t(3.5)), [3, 2], torch.int64),
        (
            lambda: t([1.0, 2.0]).masked_fill(t([[True], [False]]), 9), [[9, 9], [1, 2]],
            torch.float32,
        ),
        (
            lambda: torch.lerp(t([0.0, 0.0]), t([10.0, 10.0]), t([0.25, 1.0])), [2.5, 10],
            torch.float32,
        ),
        (lambda: torch.addcdiv(t([1.0]), t([2.0]), t([4]), value=2), [2.0], torch.float32),
    ],
)  # fmt: skip
def test_answers(call: Callable[[], Any], values: Any, dtype: Any) -> None:
    same(call(), values, dtype)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: t([1]) // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: t([1]) % 0, RuntimeError, "ZeroDivisionError"),
        (lambda: t([1]).fmod(0), RuntimeError, "ZeroDivisionError"),
        (lambda: t([1]).div(0, rounding_mode="trunc"), RuntimeError, "ZeroDivisionError"),
        (lambda: t([1.0]).div(2, rounding_mode="up"), RuntimeError,
         "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"),
        (lambda: t([2]) ** -1, RuntimeError, (
            "Integers to negative integer powers are not allowed."
        )),
        (
            lambda: t([True]) - t([True]), RuntimeError,
            "Subtraction, the `-` operator, with two bool tensors",
        ),
        (lambda: 1 - t([True]), RuntimeError, "Subtraction, the `-` operator, with a bool tensor"),
        (
            lambda: -t([True]), RuntimeError,
            "Negation, the `-` operator, on a bool tensor is not supported",
        ),
        (
            lambda: t([1.0]) & 1, NotImplementedError,
            "\"bitwise_and_cpu\" not implemented for 'Float'",
        ),
        (lambda: t([1j]) < 1, NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: t([1j]).floor(), NotImplementedError, "floor is not supported for complex inputs"),
        (lambda: t([1j]).sign(), NotImplementedError, "Please use torch.sgn instead"),
        (lambda: t([1j]).abs_(), RuntimeError, (
            "In-place abs is not supported for complex tensors."
        )),
        (
            lambda: t([1j]).maximum(t([1j])), RuntimeError,
            "maximum not implemented for complex tensors.",
        ),
        (lambda: t([1]).frac(), NotImplementedError, "\"frac_cpu\" not implemented for 'Long'"),
        (
            lambda: t([1]).add_(1.5), RuntimeError,
            "result type Float can't be cast to the desired output type Long",
        ),
        (
            lambda: t([1]).add(t([1]), alpha=0.5), RuntimeError,
            "For integral input tensors, argument alpha must not be",
        ),
        (
            lambda: t([1]).add(t([1]), alpha=True), RuntimeError,
            "Boolean alpha only supported for Boolean results.",
        ),
        (lambda: t([1.0]).clamp(), RuntimeError, "At least one of 'min' or 'max' must not be None"),
        (
            lambda: t([1], torch.uint8).clamp(0, 256), RuntimeError,
            "value cannot be converted to type uint8_t without overflow",
        ),
        (
            lambda: t([1.0]).masked_fill(t([True]), 1j), RuntimeError,
            "value cannot be converted to type float without overflow",
        ),
        (
            lambda: t([1.0]).masked_fill(t([1]), 1), RuntimeError,
            "only supports boolean masks, but got mask with dtype long int",
        ),
        (
            lambda: t([1.0]).masked_fill(t([True]), t([1.0])), RuntimeError,
            "got tensor with 1 dimension(s).",
        ),
        (
            lambda: t([1.0, 2.0]).masked_fill_(t([[True], [False]]), 1), RuntimeError,
            "doesn't match the broadcast shape [2, 2]",
        ),
        (
            lambda: torch.where(t([1]), 1, 2), RuntimeError,
            "where expected condition to be a boolean tensor",
        ),
        (lambda: torch.lerp(t([1.0]), t([1.0], torch.float64), 0.5), RuntimeError,
         "expected dtype float for `end` but got dtype double"),
        (
            lambda: torch.addcdiv(t([1]), t([1]), t([1])), RuntimeError,
            "Integer division with addcdiv is no longer supported",
        ),
        (
            lambda: torch.neg(t([1]), out=t([1.0])), RuntimeError,
            "Found dtype Float but expected Long",
        ),
        (lambda: t([1.0, 2.0]) + t([1.0, 2.0, 3.0]), RuntimeError,
         "The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
         "dimension 0"),
        (lambda: torch.ones(2, 3) + torch.ones(4, 3, 4), RuntimeError,
         "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
         "dimension 2"),
        (
            lambda: t([1.0]).add_(t([1.0, 2.0])), RuntimeError,
            "output with shape [1] doesn't match the broadcast shape [2]",
        ),
    ],
)  # fmt: skip
def test_refusals(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert type(caught.value) is error


def test_half_is_computed_in_single_where_it_matters() -> None:
    big = t([60000.0]).half()
    # 1e-8 is no half, but the product is
    np.testing.assert_allclose(array(big * 1e-8), [6e-4], rtol=1e-2)
    np.testing.assert_allclose(array(big / 1e5), [0.6], rtol=1e-2)
    assert (1e5 - big).item() == inf  # on the left a number is an operand like any other
    x = torch.full((3,), 11.0, dtype=torch.float16)
    assert x.sigmoid().tolist() == pytest.approx([1 / (1 + np.exp(-11.0))] * 3, rel=1e-3)


def test_no_warnings_from_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero, big = torch.zeros(2), torch.full((2,), 3e38)
        results = [
            zero.div(0),
            zero.log(),
            big.exp(),
            big.sum(),
            big.add(big),
            (-zero - 1).sqrt(),
            zero.sum() / 0,
            big.prod(),
        ]
        results += [zero[::2].reciprocal(), big.mul_(2), zero // 0, big.mean(), big.var()]
        for result in results:
            assert not torch.isfinite(result).all()


def test_short_cuts_say_nothing_of_overflow_and_division_by_zero() -> None:
    one, zero, big = torch.ones(2), torch.zeros(2), torch.full((2,), 3e38)
    calls: list[Callable[[], Any]] = [
        lambda: one / 0.0,
        lambda: one / zero,
        lambda: big + big,
        lambda: big * 2.0,
    ]
    calls += [lambda: big * big, lambda: -big - big, lambda: big - -3e38, lambda: big + 3e38]
    for call in calls:
        with warnings.catch_warnings(), np.errstate(all="warn"):
            warnings.simplefilter("error")
            assert call().isinf().all()
        with np.errstate(all="raise"):
            assert call().isinf().all()


def test_negative_zero_of_remainder_is_that_of_c() -> None:
    assert np.signbit(array(t([-4.0]) % 2.0)).all()
    assert not np.signbit(array(t([4.0]) % -2.0)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_to_the_last_place(dtype: Any) -> None:
    x = np.concatenate(
        [np.linspace(-7, 7, 20001), np.logspace(-300, 0, 500), [0.0, -0.0, np.inf, -np.inf]]
    ).astype(dtype)
    result = np.empty_like(x)
    erf(x, out=result)
    expected = np.array([math.erf(v) for v in x])
    ulp = np.spacing(np.abs(expected).astype(dtype)).astype(np.float64)
    assert np.max(np.abs(result - expected) / np.maximum(ulp, 5e-324)) <= 1
    assert np.isnan(array(torch.erf(t([nan])))).all()


def test_in_place_through_every_layout() -> None:
    for make in (
        lambda: torch.ones(2, 3),
        lambda: torch.ones(3, 2).t(),
        lambda: torch.ones(4, 6)[::2, ::2],
    ):
        x = make()
        alias = x.view_as(x)
        x.mul_(3).add_(x).sub_(torch.ones(3)).pow_(2).clamp_(max=20)
        assert alias.tolist() == [[20.0] * 3] * 2
        assert x._version == 5


def test_an_operand_may_be_the_output() -> None:
    x = t([1.0, -2.0, 3.0])
    for call in (torch.sigmoid, torch.frac, torch.sign, torch.rsqrt, torch.erf):
        assert call(x.clone(), out=(y := x.clone())).tolist() == pytest.approx(
            call(x).tolist(), nan_ok=True
        )
        y = x.clone()
        assert call(y, out=y).tolist() == pytest.approx(call(x).tolist(), nan_ok=True)
    y = x.clone()
    assert torch.remainder(t([5.0, 5.0, 5.0]), y, out=y).tolist() == [0, -1, 2]
