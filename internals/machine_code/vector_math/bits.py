"""The bits of a number, its sign, and powers of two, for the functions of this package
(`aten/src/ATen/cpu/vec/functional.h`).

    sign | exponent + bias | fraction         float32: 1, 8 and 23 bits, bias 127
                                              float64: 1, 11 and 52 bits, bias 1023

So 2^k is the integer k + bias, shifted left; the exponent of x is an integer shifted right; and to
add to the exponent is to multiply by a power of two. All of these work on the lanes of a vector.

Adding `rounder()` to a number that is not too large leaves no bits for a fraction: the sum is
rounded to an integer, which stands in its last bits. That costs one addition on any CPU, where a
conversion to int would be undefined for NaN and infinity.

How the real one differs: SLEEF's headers write this with the intrinsics of every instruction set
(`vcast`, `vreinterpret`); here the compiler finds the instructions.
"""

from __future__ import annotations

from typing import Any

from numpy import float32, float64, int32, int64

from ..language import inline, template

T = template("T")

INT32_SIGN, INT64_SIGN = -(2**31), -(2**63)


@inline
def bits(x: float) -> Any:
    """The bits of x as an integer of the same width."""
    if T is float32:
        return float32(x).view(int32)
    else:
        return float64(x).view(int64)


@inline
def from_bits(i: int) -> Any:
    """The float with these bits."""
    if T is float32:
        return int32(i).view(float32)
    else:
        return int64(i).view(float64)


@inline
def with_sign_of(x: float, sign: float) -> Any:
    """x, whose sign bit is 0, with the sign bit of `sign`."""
    if T is float32:
        return from_bits(bits(x) | (bits(sign) & int32(INT32_SIGN)))
    else:
        return from_bits(bits(x) | (bits(sign) & int64(INT64_SIGN)))


@inline
def rounder() -> Any:
    """1.5 * 2^(bits of the fraction), plus twice the bias of exponents: see `scaled`. To add it and
    subtract it again rounds a number to an integer. The 1.5 keeps sums with negative numbers in the
    same power of two.
    """
    if T is float32:
        return float32(12582912.0 + 254.0)
    else:
        return float64(6755399441055744.0 + 2046.0)


@inline
def power_of_two(k: int) -> Any:
    """2^k, where k is the exponent of a normal number (-126 to 127 for float32)."""
    if T is float32:
        return from_bits(int32(int32(int32(k) + int32(127)) << int32(23)))
    else:
        return from_bits(int64(int64(k) + int64(1023)) << int64(52))


@inline
def scaled(y: float, n: int) -> Any:
    """y * 2^k for n = rounder() + k, rounded once. k may be too large or too small for an exponent:
    the result is then infinite, 0 or denormal.

    Two multiplications, by 2^(k/2) and by the remaining power. The bits of n end in k plus twice
    the bias: half of that, shifted to the exponent's place, is the first power, the rest the
    second. The shift drops the upper bits of n.
    """
    i = bits(n)
    if T is float32:
        half = int32(i >> int32(1))
        return (y * from_bits(int32(half << int32(23)))) * from_bits(
            int32(int32(i - half) << int32(23))
        )
    else:
        half = i >> int64(1)
        return (y * from_bits(half << int64(52))) * from_bits((i - half) << int64(52))
