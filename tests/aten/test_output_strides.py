"""The strides of new tensors are PyTorch's, whatever the operands' strides, sizes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.core.geometry import channels_last_strides, contiguous_strides
from internals.core.tensor_impl import array
from tests.aten.view_support import description
from tests.support import assert_same_outcome, examples, to_torch

OPERATIONS: dict[str, Callable[..., Any]] = {
    "a + b": lambda T, a, b, c: a + b,
    "a * 2": lambda T, a, b, c: a * 2,
    "2 - a": lambda T, a, b, c: 2 - a,
    "exp": lambda T, a, b, c: T.exp(a),
    "a < b": lambda T, a, b, c: a < b,
    "where": lambda T, a, b, c: T.where(a > 0, b, c),
    "where, number": lambda T, a, b, c: T.where(a > 0, 1.0, b),
    "addcmul": lambda T, a, b, c: T.addcmul(a, b, c),
    "clamp": lambda T, a, b, c: T.clamp(a, b, c),
    "clamp, numbers": lambda T, a, b, c: T.clamp(a, 1, 2),
    "out=": lambda T, a, b, c: T.add(a, b, out=T.empty(0, dtype=T.float64)),
    "isnan": lambda T, a, b, c: T.isnan(a),
    "isinf": lambda T, a, b, c: T.isinf(a),
    "isfinite": lambda T, a, b, c: T.isfinite(a),
    "cumsum": lambda T, a, b, c: a.cumsum(-1),
    "masked_fill": lambda T, a, b, c: a.masked_fill(b > 1, 3),
    "pow": lambda T, a, b, c: (a**2, 2**a, a**b),
    "lerp": lambda T, a, b, c: T.lerp(a, a, 0.5),
    "sum": lambda T, a, b, c: a.sum(-1),
    "rms_norm": lambda T, a, b, c: T.rms_norm(a, a.shape[-1:]),
    "add_": lambda T, a, b, c: a.clone().add_(b),
}


@st.composite
def strided(draw: Any, shape: list[int]) -> Any:
    """A tensor of this shape or one that broadcasts to it: permuted, channels last, expanded, with
    gaps, with odd strides.
    """
    if draw(st.booleans()):
        shape = [n if draw(st.integers(0, 3)) else 1 for n in shape][draw(st.integers(0, 1)) :]
    kind = draw(
        st.sampled_from(["contiguous", "permuted", "odd", "channels_last", "expanded", "gaps"])
    )
    strides = list(contiguous_strides(shape))
    if kind in ("permuted", "odd"):
        order, step = draw(st.permutations(range(len(shape)))), 1
        for d in order:
            strides[d] = 7 if kind == "odd" and shape[d] == 1 else step
            step *= max(shape[d], 1)
    elif kind == "channels_last" and len(shape) == 4:
        strides = list(channels_last_strides(shape))
    elif kind == "expanded" and shape:
        strides[draw(st.integers(0, len(shape) - 1))] = 0
    elif kind == "gaps":
        strides = [2 * s for s in strides]
    size = 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides))
    dtype = draw(st.sampled_from([internals.float32, internals.float64, internals.int64]))
    base = internals.empty(size, dtype=dtype)
    array(base)[...] = np.arange(size) % 5
    return base.as_strided(shape, strides)


@pytest.mark.parametrize("name", OPERATIONS)
@examples(30)
@given(data=st.data())
def test_strides_of_results(name: str, data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from([1, 2, 3, 3, 1, 0]), max_size=4))
    operands = [data.draw(strided(shape)) for _ in range(3)]
    operation = OPERATIONS[name]
    assert_same_outcome(
        lambda: operation(internals, *operands),
        lambda torch: operation(torch, *to_torch(operands)),
        about=description(operands),
        family="views",
        strides=True,
    )
