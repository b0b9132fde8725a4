"""`Scalar`, a number without a dtype, and its conversion to an element (`c10/core/Scalar.h`,
`c10/util/TypeCast.h`).

Operators take their numbers as `Scalar`s: a bool, int, float or complex. When a kernel stores one
in a tensor it has to be converted, and this conversion is *checked*: 300 does not fit into a uint8.
When elements of one tensor are stored in another they are cast as in C, without a check.

How the real one differs: `Scalar` is a tagged union, and `Scalar::to<T>()` a template.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from .dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype

Scalar: TypeAlias = bool | int | float | complex
"""A number that has no dtype yet."""

C_NAME = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bool": "bool",
}  # fmt: skip


_LARGEST = {np.dtype(k): float(np.finfo(k).max) for k in (np.float16, np.float32, np.float64)}


def checked(value: Any, target: dtype) -> Any:
    """`value` as a numpy scalar of dtype `target`. Floats are truncated towards zero for integers.

    Raises RuntimeError when it does not fit: an imaginary part in a real dtype, a number out of
    range, NaN as an integer. Infinities and NaN are values of the floating dtypes. Negative
    integers wrap around in uint8, as in C.
    """
    kind = value.__class__
    if target.category == FLOATING and (kind is float or kind is int) and -6e4 < value < 6e4:
        # the usual case, without further checks: the largest half is 65504
        return target.np.type(value)
    if target.category == BOOL:
        return np.bool_(value != 0)
    if isinstance(value, complex) and target.category != COMPLEX:
        if value.imag != 0:
            raise overflow(target)
        value = value.real
    if target.category == INTEGRAL:
        return _integer(value, target)
    if target.category == FLOATING:
        _check_magnitude(float(value), target.np, target)
    else:
        part = np.dtype(np.float32 if target.itemsize == 8 else np.float64)
        _check_magnitude(complex(value).real, part, target)
        _check_magnitude(complex(value).imag, part, target)
    return target.np.type(value)


def real(value: object, target: dtype) -> Any:
    """`value` as a real number, for a kernel of the dtype `target`. Raises RuntimeError for a
    complex number with an imaginary part.
    """
    return checked(value, target).item() if isinstance(value, complex) else value


def overflow(target: dtype) -> RuntimeError:
    """PyTorch's error for a number that does not fit into `target`."""
    return RuntimeError(f"value cannot be converted to type {C_NAME[target.name]} without overflow")


def _integer(value: Any, target: dtype) -> Any:
    """`value` as an integer of dtype `target`, with the checks described at `checked`."""
    if isinstance(value, float) and not math.isfinite(value):
        raise overflow(target)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise OverflowError("int too big to convert")
    info = np.iinfo(target.np)
    # as in C++, a negative integer, but not a negative float, may wrap around in an unsigned type
    lowest = info.min if target.is_signed or isinstance(value, float) else -info.max
    if not lowest <= value <= info.max:
        raise overflow(target)
    whole = int(value)
    return target.np.type(whole if whole >= info.min else whole + info.max + 1)


def _check_magnitude(value: float, kind: np.dtype[Any], target: dtype) -> None:
    """Raises RuntimeError for a finite number that is too large for `kind`, the dtype of `target`
    or of its parts.
    """
    if abs(value) > _LARGEST[kind] and math.isfinite(value):
        raise overflow(target)
