"""x modulo pi/2 for any float64, after Payne and Hanek, 1983 (SLEEF's `rempitabdp`).

    x = m 2^e, m an integer of 53 bits        x * 2/pi = m * (2^e * 2/pi)

The bits of 2^e * 2/pi that are worth 4 or more give full turns, whatever m is; so the product
begins with the bit worth 2. And bits far to the right are too small to matter. There remains a
window of 192 bits in the expansion of 2/pi, whose position follows from x's exponent. Its product
with m, modulo 4 and computed in integers, has the quadrant in its first two bits, followed by the
fraction of the quadrant. Up to 60 bits of that may be zero, since a float64 can be that close to a
multiple of pi/2; so 126 bits are computed.

All this consists of integer operations on lanes, and six loads at the window's position. Where the
CPU is slow at such gathers (before AVX-512), LLVM does not vectorise the loop, and computes one
number at a time.

How the real one differs: SLEEF's table holds the window for each exponent in four float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64, int64, uint64

from ..language import inline

# the first 1248 bits of 2/pi after the point
TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2"
    "E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D6398353"
    "39F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E"
    "5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC20",
    16,
)
FIRST = 64  # zeros in front: for numbers below 2^53 the window begins before the first bit
BITS = FIRST + 1248


def _pairs_of_words() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """64 bits from every 32nd bit on of the expansion of 2/pi, with `FIRST` zeros in front."""
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
    # the fraction's 52 bits, and the leading 1 that a float does not store
    mantissa = uint64((i & int64(0xFFFFFFFFFFFFF)) | int64(0x10000000000000))
    # the bit at which the window begins; word j of the table, and bit window % 32 in it
    window = exponent - int64(1013) if exponent > int64(1013) else int64(0)
    j = window >> int64(5)
    shift = uint64(int64(32) - (window & int64(31)))
    # digits of 32 bits, w5 the highest of the window; the product of two fits into 64 bits
    low, high = mantissa & uint64(0xFFFFFFFF), mantissa >> uint64(32)
    w5 = (PAIRS[j] >> shift) & uint64(0xFFFFFFFF)
    w4 = (PAIRS[j + 1] >> shift) & uint64(0xFFFFFFFF)
    w3 = (PAIRS[j + 2] >> shift) & uint64(0xFFFFFFFF)
    w2 = (PAIRS[j + 3] >> shift) & uint64(0xFFFFFFFF)
    w1 = (PAIRS[j + 4] >> shift) & uint64(0xFFFFFFFF)
    w0 = (PAIRS[j + 5] >> shift) & uint64(0xFFFFFFFF)
    # long multiplication: s1, ... s5 are the digits of the product, with carries in the upper bits
    p1, p2, p3, p4 = low * w1, low * w2, low * w3, low * w4
    s1 = high * w0 + (p1 & uint64(0xFFFFFFFF))
    s2 = high * w1 + (p2 & uint64(0xFFFFFFFF)) + (p1 >> uint64(32)) + (s1 >> uint64(32))
    s3 = high * w2 + (p3 & uint64(0xFFFFFFFF)) + (p2 >> uint64(32)) + (s2 >> uint64(32))
    s4 = high * w3 + (p4 & uint64(0xFFFFFFFF)) + (p3 >> uint64(32)) + (s3 >> uint64(32))
    s5 = high * w4 + ((low * w5) & uint64(0xFFFFFFFF)) + (p4 >> uint64(32)) + (s4 >> uint64(32))
    # the first 64 bits, of which 2 are the quadrant, and 53 of those after them
    turns = int64((s5 << uint64(32)) | (s4 & uint64(0xFFFFFFFF)))
    rest = int64(((s3 << uint64(32)) | (s2 & uint64(0xFFFFFFFF))) >> uint64(11))
    n = ((turns >> int64(61)) + int64(1)) >> int64(1)  # rounded to the nearest quadrant
    fraction = turns - (n << int64(62))
    # a - a is 0, or NaN for infinity
    r = (float64(fraction) + float64(rest) * 2.0**-53) * (1.5707963267948966 * 2.0**-62) + (a - a)
    near = a < 0.7853981633974483
    return (int64(0) if near else (-n if x < 0.0 else n)), (x if near else (-r if x < 0.0 else r))
