"""Conversions from one type to another: `int()`, `float()`, `bool()`, `complex()`, `str()`, and
those that the compiler inserts (`register_prim_ops.cpp`).

    aten::Int.Tensor(Tensor a) -> int          int(x)
    aten::IntImplicit(Tensor a) -> int         x where an int is expected
    prim::NumToTensor.Scalar(Scalar a) -> Tensor

An implicit conversion is stricter than an explicit one, because you did not ask for it: the tensor
must be 0-d and need no gradient.

How the real one differs: numbers are read from strings by C's `strtod` and `strtoll`.
"""

from __future__ import annotations

import re
from typing import Any

from internals.construction.tensor_new import tensor
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from .c_math import INT_MAX, INT_MIN, to_int
from .registry import op, register_operator, register_operators
from .value_text import value_text

# The texts that C reads as a number, so `float()` and `int()` of Python are not given others: an
# underscore, say.
_FLOAT = re.compile(
    r"\s*[-+]?(?:inf(?:inity)?|nan|0x[\da-f]+\.?[\da-f]*(?:p[-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)",
    re.I,
)
_INT = re.compile(r"\s*[-+]?\d+")


def float_of_text(text: str) -> float:
    """The float that a text spells, in decimal or hexadecimal. Raises RuntimeError for any other
    text, and for a number that is too large.
    """
    found = _FLOAT.match(text)
    if found is None:
        raise RuntimeError("stod")
    if found.end() != len(text):
        raise RuntimeError(f"could not convert string to float: '{text}'")
    value = float.fromhex(text) if "x" in text.lower() else float(text)
    if value in (float("inf"), float("-inf")) and "inf" not in text.lower():
        raise RuntimeError("stod")
    return value


def int_of_text(text: str) -> int:
    """The int that a text spells. Raises RuntimeError for any other text, and for an int of more
    than 64 bits.
    """
    found = _INT.match(text)
    if found is None or not INT_MIN <= int(found[0]) <= INT_MAX:
        raise RuntimeError("stoll")
    if found.end() != len(text):
        raise RuntimeError(f"invalid literal for int() with base 10: '{text}'")
    return int(text)


def number_of(x: Any) -> Any:
    """The number in a tensor of one element; a number itself."""
    return x.item() if hasattr(x, "item") else x


def narrowed(value: Any, kind: type, name: str) -> Any:
    """A number converted to `kind`, which C++ calls `name`. Raises RuntimeError for a complex
    number with an imaginary part, and for a float that is too large for an int.
    """
    too_large = kind is int and isinstance(value, float) and not INT_MIN <= value <= INT_MAX
    if isinstance(value, complex) and value.imag or too_large:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return kind(value.real)


def complex_of_parts(x: Any, y: Any) -> complex:
    """The complex number x + yj; either part may be a tensor of one element."""
    return complex(*(narrowed(number_of(part), float, "double") for part in (x, y)))


register_operator("aten::Complex.Scalar(Scalar a) -> complex", complex)
PAIRS = (
    "Tensor_Tensor int_bool bool_int float_bool bool_float float_int int_float int_int bool_bool "
    "float_float Tensor_float float_Tensor Tensor_int int_Tensor Tensor_bool bool_Tensor"
)  # fmt: skip
for x, y in (pair.split("_") for pair in PAIRS.split()):
    names = "Tensor a, Tensor b" if x == y == "Tensor" else f"{x} x, {y} y"
    register_operator(f"aten::Complex.{x}_{y}({names}) -> complex", complex_of_parts)

register_operators(
    {
        "aten::Float.Tensor(Tensor a) -> float": lambda a: narrowed(a.item(), float, "double"),
        "aten::Float.Scalar(Scalar a) -> float": lambda a: float(a.real),
        "aten::Float.int(int a) -> float": float,
        "aten::Float.bool(bool a) -> float": float,
        "aten::Float.str(str a) -> float": float_of_text,
    }
)

register_operators(
    {
        "aten::Int.Tensor(Tensor a) -> int": lambda a: narrowed(a.item(), int, "int64_t"),
        "aten::Int.bool(bool a) -> int": int,
        "aten::Int.float(float a) -> int": to_int,
        "aten::Int.Scalar(Scalar a) -> int": lambda a: narrowed(a, int, "int"),
        "aten::Int.str(str a) -> int": int_of_text,
    }
)

for kind in ("Tensor", "int", "float"):
    register_operator(f"aten::Bool.{kind}({kind} a) -> bool", bool)
register_operator("aten::str(t elem) -> str", value_text)


@op("aten::ScalarImplicit(Tensor a) -> Scalar")
def scalar_implicit(a: Tensor) -> Any:
    """The number in a tensor, by an implicit conversion. Raises RuntimeError unless it is 0-d and
    needs no gradient.
    """
    if a.requires_grad:
        raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
    if a.dim() != 0:
        raise RuntimeError("Cannot input a tensor of dimension other than 0 as a scalar argument")
    return a.item()


register_operators(
    {
        "aten::FloatImplicit(Tensor a) -> float": lambda a: narrowed(
            scalar_implicit(a), float, "double"
        ),
        "aten::ComplexImplicit(Tensor a) -> complex": lambda a: complex(scalar_implicit(a)),
    }
)


@op("aten::IntImplicit(Tensor a) -> int")
def int_implicit(a: Tensor) -> int:
    """The int in a tensor, by an implicit conversion. Raises RuntimeError like `scalar_implicit`,
    and for a tensor of floats, complex numbers or bools.
    """
    value = scalar_implicit(a)
    if type(value) is not int:
        raise RuntimeError(
            f"Cannot input a tensor of type {SCALAR_TYPE_NAME[a.dtype]} as an integral argument"
        )
    return value


@op("prim::NumToTensor.Scalar(Scalar a) -> Tensor", "prim::NumToTensor.bool(bool a) -> Tensor")
def number_to_tensor(a: Scalar) -> Tensor:
    """A number as a 0-d tensor of int64, float64, complex128 or bool."""
    return tensor(a, dtype=_DTYPES[type(a)])


_DTYPES = {bool: dt.bool_, int: dt.int64, float: dt.float64, complex: dt.complex128}
