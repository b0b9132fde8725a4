"""Gradients of what is applied element by element: broadcast operands, mixed dtypes, numbers, and
what holds at the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import examples, to_numpy

EVERYWHERE = [
    "neg",
    "abs",
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "erf",
    "square",
]
STEPS = ["floor", "ceil", "round", "trunc", "frac", "sign"]
POSITIVE = ["log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal"]
INSIDE = ["asin", "acos"]
UNARY = [f"x(2, 3).{f}()" for f in EVERYWHERE + STEPS] + [
    f"x.uniform(2, 3).{f}()" for f in POSITIVE + INSIDE
]
UNARY += [
    f"x.{kind}.{f}()"
    for f in EVERYWHERE
    for kind in ("strided(3, 2)", "coarse(5)", "of(0.5)", "of([])")
]
UNARY += [f"x(4, dtype='float32').{f}()" for f in EVERYWHERE + STEPS]
UNARY += [
    "x(4).round(decimals=1)",
    "-x(3)",
    "+x(3)",
    "abs(x(3))",
    "x(2, 3).absolute()",
    "x(2, 3).negative()",
]

BINARY = cases("""
    x(2, 3) + x(2, 3)
    x(2, 3) + x(3)
    x(2, 1) - x(3)
    x() * x(2, 2)
    x(2, 3) / x(2, 1)
    T.add(x(3), x(3), alpha=2)
    T.sub(x(3), x(2, 3), alpha=0.5)
    T.rsub(x(3), x(2, 1), alpha=3)
    T.rsub(x(3), 2)
    T.rsub(x(3), 2, alpha=-1)
    x(3) + 1
    1 + x(3)
    x(3) - 2.5
    2 - x(3)
    x(3) * 3
    True * x(3)
    x(3) / 4
    1 / x(3)
    x(3) / x(3, dtype="float32")
    x(3, dtype="float32") * x(3)
    x(3) * x(3, dtype="int64")
    x(3, dtype="int64") - x(2, 3)
    x.of([1.0, 2.0]) / x.of([2, 4], "int32")
    x(0, 3) * x(3)
    x(2, 0) + x(1)
    x.strided(2, 3) * x.strided(2, 3)
    x(3).true_divide(x(3))
    T.div(x(3), x(3), rounding_mode="floor")
    T.div(x(3), x(2, 3), rounding_mode="trunc")
    T.div(x(3), x(3), rounding_mode=None)
    T.div(x(3), 2, rounding_mode="floor")
    T.div(x(3), 2, rounding_mode=None)
    x(4) % x(4)
    x(4) % 0.7
    x(2, 3).remainder(x(3))
    T.fmod(x(4), x(4))
    x(2, 3).fmod(0.5)
    x(4) // 2
    x(4) // x(4)
    2 // x(4)
    T.remainder(2, x(4))
    x(4) ** 2
    x(4) ** 3
    x(4) ** 1
    x(4) ** 0
    x(4) ** -1
    x(4) ** -2.0
    x.uniform(4) ** 0.5
    x.uniform(4) ** 2.5
    x.of([-2.0, 0.0, 3.0]) ** 2
    x.of([0.0, 2.0]) ** 0
    2 ** x(4)
    T.pow(1, x(4))
    T.pow(0.5, x(2, 3))
    x.uniform(2, 3) ** x(3)
    x.uniform(2, 1) ** x(1, 3)
    x(4) ** x.of([0, 1, 2, 3], "int64")
    x.of([2, 3], "int64") ** x(2)
    T.atan2(x(2, 3), x(3))
    T.atan2(x(3), x(3, dtype="int64"))
    T.maximum(x(2, 3), x(3))
    T.minimum(x(2, 1), x(3))
    T.maximum(x.coarse(4, 5), x.coarse(4, 5))
    T.minimum(x.coarse(4, 5), x.coarse(5))
    T.maximum(x.of([1.0, np.nan]), x.of([np.nan, 2.0]))
    x(3) == x(3)
    x(3) < 0
    x(3).ne(x(3)).logical_not()
    x(3).isnan()
    x(3).logical_and(x(3))
""")

MORE = cases("""
    x(2, 3).clamp(-0.5, 0.5)
    x(2, 3).clamp(min=0)
    x(2, 3).clamp(max=0.3)
    x.coarse(4, 5).clamp(-1, 1)
    x.coarse(4, 5).clamp(1, -1)
    x(2, 3).clamp(x(3), x(2, 1))
    x(2, 3).clamp(min=x(3))
    x(2, 3).clamp(max=x(3))
    x(2, 3).clamp(T.zeros(3, dtype=T.float64), x(3))
    x.coarse(4, 5).clamp(x.coarse(4, 5), x.coarse(4, 5))
    x(2, 3).clip(-0.1, 0.1)
    x.coarse(3, 3).clamp_min(0)
    x.coarse(3, 3).clamp_max(1)
    x.coarse(3, 3).clamp_min(x.coarse(3))
    x.coarse(3, 3).clamp_max(x.coarse(3, 1))
    x(2, 3).lerp(x(2, 3), 0.3)
    x(2, 3).lerp(x(3), x(2, 1))
    T.lerp(x(3), x(3), x())
    T.addcmul(x(2, 3), x(3), x(2, 1))
    T.addcmul(x(3), x(2, 3), x(3), value=0.5)
    T.addcdiv(x(2, 3), x(3), x(2, 1))
    T.addcdiv(x(3), x(2, 3), x(3), value=-2)
    T.where(x.mask(2, 3), x(3), x(2, 1))
    T.where(x.mask(3).to(T.uint8), x(3), x(3))
    T.where(x.mask(3), x(3), 0.5)
    T.where(x.mask(3), 2, x(2, 3))
    T.where(x.mask(3), x(3), x(3, dtype="float32"))
    T.where(x(4) > 0, x(4), 0.1 * x(4))
    x(3).where(x.mask(3), x(3))
    x(2, 3).masked_fill(x.mask(3), 1.5)
    x(2, 3).masked_fill(x.mask(2, 3), x())
    x(3).masked_fill(x.mask(2, 3), 0)
    x(3).masked_fill(x.mask(2, 3), x())
    (x(3) * 2).add_(x(3)).mul_(x()).sub_(1)
    (x(2, 3) * 1).div_(x(3))
    x(3).exp().tanh_()
    (x(3) * 1).sigmoid_()
    (x.uniform(3) * 1).pow_(2)
    (x.uniform(3) * 1).pow_(x(3))
    (x(3) * 1).clamp_(-0.3, 0.3)
    (x(3) * 1).fill_(x())
    (x(3) * 1).fill_(2)
    T.fill(x(3), x())
    T.fill(x(3), 2)
    (x(3) * 1).zero_()
    (x(2, 3) * 1).masked_fill_(x.mask(3), x())
    (x(3) * 1).lerp_(x(3), x(3))
    (x(3) * 1).addcmul_(x(3), x(3), value=2)
""")

# What PyTorch's second derivative makes NaN of is left out.
EDGES = cases("""
    x.of([0.0, 1.0]).sqrt()
    x.of([0.0, 4.0]).rsqrt()
    x.of([0.0, -2.0]).reciprocal()
    x.of([0.0, 2.0]).log()
    x.of([-1.0, 0.0, 2.0]).log()
    x.of([1.0, -1.0, 2.0]).asin()
    x.of([0.0, -0.0, np.nan, np.inf]).abs()
    x.of([0.0, 0.0]).atan2(x.of([0.0, 1.0]))
    x.of([0.0, 0.0, 0.0]) ** x.of([0.0, 1.0, 2.0])
    x.of([0.0, -1.0, 2.0]) ** x.of([2.0, 2.0, 0.0])
    x.of([2.0, 0.0, -0.0]) ** T.tensor([-1.0, 0.0, -2.0], requires_grad=True)
    T.tensor([2.0, 0.0, -0.0, 0.0]) ** x.of([-1.0, 0.0, -2.0, np.nan])
    x.of([0.0, 2.0]) ** -1
    x.of([0.0, 2.0]) ** 0.5
    T.pow(0, x.uniform(4))
    T.pow(0, x.of([0.0, 1.0, -1.0]))
    T.pow(-2, x.of([0.0, 1.0, 2.0]))
    x.of([0.0, 1.0]) / x.of([0.0, 0.0])
    x.of([1.0, 2.0]) % x.of([1.0, 0.0])
    x.of([np.nan, 1.0]).clamp(0, 1)
    x.of([0.0, 1.0]).clamp(min=x.of([0.0, 1.0]))
    T.fmod(x.of([1.0, 2.0]), x.of([1.0, 0.0]))
""")

SECOND_AT_THE_EDGES = cases("""
    x.of([0.0, 2.0]) ** x.of([1.0, 2.0])
    x.of([0.0, 2.0]) ** x.of(1.0)
    x.of([0.0, -2.0]) ** 2
    x.of([0.0, -2.0]) ** 1
    x.of([0.0, 0.0]).maximum(x.of([0.0, 1.0]))
    x.of([0.0, 1.0]).abs()
    T.nn.functional.softplus(x.of([2.0, 1.5, 2.5, -2.0]), 2, 4)
    T.nn.functional.elu(x.of([0.0, -0.0, 1.0, -1.0]), 1.5)
    T.nn.functional.celu(x.of([0.0, -0.0, 1.0, -1.0]), 1.5)
    T.nn.functional.selu(x.of([0.0, -0.0, 1.0, -1.0]))
    T.nn.functional.hardswish(x.of([3.0, -3.0, 0.0, 4.0, -4.0]))
    T.nn.functional.logsigmoid(x.of([0.0, -0.0, 40.0, -40.0]))
    T.nn.functional.smooth_l1_loss(x.of([0.5, -0.5, 0.0, 2.0]), T.zeros(4).double(), beta=0.5)
    T.nn.functional.huber_loss(x.of([0.5, -0.5, 0.0, 2.0]), T.zeros(4).double(), delta=0.5)
""")

CHANCE = cases("""
    (x(3) * 1).uniform_()
    (x(3) * 1).normal_()
    (x(3) * 1).random_()
    (x(3) * 1).random_(5)
    (x(3) * 1).random_(2, 5)
    (x(3) * 1).bernoulli_(0.5)
    (x(3) * 1).bernoulli_(x.uniform(3))
    x.uniform(3).bernoulli()
    T.normal(x(3), 1.0)
    T.normal(0.0, x.uniform(3))
    T.normal(x(3), x.uniform(3))
    T.rand_like(x(3))
    x.uniform(3).multinomial(2)
""")


@pytest.mark.parametrize("text", UNARY + BINARY + MORE)
def test_like_pytorch(text: str) -> None:
    names = "//" not in text and "T.remainder(2" not in text  # a node called NotImplemented there
    check_gradients(expression(text), names=names)


@pytest.mark.parametrize("text", SECOND_AT_THE_EDGES)
def test_twice_at_the_edges(text: str) -> None:
    check_gradients(expression(text))


@pytest.mark.parametrize("text", EDGES)
def test_at_the_edges(text: str) -> None:
    check_gradients(expression(text), second=False)


@pytest.mark.parametrize("text", CHANCE)
def test_random_numbers_depend_on_nothing(text: str) -> None:
    case = expression(text)

    def seeded(T: Any, x: Any) -> Any:
        T.manual_seed(0)
        return case(T, x)

    check_gradients(seeded)


BROADCAST = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "x.atan2(y)",
    "x.maximum(y)",
    "x.minimum(y)",
    "x.remainder(y)",
    "x.fmod(y)",
]
BROADCAST += [
    "x.abs().add(0.1) ** y",
    "x.clamp(y, y + 1)",
    "T.where(x > y, x, y)",
    "x.lerp(y, x)",
    "T.addcmul(x, y, y)",
]


@examples(40)
@given(st.data())
def test_whatever_is_broadcast_is_summed(data: st.DataObject) -> None:
    """Any two shapes that fit, contiguous or not, full of ties or not, in single and double
    precision.
    """
    sizes = data.draw(st.lists(st.integers(0, 3), max_size=3))
    shapes = []
    for _ in range(2):
        own = [1 if data.draw(st.integers(0, 3)) == 0 else n for n in sizes]
        shapes.append(own[data.draw(st.integers(0, len(own))) :])
    makers = [data.draw(st.sampled_from(["x", "x.strided", "x.coarse"])) for _ in shapes]
    a, b = (f"{make}({', '.join(map(str, s))})" for make, s in zip(makers, shapes))
    text = data.draw(st.sampled_from(BROADCAST))
    second = ".coarse" not in a + b  # 0/0, at which second derivatives may differ
    check_gradients(expression(f"(lambda x, y: {text})({a}, {b})"), second=second)


@pytest.mark.parametrize("text", ["x // y", "x // 2", "T.remainder(2.0, x)", "T.bernoulli(x, 0.5)"])
def test_what_pytorch_has_no_derivative_for(text: str) -> None:
    x, y = internals.ones(2, requires_grad=True), internals.ones(2)
    result = eval(text, {"T": internals, "x": x, "y": y})
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::.* is not implemented"):
        result.sum().backward()


def test_equal_operands_share_the_gradient() -> None:
    x, y = (
        internals.tensor(values, requires_grad=True)
        for values in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    )
    internals.maximum(x, y).sum().backward()
    assert to_numpy(x.grad).tolist() == [0, 0.5, 1]
    assert to_numpy(y.grad).tolist() == [1, 0.5, 0]


def test_clamp_passes_the_gradient_on_at_its_bounds() -> None:
    x = internals.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    x.clamp(-1, 1).sum().backward()
    assert to_numpy(x.grad).tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_bessel_functions_have_the_slope_one_half_as_far_as_rounding_goes(
    name: str, dtype: str
) -> None:
    eps = internals.finfo(getattr(internals, dtype)).eps
    x = internals.tensor(
        [0.0, -0.0, eps, -eps, eps / 2, 4 * eps, -4 * eps],
        dtype=getattr(internals, dtype),
        requires_grad=True,
    )
    getattr(internals.special, name)(x).sum().backward()
    assert to_numpy(x.grad)[:5].tolist() == [0.5] * 5
    np.testing.assert_allclose(to_numpy(x.grad)[5:], 0.5, rtol=16 * eps)


def test_powers_at_zero() -> None:
    x = internals.zeros(3, requires_grad=True)
    exponent = internals.tensor([0.0, 1.0, 2.0], requires_grad=True)
    (x**exponent).sum().backward()
    assert to_numpy(x.grad).tolist() == [0, 1, 0]
    assert to_numpy(exponent.grad).tolist() == [0, 0, 0]


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "sin": np.cos,
    "exp": np.exp,
    "log": lambda x: 1 / x,
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "rsqrt": lambda x: -0.5 * x**-1.5,
    "reciprocal": lambda x: -1 / x**2,
    "sigmoid": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2,
    "erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_the_textbook(name: str) -> None:
    x = internals.tensor([0.25, 0.5, 2.0], dtype=internals.float64, requires_grad=True)
    getattr(x, name)().sum().backward()
    np.testing.assert_allclose(
        to_numpy(x.grad), DERIVATIVES[name](to_numpy(x.detach())), rtol=1e-12
    )
