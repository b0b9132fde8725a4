"""Pointwise operators and reductions beside numpy, in every variant: what `make test` checks
without PyTorch.

Inputs are contiguous, transposed, strided, expanded, 0-d and empty; results are compared in
float64.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.core.tensor_impl import array, from_array
from tests.support import examples

_erf = np.vectorize(math.erf, otypes=[np.float64])

UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "log2": np.log2,
    "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "reciprocal": lambda a: 1 / a,
    "sin": np.sin, "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "erf": _erf, "floor": np.floor, "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc, "frac": lambda a: a - np.trunc(a), "sign": np.sign, "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite, "logical_not": np.logical_not, "square": np.square,
    "relu": lambda a: np.maximum(a, 0),
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "pow": lambda a,
    b: np.power(a, b), "maximum": np.maximum, "minimum": np.minimum, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "atan2": np.arctan2, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip
INTEGER = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min,
    "argmax": np.argmax, "argmin": np.argmin, "any": np.any, "all": np.all, "var": lambda a, axis,
    keepdims: np.var(a, axis=axis, ddof=1, keepdims=keepdims), "std": lambda a, axis,
    keepdims: np.std(a, axis=axis, ddof=1, keepdims=keepdims), "logsumexp": lambda a, axis,
    keepdims: np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims)),
}  # fmt: skip


@st.composite
def layouts(draw: Any, ndim: int | None = None) -> Any:
    """A float64 array of one to three dimensions and a tensor with its values, in some layout."""
    shape = [
        draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 3)) if ndim is None else ndim)
    ]
    values = np.random.default_rng(draw(st.integers(0, 99))).uniform(-2, 2, shape)
    how = draw(st.sampled_from(["contiguous", "transposed", "strided"]))
    if how == "transposed":
        return values, from_array(np.ascontiguousarray(values.T)).permute(
            *reversed(range(values.ndim))
        )
    if how == "strided":
        wide = np.zeros([2 * n for n in shape])
        wide[tuple(slice(1, None, 2) for _ in shape)] = values
        return values, from_array(wide)[tuple(slice(1, None, 2) for _ in shape)]
    return values, from_array(values)


def same(ours: Any, expected: Any) -> None:
    assert tuple(ours.shape) == np.shape(expected)
    np.testing.assert_allclose(array(ours), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("op", UNARY)
@examples(8)
@given(data=st.data())
def test_unary(op: str, data: st.DataObject) -> None:
    values, t = data.draw(layouts())
    with np.errstate(all="ignore"):
        expected = UNARY[op](values)
    same(getattr(torch, op)(t), expected)
    same(getattr(t, op)(), expected)
    out = torch.empty(0, dtype=torch.float64)
    if op not in ("isnan", "isinf", "isfinite", "relu"):
        assert getattr(torch, op)(t, out=out) is out
        same(out, expected)
    if hasattr(t, op + "_"):
        assert getattr(t, op + "_")() is t
        same(t, expected)


@pytest.mark.parametrize("op", BINARY)
@examples(8)
@given(data=st.data())
def test_binary(op: str, data: st.DataObject) -> None:
    a, t = data.draw(layouts(2))
    row = np.random.default_rng(7).uniform(0.5, 2, a.shape[1])
    u = from_array(row)
    with np.errstate(all="ignore"):
        expected = BINARY[op](a, row)
    same(getattr(torch, op)(t, u), expected)
    same(getattr(t, op)(u), expected)
    out = torch.empty(0, dtype=torch.float64)
    getattr(torch, op)(t, u, out=out)
    same(out, expected)
    if hasattr(t, op + "_"):
        assert getattr(t, op + "_")(u) is t
        same(t, expected)


@pytest.mark.parametrize("op", INTEGER)
def test_bits(op: str) -> None:
    a, b = np.arange(-6, 6).reshape(3, 4), np.array([3, 5, -2, 0])
    same(getattr(torch, op)(from_array(a), from_array(b)), INTEGER[op](a, b))
    same(getattr(from_array(a), op + "_")(from_array(b)), INTEGER[op](a, b))
    assert array(~from_array(a)).tolist() == (~a).tolist()


@pytest.mark.parametrize("op", REDUCTIONS)
@examples(8)
@given(data=st.data())
def test_reduction(op: str, data: st.DataObject) -> None:
    values, t = data.draw(layouts())
    dim = data.draw(st.integers(-values.ndim, values.ndim - 1))
    keepdim = data.draw(st.booleans())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, for no degrees of freedom
        expected = REDUCTIONS[op](values, axis=dim, keepdims=keepdim)
    if op in ("var", "std") and values.shape[dim] == 1:
        return  # no degrees of freedom: a warning and nan, tested beside PyTorch
    same(getattr(torch, op)(t, dim, keepdim=keepdim), expected)
    same(getattr(t, op)(dim, keepdim), expected) if op not in ("var", "std") else None


def test_of_all_elements_and_several_dimensions() -> None:
    a = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4))
    t = from_array(a)
    for op in ("sum", "mean", "prod", "any", "all"):
        same(getattr(torch, op)(t), getattr(np, op)(a))
    same(t.sum((0, 2)), a.sum((0, 2)))
    same(t.amax((1, 2), keepdim=True), a.max((1, 2), keepdims=True))
    same(t.max(), a.max())
    values, indices = t.max(1)
    same(values, a.max(1))
    same(indices, a.argmax(1))
    same(t.min(-1).values, a.min(-1))
    same(t.norm(), np.linalg.norm(a))
    same(t.norm(1, dim=2), np.abs(a).sum(2))
    same(t.cumsum(1), a.cumsum(1))
    same(t.cumprod(2), a.cumprod(2))
    variance, mean = torch.var_mean(t, 0)
    same(variance, a.var(0, ddof=1))
    same(mean, a.mean(0))


def test_three_operands() -> None:
    rng = np.random.default_rng(4)
    a, b, c = rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, 3)
    t, u, v = map(from_array, (a, b, c))
    same(torch.lerp(t, u, 0.25), a + 0.25 * (b - a))
    same(torch.lerp(t, u, v), a + c * (b - a))
    same(torch.addcmul(t, u, v, value=0.5), a + 0.5 * b * c)
    same(torch.addcdiv(t, u, v, value=0.5), a + 0.5 * b / c)
    same(torch.where(t > 1.5, t, v), np.where(a > 1.5, a, c))
    same(torch.where(t > 1.5, t, 0.0), np.where(a > 1.5, a, 0))
    same(t.masked_fill(t > 1.5, -1), np.where(a > 1.5, -1, a))
    same(t.clamp(1.2, 1.8), np.clip(a, 1.2, 1.8))
    same(torch.clamp(t, v, None), np.maximum(a, c))
    same(torch.div(t, u, rounding_mode="floor"), np.floor(a / b))
    same(torch.div(t, u, rounding_mode="trunc"), np.trunc(a / b))


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"],
)
def test_arithmetic_of_every_dtype(dtype: str) -> None:
    a, b = np.array([1, 2, 3], dtype), np.array([3, 2, 1], dtype)
    t, u = from_array(a), from_array(b)
    for op, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        ours = getattr(torch, op)(t, u)
        assert ours.dtype.name == dtype
        np.testing.assert_array_equal(array(ours), f(a, b))
    assert (t / u).dtype is (torch.float32 if "int" in dtype else t.dtype)
    assert (t == u).dtype is torch.bool
    assert t.sum().dtype is (torch.int64 if "int" in dtype else t.dtype)


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"],
)
@pytest.mark.parametrize("step", [1, 2, 3, 4, 8, 16])
def test_negation_into_memory_with_gaps(dtype: str, step: int) -> None:
    """numpy 2.4's `negative` gets these wrong for steps of 4 and 8."""
    values = np.arange(1, 6).astype(dtype)
    for alias in (True, False):
        base = torch.zeros(5 * step, dtype=getattr(torch, dtype))
        t = base[step - 1 :: step]
        t.copy_(from_array(values))
        out = t if alias else torch.zeros(5 * step, dtype=t.dtype)[step - 1 :: step]
        torch.neg(t, out=out)
        np.testing.assert_array_equal(array(out), -values)
    assert array(-torch.zeros(3)).view(np.uint32).tolist() == [0x80000000] * 3, "minus zero"
