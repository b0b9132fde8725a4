"""Operators with exp, log, tanh, erf or sin in them, against numpy and torch
(internals/aten/compiled).
"""

from __future__ import annotations

import numpy as np
import pytest

import internals as torch
from internals.aten.compiled import elementwise
from internals.machine_code import compiled_kernels
from tests.answers import answer

pytestmark = pytest.mark.sampled(1 / 3)

pytest.importorskip("numba", reason="compiles kernels")

NAMES = (
    "exp expm1 log log2 log1p sin cos tan asin acos atan sinh cosh tanh sigmoid erf floor "
    "ceil trunc round frac".split(),
    "gelu silu elu softplus logsigmoid mish selu celu glu".split(),
)


def gelu_tanh(t, x):
    return t.nn.functional.gelu(x, approximate="tanh")


def named(name):
    functional = name in NAMES[1]
    return lambda t, x: getattr(t.nn.functional if functional else t, name)(x)


UNARY = {name: named(name) for names in NAMES for name in names} | {
    "gelu_tanh": gelu_tanh,
    "softplus_2": lambda t, x: t.nn.functional.softplus(x, beta=2.0, threshold=1.5),
    "elu_2": lambda t, x: t.nn.functional.elu(x, alpha=2.0),
    "fmod": lambda t, x: t.fmod(x, 0.37),
    "remainder": lambda t, x: t.remainder(x, -0.37),
    "atan2": lambda t, x: t.atan2(x, x.flip(0)),
}
SLOPES = (
    "silu",
    "elu",
    "softplus",
    "gelu",
    "gelu_tanh",
    "mish",
    "logsigmoid",
    "glu",
    "sigmoid",
    "tanh",
)
TOLERANCE = {"float32": {"rtol": 3e-6, "atol": 3e-7}, "float64": {"rtol": 3e-14, "atol": 3e-16}}
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 90.0, -90.0, 0.5, -0.5, 1.0, -1.0]
NEITHER = {  # what its own formula makes NaN of, there or here
    "silu": [-np.inf],
    "mish": [-np.inf],
    "gelu": [-np.inf, np.inf],
    "gelu_tanh": [-np.inf],
    "glu": ENDS,
}


@pytest.fixture
def plans(monkeypatch):
    """The plans that ran: a test that numpy served would compare it with itself."""
    ran = []
    monkeypatch.setattr(
        elementwise.Plan,
        "run",
        lambda plan, *a, run=elementwise.Plan.run: (ran.append(plan), run(plan, *a))[1],
    )
    return ran


def numbers(dtype, *shape):
    return np.random.default_rng(3).normal(size=shape).astype(dtype) * 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_numpy(name, dtype, plans):
    for a in (numbers(dtype, 1000), numbers(dtype, 20, 60)[::2, ::2], numbers(dtype, 40, 30).T):
        x = torch.from_numpy(a)
        with compiled_kernels(False):
            wanted = UNARY[name](torch, x).numpy()
        before = len(plans)
        with compiled_kernels(threshold=0):
            got = UNARY[name](torch, x).numpy()
        np.testing.assert_allclose(got, wanted, **TOLERANCE[dtype])
        assert len(plans) > before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_as_torch_at_the_ends_of_the_range(name, dtype):
    a = np.array([e for e in ENDS if e not in NEITHER.get(name, [])] * 8, dtype)
    if name == "glu":
        a = numbers(dtype, 64)
    wanted = answer(lambda real: UNARY[name](real, real.from_numpy(a))).numpy()
    with compiled_kernels(threshold=0):
        got = UNARY[name](torch, torch.from_numpy(a)).numpy()
    np.testing.assert_allclose(got, wanted, **TOLERANCE[dtype])
    if name not in ("frac", "remainder", "mish", "logsigmoid", "glu", "gelu"):
        # gelu: -0 or 0, as the CPU has it
        signed = ~np.isnan(got) & (a == 0)
        np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(wanted[signed]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_as_numpy(name, dtype, plans):
    a = numbers(dtype, 600)

    def slope():
        x = torch.from_numpy(a.copy()).requires_grad_()
        y = UNARY[name](torch, x)
        y.backward(torch.from_numpy(a[::-1][: y.numel()].copy()))
        return x.grad.numpy()

    with compiled_kernels(False):
        wanted = slope()
    with compiled_kernels(threshold=0):
        np.testing.assert_allclose(
            slope(),
            wanted,
            rtol=1e-5 if dtype == "float32" else 1e-14,
            atol=TOLERANCE[dtype]["atol"] * 10,
        )
    assert len(plans) >= 2


def test_in_place_and_of_integers(plans):
    a = numbers("float32", 30, 40)
    x = torch.from_numpy(a.copy())
    with compiled_kernels(threshold=0):
        x.t().sigmoid_()
        roots = torch.arange(80).exp()
    np.testing.assert_allclose(x.numpy(), 1 / (1 + np.exp(-a)), rtol=1e-6)
    np.testing.assert_allclose(roots.numpy(), np.exp(np.arange(80, dtype=np.float32)), rtol=1e-6)
    assert len(plans) >= 2
