"""What a kernel says when a dtype or a number does not suit it (`aten/src/ATen/Dispatch.h`, `c10/util/TypeCast.h`).

How the real one differs: the list of dtypes of a kernel is the macro it is wrapped in, and the messages fall out of the
macro; numbers are checked when a `Scalar` is converted to the kernel's C++ type.
"""

from __future__ import annotations

import math
from typing import Any

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME, dtype

CPP_NAME = {
    dt.uint8: "uint8_t", dt.int8: "int8_t", dt.int16: "int16_t", dt.int32: "int", dt.int64: "int64_t", dt.float16: "c10::Half",
    dt.float32: "float", dt.float64: "double", dt.complex64: "c10::complex<float>", dt.complex128: "c10::complex<double>",
    dt.bool_: "bool",
}  # fmt: skip
"""The C++ types behind the dtypes, as error messages about numbers spell them."""

TYPE_META_NAME = {
    **CPP_NAME,
    dt.uint8: "unsigned char",
    dt.int8: "signed char",
    dt.int16: "short int",
    dt.int64: "long int",
}
"""The same as error messages about tensors spell them (`caffe2::TypeMeta::name`)."""


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """The error for a dtype the kernel was not written for: `"floor_vml_cpu" not implemented for 'Bool'`."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAME[d]}'")


def checked_number(value: Any, target: dtype) -> Any:
    """A Python number as a numpy scalar of `target`. Raises RuntimeError when it does not fit (`Scalar::to`).

    Fractions are cut off and negative integers may wrap around in uint8, as a C cast would do it.
    """
    if _overflows(value, target):
        raise RuntimeError(f"value cannot be converted to type {CPP_NAME[target]} without overflow")
    if isinstance(value, complex) and target.category != dt.COMPLEX:
        value = value.real
    if target is dt.uint8:
        return target.np.type(int(value) & 0xFF)
    return target.np.type(int(value) if target.category == dt.INTEGRAL else value)


def _overflows(value: Any, target: dtype) -> bool:
    if target.category == dt.BOOL:
        return False
    if isinstance(value, complex):
        if target.category == dt.COMPLEX:
            return _overflows(value.real, target.to_real()) or _overflows(value.imag, target.to_real())
        return value.imag != 0 or _overflows(value.real, target)
    if target.category == dt.INTEGRAL:
        info = dt.iinfo(target)
        low = -info.max if target is dt.uint8 and isinstance(value, int) else info.min
        return not math.isfinite(value) or value <= low - 1 or (target is dt.uint8 and value < low) or int(value) > info.max
    return math.isfinite(value) and abs(value) > dt.finfo(target.to_real()).max
