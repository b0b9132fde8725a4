"""Pointwise operators and special functions: what random arguments do not reach, beside PyTorch;
and values beside numpy's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import internals
from internals.aten.deferred import special
from internals.core.tensor_impl import array
from tests.side_by_side import cases, check, expression

EDGES = "x.of([0.0, -0.0, 1, -1, -2, 0.5, -0.5, 2, 20, -20, 700, inf, -inf, nan], 'float64')"
UNARY = [
    *"erfc erfinv lgamma digamma exp2 log10 sinc deg2rad rad2deg asinh acosh atanh logit".split(),
    *"i0 signbit isposinf isneginf nan_to_num positive special.entr special.ndtr".split(),
    *"special.ndtri special.log_ndtr special.erfcx special.i0e special.i1 special.i1e".split(),
    *"special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1".split(),
    *"special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0".split(),
    *"special.modified_bessel_k1 special.airy_ai special.scaled_modified_bessel_k0".split(),
    *"special.scaled_modified_bessel_k1 special.spherical_bessel_j0".split(),
]
POLYNOMIALS = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *"hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l".split(),
    *"legendre_polynomial_p".split(),
]

BESIDE_PYTORCH = """
    # numbers with tensors
    T.div(-3, x.of([1, 2], "uint8"))
    T.div(x.of(-3, "int64"), x.of([1, 2], "uint8"))
    -3 / x.of([1, 2], "uint8")
    T.hypot(x.of(-3, "int64"), x.of([1, 2], "int8"))
    T.atan2(x.of(-3, "int64"), x.of([1, 2], "uint8"))
    T.copysign(x.of(1, "int64"), x.of(-1000, "int64"))
    T.sub(True, x.of([1]))
    T.sub(2, x.of([1]).bool())
    T.rsub(x.of([1]), True)
    T.exp2(x.of([complex(inf, 1), complex(nan, 0), complex(-inf, 1), 2 - 1j], "complex64"))
    # what is refused, and how
    T.heaviside(x.of([1]), x.of([1j], "complex64"))
    x.of([1]).ldexp_(T.tensor(2j))
    T.clamp(x.of([1j], "complex64"), T.tensor(1))
    T.clamp_min(x.of([1j], "complex64"), 1)
    T.nan_to_num(x.of([1]), out=T.empty(1, dtype=T.float64))
    T.polygamma(1, x.of([1j], "complex64"))
    T.polygamma(2, x.of([1j], "complex64"))
    T.threshold(x.of([1]).bool(), 0, 1)
    T.threshold(x(2, 3).t(), 0, 1).stride()
    # shifts: by too much, by less than nothing, of numbers, in place
    x.of([1, -1, 5], "int32") << x.of([31, 32, -1], "int32")
    x.of([-8, 8, -1], "int8") >> x.of([2, 8, -1], "int8")
    x.of([255, 7], "uint8") >> 3
    1 << x.of([0, 3], "int64")
    -64 >> x.of([0, 3], "int64")
    x.of([1, 2], "int64").__ilshift__(2)
    x.of([1, 2], "int64").__irshift__(x.of([1, 1], "int64"))
    x.of([6, 3], "int64").__iand__(2)
    x.of([True]).bool() << 1
    x.of([1.0]) << 1
    x.of([True]).bool() << x.of([True]).bool()
    1.5 >> x.of([1], "int64")
    +x.of([1, 2])
    +(x.of([1]) > 0)
    # divisors
    T.gcd(x.of([0, -4, 12], "int64"), x.of([0, 6, 18], "int64"))
    T.lcm(x.of([0, -4, 12], "int64"), x.of([3, 6, 18], "int64"))
    T.gcd(x.of([1.0]), x.of([1.0]))
    x.of([4], "int32").lcm_(x.of([6], "int64"))
    # parts of numbers
    T.frexp(x.of([0.0, -0.0, 1, -3, 1e-40, inf, nan]))
    T.frexp(x.of([1, 2], "int64"))
    T.frexp(x.of([6.0]), out=(x.of([0.0]), x.of([0], "int32")))
    T.frexp(x.of([6.0]), out=(x.of([0.0], "float64"), x.of([0], "int32")))
    T.frexp(x.of([6.0]), out=(x.of([0.0]), x.of([0], "int64")))
    T.frexp(input=x.of([6.0])).exponent
    T.ldexp(x.of([1.5, 2.0**-100]), x.of([1, 200], "int64"))
    T.ldexp(x.of([1.5, 2.0**-100]), x.of([1.0, 200.0]))
    T.ldexp(x.of([3, 4], "int64"), x.of([-1, 1], "int64"))
    T.ldexp(x.of([3.0]), x.of([1]) > 0)
    T.copysign(x.of([1.0, 0.0, 2.0]), x.of([-0.0, -1.0, 0.0])).signbit()
    T.copysign(x.of([1, 2], "int64"), -0.0)
    T.nextafter(x.of([1.0, 0.0, inf, nan]), x.of([2.0, -1.0, 0.0, 1.0]))
    T.nan_to_num(x.of([nan, inf, -inf, 1.0]), 2.0, posinf=7.0)
    T.nan_to_num(x.of([nan, inf, -inf, 1.0], "float16"))
    T.nan_to_num(x.of([1, 2], "int64"), nan=3.0)
    T.isposinf(x.of([inf, -inf]), out=x.of([0.0]))
    T.isneginf(x.of([1j], "complex64"))
    T.signbit(x.of([1j], "complex64"))
    # steps, extrema, membership
    T.heaviside(x.of([-1.0, 0.0, 2.0, nan]), x.of([0.5]))
    T.heaviside(x.of([-1, 0, 2], "int64"), x.of([5], "int64"))
    T.heaviside(x.of([1.0]), x.of([1], "int64"))
    T.fmax(x.of([nan, 1.0, nan]), x.of([2.0, nan, nan]))
    T.fmin(x.of([1j], "complex64"), x.of([1j], "complex64"))
    T.isin(x.of([1, 2, 3], "int64"), x.of([2.0, 3.5]))
    T.isin(x.of([nan, 1.0]), x.of([nan]))
    T.isin(x.of([1, 2], "int64"), 2, invert=True)
    T.isin(2, x.of([1, 2], "int64"))
    T.isin(elements=x.of([[1, 2]], "int64"), test_elements=x.of([], "int64"))
    T.isin(x.of([1.0]), x.of([1.0]), out=x.of([0.0]))
    T.isin(x.of([1]) > 0, x.of([1.0]))
    T.hypot(x.of([3e38]), x.of([3e38])), T.hypot(x.of([3.0], "float64"), x.of([4e300], "float64"))
    T.hypot(x.of([3], "int64"), x.of([4], "int64"))
    # powers and logarithms
    T.float_power(x.of([2, -3], "int64"), x.of([3, -1], "int64"))
    T.float_power(2, x.of([3.0])), T.float_power(x.of([4.0]), 0.5),
        T.float_power(x.of([1j], "complex64"), 2)
    x.of([2.0]).float_power_(2)
    x.of([2.0], "float64").float_power_(x.of([3], "int64"))
    T.logaddexp(x.of([inf, -inf, -inf, 1000.0]), x.of([inf, -inf, 1.0, 1000.0]))
    T.logaddexp(x.of([1 + 2j, -1000j], "complex128"), x.of([2j, 3.0], "complex128"))
    T.logaddexp2(x.of([1024.0]), x.of([1024.0]))
    T.logaddexp(x.of([1], "int64"), x.of([1], "int64"))
    T.xlogy(x.of([0.0, 0.0, 0.0, 2.0]), x.of([0.0, nan, -1.0, 3.0]))
    T.xlogy(0, x.of([0.0, 2.0])), T.xlogy(x.of([0.0, 2.0]), 0), T.special.xlogy(x.of([2.0]), 3)
    T.special.xlog1py(0, x.of([-1.0])), T.special.xlog1py(x.of([2, 3], "int64"), -0.5)
    T.logit(x.of([-0.1, 0.0, 0.3, 1.0, 1.1]), eps=0.2), T.logit(x.of([0.3, 1.1]), 0.6),
        T.logit(x.of([1.1]), -1.0)
    x.of([0.25]).logit_(), T.special.logit(x.of([1, 0], "int64"))
    # gamma and zeta
    T.polygamma(0, x.of([1.5])), T.polygamma(1, x.of([1.5, -0.5])), x.of([1.5]).polygamma(3),
        x.of([1.5]).polygamma_(2)
    T.polygamma(-1, x.of([1.5]))
    T.mvlgamma(x.of([3.0, 2.5, 0.1]), 3), x.of([3], "int64").mvlgamma(p=1),
        T.special.multigammaln(x.of([3.0]), 2)
    T.mvlgamma(x.of([3.0]), 0)
    T.mvlgamma(x.of([3.0]) > 0, 1)
    T.igamma(x.of([0.0, 1.0, 2.0, -1.0, inf]), x.of([1.0, 0.0, inf, 1.0, 1.0]))
    T.special.gammaincc(x.of([0.5]), x.of([30.0])),
        T.igammac(x.of([2], "int64"), x.of([2], "int64"))
    T.special.zeta(x.of([2.0, 1.0, 0.5, 2.0]), x.of([1.0, 1.0, 1.0, -0.5])),
        T.special.zeta(2, x.of([3.0]))
    T.special.zeta(x.of([2.0], "float16"), 1)
    # other modules' functions by the names of `special`
    T.special.expit(x.of([1, 0], "int64")), T.special.psi(x.of([1.5])),
        T.special.gammaln(x.of([3.5])), T.special.erf(x(3))
    T.special.round(x.of([1.255, -0.5]), decimals=1), T.special.round(x.of([1.5]))
    T.special.logsumexp(x(2, 3), 1), T.special.logsumexp(x(2, 3), dim=(0, 1), keepdim=True)
    T.special.softmax(x(2, 3), 1), T.special.log_softmax(x(2, 3), 0, dtype=T.float64)
    T.special.softmax(x(2, 3))
    T.special.erfinv(x.of([0.5]), out=x.of([0.0], "float64"))
    T.special.i1(x.of([1.0]), out=x.of([0], "int64"))
    # numbers where only tensors are taken
    T.fmax(x.of([1.0]), 2)
    T.copysign(2, x.of([1.0]))
    T.logaddexp(1, x.of([1.0]))
    T.heaviside(x.of([0.0]), 0.5)
"""


@pytest.mark.parametrize("text", cases(BESIDE_PYTORCH))
def test_beside_pytorch(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("name", UNARY)
def test_at_the_edges(name: str) -> None:
    check(
        expression(
            f"T.{name}({EDGES}), T.{name}({EDGES}.float()), T.{name}(x.of([], 'float32')), "
            f"T.{name}(x.of(0.25))"
        )
    )


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str) -> None:
    at, degrees = (
        "x.of([[-1.0], [0.0], [0.3], [1.0], [2.5], [inf]], 'float64')",
        "x.of([-1, 0, 1, 2, 2.9, 7, 12])",
    )
    check(expression(f"T.special.{name}({at}, {degrees})"))
    check(
        expression(
            f"T.special.{name}(0.5, {degrees}), T.special.{name}(x(3), 4), "
            f"T.special.{name}(x.of([1, 2], 'int64'), 3)"
        )
    )
    check(expression(f"T.special.{name}(x(3, dtype='float16'), 4)"))


@pytest.mark.parametrize("function", ["igamma", "igammac", "special.zeta"])
def test_no_derivative(function: str) -> None:
    """The error comes from backward, and only where that argument's gradient is wanted."""
    check(expression(f"T.{function}(x.of([2.0]), x.of([3.0]).requires_grad_()).backward()"))
    check(expression(f"T.{function}(x.of([2.0]).requires_grad_(), x.of([3.0])).backward()"))


@pytest.mark.parametrize(
    "text",
    [
        "gt(a, 1, out=T.ones(1).bool())", "argmax(a, out=T.tensor(0))",
        "searchsorted(a, a, out=T.ones(1).long())", "signbit(a, out=T.ones(1).bool())",
        "special.bessel_j0(a, out=T.ones(1))", "sign(a, out=T.ones(1))",
        "special.bessel_j0(T.ones(1), out=a)",
    ],
)  # fmt: skip
def test_out_where_nothing_is_recorded(text: str) -> None:
    check(lambda T, x: eval(f"T.{text}", {"T": T, "a": x.of([2.0]).requires_grad_()}).requires_grad)


@pytest.mark.parametrize(
    "text", ["heaviside(a, a)", "gcd(a.long(), a.long())", "special.bessel_j0(a)", "isposinf(a)"]
)
def test_what_requires_grad(text: str) -> None:
    check(lambda T, x: eval(f"T.{text}", {"T": T, "a": x.of([2.0]).requires_grad_()}).requires_grad)


def test_what_makes_tensors_does_not_fill_one_that_requires_grad() -> None:
    with pytest.raises(RuntimeError, match="support automatic differentiation"):
        internals.zeros(2, out=internals.ones(2, requires_grad=True))


def test_gradient_of_logit_of_nan() -> None:
    """Neither within the bounds nor beyond them: NaN."""

    def gradient(T, x):  # type: ignore[no-untyped-def]
        t = x.of([math.nan, 0.5, 2.0, 0.0]).requires_grad_()
        T.logit(t, 0.1).sum().backward()
        return t.grad

    check(gradient)


def test_gradient_of_ldexp_by_negative_integers() -> None:
    """PyTorch's is 0: it computes 2**-1 in integers."""
    a = internals.tensor([3.0], requires_grad=True)
    internals.ldexp(a, internals.tensor([-1])).backward()
    assert a.grad.item() == 0.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("erfc", special.erfc), ("erfinv", special.erfinv), ("lgamma", special.gammaln),
        ("digamma", special.psi), ("exp2", np.exp2), ("log10", np.log10), ("sinc", np.sinc),
        ("deg2rad", np.deg2rad), ("rad2deg", np.rad2deg), ("asinh", np.arcsinh),
        ("atanh", np.arctanh), ("logit", special.logit), ("i0", special.i0),
        ("signbit", np.signbit), ("arcsin", np.arcsin), ("absolute", np.abs), ("fix", np.trunc),
    ],
)  # fmt: skip
def test_beside_numpy(name: str, expected: np.ufunc) -> None:
    values = np.linspace(0.05, 0.95, 24).reshape(4, 6)
    for a in (values, values.T, values[::2, ::3], values[:, 0], values[0, 0], values[:0]):
        t = (
            internals.from_numpy(values)
            if a is values
            else internals.tensor(a.tolist(), dtype=internals.float64)
        )
        result = getattr(internals, name)(t.reshape(a.shape))
        np.testing.assert_allclose(array(result), expected(a), 1e-12)


def test_chebyshev_is_a_cosine() -> None:
    angles = internals.linspace(0, math.pi, 50, dtype=internals.float64)
    for n in range(8):
        value = internals.special.chebyshev_polynomial_t(angles.cos(), n)
        assert internals.allclose(value, (n * angles).cos())


def test_arguments_are_not_changed() -> None:
    a, b = internals.tensor([1, 2]), internals.tensor([3, 1])
    before = a.tolist(), b.tolist()
    for f in (
        internals.gcd,
        internals.lcm,
        internals.bitwise_left_shift,
        internals.copysign,
        internals.ldexp,
        internals.xlogy,
    ):
        f(a, b)
    assert (a.tolist(), b.tolist()) == before
    assert internals.positive(a) is not None and internals.positive(a).data_ptr() == a.data_ptr()
