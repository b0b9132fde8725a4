"""Arithmetic of C++ for the operators of TorchScript: 64-bit ints that wrap around, floats that
never raise (`torch/csrc/jit/runtime/register_ops_utils.h`, `register_prim_ops.cpp`).

Python's ints are as long as they need to be, and its `math` raises an error where there is no
finite answer. TorchScript is compiled C++: `sqrt(-1)` is nan, `log(0)` is -inf, `1 / 0` is inf, and
the largest int plus 1 is the smallest:

    >>> wrap(2**63 - 1 + 1) == -(2**63)
    True

A function of a `Scalar` is computed in float32 by PyTorch, whatever the number is, so its result is
rounded to 32 bits here.

How the real one differs: `%` of an int by the int 0 kills the process; here it is an error.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from internals.core.scalar import Scalar

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
Function = Callable[..., Any]


def wrap(n: int) -> int:
    """`n` as a 64-bit int: modulo 2^64, from -2^63 to 2^63 - 1."""
    return n if INT_MIN <= n <= INT_MAX else (n - INT_MIN) % 2**64 + INT_MIN


def wrapped(fn: Function) -> Function:
    """Returns `fn` with its result wrapped to 64 bits if it is an int."""

    def call(*args: Any) -> Any:
        result = fn(*args)
        return wrap(result) if type(result) is int else result

    return call


def to_int(x: float) -> int:
    """`static_cast<int64_t>(x)`: the fraction is dropped; nan and a value out of range become the
    smallest int, as on x86.
    """
    return int(x) if -(2.0**63) <= x < 2.0**63 else INT_MIN


def integral(fn: Function) -> Function:
    """Returns `fn`, `floor` or `ceil`, with a RuntimeError for a float out of the range of ints."""

    def call(x: float) -> int:
        if -(2.0**63) <= x < 2.0**63:
            return fn(x)
        raise RuntimeError(f"Cannot convert float {x:f} to integer")

    return call


def total(fn: Function, otherwise: Function) -> Function:
    """Returns a total function: `fn` of `math`, and `otherwise` (often numpy's, which gives inf and
    nan) for the arguments where `fn` raises.
    """

    def call(*args: Any) -> Any:
        try:
            return fn(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return otherwise(*map(np.float64, args)).item()

    return call


def total_complex(fn: Function, otherwise: Function) -> Function:
    """The same for a function of complex numbers."""

    def call(*args: Any) -> Any:
        try:
            return fn(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return otherwise(*map(np.complex128, args)).item()

    return call


def single(x: float) -> Any:
    """A float rounded to 32 bits; any other number unchanged."""
    if not isinstance(x, float):
        return x
    with np.errstate(all="ignore"):
        return float(np.float32(x))


def floordiv(a: float, b: float) -> Any:
    """`a // b`. Raises RuntimeError for the int 0; a float divided by 0 is infinite or nan."""
    if type(a) is int and type(b) is int:
        if b == 0:
            raise RuntimeError("division by 0")
        return wrap(a // b)
    return float(np.floor(div(float(a), float(b))))  # not Python's //, whose rounding differs


def remainder(a: float, b: int) -> Any:
    """`a % b`, with the sign of `b`. Raises RuntimeError for two ints when `b` is 0."""
    if type(a) is int and type(b) is int:
        if b == 0:
            raise RuntimeError("ZeroDivisionError")
        return a % b
    return fmod(b + fmod(a, b), b)  # fmod has the sign of its first argument


def round_to_zero_floordiv(a: int, b: int) -> int:
    """`a / b` of ints in C: rounded towards 0. Raises RuntimeError if `b` is 0."""
    if b == 0:
        raise RuntimeError("ZeroDivisionError")
    quotient = abs(a) // abs(b)
    return wrap(quotient if (a < 0) == (b < 0) else -quotient)


def round_half_even(x: float) -> float:
    """The nearest whole number; of two that are as near, the even one."""
    return float(np.rint(x))


power_unchecked = total(math.pow, np.power)


def power(a: float, b: float) -> float:
    """`a ** b`. Raises RuntimeError for 0 to a negative power."""
    if a == 0 and b < 0:
        raise RuntimeError("0.0 cannot be raised to a negative power")
    return power_unchecked(a, b)


def power_complex(a: Scalar, b: Scalar) -> complex:
    """`a ** b` of complex numbers: exp(b log a)."""
    if a == 0:  # cmath.log would raise
        real = complex(b).real
        return 0j if real > 0 else complex(math.inf if real < 0 else math.nan, math.nan)
    return exp_complex(b * cmath.log(a))


def tgamma(x: Any) -> Any:
    """gamma(x) where `math.gamma` raises: infinite at 0 and for large arguments, nan at negative
    integers and -inf.
    """
    if x == 0:
        return np.float64(math.copysign(math.inf, x))
    return np.float64(math.inf if x > 0 else math.nan)


def _always(value: float) -> Function:
    return lambda *args: np.float64(value)


div = total(lambda a, b: a / b, np.divide)
div_complex = total_complex(lambda a, b: a / b, np.divide)
fmod = total(math.fmod, np.fmod)
math_remainder = total(math.remainder, _always(math.nan))
exp_complex = total_complex(cmath.exp, np.exp)
log = total(math.log, np.log)
log_complex = total_complex(cmath.log, np.log)
sin, cos = total(math.sin, np.sin), total(math.cos, np.cos)
lgamma = total(math.lgamma, _always(math.inf))
gamma = total(math.gamma, tgamma)

# name: (of a real number, of a complex one or None)
UNARY: dict[str, tuple[Function, Function | None]] = {
    name: (total(getattr(math, name), special), total_complex(getattr(cmath, name), special))
    for name, special in {
        "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "sin": np.sin, "cos": np.cos,
        "tan": np.tan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
        "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt,
        "log": np.log, "log10": np.log10,
    }.items()
} | {
    "log1p": (total(math.log1p, np.log1p), None),
    "expm1": (total(math.expm1, np.expm1), None),
    "lgamma": (lgamma, None),
    "gamma": (gamma, None),
    "erf": (math.erf, None),
    "erfc": (math.erfc, None),
    "fabs": (math.fabs, None),
    "degrees": (math.degrees, None),
    "radians": (math.radians, None),
}  # fmt: skip
