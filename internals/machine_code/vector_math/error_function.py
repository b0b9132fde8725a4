"""erf and erfc (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`, `aten/src/ATen/native/Math.h`).

    erf(x) = x p(x^2)                        near 0
    erf(x) = 1 - erfc(x)                     further out, where erfc(x) is the smaller part, so that
                                             its error matters less
    erfc(x) = exp(-x^2) g(x) / (1 + 2 x)     for x >= 0.4

g varies slowly between 1 and 1.3, so one polynomial in u = (x - 4) / (x + 4) is enough up to x =
28, where erfc is below the smallest float64. For erf in single precision, erfc is needed to fewer
digits: 2^l(x) with a polynomial l for log2(erfc) is enough up to 4, where erf is 1. exp(-x^2) would
turn the rounding error of x^2 into a relative error x^2 times as large; so x is split into h + l
with few bits in h, so that h^2 is exact: exp(-h^2) exp(-l (x + h)).

The coefficients come from Remez' algorithm in 50 digits, minimax for the relative error of erf or
erfc: 2^-31 (p), 2^-28 (l) and 2^-28 (g) in single, 2^-57 (p) and 2^-60 (g) in double precision.

How the real one differs: float64 erf is Sun's rational functions on five intervals (Cephes' for
erfc); float32 is XLA's rational one.
"""

from __future__ import annotations

from typing import Any

from numpy import float32, int32, int64

from ..language import inline, template
from .bits import bits, from_bits, power_of_two, rounder, with_sign_of
from .exponential import exp
from .polynomials import polynomial

T = template("T")


@inline
def erf(x: float) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    a = abs(x)
    if T is float32:
        a = T(4) if a > T(4) else a
        y = T(1) - small_erfc(a)
        near = a < T(0.925)
    else:
        a = T(6) if a > T(6) else a
        y = T(1) - scaled_erfc(a) * exp(-a * a)
        near = a < T(1)
    return x * small_erf(x * x) if near else with_sign_of(y, x)


@inline
def erfc(x: float) -> Any:
    """1 - erf(x), with all its digits for large x, where erf(x) is 1."""
    a = abs(x)
    if T is float32:
        a = T(10.2) if a > T(10.2) else a
        h = from_bits(bits(a) & int32(-0x1000))  # without the last 12 bits: h * h is exact
    else:
        a = T(28) if a > T(28) else a
        h = from_bits(bits(a) & int64(-0x8000000))
    tail = scaled_erfc(a) * exp(-(a - h) * (a + h)) * exp(-h * h)
    tail = T(2) - tail if x < T(0) else tail
    return T(1) - x * small_erf(x * x) if a < T(0.5) else tail


@inline(fastmath=("contract",))
def small_erfc(a: float) -> Any:
    """erfc(a) in single precision for a between 0.92 and 4: 2^l, l = log2(erfc(a)) > -26, less
    exactly than `exp` would.
    """
    p = log2_erfc(a)
    n = p + rounder()
    return rough_exp2(p - (n - rounder())) * power_of_two(bits(n) - bits(rounder()))


@inline(fastmath=("contract",))
def scaled_erfc(a: float) -> Any:
    """exp(a^2) erfc(a) for a between 0.45 and 10.2 (float32), 0.4 and 28 (float64)."""
    u = (a - T(4)) / (a + T(4))
    return erfc_polynomial(u) / (T(1) + a + a)


# erf(x) / x for z = x^2, |x| <= 0.925 (float32) and 1 (float64)
small_erf = polynomial(
    (
        -7.779448129042074e-10,
        1.371096948098858e-08,
        -1.6206311241554742e-07,
        1.6447131245010192e-06,
        -1.4924712275907062e-05,
        0.00012055293575569572,
        -0.000854832592927142,
        0.005223977606117625,
        -0.026866170643111375,
        0.11283791670944185,
        -0.3761263890318352,
        1.1283791670955126,
    ),
    single=(
        8.316757344918051e-05,
        -0.0008130008468214524,
        0.005199906328472717,
        -0.02685894141340502,
        0.11283687189221021,
        -0.3761263318889808,
        1.128379166579947,
    ),
)

log2_erfc = polynomial(
    (
        0.0002826602413979088,
        -0.004390276516117305,
        0.03206608927288763,
        -0.14994050361762953,
        -0.9192608053422473,
        -1.6268914194502033,
        -0.0002824356398607857,
    )
)
# 2^r for |r| <= 1/2, to fewer digits than single precision has
rough_exp2 = polynomial(
    (
        0.0013276434458737824,
        0.009675657214748,
        0.055507142329941694,
        0.2402211757621696,
        0.6931469659415167,
        1.0000000720942697,
    )
)
# g as a polynomial in u
erfc_polynomial = polynomial(
    (
        1.1813245257510802e-09,
        -9.777953618605256e-09,
        -1.5882298563897873e-08,
        1.0360029004876801e-07,
        7.192237051877637e-08,
        -8.199053794284028e-07,
        2.958465647280581e-07,
        5.706746756608232e-06,
        -1.1222982642802468e-05,
        -2.4398153220911723e-05,
        0.0001506219640051867,
        -0.00019925694321964177,
        -0.0007577733448225602,
        0.0050319700154527825,
        -0.01619773405097307,
        0.0371675155340374,
        -0.06633036581269595,
        0.09373283499852522,
        -0.10103906603628744,
        0.06809705425468857,
        0.015379652102619516,
        -0.1396211168405625,
        1.2329951186255526,
    ),
    single=(
        0.005234297590183121,
        -0.01663016358517119,
        0.03698806884066267,
        -0.06624069869225505,
        0.0937729524761903,
        -0.10104697972128188,
        0.06809392346434814,
        0.015379922719265762,
        -0.13962105293711302,
        1.2329951168792368,
    ),
)
