"""Rounding, remainders, extrema and the sign (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`, `BinaryOpsKernel.cpp`).

floor, ceil, trunc and round (half to even) are single instructions since SSE4.1. maximum and minimum are two comparisons and two
selects: a comparison with NaN is false, so `a if a > b else b` lets a NaN in b pass and loses one in a, which the second select
puts back. fmod is exact by repeated subtraction in the C library, one number at a time.

How the real one differs: x86's vectors have a maximum that returns the second operand for NaN; ATen mends it with a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..language import inline, template
from .bits import with_sign_of

T = template("T")


@inline
def floor(x: Any) -> Any:
    return np.floor(x)


@inline
def ceil(x: Any) -> Any:
    return np.ceil(x)


@inline
def trunc(x: Any) -> Any:
    """x without its fraction."""
    return np.trunc(x)


@inline
def round(x: Any) -> Any:
    """The nearest integer, the even one of two."""
    return np.rint(x)


@inline
def frac(x: Any) -> Any:
    """x - trunc(x): NaN of infinity, 0 of integers (also of -0 and negative ones)."""
    return x - np.trunc(x)


@inline
def sign(x: Any) -> Any:
    """1, 0 or -1; 0 for NaN."""
    return T(1) if x > T(0) else (T(-1) if x < T(0) else T(0))


@inline
def maximum(a: Any, b: Any) -> Any:
    """The larger; NaN if one of them is."""
    m = a if a > b else b
    return m if a == a else a


@inline
def minimum(a: Any, b: Any) -> Any:
    """The smaller; NaN if one of them is."""
    m = a if a < b else b
    return m if a == a else a


@inline
def fmod(a: Any, b: Any) -> Any:
    """The rest of a / b, exact, with the sign of a: the C library's."""
    return T(np.fmod(a, b))


@inline
def remainder(a: Any, b: Any) -> Any:
    """The rest of a / b with the sign of b."""
    m = T(np.fmod(a, b))
    return m + b if m != T(0) and (m < T(0)) != (b < T(0)) else m


@inline
def floor_divide(a: Any, b: Any) -> Any:
    """a / b rounded down, as the exact rest says and not as the rounded quotient does; a / b if b is 0."""
    m = T(np.fmod(a, b))
    q = (a - m) / b
    q = q - T(1) if m != T(0) and (b < T(0)) != (m < T(0)) else q
    f = np.floor(q)
    f = f + T(1) if q - f > T(0.5) else f
    f = f if q != T(0) else with_sign_of(T(0), a / b)
    return a / b if b == T(0) else f
