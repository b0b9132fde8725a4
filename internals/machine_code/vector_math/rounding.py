"""Rounding, and what is left of a division (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`).

floor, ceil, trunc and round (half to even) are single instructions since SSE4.1. fmod is exact by
repeated subtraction in the C library, one number at a time.

How the real one differs: SLEEF's fmod is a loop over vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..language import inline, template
from .bits import with_sign_of

T = template("T")


@inline
def floor(x: float) -> Any:
    return np.floor(x)


@inline
def ceil(x: float) -> Any:
    return np.ceil(x)


@inline
def trunc(x: float) -> Any:
    """x without its fraction."""
    return np.trunc(x)


@inline
def round(x: float) -> Any:
    """The nearest integer, the even one of two."""
    return np.rint(x)


@inline
def fmod(a: float, b: float) -> Any:
    """The rest of a / b, exact, with the sign of a: the C library's."""
    return T(np.fmod(a, b))


@inline
def copysign(x: float, sign: float) -> Any:
    """x with the sign of another number."""
    return with_sign_of(abs(x), sign)
