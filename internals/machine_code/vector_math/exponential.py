"""exp and the functions based on it: exp2, expm1, tanh, sigmoid, sinh, cosh
(`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`).

    exp(x) = 2^k * exp(r)    k = x / log 2, rounded    r = x - k log 2, so |r| <= log(2) / 2 = 0.347

k log 2 is subtracted in two parts, of which the first times k is exact: otherwise r would have the
rounding error of a number a hundred times as large. On this small interval exp(r) = 1 + r + r^2
q(r) with a polynomial q of degree 4 in single and 10 in double precision. Multiplying by 2^k only
adds k to the exponent.

The coefficients are minimax for the relative error of exp(r) - 1, found with Remez' algorithm in 50
digits and then rounded; their error is 2^-26 of exp(r) - 1 in single and 2^-61 in double precision.
No step has a branch: a bound is a select, and NaN passes through it, since comparisons with NaN are
false.

How the real one differs: these are SLEEF's polynomials with other coefficients; for float32 `exp`
on AVX-512 it has a shorter one.
"""

from __future__ import annotations

from typing import Any

from numpy import float32

from ..language import inline, template
from .bits import bits, power_of_two, rounder, scaled, with_sign_of
from .polynomials import polynomial

T = template("T")


@inline
def exp(x: float) -> Any:
    """e^x: 0 below -104 (float32) and -746 (float64), inf above 89 and 710; results between may be
    denormal.
    """
    if T is float32:
        x = T(89.5) if x > T(89.5) else x
    else:
        x = T(710.5) if x > T(710.5) else x
    return exp_of_negative(x)


@inline
def exp2(x: float) -> Any:
    """2^x, exactly for integers."""
    # bounds beyond which the result is inf or 0, but which `scaled` can still handle
    x = T(1100) if x > T(1100) else x
    x = T(-1100) if x < T(-1100) else x
    if T is float32:
        x = float32(130) if x > float32(130) else x
        x = float32(-152) if x < float32(-152) else x
    n = x + rounder()
    r = (x - (n - rounder())) * T(0.6931471805599453)
    return scaled(small_exp(r), n)


@inline
def expm1(x: float) -> Any:
    """e^x - 1 with all digits near 0, where e^x - 1 itself would cancel them."""
    y = T(4) * fraction_of_expm1(x, 2)
    return x if is_tiny(x) else y


@inline
def tanh(x: float) -> Any:
    """The hyperbolic tangent: (e^2a - 1) / (e^2a + 1) with a = |x|, and the sign of x. From 10
    (float32) and 20 on it is 1.
    """
    a = abs(x)
    a = T(20) if a > T(20) else a
    y = fraction_of_expm1(a + a, 0)
    return with_sign_of(y / (y + T(2)), x)


@inline
def sigmoid(x: float) -> Any:
    """1 / (1 + e^-x) as e^x / (1 + e^x) where x < 0, so that nothing overflows and small results
    keep their digits.
    """
    e = exp_of_negative(-abs(x))
    return (T(1) if x >= T(0) else e) / (T(1) + e)


@inline
def sinh(x: float) -> Any:
    """(e^x - e^-x) / 2 from h = (e^a - 1) / 2, a = |x|: h + h / (2h + 1)."""
    a = abs(x)
    h = T(2) * fraction_of_expm1(a, 2)
    y = h + (h / (h + h + T(1)) if h < T(1e30) else T(0.5))
    return x if is_tiny(x) else with_sign_of(y, x)


@inline
def cosh(x: float) -> Any:
    """(e^x + e^-x) / 2 from h = e^a / 2, a = |x|: h + 1 / 4h."""
    a = between(abs(x))
    n = nearest_power(a)
    r = remainder_of_power(a, n - rounder())
    h = scaled(T(0.5) * small_exp(r), n)
    return h + T(0.25) / h


@inline
def fraction_of_expm1(x: float, e: float) -> Any:
    """(e^x - 1) / 2^e, as 2^(k-e) (e^r - 1) + (2^(k-e) - 2^-e). The division by 2^e keeps it finite
    where e^x itself would overflow, as in sinh.
    """
    x = between(x)
    x = T(-40) if x < T(-40) else x  # e^x - 1 is -1 there
    n = nearest_power(x)
    r = remainder_of_power(x, n - rounder())
    s = power_of_two(bits(n) - bits(rounder()) - e)
    return s * small_expm1(r) + (s - power_of_two(-e))


@inline
def is_tiny(x: float) -> Any:
    """Whether x is so small that e^x - 1 and sinh(x) equal x. `fraction_of_expm1` would lose digits
    of a denormal x, which it divides by 2^e.
    """
    if T is float32:
        return abs(x) < T(1e-8)
    else:
        return abs(x) < T(1e-17)


@inline
def exp_of_negative(x: float) -> Any:
    """e^x for an x that is not too large."""
    if T is float32:
        x = T(-104.5) if x < T(-104.5) else x
    else:
        x = T(-746.0) if x < T(-746.0) else x
    n = nearest_power(x)
    return scaled(small_exp(remainder_of_power(x, n - rounder())), n)


@inline
def between(x: float) -> Any:
    """x, limited to where e^x is neither 0 nor infinite and a bit beyond; NaN stays NaN."""
    if T is float32:
        x = float32(89.5) if x > float32(89.5) else x
        return float32(-104.5) if x < float32(-104.5) else x
    else:
        x = T(710.5) if x > T(710.5) else x
        return T(-746.0) if x < T(-746.0) else x


@inline(fastmath=("contract",))
def nearest_power(x: float) -> Any:
    """The integer nearest x / log 2, as a float with `rounder()` added."""
    return x * T(1.4426950408889634) + rounder()


@inline(fastmath=("contract",))
def remainder_of_power(x: float, n: int) -> Any:
    """x - n log 2, with log 2 in two parts: the first has so few bits that n times it is exact."""
    if T is float32:
        return (x - n * float32(0.693145751953125)) - n * float32(1.4286068203094173e-06)
    else:
        return (x - n * T(0.6931471805601177)) - n * T(-1.7239444525614835e-13)


@inline(fastmath=("contract",))
def small_exp(r: float) -> Any:
    """e^r for |r| <= log(2) / 2."""
    return (small_quadratic(r) * r + T(1)) * r + T(1)


@inline(fastmath=("contract",))
def small_expm1(r: float) -> Any:
    """e^r - 1 for |r| <= log(2) / 2, with all its digits."""
    return r * r * small_quadratic(r) + r


# q(r) = (e^r - 1 - r) / r^2
small_quadratic = polynomial(
    (
        2.0875335483280562e-09,
        2.5109082191619446e-08,
        2.7557402906912835e-07,
        2.755724410177589e-06,
        2.4801587171904565e-05,
        0.0001984126988621054,
        0.0013888888888962847,
        0.008333333333321606,
        0.041666666666666505,
        0.16666666666666677,
        0.5,
    ),
    single=(
        0.0013882475144837525,
        0.0083665821907726,
        0.0416672023622681,
        0.1666654316086344,
        0.4999999814242849,
    ),
)
