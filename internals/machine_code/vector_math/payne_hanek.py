"""x modulo pi/2 for any float64, after Payne and Hanek, 1983 (SLEEF's `rempitabdp`).

    x = m 2^e, m an integer of 53 bits        x * 2/pi = m * (2^e * 2/pi)

Of the bits of 2^e * 2/pi, those worth 4 and more give full turns, whatever m is; so the product
begins with the bit worth 2. And far to the right bits are too small to matter. What is left is a
window of 192 bits in the expansion of 2/pi, where x's exponent says. The product with m, modulo 4
and done in integers, has the quadrant in its first two bits and then the fraction of the quadrant,
of which 60 may be zero: that close to a multiple of pi/2 a float64 can be. 126 bits are computed.

All of it are integer operations on lanes, and six loads from where the window is. Where the CPU is
slow at such gathers (before AVX-512), LLVM leaves the loop as it is, and one number is done at a
time.

How the real one differs: SLEEF's table holds the window for each exponent in four float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64, int64, uint64

from ..language import inline

TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1C"
    "B129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F"
    "6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC20",
    16,
)
FIRST = 64  # zeros in front, for numbers below 2^53, of which a window begins before the first bit
BITS = FIRST + 1248


def _pairs_of_words() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """64 bits of the expansion of 2/pi, `FIRST` zeros before it, from every 32nd bit on."""
    return np.array(
        [
            (TWO_OVER_PI >> (BITS - FIRST - 32 * j)) & (2**64 - 1)
            for j in range((BITS - FIRST) // 32 + 1)
        ],
        np.uint64,
    )


PAIRS = _pairs_of_words()


@inline
def quadrant_any(x: float) -> tuple[Any, Any]:
    """n modulo 4 in the last bits of an integer, and r = x - n pi/2, for any float64; r is NaN for
    infinity.
    """
    a = abs(x)
    i = float64(a).view(int64)
    exponent = i >> int64(52)
    mantissa = uint64((i & int64(0xFFFFFFFFFFFFF)) | int64(0x10000000000000))
    window = exponent - int64(1013) if exponent > int64(1013) else int64(0)
    j = window >> int64(5)
    shift = uint64(int64(32) - (window & int64(31)))
    low, high = mantissa & uint64(0xFFFFFFFF), mantissa >> uint64(32)
    w5 = (PAIRS[j] >> shift) & uint64(0xFFFFFFFF)
    w4 = (PAIRS[j + 1] >> shift) & uint64(0xFFFFFFFF)
    w3 = (PAIRS[j + 2] >> shift) & uint64(0xFFFFFFFF)
    w2 = (PAIRS[j + 3] >> shift) & uint64(0xFFFFFFFF)
    w1 = (PAIRS[j + 4] >> shift) & uint64(0xFFFFFFFF)
    w0 = (PAIRS[j + 5] >> shift) & uint64(0xFFFFFFFF)
    p1, p2, p3, p4 = low * w1, low * w2, low * w3, low * w4
    s1 = high * w0 + (p1 & uint64(0xFFFFFFFF))
    s2 = high * w1 + (p2 & uint64(0xFFFFFFFF)) + (p1 >> uint64(32)) + (s1 >> uint64(32))
    s3 = high * w2 + (p3 & uint64(0xFFFFFFFF)) + (p2 >> uint64(32)) + (s2 >> uint64(32))
    s4 = high * w3 + (p4 & uint64(0xFFFFFFFF)) + (p3 >> uint64(32)) + (s3 >> uint64(32))
    s5 = high * w4 + ((low * w5) & uint64(0xFFFFFFFF)) + (p4 >> uint64(32)) + (s4 >> uint64(32))
    turns = int64((s5 << uint64(32)) | (s4 & uint64(0xFFFFFFFF)))
    rest = int64(((s3 << uint64(32)) | (s2 & uint64(0xFFFFFFFF))) >> uint64(11))
    n = ((turns >> int64(61)) + int64(1)) >> int64(1)
    fraction = turns - (n << int64(62))
    r = (float64(fraction) + float64(rest) * 2.0**-53) * (1.5707963267948966 * 2.0**-62) + (a - a)
    near = a < 0.7853981633974483
    return (int64(0) if near else (-n if x < 0.0 else n)), (x if near else (-r if x < 0.0 else r))
