"""Activations, softmax and dropout: side by side with PyTorch, and against plain formulas
everywhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.nn import functional as F
from tests.answers import answer
from tests.side_by_side import cases, check, expression, ours, theirs
from tests.support import assert_same, assert_same_outcome, examples, to_numpy

ACTIVATIONS = [
    "F.relu(V)", "F.relu6(V)", "F.hardtanh(V)", "F.hardtanh(V, -0.5, 2)", "F.gelu(V)",
    "F.gelu(V, approximate='tanh')",
    "F.silu(V)",
    "F.leaky_relu(V)", "F.leaky_relu(V, 0.2)", "F.leaky_relu(V, -1.5)", "F.elu(V)", "F.elu(V, 0.3)",
    "F.elu(V, -2)",
    "F.softplus(V)", "F.softplus(V, 3, 2)", "F.logsigmoid(V)", "F.sigmoid(V)", "F.tanh(V)",
    "F.tanhshrink(V)", "F.softsign(V)",
    "T.relu(V)", "V.relu()", "V.relu_()", "T.relu_(V)", "F.relu(V, inplace=True)",
    "F.relu6(V, True)",
    "F.hardtanh(V, -1, 1, True)",
    "F.elu(V, 0.5, True)", "F.leaky_relu(V, 0.5, True)", "F.silu(V, inplace=True)", "F.relu_(V)",
    "F.elu_(V)", "F.hardtanh_(V)",
    "F.leaky_relu_(V)",
]  # fmt: skip

INPUTS = {
    "plain": "x(3, 4)",
    "special values": (
        "x.of([0.0, -0.0, nan, inf, -inf, 1e-30, -1e-30, 30, -30, 100, -100, 1e30, -1e30])"
    ),
    "strided": "x(4, 6)[::2, ::-1 if False else 3].t()",
    "channels last": "x(2, 4, 5, 3).permute(0, 3, 1, 2)",
    "0-d": "x()",
    "empty": "x(0, 3)",
    "half": "x(3, 4, dtype='float16')",
    "double": "x(3, 4, dtype='float64')",
}

MORE = cases("""
    F.relu(x(3, dtype="int64"))
    F.relu(x(3, dtype="uint8"))
    F.relu6(x(3, dtype="uint8"))
    F.hardtanh(x(9, dtype="int32"), -1.5, 2.5)
    F.hardtanh(x(3, dtype="uint8"), 0, 1)
    F.silu(x(3, dtype="complex64"))
    F.glu(x(3, 4))
    F.glu(x(4, 3), 0)
    F.glu(x(3, 3))
    F.glu(x())
    F.relu(x(3, dtype="bool"))
    F.relu(x(3, dtype="complex64"))
    F.hardtanh(x(3, dtype="uint8"))
    F.hardtanh(x(3, dtype="bool"))
    F.hardtanh(x(3, dtype="complex64"))
    F.hardtanh(x(3), 1, -1)
    F.gelu(x(3, dtype="int64"))
    F.gelu(x(3), approximate="x")
    F.silu(x(3, dtype="bool"))
    F.leaky_relu(x(3, dtype="int64"))
    F.elu(x(3, dtype="complex64"))
    F.softplus(x(3, dtype="int64"))
    F.logsigmoid(x(3, dtype="int64"))
    F.relu("x")
""")

OUT = cases("""
    nn.gelu(x(3), out=x(3))
    nn.gelu_(x(3))
    nn.silu(x(3), out=x(3))
    nn.leaky_relu(x(3), 0.1, out=x(3))
    nn.elu(x(3), out=x(3))
    nn.softplus(x(3), out=x(3))
    nn.hardtanh(x(3), out=x(3))
    nn.log_sigmoid(x(3), out=x(3))
    nn.gelu(x(3), out=x(3, dtype="float64"))
    nn.hardtanh(x(3), out=x(3, dtype="int64"))
""")

SOFTMAX = [
    "F.NAME(x(3, 4), 0)", "F.NAME(x(3, 4), dim=-1)", "F.NAME(x(2, 3, 4), 1)",
    "F.NAME(x(4, 3).t(), 1)", "F.NAME(x(), 0)",
    "F.NAME(x(0, 3), 0)", "F.NAME(x(0, 3), 1)", "F.NAME(x(3, 0), 1)",
    "F.NAME(x(3, dtype='int64'), 0, dtype=T.float64)",
    "F.NAME(x(3, 4, dtype='float16'), 0)", "F.NAME(x(3, dtype='float16'), 0, dtype=T.float32)",
    "F.NAME(x(3, dtype='float64'), 0)",
    "T.NAME(x(3, 4), 1)", "x(3, 4).NAME(1)", "x(3, 4).NAME(dim=0, dtype=T.float64)",
    "F.NAME(x.of([-inf, 1, 2]), 0)",
    "F.NAME(x.of([inf, 1, 2]), 0)", "F.NAME(x.of([-inf, -inf]), 0)", "F.NAME(x.of([nan, 1]), 0)",
    "F.NAME(x.of([1e30, 1e30]), 0)",
    "F.NAME(x.of([1000, 1001, 1002.]), 0)", "F.NAME(x(3, 4, dtype='int64'), 0)",
    "F.NAME(x(3, 4, dtype='int64'), 1)",
    "F.NAME(x(3, dtype='complex64'), 0)", "F.NAME(x(3), 1)", "F.NAME(x(2, 3), -3)",
    "F.NAME(x(), 1)", "T._NAME(x(3), 0, True)",
    "T._NAME(x(3), 0, False, out=x(3))", "T._NAME(x(3), 0, False, out=x(3, dtype='float64'))",
]  # fmt: skip


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("text", ACTIVATIONS)
def test_activation(text: str, kind: str) -> None:
    half = {"rtol": 2e-3, "atol": 1e-3} if kind == "half" else {}
    value = INPUTS[kind]
    if "gelu" in text:
        # gelu(inf) is inf or NaN in PyTorch, depending on whether the loop was vectorised
        value = value.replace("inf, -inf, ", "")
    check(expression(text.replace("V", value)), strides=True, **half)


@pytest.mark.parametrize("text", MORE)
def test_dtypes_and_errors(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("text", OUT)
def test_out_and_inplace_of_the_nn_namespace(text: str) -> None:
    def run(nn: Any, x: Any) -> Any:
        return eval(text, {"nn": nn, "x": x})

    from internals._generated import nn_functions

    assert_same_outcome(
        lambda: run(nn_functions, ours()),
        lambda torch: run(torch._C._nn, theirs()),
        family="expressions",
    )


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("text", SOFTMAX)
def test_softmax(text: str, name: str) -> None:
    half = {"rtol": 2e-3, "atol": 1e-3} if "float16" in text else {}
    check(expression(text.replace("NAME", name)), strides=".t()" not in text, **half)


def _gelu(v: float) -> float:
    return v * 0.5 * (1 + math.erf(v / math.sqrt(2)))


FORMULAS: dict[str, Callable[[float], float]] = {
    "relu": lambda v: max(v, 0.0),
    "relu6": lambda v: min(max(v, 0.0), 6.0),
    "hardtanh": lambda v: min(max(v, -1.0), 1.0),
    "gelu": _gelu,
    "silu": lambda v: v / (1 + math.exp(-v)),
    "leaky_relu": lambda v: v if v > 0 else 0.01 * v,
    "elu": lambda v: v if v > 0 else math.expm1(v),
    "softplus": lambda v: math.log1p(math.exp(v)),
    "logsigmoid": lambda v: -math.log1p(math.exp(-v)),
    "tanhshrink": lambda v: v - math.tanh(v),
    "softsign": lambda v: v / (1 + abs(v)),
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "tanh": math.tanh,
}


@pytest.mark.parametrize("name", FORMULAS)
@given(values=st.lists(st.floats(-15, 15), max_size=6))
@examples(15)
def test_formula(name: str, values: list[float]) -> None:
    result = getattr(F, name)(ours().of(values, "float64"))
    np.testing.assert_allclose(
        to_numpy(result), [FORMULAS[name](v) for v in values], rtol=1e-9, atol=1e-12
    )


@given(st.data())
@examples(20)
def test_softmax_sums_to_one_and_log_softmax_is_its_logarithm(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dim = data.draw(st.integers(-len(sizes), len(sizes) - 1))
    t = ours()(*sizes, dtype="float64") * data.draw(st.sampled_from([0.1, 1.0, 50.0]))
    p = F.softmax(t, dim)
    np.testing.assert_allclose(to_numpy(p).sum(dim), 1)
    np.testing.assert_allclose(np.exp(to_numpy(F.log_softmax(t, dim))), to_numpy(p), atol=1e-12)


def test_implicit_dim_warns_and_chooses_as_ever() -> None:
    x = ours()
    for function in (F.softmax, F.log_softmax, F.softmin):
        for t, dim in ((x(3), 0), (x(2, 3), 1), (x(2, 3, 4), 0)):
            with pytest.warns(
                UserWarning,
                match=f"Implicit dimension choice for {function.__name__} has been deprecated",
            ):
                result = function(t)
            assert_same(result, to_numpy(function(t, dim)))


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9])
def test_dropout_zeroes_or_scales(p: float) -> None:
    internals.manual_seed(0)
    t = F.dropout(ours().of(np.ones(20_000)), p)
    values, counts = np.unique(to_numpy(t), return_counts=True)
    assert set(values.tolist()) <= {0.0, float(np.float32(1 / (1 - p)))}
    kept = counts[values > 0].sum() / 20_000
    assert abs(kept - (1 - p)) < 0.02


def test_dropout_repeats_with_the_seed_and_is_off_in_evaluation() -> None:
    x = ours()(50)
    internals.manual_seed(7)
    first = F.dropout(x)
    internals.manual_seed(7)
    assert_same(F.dropout(x), to_numpy(first))
    assert F.dropout(x, training=False) is x and F.dropout(x, p=0.0) is x
    assert not to_numpy(F.dropout(x, p=1.0)).any()
    assert F.dropout(x, inplace=True) is x


@pytest.mark.parametrize(
    "text",
    cases("""
    F.dropout(x(3), 1.5)
    F.dropout(x(3), -0.5)
    T.dropout(x(3), 1.5, True)
    F.dropout(x(3, dtype="int64"), 0.5)
    F.dropout(x(3, dtype="int64"), 1.0)
    F.dropout(x(3, dtype="int64"), 0.5, training=False)
    F.dropout(x(3, dtype="bool"), 0.5)
    F.dropout(x(3), 1.0, True, True)
    F.dropout(x(0))
"""),
)
def test_dropout_arguments(text: str) -> None:
    check(expression(text))


def signature(f: Any) -> list[tuple[str, str]]:
    return [(p.name, str(p.default)) for p in inspect.signature(f).parameters.values()]


def test_signatures_are_pytorchs() -> None:
    """Names, order and defaults of every handwritten function."""
    written = [
        name
        for name in F.__all__
        if not getattr(F, name).__module__.startswith("internals._generated")
    ]

    def ask(torch: Any) -> dict[str, Any]:
        real = {name: getattr(torch.nn.functional, name) for name in written}
        # builtins have none
        return {name: signature(f) for name, f in real.items() if inspect.isfunction(f)}

    for name, expected in answer(ask).items():
        if [parameter for parameter, _ in expected] != ["args", "kwargs"]:
            # hidden behind a dispatch function
            assert signature(getattr(F, name)) == expected, name
