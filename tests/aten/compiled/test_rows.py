"""Reductions, scans, softmax, normalization by machine code against numpy's way, over shapes,
strides, dtypes and odd values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals._generated import ops
from internals.core.tensor_impl import array, from_array
from internals.machine_code import compiled_kernels
from tests.support import examples, outcome

F = torch.nn.functional
ODD = (math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, -1e30, 1e-40)

ALONG: dict[str, Callable[[Any, int], Any]] = {
    "sum": lambda x, d: x.sum(d),
    "sum keepdim": lambda x, d: x.sum(d, keepdim=True),
    "sum to double": lambda x, d: x.sum(d, dtype=torch.float64),
    "mean": lambda x, d: x.mean(d),
    "prod": lambda x, d: x.prod(d),
    "norm": lambda x, d: x.norm(2, d),
    "norm 1": lambda x, d: x.norm(1, d),
    "var": lambda x, d: x.var(d),
    "var_mean": lambda x, d: torch.var_mean(x, d, unbiased=False),
    "std": lambda x, d: x.std(d, keepdim=True),
    "amax": lambda x, d: x.amax(d),
    "amin": lambda x, d: x.amin(d, keepdim=True),
    "max": lambda x, d: x.max(d),
    "min": lambda x, d: x.min(d),
    "argmax": lambda x, d: x.argmax(d),
    "argmin": lambda x, d: x.argmin(d, keepdim=True),
    "cumsum": lambda x, d: x.cumsum(d),
    "cumprod": lambda x, d: x.cumprod(d),
    "logsumexp": lambda x, d: x.logsumexp(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: x.log_softmax(d),
    "softmax gradient": lambda x, d: ops._softmax_backward_data(x, x.softmax(d), d, x.dtype),
    "log_softmax gradient": lambda x, d: ops._log_softmax_backward_data(
        x, x.log_softmax(d), d, x.dtype
    ),
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "prod": lambda x: x.prod(),
    "norm": lambda x: x.norm(),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(unbiased=False),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "sum of two": lambda x: x.sum((0, -1)) if x.dim() > 1 else x.sum(),
    "mean of two": lambda x: x.mean((0, -1), keepdim=True) if x.dim() > 1 else x.mean(),
    "amax of two": lambda x: x.amax((0, -1)) if x.dim() > 1 else x.amax(),
    "var of two": lambda x: x.var((0, -1)) if x.dim() > 1 else x.var(),
    "logsumexp of two": lambda x: x.logsumexp((0, -1)) if x.dim() > 1 else x.logsumexp(0),
}


@st.composite
def tensors(draw: st.DrawFn) -> Any:
    """Tensors of up to three dimensions in several layouts, now and then with values that are not
    ordinary.
    """
    sizes = draw(st.lists(st.sampled_from((0, 1, 2, 3, 5, 9, 17, 70)), max_size=3))
    name = draw(
        st.sampled_from(
            ("float32", "float32", "float64", "int64", "int32", "uint8", "bool", "float16")
        )
    )
    stream = np.random.default_rng(draw(st.integers(0, 99)))
    layout = draw(st.sampled_from(("contiguous", "permuted", "sliced", "reversed sizes of one")))
    order = draw(st.permutations(range(len(sizes))))
    stored = [sizes[d] for d in order]
    if layout == "sliced":
        stored = [2 * n for n in stored]
    a = (
        np.asarray(stream.standard_normal(stored) * 3).astype(name)
        if name[0] == "f"
        else stream.integers(0, 5, stored).astype(name)
    )
    if name[0] == "f" and a.size and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            with np.errstate(all="ignore"):
                a.reshape(-1)[stream.integers(a.size)] = draw(st.sampled_from(ODD))
    t = from_array(a)
    if layout == "sliced":
        t = t[tuple(slice(None, None, 2) for _ in stored)]
    return t.permute(*np.argsort(order).tolist()) if sizes else t


@pytest.mark.sampled(1 / 4)
@examples(250)
@given(tensors(), st.data())
def test_along_a_dimension(x: Any, data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(ALONG)))
    dim = data.draw(st.integers(-max(x.dim(), 1), max(x.dim(), 1) - 1))
    agree(lambda: ALONG[name](x, dim), x)


@examples(120)
@given(tensors(), st.data())
def test_of_everything(x: Any, data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(WHOLE)))
    agree(lambda: WHOLE[name](x), x)


@examples(60)
@given(
    st.sampled_from(((3, 5), (1, 1), (70, 9), (2, 3, 17), (130, 1030))),
    st.sampled_from(("float32", "float64")),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_layer_norm(sizes: tuple[int, ...], name: str, weight: bool, bias: bool, seed: int) -> None:
    stream = np.random.default_rng(seed)
    x, w, b, g = (
        from_array(stream.standard_normal(s).astype(name))
        for s in (sizes, sizes[-1:], sizes[-1:], sizes)
    )
    w, b = w if weight else None, b if bias else None
    agree(lambda: ops.native_layer_norm(x, sizes[-1:], w, b, 1e-5), x)
    with compiled_kernels(False):
        _, mean, rstd = ops.native_layer_norm(x, sizes[-1:], w, b, 1e-5)
    mask = [True, weight, weight and bias]
    agree(lambda: ops.native_layer_norm_backward(g, x, sizes[-1:], mean, rstd, w, b, mask), x, 20)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    "sizes, groups", [((2, 6), 6), ((3, 4, 5), 2), ((2, 8, 6, 7), 4), ((1, 3, 40, 41), 1)]
)
def test_group_norm(sizes: tuple[int, ...], groups: int, affine: bool, name: str) -> None:
    stream = np.random.default_rng(0)
    x, w, b = (
        from_array(stream.standard_normal(s).astype(name)) for s in (sizes, sizes[1:2], sizes[1:2])
    )
    agree(lambda: F.group_norm(x, groups, *((w, b) if affine else (None, None))), x)


def agree(call: Callable[[], Any], x: Any, factor: float = 1) -> None:
    """With machine code and without it, the call gives the same, or raises the same."""
    with compiled_kernels(False):
        expected, error = outcome(call)
    with compiled_kernels(threshold=0):
        found, other = outcome(call)
    assert repr(error) == repr(other)
    if error is not None:
        return
    expected, found = (r if isinstance(r, tuple) else (r,) for r in (expected, found))
    assert type(expected) is type(found)
    size = float(np.nan_to_num(np.abs(array(x).astype(np.float64)), posinf=0).max(initial=1))
    for e, f in zip(expected, found, strict=True):
        if e is None:
            assert f is None
            continue
        assert (f.dtype, f.shape, f.stride()) == (e.dtype, e.shape, e.stride())
        epsilon = {"float32": 3e-6, "float64": 1e-13, "float16": 1e-2}.get(e.dtype.name, 0) * factor
        if size > 1e20:  # sums of both signs cancel to anything
            np.testing.assert_array_equal(np.isnan(array(e)), np.isnan(array(f)))
            continue
        np.testing.assert_allclose(array(f), array(e), rtol=epsilon, atol=epsilon * size)
