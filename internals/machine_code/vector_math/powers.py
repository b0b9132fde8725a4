"""Powers and roots (`aten/src/ATen/native/cpu/PowKernel.cpp`).

float32: x^y = 2^(y log2 |x|) in double precision: of the logarithm's 53 bits up to 8 become the
exponent, and enough are left for 24 correct ones. Selects add what a logarithm cannot express: the
sign for a negative base and an odd exponent, NaN for a fractional one, 1 for y = 0 and for x = 1.
float64 would need a logarithm of 64 bits, so it is the C library's `pow`, one number at a time.

If the exponent is one number for all elements and 2, 3, 1/2, -1/2, -1 or -2, this function is not
used: `pow` of `aten/native/pointwise.py` runs a loop of its own for it, such as x * x.

How the real one differs: SLEEF's pow carries the logarithm in two numbers, in either precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float32, float64, floor, inf, nan

from ..language import inline, template
from .exponential import exp2
from .logarithm import log2

T = template("T")


@inline
def pow(x: float, exponent: float) -> Any:
    """x^exponent, as C's pow: 1 for an exponent of 0 and for x = 1, even if the other is NaN; NaN
    for a negative base and a fractional exponent.
    """
    if T is float32:
        base, power = float64(x), float64(exponent)
        a = abs(base)
        p = exp2_64(power * log2_64(a))
        half = power * 0.5
        whole = floor(power) == power
        odd = whole and floor(half) != half
        negative = 1.0 / base < 0.0 if a == 0.0 else base < 0.0  # -0 counts: 1 / -0 is -inf
        # each line decides one case, by a select: a branch could not be vectorised
        of_negative = p if whole or a == 0.0 or a == inf else nan  # (-8)^(1/3) is NaN
        of_negative = -p if odd else of_negative  # (-2)^3 is -(2^3)
        p = of_negative if negative else p
        p = p if power == power else power  # x^NaN is NaN
        p = 1.0 if power == 0.0 or base == 1.0 else p  # also of NaN
        p = 1.0 if base == -1.0 and abs(power) == inf else p  # (-1)^inf
        return float32(p)
    else:
        return np.power(x, exponent)


@inline
def sqrt(x: float) -> Any:
    """The square root, rounded correctly by the instruction of that name; NaN of negative numbers,
    -0 of -0.
    """
    return np.sqrt(x)


exp2_64: Any = exp2.bind(T=float64)
log2_64: Any = log2.bind(T=float64)
