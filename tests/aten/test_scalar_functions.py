"""The table of functions of one element: a line is all that every backend needs
(internals/aten/scalar_functions).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.aten.compiled import elementwise, loops
from internals.aten.native import scalar as kernels
from internals.aten.scalar_functions import ScalarFunction, entries, get, of_loop, on_arrays, table
from internals.aten.scalar_functions.table import T, exp, log1p, scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.jit.fuser.expressions import expression
from internals.jit.fuser.steps import NotFusable
from internals.machine_code import compiled_kernels
from internals.machine_code.compile import description


def new(formula: Any) -> Any:
    """A line that the table does not have."""
    entry: ScalarFunction = scalar(formula)
    entry.name = "softplus_of_double"
    return entry


def run(entry: ScalarFunction, x: Any) -> Any:
    return TensorIterator((x,), None, "float").run(entry.loop)


def numbers(n: int) -> Any:
    return np.random.default_rng(0).normal(size=n).astype(np.float32) * 3


def test_a_line_is_enough_for_every_backend(monkeypatch: Any) -> None:
    pytest.importorskip("numba", reason="compiles kernels")
    entry = new(lambda x: log1p(exp(x * T(2))) if x > T(-9) else T(0))
    a = numbers(3000)
    wanted = np.where(a > -9, np.log1p(np.exp(a.astype(np.float64) * 2)), 0)
    ran = []
    real = elementwise.Plan.run
    monkeypatch.setattr(
        elementwise.Plan, "run", lambda plan, *a: (ran.append(plan), real(plan, *a))
    )
    with compiled_kernels(False):
        small = run(entry, torch.from_numpy(a))
    assert not ran
    with compiled_kernels(threshold=0):
        large = run(entry, torch.from_numpy(a))
    assert ran
    for result in (small, large):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=2e-6, atol=1e-7)
    text, names = expression(entry.loop, dt.float32)
    assert (text, names) == ("log1p(exp({x} * T(2))) if {x} > T(-9) else T(0)", ("x",))
    with pytest.raises(NotFusable, match="softplus_of_double for int32"):
        expression(entry.loop, dt.int32)


def test_half_precision_is_rounded_once() -> None:
    x = torch.from_numpy(numbers(500)).half()
    for name in ("gelu", "silu", "softplus_of", "hardswish"):
        assert torch.equal(run(get(name), x), run(get(name), x.float()).half())


def test_numbers_of_a_line_come_by_name() -> None:
    x = torch.from_numpy(numbers(20))
    assert torch.equal(kernels.leaky_relu(x, 0.5), torch.nn.functional.leaky_relu(x, 0.5))
    assert torch.equal(kernels.mse(x, x.flip(0)), (x - x.flip(0)) * (x - x.flip(0)))
    assert torch.equal(kernels.hypot(x, x.flip(0)), torch.hypot(x, x.flip(0)))
    assert torch.equal(kernels.gelu(x, out=torch.empty(0)), torch.nn.functional.gelu(x))


def test_a_formula_for_real_numbers_refuses_complex_ones() -> None:
    with pytest.raises(
        NotImplementedError, match="\"softshrink_cpu\" not implemented for 'ComplexFloat'"
    ):
        kernels.softshrink(torch.ones(2, dtype=torch.complex64), 0.5)
    with pytest.raises(
        NotImplementedError, match="\"mish_cpu\" not implemented for 'ComplexFloat'"
    ):
        kernels.mish(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(AttributeError, match="no kernel 'sinus'"):
        kernels.sinus  # noqa: B018


def test_a_changed_formula_is_compiled_again() -> None:
    one = loops.on_cpu(new(lambda x: exp(x) * T(2)))
    other = loops.on_cpu(new(lambda x: exp(x) * T(3)))
    assert one is not None and other is not None
    assert description(one.bind(T=np.float32)) != description(other.bind(T=np.float32))


def test_constants_are_the_nearest_doubles() -> None:
    """1 / sqrt(2), which gelu had on the CPU, is one bit less than C's M_SQRT1_2."""

    def distance(x: float) -> Fraction:
        return abs(Fraction(x) ** 2 - Fraction(1, 2))

    for neighbour in (0.0, 1.0):
        assert distance(table.SQRT_HALF) < distance(float(np.nextafter(table.SQRT_HALF, neighbour)))


def test_two_formulas_on_a_line_are_refused() -> None:
    one, _ = new(lambda x: exp(x)), new(lambda x: exp(-x))
    with pytest.raises(ValueError, match="softplus_of_double: a line with two formulas"):
        run(one, torch.ones(3))


def test_a_file_that_was_edited_since_its_import_is_noticed(monkeypatch: Any) -> None:
    entry = new(lambda x: exp(x) * T(2))
    monkeypatch.setattr(on_arrays.inspect, "getsource", lambda f: "new(lambda x: exp(x) * T(3))")
    with pytest.raises(RuntimeError, match="the formula of softplus_of_double was changed"):
        run(entry, torch.ones(3))


def test_every_loop_finds_its_line() -> None:
    for entry in entries():
        if entry.formula is not None or entry.own_loop is not None:
            assert of_loop(entry.loop) is entry
