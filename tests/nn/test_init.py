"""Initialization: the same numbers as PyTorch for the same seed, and the properties the numbers are
chosen for.
"""

from __future__ import annotations

import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import internals
from internals import nn
from internals.core.tensor_impl import array
from tests.nn.support import error_of
from tests.side_by_side import cases, check, expression

SAME = cases("""
I.uniform_(T.empty(3, 5))
I.uniform_(T.empty(20, 30), -1, 2)
I.normal_(T.empty(3, 5))
I.normal_(T.empty(20, 30), mean=1.0, std=3.0)
I.trunc_normal_(T.empty(20, 30))
I.trunc_normal_(T.empty(3, 5), std=0.02)
I.trunc_normal_(T.empty(20, 30), a=2.0, b=3.0)
I.trunc_normal_(T.empty(20, 30), -1.0, 1.0, 0.5, 3.0)
I.trunc_normal_(T.empty(20, 30), -9.0, 1.0, 0.5, 3.0)
I.trunc_normal_(T.empty(2, 3, dtype=T.float64), 5.0, 1.0, 0.0, 5.5)
I.constant_(T.empty(2, 2), 0.25)
I.ones_(T.empty(2, 2, dtype=T.int64))
I.zeros_(T.ones(2, 2))
I.eye_(T.empty(3, 5))
I.eye_(T.empty(5, 3, dtype=T.float64))
I.eye_(T.empty(3))
I.dirac_(T.empty(4, 3, 3))
I.dirac_(T.empty(6, 2, 3, 4), groups=3)
I.dirac_(T.empty(2, 3, 2, 3, 4))
I.dirac_(T.empty(4, 3, 3), 3)
I.dirac_(T.empty(4, 3))
I.xavier_uniform_(T.empty(3, 5))
I.xavier_uniform_(T.empty(4, 3, 3, 3), gain=2.0)
I.xavier_normal_(T.empty(20, 30))
I.xavier_normal_(T.empty(3))
I.kaiming_uniform_(T.empty(3, 5), a=5**0.5)
I.kaiming_uniform_(T.empty(4, 3, 3), mode="fan_out", nonlinearity="relu")
I.kaiming_normal_(T.empty(20, 30))
I.kaiming_normal_(T.empty(3, 5), mode="FAN_OUT", nonlinearity="tanh")
I.kaiming_normal_(T.empty(3, 0))
I.kaiming_normal_(T.empty(3, 5), mode="fan")
I.kaiming_uniform_(T.empty(3, 5), nonlinearity="gelu")
I.kaiming_uniform_(T.empty(3))
I.orthogonal_(T.empty(3, 5))
I.orthogonal_(T.empty(5, 3, dtype=T.float64), gain=2)
I.orthogonal_(T.empty(4, 2, 3))
I.orthogonal_(T.empty(0, 3))
I.orthogonal_(T.empty(3))
I.sparse_(T.empty(20, 30), sparsity=0.3)
I.sparse_(T.empty(3, 5), 0.5, std=1.0)
I.sparse_(T.empty(3), 0.5)
I.uniform_(T.empty(3, 4).t())
I.calculate_gain("relu")
I.calculate_gain("leaky_relu")
I.calculate_gain("leaky_relu", 0.2)
I.calculate_gain("leaky_relu", True)
I.calculate_gain("conv_transpose2d")
I.calculate_gain("sigmoid")
I.calculate_gain("tanh")
I.calculate_gain("selu")
I.calculate_gain("swish")
I._calculate_fan_in_and_fan_out(T.empty(4, 3, 2, 5))
I._calculate_fan_in_and_fan_out(T.empty(4))
""")


@pytest.mark.parametrize("text", SAME)
def test_same_numbers_for_the_same_seed(text: str) -> None:
    # in single precision an orthogonal matrix is as exact as the factorization it comes from
    options = {"atol": 1e-5} if "orthogonal" in text else {}
    check(expression(f"(T.manual_seed(7), {text.replace('I.', 'T.nn.init.')})[1]"), **options)


def test_generators_are_used() -> None:
    g = internals.Generator()
    for fill in (
        nn.init.uniform_,
        nn.init.normal_,
        nn.init.trunc_normal_,
        nn.init.xavier_normal_,
        nn.init.kaiming_uniform_,
    ):
        before = internals.get_rng_state()
        a, b = (
            fill(internals.empty(3, 4), generator=g.manual_seed(1)),
            fill(internals.empty(3, 4), generator=g.manual_seed(1)),
        )
        assert internals.equal(a, b) and internals.equal(before, internals.get_rng_state())


def test_they_work_in_place_on_parameters(T: Any) -> None:
    matrix, image = T.nn.Parameter(T.empty(4, 4)), T.nn.Parameter(T.empty(2, 2, 3))
    plain = (
        "uniform_", "normal_", "trunc_normal_", "ones_", "zeros_", "eye_", "xavier_uniform_",
        "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "dirac_",
    )  # fmt: skip
    for name, args in [*((name, ()) for name in plain), ("sparse_", (0.1,)), ("constant_", (2.0,))]:
        p = image if name == "dirac_" else matrix
        assert (
            getattr(T.nn.init, name)(p, *args) is p
            and p.requires_grad
            and p.is_leaf
            and p.grad_fn is None
        )


def test_meta_tensors_stay_as_they_are(T: Any) -> None:
    t = T.empty(3, 4, device="meta")
    for name in (
        "uniform_",
        "normal_",
        "trunc_normal_",
        "zeros_",
        "eye_",
        "xavier_normal_",
        "kaiming_uniform_",
        "orthogonal_",
    ):
        assert getattr(T.nn.init, name)(t) is t and t.is_meta
    assert T.nn.init.sparse_(t, 0.1) is t


def test_warnings(T: Any) -> None:
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        T.nn.init.trunc_normal_(T.empty(3), mean=9.0)
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        T.nn.init.kaiming_uniform_(T.empty(0, 3))
    with pytest.warns(
        FutureWarning, match="`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"
    ):
        assert T.nn.init.constant(T.empty(2), 3.0).tolist() == [3, 3]


@hypothesis.given(st.integers(1, 6), st.integers(1, 6), st.floats(0.5, 3))
def test_orthogonal_keeps_lengths(rows: int, columns: int, gain: float) -> None:
    m = np.array(
        array(nn.init.orthogonal_(internals.empty(rows, columns, dtype=internals.float64), gain))
    )
    short = m @ m.T if rows <= columns else m.T @ m
    np.testing.assert_allclose(short, gain**2 * np.eye(min(rows, columns)), atol=1e-10)


@hypothesis.given(st.floats(-3, 3), st.floats(0.1, 3), st.floats(-3, 2), st.floats(0.01, 3))
def test_truncated_numbers_stay_inside(mean: float, std: float, a: float, width: float) -> None:
    hypothesis.assume(a - 2 * std <= mean <= a + width + 2 * std)
    t = nn.init.trunc_normal_(internals.empty(50, dtype=internals.float64), mean, std, a, a + width)
    assert a <= t.min().item() and t.max().item() <= a + width


@pytest.mark.parametrize(
    "fill, fan", [("xavier_normal_", (200 + 300) / 2), ("kaiming_normal_", 300 / 2)]
)
def test_variance(fill: str, fan: float) -> None:
    internals.manual_seed(0)
    options = {"nonlinearity": "relu"} if "kaiming" in fill else {}
    t = getattr(nn.init, fill)(internals.empty(200, 300), **options)
    assert math.isclose(t.var().item() * fan, 1, rel_tol=0.02)


def test_sparse_zeros_per_column() -> None:
    t = nn.init.sparse_(internals.empty(10, 7), 0.25)
    assert (t == 0).sum(0).tolist() == [3] * 7


def test_dirac_is_the_identity() -> None:
    x = internals.arange(2 * 4 * 5 * 5.0).reshape(2, 4, 5, 5)
    weight = nn.init.dirac_(internals.empty(4, 2, 3, 3), groups=2)
    assert internals.equal(nn.functional.conv2d(x, weight, padding=1, groups=2), x)


def test_errors_name_what_is_wrong(T: Any) -> None:
    assert error_of(lambda: T.nn.init.kaiming_normal_(T.empty(2, 2), mode="fan")) == (
        "ValueError: Mode fan not supported, please use one of ['fan_in', 'fan_out']"
    )
