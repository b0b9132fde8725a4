"""erf and erfc (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`, `aten/src/ATen/native/Math.h`).

    erf(x) = x p(x^2)                        near 0
    erf(x) = 1 - erfc(x)                     further out, where erfc(x) is the smaller part, so that its error matters less
    erfc(x) = exp(-x^2) g(x) / (1 + 2 x)     for x >= 0.4

g is a slow function between 1 and 1.3 that a polynomial in u = (x - 4) / (x + 4) follows all the way to x = 28, where erfc is
below the smallest float64. In single precision erf needs erfc only to a few digits less, and 2^l(x) with a polynomial l for
log2(erfc) is enough up to 4, where erf is 1. exp(-x^2) would multiply the rounding error of x^2 by x^2; so x is split, as h + l
with few bits in h, and h^2 is exact: exp(-h^2) exp(-l (x + h)).

The coefficients come from Remez' algorithm in 50 digits, minimax for the relative error of erf or erfc: 2^-31 (p), 2^-28 (l) and
2^-28 (g) in single, 2^-57 (p) and 2^-60 (g) in double precision.

How the real one differs: float64 erf is Sun's rational functions on five intervals (Cephes' for erfc); float32 is XLA's rational
one.
"""

from __future__ import annotations

from typing import Any

from numpy import float32, int32, int64

from ..language import inline, template
from .bits import bits, from_bits, power_of_two, rounder, with_sign_of
from .exponential import exp

T = template("T")


@inline
def erf(x: Any) -> Any:
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
def erfc(x: Any) -> Any:
    """1 - erf(x), with all its digits for large x, where erf(x) is 1."""
    a = abs(x)
    if T is float32:
        a = T(10.2) if a > T(10.2) else a
        h = from_bits(bits(a) & int32(-0x1000))
    else:
        a = T(28) if a > T(28) else a
        h = from_bits(bits(a) & int64(-0x8000000))
    tail = scaled_erfc(a) * exp(-(a - h) * (a + h)) * exp(-h * h)
    tail = T(2) - tail if x < T(0) else tail
    return T(1) - x * small_erf(x * x) if a < T(0.5) else tail


@inline(fastmath=("contract",))
def small_erf(z: Any) -> Any:
    """erf(x) / x for z = x^2, |x| <= 0.925 (float32) and 1 (float64)."""
    if T is float32:
        p = T(8.316757344918051e-05)
        p = p * z + T(-0.0008130008468214524)
        p = p * z + T(0.005199906328472717)
        p = p * z + T(-0.02685894141340502)
        p = p * z + T(0.11283687189221021)
        p = p * z + T(-0.3761263318889808)
        p = p * z + T(1.128379166579947)
    else:
        p = T(-7.779448129042074e-10)
        p = p * z + T(1.371096948098858e-08)
        p = p * z + T(-1.6206311241554742e-07)
        p = p * z + T(1.6447131245010192e-06)
        p = p * z + T(-1.4924712275907062e-05)
        p = p * z + T(0.00012055293575569572)
        p = p * z + T(-0.000854832592927142)
        p = p * z + T(0.005223977606117625)
        p = p * z + T(-0.026866170643111375)
        p = p * z + T(0.11283791670944185)
        p = p * z + T(-0.3761263890318352)
        p = p * z + T(1.1283791670955126)
    return p


@inline(fastmath=("contract",))
def small_erfc(a: Any) -> Any:
    """erfc(a) in single precision for a between 0.92 and 4: 2^l, l = log2(erfc(a)) > -26, with less care than `exp`."""
    p = T(0.0002826602413979088)
    p = p * a + T(-0.004390276516117305)
    p = p * a + T(0.03206608927288763)
    p = p * a + T(-0.14994050361762953)
    p = p * a + T(-0.9192608053422473)
    p = p * a + T(-1.6268914194502033)
    p = p * a + T(-0.0002824356398607857)
    n = p + rounder()
    r = p - (n - rounder())
    y = T(0.0013276434458737824)
    y = y * r + T(0.009675657214748)
    y = y * r + T(0.055507142329941694)
    y = y * r + T(0.2402211757621696)
    y = y * r + T(0.6931469659415167)
    y = y * r + T(1.0000000720942697)
    return y * power_of_two(bits(n) - bits(rounder()))


@inline(fastmath=("contract",))
def scaled_erfc(a: Any) -> Any:
    """exp(a^2) erfc(a) for a between 0.45 and 10.2 (float32), 0.4 and 28 (float64)."""
    u = (a - T(4)) / (a + T(4))
    if T is float32:
        p = T(0.005234297590183121)
        p = p * u + T(-0.01663016358517119)
        p = p * u + T(0.03698806884066267)
        p = p * u + T(-0.06624069869225505)
        p = p * u + T(0.0937729524761903)
        p = p * u + T(-0.10104697972128188)
        p = p * u + T(0.06809392346434814)
        p = p * u + T(0.015379922719265762)
        p = p * u + T(-0.13962105293711302)
        p = p * u + T(1.2329951168792368)
    else:
        p = T(1.1813245257510802e-09)
        p = p * u + T(-9.777953618605256e-09)
        p = p * u + T(-1.5882298563897873e-08)
        p = p * u + T(1.0360029004876801e-07)
        p = p * u + T(7.192237051877637e-08)
        p = p * u + T(-8.199053794284028e-07)
        p = p * u + T(2.958465647280581e-07)
        p = p * u + T(5.706746756608232e-06)
        p = p * u + T(-1.1222982642802468e-05)
        p = p * u + T(-2.4398153220911723e-05)
        p = p * u + T(0.0001506219640051867)
        p = p * u + T(-0.00019925694321964177)
        p = p * u + T(-0.0007577733448225602)
        p = p * u + T(0.0050319700154527825)
        p = p * u + T(-0.01619773405097307)
        p = p * u + T(0.0371675155340374)
        p = p * u + T(-0.06633036581269595)
        p = p * u + T(0.09373283499852522)
        p = p * u + T(-0.10103906603628744)
        p = p * u + T(0.06809705425468857)
        p = p * u + T(0.015379652102619516)
        p = p * u + T(-0.1396211168405625)
        p = p * u + T(1.2329951186255526)
    return p / (T(1) + a + a)
