"""sin, cos and tan of any number, however large (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`).

    x = n pi/2 + r,  |r| <= pi/4
    sin(x) is sin(r), cos(r), -sin(r), -cos(r) for n = 0, 1, 2, 3 modulo 4

The polynomials for sin(r) and cos(r) are the easy part. The hard one is r: next to a multiple of
pi/2, x - n pi/2 cancels nearly all digits. For x = 1e30, n has 100 bits, of which only the last two
matter, while 2/pi is needed to 150 bits.

float32 is computed in double precision (`quadrant_single`), with 2/pi in three parts of 29, 29 and
53 bits: 29 bits times the 24 of x is exact. An x of 2^50 or more is multiplied by 2^-26, 2^-52 or
2^-78, which leaves an integer, and 2/pi by the inverse of that; multiples of 4 are then subtracted
from the constant, for they only make full turns. So there are four sets of three constants, and
choosing one is a select: Payne and Hanek's reduction without a table and without a branch.

There is no wider type for float64, which is computed in integers (`payne_hanek.quadrant_any`).

The coefficients are minimax for the relative error of sin(r) and of cos(r), found with Remez'
algorithm in 50 digits; the errors are 2^-28 and 2^-33 for float32, 2^-58 and 2^-64 for float64.

How the real one differs: SLEEF branches to Payne and Hanek's table if any lane of the vector is
large.
"""

from __future__ import annotations

from typing import Any

from numpy import float32, float64, int32, int64

from ..language import inline, template
from .bits import bits, from_bits
from .payne_hanek import quadrant_any
from .polynomials import polynomial

T = template("T")


@inline
def sin(x: float) -> Any:
    """The sine; NaN of infinity."""
    n, r = quadrant(x)
    return sine_in_quadrant(n, T(r))


@inline
def cos(x: float) -> Any:
    """The cosine, which is the sine a quadrant further; NaN of infinity."""
    n, r = quadrant(x)
    return sine_in_quadrant(n + 1, T(r))


@inline
def tan(x: float) -> Any:
    """The tangent; NaN of infinity."""
    n, r = quadrant(x)
    return T(tangent_in_quadrant(n, r))


@inline
def quadrant(x: float) -> tuple[Any, Any]:
    """(n modulo 4 in the last bits of an integer, r in float64) of x = n pi/2 + r."""
    if T is float32:
        return quadrant_single(x)
    else:
        return quadrant_any(x)


@inline
def quadrant_single(x: float) -> tuple[Any, Any]:
    """`quadrant` of any float32; r has more digits than a float32."""
    a = abs(float64(x))
    far, farther, farthest = a >= 2.0**50, a >= 2.0**76, a >= 2.0**102
    scale, high, middle, low = (
        1.0,
        0.6366197690367699,
        3.3308114738561656e-09,
        2.276010073078396e-18,
    )
    scale = 2.0**-26 if far else scale
    high = 1.7235269770026207 if far else high
    middle = -2.6412272785547586e-09 if far else middle
    low = 5.1651711996897015e-18 if far else low
    scale = 2.0**-52 if farther else scale
    high = 1.3227502405643463 if farther else high
    middle = -2.447338956490519e-09 if farther else middle
    low = 4.220776518111768e-18 if farther else low
    scale = 2.0**-78 if farthest else scale
    high = 1.8357618600130081 if farthest else high
    middle = 3.0772192433081713e-09 if farthest else middle
    low = -2.1333796079983287e-18 if farthest else low
    a = float64(x) * scale
    first = a * high
    second = a * middle
    # 6755399441055744 is 1.5 * 2^52: adding it rounds to an integer, in the last bits of the sum
    n1 = first + 6755399441055744.0
    rest = (first - (n1 - 6755399441055744.0)) + second
    n2 = rest + 6755399441055744.0
    r = (rest - (n2 - 6755399441055744.0)) + a * low
    n = int32(float64(n1).view(int64)) + int32(float64(n2).view(int64))
    return n, r * 1.5707963267948966


@inline
def sine_in_quadrant(n: int, r: float) -> Any:
    """The sine of n pi/2 + r: the last bit of n decides between sin(r) and cos(r), the bit before
    it is the sign."""
    y = cosine_of_small(r) if n & 1 else sine_of_small(r)
    # n & 2 moved to the sign bit
    if T is float32:
        return from_bits(bits(y) ^ int32(int32(n & 2) << int32(30)))
    else:
        return from_bits(bits(y) ^ int64(int64(n & 2) << int64(62)))


@inline
def tangent_in_quadrant(n: int, r: float) -> Any:
    """The tangent of n pi/2 + r in float64: sin(r) / cos(r), and -cos(r) / sin(r) in every other
    quadrant.
    """
    s, c = sine_of_small_64(r), cosine_of_small_64(r)
    odd = n & 1
    return (-c if odd else s) / (s if odd else c)


@inline(fastmath=("contract",))
def sine_of_small(r: float) -> Any:
    """sin(r) for |r| <= pi/4, as r (1 + r^2 p(r^2)), which keeps the sign of zero."""
    z = r * r
    return r * (sine_polynomial(z) * z + T(1))


@inline(fastmath=("contract",))
def cosine_of_small(r: float) -> Any:
    """cos(r) for |r| <= pi/4, as 1 - (r^2 / 2 - r^4 p(r^2))."""
    z = r * r
    return T(1) - (T(0.5) * z - z * z * cosine_polynomial(z))


sine_polynomial = polynomial(
    (
        1.5896503249956407e-10,
        -2.505075323817259e-08,
        2.7557313661921602e-06,
        -0.0001984126982972499,
        0.008333333333322316,
        -0.16666666666666632,
    ),
    single=(
        -0.00019516655443471592,
        0.008332173539380499,
        -0.16666654873361195,
    ),
)
cosine_polynomial = polynomial(
    (
        -1.1358311375200887e-11,
        2.0875696592426733e-09,
        -2.755731414879098e-07,
        2.4801587288748844e-05,
        -0.0013888888888872895,
        0.041666666666666595,
    ),
    single=(
        2.4432397300130982e-05,
        -0.001388730969990391,
        0.041666645550031786,
    ),
)

sine_of_small_64: Any = sine_of_small.bind(T=float64)
cosine_of_small_64: Any = cosine_of_small.bind(T=float64)
