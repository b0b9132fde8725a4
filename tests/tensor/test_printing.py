"""Tensors print as PyTorch prints them (what `golden/printing.txt` shows, over random tensors), and
what is printed is true.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import internals as torch
from internals._tensor.printing import PRINT_OPTS, get_printoptions, printoptions
from tests.answers import answer
from tests.aten.view_support import description
from tests.support import DTYPES, examples, to_torch

SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-5,
    1e-4,
    999.0,
    1000.0,
    1001.0,
    1e8,
    1.00001e8,
    0.5,
    123456.0,
)


@st.composite
def tensors(draw: Any) -> Any:
    """Small and summarised tensors of every dtype, with values on both sides of every threshold."""
    kind = draw(st.sampled_from(DTYPES))
    shape = (
        draw(st.lists(st.integers(0, 9), max_size=4))
        if draw(st.booleans())
        else draw(st.sampled_from([(1100,), (2, 600), (40, 3, 10)]))
    )
    rng = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    scale = 10.0 ** draw(st.integers(-6, 9))
    values = np.asarray(rng.standard_normal(shape) * scale)
    if draw(st.booleans()):
        values = np.round(values)
    if draw(st.booleans()) and values.size:
        values.reshape(-1)[:: draw(st.integers(1, 7))] = draw(st.sampled_from(SPECIAL))
    if kind.category < 2:
        values = np.nan_to_num(values, posinf=0, neginf=0) % 120
    if kind.is_complex:
        values = values + 1j * rng.standard_normal(shape) * draw(st.sampled_from([0.0, 1.0, scale]))
    with np.errstate(all="ignore"):
        a = np.asarray(values).astype(kind.np).reshape(shape)
    return torch.from_numpy(a if a.ndim < 2 or draw(st.booleans()) else np.ascontiguousarray(a.T).T)


@given(tensors(), st.fixed_dictionaries({}, optional={
    "precision": st.integers(0, 7), "edgeitems": st.integers(0, 4),
    "linewidth": st.integers(20, 120), "threshold": st.sampled_from([5, 50, 1000]),
    "sci_mode": st.sampled_from([None, True, False]),
    "profile": st.sampled_from(["default", "short", "full"]),
}))  # fmt: skip
@examples(150)
def test_prints_as_pytorch_prints(t: Any, options: dict[str, Any]) -> None:
    def printed(torch: Any) -> str:
        try:
            torch.set_printoptions(**options)
            return repr(to_torch(t))
        finally:
            torch.set_printoptions(profile="default")

    expected = answer(printed, about=description([t, options]), family="texts")
    with printoptions(**options):
        assert _one_line_suffix(repr(t)) == _one_line_suffix(
            expected.replace("torch.", "internals.")
        )


def _one_line_suffix(text: str) -> str:
    """Our name is longer than torch's, so the suffix sometimes starts a new line where theirs did
    not have to.
    """
    return re.sub(r",\s+(dtype|size)=", r", \1=", text)


@given(tensors())
@examples(30)
def test_what_is_printed_in_full_is_the_tensor(t: Any) -> None:
    with printoptions(
        profile="full",
        precision=20,
        sci_mode=True if t.is_floating_point() or t.is_complex() else None,
    ):
        text = repr(t)
    again = eval(text, {
        "tensor": _tensor, "internals": torch, "inf": math.inf, "nan": math.nan,
        "nanj": complex(0, math.nan), "infj": complex(0, math.inf),
    })  # fmt: skip
    assert again.shape == t.shape and again.dtype is t.dtype
    # inf*1j and the like are nowhere near exact in Python's complex arithmetic: compare where all
    # is finite
    a, b = np.asarray(again), np.asarray(t)
    finite = np.isfinite(b)
    assert np.array_equal(a[finite], b[finite])
    if not t.is_complex():
        assert np.array_equal(a, b, equal_nan=t.is_floating_point())


def _tensor(data: Any, dtype: Any = None, size: Any = None) -> Any:
    return torch.zeros(size, dtype=dtype) if size is not None else torch.tensor(data, dtype=dtype)


def test_options_are_restored_when_a_block_raises() -> None:
    before = get_printoptions()
    try:
        with printoptions(precision=9, linewidth=7):
            assert PRINT_OPTS.precision == 9
            raise KeyError
    except KeyError:
        pass
    assert get_printoptions() == before


def test_a_summary_is_short_however_large_the_tensor() -> None:
    assert repr(torch.zeros(300, 300, 10)).count("\n") < 90
    assert len(repr(torch.arange(1_000_000))) < 80


def test_a_class_derived_from_tensor_prints_its_own_name() -> None:
    from internals.core.tensor_impl import set_tensor_class

    class Marked(torch.Tensor):
        __slots__ = ()

    set_tensor_class(Marked)
    try:
        t = torch.ones(2, dtype=torch.float64)
    finally:
        set_tensor_class(torch.Tensor)
    assert repr(t) == "Marked([1., 1.], dtype=internals.float64)"
