"""Arithmetic and `math` of ints, floats and complex numbers
(`torch/csrc/jit/runtime/register_prim_ops.cpp`, `register_special_ops.cpp`,
`register_c10_ops.cpp`).

Most operators have an overload for each pair of number types, so that the type of a result is known
from the types of its arguments: `aten::add.int_float(int a, float b) -> float`. The last, without a
name, takes two `Scalar`s, numbers of a type that is not known. Division of ints returns a float;
`//` rounds down and `%` has the sign of the divisor, as in Python; overflow and results that are
not finite are those of C++ (`c_math.py`).

How the real one differs: macros write the overloads out.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from . import c_math
from .c_math import Function, wrap
from .registry import op, register_operator, register_operators

# overload → its arguments
PAIRS = {
    "int": "int a, int b", "float": "float a, float b", "complex": "complex a, complex b",
    "int_float": "int a, float b", "float_int": "float a, int b",
    "int_complex": "int a, complex b", "complex_int": "complex a, int b",
    "float_complex": "float a, complex b", "complex_float": "complex a, float b",
    "int_int": "int a, int b", "float_float": "float a, float b",
    "complex_complex": "complex a, complex b",
    "Scalar": "Scalar a, Scalar b", "Scalar_Scalar": "Scalar a, Scalar b",
    "int_to_int": "int a, int b",
}  # fmt: skip


def binary(name: str, fn: Function, results: str) -> None:
    """Register `fn` as the overloads of `name` that are listed in `results`, each with the type it
    returns: "int:int float:float". The overload "Scalar" has no name.
    """
    for overload, _, result in (entry.partition(":") for entry in results.split()):
        dotted = "" if overload == "Scalar" else f".{overload}"
        register_operator(f"{name}{dotted}({PAIRS[overload]}) -> {result}", fn)


def add(a: float, b: Scalar) -> Any:
    c = a + b
    return wrap(c) if type(c) is int else c


def sub(a: Any, b: float) -> Any:
    c = a - b
    return wrap(c) if type(c) is int else c


def mul(a: float, b: float) -> Any:
    c = a * b
    return wrap(c) if type(c) is int else c


def div(a: float, b: float) -> Any:
    is_complex = isinstance(a, complex) or isinstance(b, complex)
    return c_math.div_complex(a, b) if is_complex else c_math.div(a, b)


def pow(a: Any, b: Scalar) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return c_math.power_complex(a, b)
    return c_math.power(a, b)


def log_base(a: float, b: int) -> Any:
    """The logarithm of `a` to the base `b`."""
    if isinstance(a, complex) or isinstance(b, complex):
        return div(
            *(c_math.log_complex(x) if isinstance(x, complex) else c_math.log(x) for x in (a, b))
        )
    return c_math.div(c_math.log(a), c_math.log(b))


def polar(a: Any, b: Any) -> complex:
    """The complex number with the absolute value `a` and the angle `b`, in radians."""
    return complex(a * c_math.cos(b), a * c_math.sin(b))


# overloads with the types they return; REALS has these to be filled in: of floats, of Scalars
ALL = (
    "int:int complex:complex float:float int_complex:complex complex_int:complex "
    "float_complex:complex complex_float:complex"
)
REALS = "int:{0} float:{0} int_float:{0} float_int:{0} Scalar:{1}"

fn: Function
for name, fn in {"add": add, "sub": sub, "mul": mul}.items():
    binary(f"aten::{name}", fn, f"{ALL} int_float:float float_int:float Scalar:Scalar")
binary("aten::div", div, "int:float complex:complex float:float Scalar:float")
for name, fn in {"floordiv": c_math.floordiv, "remainder": c_math.remainder}.items():
    binary(f"aten::{name}", fn, "int:int float:float int_float:float float_int:float Scalar:Scalar")
for name, fn in {
    "fmod": c_math.fmod,
    "mathremainder": c_math.math_remainder,
    "copysign": math.copysign,
}.items():
    binary(f"aten::{name}", fn, REALS.format("float", "float"))
binary(
    "aten::atan2",
    math.atan2,
    "int:float float:float int_float:float float_int:float Scalar_Scalar:float",
)
binary(
    "aten::polar",
    polar,
    "int:complex float:complex int_float:complex float_int:complex Scalar_Scalar:Scalar",
)
binary("aten::pow", pow, (
    "int:float complex:complex float:float int_float:float float_int:float float_complex:complex "
    "complex_float:complex"
))  # fmt: skip
binary("aten::pow", c_math.power_unchecked, "Scalar_Scalar:float")
binary("aten::pow", pow, "int_to_int:int")  # never chosen: pow.int comes before it
register_operator(
    "aten::__round_to_zero_floordiv.int(int a, int b) -> int", c_math.round_to_zero_floordiv
)


def unary(name: str, real: Function, complex_: Function | None) -> None:
    """Register a function of `math` for int, float and Scalar, and for complex numbers unless
    `complex_` is None.
    """
    register_operator(f"{name}.int(int a) -> float", real)
    register_operator(f"{name}.float(float a) -> float", real)
    if complex_ is not None:
        register_operator(f"{name}.complex(complex a) -> complex", complex_)

    def of_scalar(a: float) -> Any:
        return c_math.single(
            complex_(a) if complex_ is not None and isinstance(a, complex) else real(a)
        )

    register_operator(f"{name}.Scalar(Scalar a) -> Scalar", of_scalar)


for name, (real, complex_) in c_math.UNARY.items():
    unary(f"aten::{name}", real, complex_)
for overload, result in (e.split(
    ":"
) for e in "int_int:float float_float:float complex_complex:complex int_float:float "
                         "float_int:float int_complex:complex complex_int:complex "
                         "float_complex:complex complex_float:complex "
                         "Scalar_Scalar:float".split()):  # fmt: skip
    binary("aten::log", log_base, f"{overload}:{result}")


def exact(name: str, fn: Function, results: str) -> None:
    """Register overloads of one argument, listed as "int:int float:int", which return the result
    of `fn` itself; `unary` rounds that of a Scalar to 32 bits.
    """
    for overload, _, result in (entry.partition(":") for entry in results.split()):
        register_operator(f"{name}.{overload}({overload} a) -> {result}", fn)


exact(
    "aten::neg", c_math.wrapped(operator.neg), "int:int float:float complex:complex Scalar:Scalar"
)
exact("aten::round", c_math.round_half_even, "int:float float:float Scalar:Scalar")
floor = c_math.integral(math.floor)
exact("aten::floor", floor, "int:int float:int Scalar:Scalar")
exact("aten::ceil", c_math.integral(math.ceil), "int:int float:int Scalar:Scalar")


def angle(a: Any) -> float:
    """The angle to the positive real axis: 0 or pi for a real number."""
    if isinstance(a, complex):
        return cmath.phase(a)
    return math.pi if math.copysign(1, a) < 0 else 0.0


exact("aten::angle", angle, "int:float float:float complex:float")
exact("aten::angle", lambda a: c_math.single(angle(a)), "Scalar:Scalar")


@op(
    "prim::abs.int(int a) -> int", "prim::abs.float(float a) -> float",
    "prim::abs.complex(complex a) -> float", "prim::abs.Scalar(Scalar a) -> Scalar",
    "prim::abs(Tensor x) -> Tensor",
)  # fmt: skip
def absolute(a: int | Tensor) -> Any:
    result = abs(a)
    return wrap(result) if type(result) is int else result


# Not Python's max: of two floats, one of them nan, this gives `b`.
def maximum(a: Any, b: Any) -> Any:
    return a if a > b else b


def minimum(a: float, b: float) -> Any:
    return a if a < b else b


def _as_float(fn: Function) -> Function:
    """Returns `fn`, maximum or minimum, with its result made a float if the types differ."""
    return lambda a, b: fn(a, b) if type(a) is type(b) else float(fn(a, b))


for name, fn in {"max": maximum, "min": minimum}.items():
    binary(f"prim::{name}", fn, "int:int float:float")
    binary(f"prim::{name}", _as_float(fn), "int_float:float float_int:float Scalar:Scalar")

for name, fn in {"and": operator.and_, "or": operator.or_, "xor": operator.xor}.items():
    register_operators(
        {
            f"aten::__{name}__.bool(bool a, bool b) -> bool": fn,
            f"aten::__{name}__.int(int a, int b) -> int": fn,
        }
    )
# `b & 63`: a shift in C++ on x86 uses only the lowest six bits of its right operand.
register_operators(
    {
        "aten::__lshift__.int(int a, int b) -> int": lambda a, b: wrap(a << (b & 63)),
        "aten::__rshift__.int(int a, int b) -> int": lambda a, b: a >> (b & 63),
        "aten::__not__(bool self) -> bool": operator.not_,
    }
)

for name in ("isnan", "isinf", "isfinite"):
    register_operators(
        {
            f"aten::{name}.float(float a) -> bool": getattr(math, name),
            f"aten::{name}.complex(complex a) -> bool": getattr(cmath, name),
        }
    )

register_operators(
    {
        "aten::gcd.int(int a, int b) -> int": math.gcd,
        "aten::ldexp(float x, int i) -> float": c_math.total(
            math.ldexp, lambda x, i: x * c_math.np.exp2(i)
        ),
        "aten::frexp(float a) -> (float, int)": math.frexp,
        "aten::modf(float a) -> (float, float)": math.modf,
    }
)


@op("aten::factorial.int(int a) -> int")
def factorial(a: int) -> int:
    """`a!` in 64 bits: it wraps around. Raises RuntimeError for a negative number."""
    if a < 0:
        raise RuntimeError("factorial() not defined for negative values")
    result = 1
    for i in range(2, a + 1):
        result = wrap(result * i)
        if result == 0:  # from 66! on: it has 64 factors of 2
            break
    return result


@op(
    "aten::divmod.int(int x, int y) -> (int, int)",
    "aten::divmod.float(float x, float y) -> (float, float)",
    "aten::divmod.int_float(int x, float y) -> (float, float)",
    "aten::divmod.float_int(float x, int y) -> (float, float)",
)  # fmt: skip
def divmod_(x: float, y: float) -> tuple[Any, Any]:
    """`(x // y, x % y)`. Raises RuntimeError if `y` is 0."""
    if y == 0:
        is_int = type(x) is int and type(y) is int
        raise RuntimeError(
            "ZeroDivisionError: integer division or modulo by zero"
            if is_int
            else "ZeroDivisionError: float divmod()"
        )
    if type(x) is int and type(y) is int:
        return divmod(x, y)
    if type(x) is not type(y):
        quotient = float(floor(c_math.div(x, y)))
        return quotient, x - quotient * y
    # As Python does it: the remainder of C has the sign of x, and should have that of y.
    rest = c_math.fmod(x, y)
    if rest and (rest < 0) != (y < 0):
        rest += y
    return c_math.div(x - rest, y), rest
