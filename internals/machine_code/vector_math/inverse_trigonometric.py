"""asin, acos, atan and atan2 (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`,
`BinaryOpsKernel.cpp`).

    atan(a) = atan(1) + atan((a - 1) / (a + 1)) = pi/2 - atan(1/a)    any a to |t| <= sqrt(2) - 1
    asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2))                        a > 1/2 to t <= 1/2

On these small intervals a polynomial in t^2 is enough: t + t^3 p(t^2). For the three cases of atan
only a numerator and a denominator are chosen, so there is one division; atan2(y, x) starts from its
two arguments as numerator and denominator, and has one division as well.

The coefficients are minimax for the relative error, found with Remez' algorithm in 50 digits: 2^-30
and 2^-59 for atan, 2^-31 and 2^-59 for asin.

How the real one differs: SLEEF reduces atan to [0, 1] with a longer polynomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float32, inf

from ..language import inline, template
from .bits import with_sign_of
from .polynomials import polynomial

T = template("T")


@inline
def atan(x: float) -> Any:
    """The arc tangent, between -pi/2 and pi/2."""
    a = abs(x)
    return with_sign_of(angle(T(1) if a == T(inf) else a, T(0) if a == T(inf) else T(1)), x)


@inline
def atan2(y: float, x: float) -> Any:
    """The angle of the point (x, y), between -pi and pi; signed zeros and infinities as in C's
    atan2.
    """
    above, aside = abs(y), abs(x)
    # `angle` adds the two, which must not overflow
    if T is float32:
        shrink = T(2.0**-2) if above > T(1e37) or aside > T(1e37) else T(1)
    else:
        shrink = T(2.0**-2) if above > T(1e307) or aside > T(1e307) else T(1)
    # infinities become a point at the same angle: up, right = inf, inf is 1, 1; inf, 5 is 1, 0
    up = T(1) if above == T(inf) else (T(0) if aside == T(inf) else above * shrink)
    right = T(1) if aside == T(inf) else (T(0) if above == T(inf) else aside * shrink)
    right = T(1) if up == T(0) and right == T(0) else right  # atan2(0, 0) is 0
    up = above if above != above else up  # NaN stays NaN
    right = aside if aside != aside else right
    t = angle(up, right)
    left = with_sign_of(T(1), x) < T(0)  # also for x = -0
    t = T(3.141592653589793) - (t - T(2) * half_pi_rest()) if left else t
    return with_sign_of(abs(t), y)


@inline
def asin(x: float) -> Any:
    """The arc sine of |x| <= 1; NaN outside."""
    a = abs(x)
    far = a > T(0.5)
    z = T(0.5) * (T(1) - a) if far else a * a
    t = np.sqrt(z) if far else a
    y = small_asin(t, z)
    y = T(1.5707963267948966) - (y + y - half_pi_rest()) if far else y
    return with_sign_of(y, x) if y == y else y


@inline
def acos(x: float) -> Any:
    """The arc cosine of |x| <= 1, between 0 and pi; NaN outside."""
    a = abs(x)
    far = a > T(0.5)
    z = T(0.5) * (T(1) - a) if far else a * a
    y = small_asin(np.sqrt(z) if far else a, z)
    beside = T(1.5707963267948966) - (with_sign_of(y, x) - half_pi_rest())
    twice = y + y
    beyond = T(3.141592653589793) - (twice - T(2) * half_pi_rest()) if x < T(0) else twice
    return beyond if far else beside


@inline
def angle(up: float, right: float) -> Any:
    """atan(up / right) for up, right >= 0 and not both 0 or inf, with one division."""
    # 2.41 and 0.41 are sqrt(2) + 1 and sqrt(2) - 1, the tangents of 3 pi/8 and pi/8
    steep = up > right * T(2.414213562373095)
    middle = up > right * T(0.4142135623730951)
    over = -right if steep else (up - right if middle else up)
    under = up if steep else (up + right if middle else right)
    base = T(1.5707963267948966) if steep else (T(0.7853981633974483) if middle else T(0))
    rest = half_pi_rest() if steep else (T(0.5) * half_pi_rest() if middle else T(0))
    t = over / under
    return base + (small_atan(t) + rest)


@inline
def half_pi_rest() -> Any:
    """pi/2 minus the nearest number of type T; the two together have twice its digits."""
    if T is float32:
        return T(-4.371139000186241e-08)
    else:
        return T(6.123233995736766e-17)


@inline(fastmath=("contract",))
def small_atan(t: float) -> Any:
    """atan(t) for |t| <= sqrt(2) - 1."""
    z = t * t
    return t * z * atan_polynomial(z) + t


@inline(fastmath=("contract",))
def small_asin(t: float, z: float) -> Any:
    """asin(t) for 0 <= t <= 1/2 and z = t^2."""
    return t * z * asin_polynomial(z) + t


atan_polynomial = polynomial(
    (
        -0.017907339484957475,
        0.03806494970381986,
        -0.05039330557504952,
        0.05847897312317668,
        -0.06663105441042703,
        0.07692060360051049,
        -0.09090897766945567,
        0.11111110783807954,
        -0.14285714280203834,
        0.1999999999995366,
        -0.333333333333332,
    ),
    single=(
        -0.06081166452201379,
        0.1059514469059059,
        -0.14243739478671674,
        0.19998484028858124,
        -0.3333331542351362,
    ),
)
asin_polynomial = polynomial(
    (
        0.032701968964201564,
        -0.021116444769295147,
        0.02179047852338002,
        0.003672243448630504,
        0.01078930872594987,
        0.011397294707356396,
        0.013981018401382479,
        0.017351595505830222,
        0.022372215905853508,
        0.030381942675273575,
        0.04464285717528633,
        0.07499999999970099,
        0.16666666666666763,
    ),
    single=(
        0.03757823190284863,
        0.014393749272887377,
        0.03181983311559203,
        0.04451547020482166,
        0.0750051212077905,
        0.1666665985416855,
    ),
)
