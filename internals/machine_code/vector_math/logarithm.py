"""log, log2, log10 and log1p (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`).

    log(x) = k log 2 + log(m)      x = 2^k m,  m between sqrt(1/2) and sqrt(2)

The exponent is read from the bits: those of x minus those of sqrt(1/2) have k in the upper bits,
whatever the fraction is. Then with f = m - 1 and s = f / (2 + f)

    log(1 + f) = 2 atanh(s) = 2 s + s^3 P(s^2) = f - (f^2 / 2 - s (f^2 / 2 + s^2 P(s^2)))

where the last form rounds f^2 / 2 and not f itself, which is exact; so log(x) has a small relative
error next to x = 1 too, where it is small itself. P has degree 2 in single and 6 in double
precision; it is minimax for the relative error of log(1 + f) (2^-29 and 2^-59), by Remez' algorithm
in 50 digits. Denormal numbers are multiplied by 2^25 or 2^54 first.

How the real one differs: SLEEF's logarithm has the same series in s, with m between 0.75 and 1.5.
"""

from __future__ import annotations

from typing import Any

from numpy import float32, inf, int32, int64, nan

from ..language import inline, template
from .bits import bits, from_bits
from .polynomials import polynomial

T = template("T")


@inline
def log(x: float) -> Any:
    """The natural logarithm: -inf of 0, NaN of negative numbers."""
    k = exponent(x)
    return at_the_ends(x, add_powers(k, small_log1p(fraction(x) - T(1))))


@inline
def log2(x: float) -> Any:
    """The logarithm to base 2, exact for powers of two."""
    return at_the_ends(x, exponent(x) + small_log1p(fraction(x) - T(1)) * T(1.4426950408889634))


@inline
def log10(x: float) -> Any:
    """The logarithm to base 10."""
    if T is float32:
        high, low = float32(0.301025390625), float32(4.605038981195214e-06)
    else:
        high, low = T(0.3010299956640665), T(-8.532344317057107e-14)
    k = exponent(x)
    return at_the_ends(
        x, k * high + (k * low + small_log1p(fraction(x) - T(1)) * T(0.4342944819032518))
    )


@inline
def log1p(x: float) -> Any:
    """log(1 + x) with all digits near 0: the logarithm of u, which is 1 + x rounded, plus the
    rounding error of u divided by u.
    """
    u = T(1) + x
    y = log(u)
    corrected = y + (x - (u - T(1))) / u
    y = corrected if u > T(0) and u < T(inf) else y
    return x if x == T(0) else y


@inline
def exponent(x: float) -> Any:
    """k of x = 2^k m, as a float."""
    i = offset_bits(x)
    if T is float32:
        return T(i >> int32(23)) - (T(25) if x < T(1.1754943508222875e-38) else T(0))
    else:
        return T(i >> int64(52)) - (T(54) if x < T(2.2250738585072014e-308) else T(0))


@inline
def fraction(x: float) -> Any:
    """m of x = 2^k m, between sqrt(1/2) and sqrt(2)."""
    i = offset_bits(x)
    if T is float32:
        return from_bits(int32((i & int32(0x7FFFFF)) + int32(0x3F3504F3)))
    else:
        return from_bits((i & int64(0xFFFFFFFFFFFFF)) + int64(0x3FE6A09E667F3BCD))


@inline
def offset_bits(x: float) -> Any:
    """The bits of x minus those of sqrt(1/2), 0x3F3504F3 or 0x3FE6A09E667F3BCD; a denormal x is
    multiplied by 2^25 or 2^54 first.
    """
    if T is float32:
        normal = x * T(2.0**25) if x < T(1.1754943508222875e-38) else x
        return int32(bits(normal) - int32(0x3F3504F3))
    else:
        normal = x * T(2.0**54) if x < T(2.2250738585072014e-308) else x
        return bits(normal) - int64(0x3FE6A09E667F3BCD)


@inline(fastmath=("contract",))
def small_log1p(f: float) -> Any:
    """log(1 + f) for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (T(2) + f)
    z = s * s
    h = T(0.5) * f * f
    return f - (h - s * (h + z * log1p_polynomial(z)))


@inline(fastmath=("contract",))
def add_powers(k: int, y: float) -> Any:
    """k log 2 + y, with log 2 in two parts of which the first times k is exact."""
    if T is float32:
        return k * float32(0.693145751953125) + (k * float32(1.4286068203094173e-06) + y)
    else:
        return k * T(0.6931471805601177) + (k * T(-1.7239444525614835e-13) + y)


@inline
def at_the_ends(x: float, y: float) -> Any:
    """y, the logarithm of x, corrected for x = 0, infinity, negative numbers and NaN."""
    y = y if x < T(inf) else x  # infinity and NaN are their own logarithms
    return y if x > T(0) else (T(-inf) if x == T(0) else T(nan))


log1p_polynomial = polynomial(
    (
        0.14730386924279382,
        0.15321092065677902,
        0.18183265391776787,
        0.22222204912633062,
        0.2857142867284406,
        0.39999999999778546,
        0.6666666666666666,
    ),
    single=(
        0.29624350410496425,
        0.3998836276139888,
        0.6666666683327507,
    ),
)
