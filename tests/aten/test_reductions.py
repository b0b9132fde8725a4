"""Rules of reductions and running sums: dtypes, dimensions, nothing to reduce, NaN, ties, accuracy,
norms, `out=`.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.core.tensor_impl import array, from_array
from tests.support import examples

nan, inf = torch.nan, torch.inf


def t(values: Any, dtype: Any = None) -> Any:
    return torch.tensor(values, dtype=dtype)


def same(result: Any, values: Any, dtype: Any) -> None:
    assert result.dtype is dtype
    np.testing.assert_array_equal(array(result), np.array(values, dtype.np))


x = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("call", "values", "dtype"),
    [
        (lambda: t([True, True]).sum(), 2, torch.int64),
        (lambda: t([1, 2], torch.uint8).sum(), 3, torch.int64),
        (lambda: t([100, 100], torch.int8).sum(dtype=torch.int8), -56, torch.int8),
        (lambda: t([1.7, 1.7]).sum(dtype=torch.int64), 2, torch.int64),
        (lambda: t([1.0, 2.0]).sum(dtype=torch.bool), True, torch.bool),
        (lambda: t(x).sum(()), 10, torch.float32),
        (lambda: t(x).sum(None, keepdim=True), [[10]], torch.float32),
        (lambda: t(x).sum((0, 1)), 10, torch.float32),
        (lambda: t(x).sum(axis=-1, keepdims=True), [[3], [7]], torch.float32),
        (lambda: t(5.0).sum(0), 5, torch.float32),
        (lambda: torch.empty(0).sum(), 0, torch.float32),
        (lambda: torch.empty(0).prod(), 1, torch.float32),
        (lambda: torch.empty(0).mean(), nan, torch.float32),
        (lambda: torch.empty(0, 2).sum(0), [0, 0], torch.float32),
        (lambda: torch.empty(2, 0).sum(0), [], torch.float32),
        (lambda: torch.empty(0).any(), False, torch.bool),
        (lambda: torch.empty(0).all(), True, torch.bool),
        (lambda: t([2, 0], torch.uint8).any(), 1, torch.uint8),
        (lambda: t(x).any(dim=()), [[True, True], [True, True]], torch.bool),
        (lambda: t([1, 2]).mean(dtype=torch.float64), 1.5, torch.float64),
        (lambda: t([1, 3]).prod(0, dtype=torch.float32), 3, torch.float32),
        (lambda: t([1.0, nan, 2.0]).max(), nan, torch.float32),
        (lambda: t([1.0, nan, 2.0]).amin(), nan, torch.float32),
        (lambda: t([1.0, nan, 2.0]).argmin(), 1, torch.int64),
        (lambda: t([1, 3, 3, 2]).argmax(), 1, torch.int64),
        (lambda: t([1, 1, 0, 0]).min(0).indices, 2, torch.int64),
        (lambda: t([True, False]).min(0).values, False, torch.bool),
        (lambda: t(x).argmax(keepdim=True), [[3]], torch.int64),
        (lambda: t(x).amax((0, 1), keepdim=True), [[4]], torch.float32),
        (lambda: t(x).max(t([2.0, 1.0])), [[2, 2], [3, 4]], torch.float32),
        (lambda: t(x).var(), np.float32(5 / 3), torch.float32),
        (lambda: t(x).var(0, correction=0), [1, 1], torch.float32),
        (lambda: t(x).var(unbiased=False), 1.25, torch.float32),
        (lambda: torch.var_mean(t(x), 1)[1], [1.5, 3.5], torch.float32),
        (lambda: t([1j, 2]).var(), 2.5, torch.float32),
        (lambda: t(x).var(0, correction=0j), [1, 1], torch.float32),
        (lambda: t([3 + 4j]).norm(), 5, torch.float32),
        (lambda: t(x).norm(p=1), 10, torch.float32),
        (lambda: t(x).norm(p=inf, dim=0), [3, 4], torch.float32),
        (lambda: t(x).norm(p=-inf, dim=1, keepdim=True), [[1], [3]], torch.float32),
        (lambda: t([0.0, 2.0, -1.0]).norm(0), 2, torch.float32),
        (lambda: torch.norm(t([[3.0, 0.0], [0.0, 4.0]]), "nuc"), 7, torch.float32),
        (lambda: torch.norm(t([3.0, 4.0]), dtype=torch.float64), 5, torch.float64),
        (lambda: t([-inf, -inf]).logsumexp(0), -inf, torch.float32),
        (lambda: t([inf, 1.0]).logsumexp(0), inf, torch.float32),
        (lambda: t([1000.0, 1000.0]).logsumexp(0), np.float32(1000 + np.log(2)), torch.float32),
        (lambda: t([1, 2], torch.int8).cumsum(0), [1, 3], torch.int64),
        (lambda: t([1, 2], torch.int8).cumsum_(0), [1, 3], torch.int8),
        (lambda: t([[1, 2], [3, 4]]).cumprod(1), [[1, 2], [3, 12]], torch.int64),
        (lambda: t([1, 2]).cumsum(0, dtype=torch.float32), [1, 3], torch.float32),
        (lambda: t(3).cumsum(0), 3, torch.int64),
        (lambda: torch.sum(t(x), 0, out=torch.empty(0, dtype=torch.int64)), [4, 6], torch.int64),
        (
            lambda: torch.cumsum(t(x), 0, out=torch.empty(0, dtype=torch.int64)), [[1, 2], [4, 6]],
            torch.int64,
        ),
    ],
)  # fmt: skip
def test_answers(call: Callable[[], Any], values: Any, dtype: Any) -> None:
    same(call(), values, dtype)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: t([1]).mean(), RuntimeError,
            "Input dtype must be either a floating point or complex dtype. Got: Long",
        ),
        (
            lambda: t([1.0]).mean(dtype=torch.int64), RuntimeError,
            "Optional dtype must be either a floating point or complex",
        ),
        (lambda: t(x).sum((0, -2)), RuntimeError, (
            "dim 0 appears multiple times in the list of dims"
        )),
        (
            lambda: t(x).sum(2), IndexError,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ),
        (lambda: t(1.0).sum(1), IndexError, "expected to be in range of [-1, 0], but got 1"),
        (
            lambda: torch.empty(0).max(), RuntimeError,
            "max(): Expected reduction dim to be specified for input.numel() == 0.",
        ),
        (
            lambda: torch.empty(0, 3).max(0), IndexError,
            "max(): Expected reduction dim 0 to have non-zero size.",
        ),
        (
            lambda: torch.empty(0, 3).amax(-2), IndexError,
            "amax(): Expected reduction dim -2 to have non-zero size.",
        ),
        (
            lambda: torch.empty(0).argmax(), IndexError,
            "argmax(): Expected reduction dim to be specified",
        ),
        (lambda: t([True]).argmax(), RuntimeError, "argmax(): does not support bool input"),
        (lambda: t([1j]).max(0), RuntimeError, "max(): does not support complex input"),
        (
            lambda: t([1j]).amax(), NotImplementedError,
            "\"max_values_cpu\" not implemented for 'ComplexFloat'",
        ),
        (
            lambda: t(x).var(correction=1j), RuntimeError,
            "value cannot be converted to type double without overflow",
        ),
        (
            lambda: t([1]).var(), RuntimeError,
            "std and var only support floating point and complex dtypes",
        ),
        (
            lambda: t([1]).norm(), RuntimeError,
            "vector_norm: Expected a floating point or complex tensor as input. Got Long",
        ),
        (
            lambda: torch.empty(0).norm(inf), RuntimeError,
            "cannot compute the inf norm on an empty tensor",
        ),
        (lambda: t([1.0]).norm("x"), RuntimeError, "Order x not supported."),
        (lambda: t([1.0]).norm("nuc"), RuntimeError, "must have at least 2 dimensions"),
        (
            lambda: t([1.0]).cumsum(0, dtype=torch.bool), NotImplementedError,
            "\"cumsum_out_cpu\" not implemented for 'Bool'",
        ),
        (
            lambda: t([1.5]).cumsum_(0, dtype=torch.int64), RuntimeError,
            "Bad in-place call: input tensor dtype float",
        ),
        (lambda: torch.max(t(x), 0, out=(torch.empty(0), torch.empty(0))), RuntimeError,
         "Expected out tensor to have dtype long int, but got float instead"),
        (
            lambda: torch.any(t(x), out=torch.empty(0)), RuntimeError,
            "any only supports bool tensor for result, got: Float",
        ),
        (
            lambda: torch.sum(t(x), 0, dtype=torch.float64, out=torch.empty(0)), RuntimeError,
            "to have dtype double",
        ),
        (
            lambda: torch.nuclear_norm(torch.ones(2, 2), out=torch.empty(0, dtype=torch.complex64)),
            RuntimeError, "dtype",
        ),
    ],
)  # fmt: skip
def test_refusals(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert type(caught.value) is error


def test_no_degrees_of_freedom() -> None:
    with pytest.warns(UserWarning, match=r"std\(\): degrees of freedom is <= 0"):
        assert t([1.0]).std().isnan().item()
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom"):
        same(t(x).var(0, correction=2), [inf, inf], torch.float32)


def test_named_results() -> None:
    result = t([[1, 5], [7, 2]]).max(1)
    assert (
        repr(result)
        == "internals.return_types.max(\nvalues=tensor([5, 7]),\nindices=tensor([1, 0]))"
    )
    values, indices = result
    assert values is result.values is result[0] and indices is result.indices
    assert isinstance(result, torch.return_types.max)
    again = pickle.loads(pickle.dumps(result))
    assert (
        type(again) is type(result)
        and again.values.tolist() == [5, 7]
        and again.indices.tolist() == [1, 0]
    )
    out = torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    written = torch.min(t([[1, 5], [7, 2]]), 1, out=out)
    assert written.values is out[0] and out[0].tolist() == [1, 2] and out[1].tolist() == [0, 1]


@examples(20)
@given(st.integers(1, 60_000), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_sums_lose_few_digits(n: int, columns: int, down: bool, seed: int) -> None:
    """Adding one after the other would be off by up to n units; blocks of blocks keep it within a
    handful.
    """
    a = np.random.default_rng(seed).uniform(0.5, 1.5, (n, columns)).astype(np.float32)
    a = a if down else np.ascontiguousarray(a.T)
    exact = a.astype(np.float64).sum(0 if down else 1)
    for result in (from_array(a).sum(0 if down else 1), from_array(a).mean(0 if down else 1) * n):
        np.testing.assert_allclose(array(result), exact, rtol=2e-6)


def test_half_is_added_up_in_single() -> None:
    assert torch.ones(10_000, dtype=torch.float16).sum().item() == 10_000
    assert torch.full((4096,), 0.1, dtype=torch.float16).mean().item() == pytest.approx(
        0.1, rel=1e-3
    )
    assert torch.ones(5_000, dtype=torch.float16).cumsum(0)[-1].item() == 5_000


def test_variance_far_from_zero() -> None:
    values = 1e4 + np.random.default_rng(0).standard_normal(10_000)
    single = values.astype(np.float32)
    assert from_array(single).var().item() == pytest.approx(
        single.astype(np.float64).var(ddof=1), rel=1e-6
    )


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "expanded"])
def test_layouts(layout: str) -> None:
    base = np.random.default_rng(1).standard_normal((4, 6, 8))
    tensor = {
        "contiguous": lambda: from_array(base),
        "transposed": lambda: from_array(np.ascontiguousarray(base.transpose(2, 0, 1))).permute(
            1, 2, 0
        ),
        "sliced": lambda: from_array(base)[::2, 1::3],
        "expanded": lambda: from_array(base[:, :1]).expand(4, 6, 8),
    }[layout]()
    a = np.array(array(tensor))
    for dim in ([0], [1], [2], [0, 2], [1, 2], [0, 1], [0, 1, 2]):
        axes = tuple(dim)
        np.testing.assert_allclose(array(tensor.sum(dim)), a.sum(axes), atol=1e-12)
        np.testing.assert_allclose(array(tensor.var(dim)), a.var(axes, ddof=1), atol=1e-12)
        np.testing.assert_allclose(
            array(tensor.amax(dim, keepdim=True)), a.max(axes, keepdims=True)
        )
        np.testing.assert_allclose(
            array(tensor.norm(3, dim)), (np.abs(a) ** 3).sum(axes) ** (1 / 3), atol=1e-12
        )
        np.testing.assert_allclose(
            array(tensor.logsumexp(dim)), np.log(np.exp(a).sum(axes)), atol=1e-12
        )
    for d in range(3):
        np.testing.assert_array_equal(array(tensor.argmax(d)), a.argmax(d))
        np.testing.assert_allclose(array(tensor.prod(d)), a.prod(d), atol=1e-12)
        np.testing.assert_allclose(array(tensor.cumsum(d)), a.cumsum(d), atol=1e-12)
        np.testing.assert_array_equal(array(tensor.min(d).values), a.min(d))


# Infinities, NaN and both zeros, three at a time, among as many ones as make no difference to what
# is looked at.
SPECIAL = np.array(list(product((1.0, -2.0, 0.0, -0.0, inf, -inf, nan), repeat=3)))
BY_NUMPY: dict[str, tuple[Callable[[Any, int], Any], Callable[[Any, int], Any]]] = {
    "sum": (lambda t, d: t.sum(d), np.sum),
    "nansum": (lambda t, d: t.nansum(d), np.nansum),
    "mean": (lambda t, d: t.mean(d), np.mean),
    "nanmean": (lambda t, d: t.nanmean(d), np.nanmean),
    "prod": (lambda t, d: t.prod(d), np.prod),
    "amax": (lambda t, d: t.amax(d), np.max),
    "amin": (lambda t, d: t.amin(d), np.min),
    "max": (lambda t, d: t.max(d).values, np.max),
    "min": (lambda t, d: t.min(d).values, np.min),
    "aminmax": (lambda t, d: torch.aminmax(t, dim=d).max, np.max),
    "argmax": (lambda t, d: t.argmax(d), np.argmax),
    "argmin": (lambda t, d: t.argmin(d), np.argmin),
    "any": (lambda t, d: t.any(d), np.any),
    "all": (lambda t, d: t.all(d), np.all),
    "count_nonzero": (lambda t, d: t.count_nonzero(d), np.count_nonzero),
    "var": (lambda t, d: t.var(d), lambda a, d: np.var(a, d, ddof=1)),
    "std": (lambda t, d: t.std(d, correction=0), np.std),
    "median of odd": (lambda t, d: t.median(d).values, np.median),
    "norm 1": (lambda t, d: t.norm(1, d), lambda a, d: np.abs(a).sum(d)),
    "norm 2": (lambda t, d: t.norm(2, d), lambda a, d: np.sqrt(np.square(a).sum(d))),
    "norm inf": (lambda t, d: t.norm(inf, d), lambda a, d: np.abs(a).max(d)),
    "logsumexp": (lambda t, d: t.logsumexp(d), lambda a, d: np.log(np.exp(a).sum(d))),
    "cumsum": (lambda t, d: t.cumsum(d), np.cumsum),
    "cumprod": (lambda t, d: t.cumprod(d), np.cumprod),
    "cummax": (lambda t, d: t.cummax(d).values, np.maximum.accumulate),
    "cummin": (lambda t, d: t.cummin(d).values, np.minimum.accumulate),
}


@pytest.mark.parametrize("name", BY_NUMPY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinities_nan_and_zeros_are_what_they_are_to_numpy(name: str, dtype: Any) -> None:
    """In short rows and long ones, along them and across; the sign of a zero where it tells
    something.
    """
    ours, theirs = BY_NUMPY[name]
    for length in (3, 5, 65):
        rows = np.ones((len(SPECIAL), length), dtype)
        rows[:, :: length // 2 if length > 3 else 1] = SPECIAL
        for a, d in ((rows, 1), (np.ascontiguousarray(rows.T), 0), (np.asfortranarray(rows), -1)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = theirs(a, d)
            found = array(ours(from_array(a), d))
            np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype is np.float32 else 1e-12)
            if name.endswith("prod"):
                np.testing.assert_array_equal(
                    np.signbit(found) & (found == 0), np.signbit(expected) & (expected == 0)
                )


def test_a_gradient_passes_what_is_not_nan() -> None:
    values = t([[1.0, nan], [inf, -inf]]).requires_grad_()
    values.nansum().backward()
    assert values.grad.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize("dims", range(4))
def test_a_sum_to_a_size_that_fits_and_no_other(dims: int) -> None:
    a = np.arange(6.0).reshape(2, 3)
    for size in product((0, 1, 2, 3), repeat=dims):
        extra = 2 - dims
        if extra >= 0 and all(n in (1, m) for n, m in zip(size, a.shape[extra:])):
            over = tuple(d for d in range(2) if d < extra or size[d - extra] == 1)
            np.testing.assert_array_equal(
                array(from_array(a).sum_to_size(size)), a.sum(over).reshape(size)
            )
        else:
            with pytest.raises(RuntimeError) as refusal:
                from_array(a).sum_to_size(size)
            assert (
                str(refusal.value) == f"size {{{list(size)}}} is not expandable to size {{[2, 3]}}."
            )
