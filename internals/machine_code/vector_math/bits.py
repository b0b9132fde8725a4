"""The bits of a number, its sign, and powers of two: what `Vectorized<T>` does with casts
(`aten/src/ATen/cpu/vec/functional.h`).

A float is sign, exponent and fraction next to each other in one integer, so 2^k is an integer
shifted left, the exponent of x an integer shifted right, and adding to the exponent multiplies.
Here those shifts are done on all lanes of a vector at once.

Adding `rounder()` to a number that is not too large pushes its fraction out at the right end: what
stays is the nearest integer, in the last bits of the sum. That costs one addition on any CPU, where
a conversion to int would be undefined for NaN and infinity.

How the real one differs: SLEEF's headers spell this with intrinsics of every instruction set
(`vcast`, `vreinterpret`); here the compiler finds them.
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
    """x, which has no sign bit, with that of `sign`."""
    if T is float32:
        return from_bits(bits(x) | (bits(sign) & int32(INT32_SIGN)))
    else:
        return from_bits(bits(x) | (bits(sign) & int64(INT64_SIGN)))


@inline
def rounder() -> Any:
    """1.5 * 2^(bits of the fraction), plus twice the bias of exponents: see `scaled`. Added and
    subtracted again, it rounds.
    """
    if T is float32:
        return float32(12582912.0 + 254.0)
    else:
        return float64(6755399441055744.0 + 2046.0)


@inline
def power_of_two(k: int) -> Any:
    """2^k for an exponent of a normal number."""
    if T is float32:
        return from_bits(int32(int32(int32(k) + int32(127)) << int32(23)))
    else:
        return from_bits(int64(int64(k) + int64(1023)) << int64(52))


@inline
def scaled(y: float, n: int) -> Any:
    """y * 2^k for n = rounder() + k, where k may lie beyond the exponents there are; the product is
    rounded once.

    In two steps, by 2^(k/2) and what is left. The bits of n end in k plus twice the bias: half of
    that, shifted to its place, is the first power, and the rest the second.
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
