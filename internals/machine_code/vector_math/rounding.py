"""Rounding, and the remainder of a division (`aten/src/ATen/native/cpu/UnaryOpsKernel.cpp`).

floor, ceil, trunc and round (half to even) are single instructions since SSE4.1. fmod is the C
library's, exact by repeated subtraction, one number at a time.

How the real one differs: SLEEF's fmod subtracts in a loop over vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..language import inline, template
from .bits import with_sign_of

T = template("T")


@inline
def floor(x: float) -> Any:
    """The largest integer that is not above x."""
    return np.floor(x)


@inline
def ceil(x: float) -> Any:
    """The smallest integer that is not below x."""
    return np.ceil(x)


@inline
def trunc(x: float) -> Any:
    """x without its fraction."""
    return np.trunc(x)


@inline
def round(x: float) -> Any:
    """The nearest integer; of two, the even one."""
    return np.rint(x)


@inline
def fmod(a: float, b: float) -> Any:
    """The remainder of a / b, exact, with the sign of a."""
    return T(np.fmod(a, b))


@inline
def copysign(x: float, sign: float) -> Any:
    """x with the sign of another number."""
    return with_sign_of(abs(x), sign)
