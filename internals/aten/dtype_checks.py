"""The errors of a kernel that a dtype or a number does not suit (`aten/src/ATen/Dispatch.h`,
`c10/util/TypeCast.h`).

How the real one differs: the list of dtypes of a kernel is the macro it is wrapped in, and the
messages fall out of the macro; numbers are checked when a `Scalar` is converted to the kernel's C++
type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME, dtype

if TYPE_CHECKING:
    from internals._tensor import Tensor

TYPE_META_NAME = {
    dt.uint8: "unsigned char", dt.int8: "signed char", dt.int16: "short int", dt.int32: "int",
    dt.int64: "long int", dt.float16: "c10::Half", dt.float32: "float", dt.float64: "double",
    dt.complex64: "c10::complex<float>", dt.complex128: "c10::complex<double>", dt.bool_: "bool",
}  # fmt: skip
"""The C++ types behind the dtypes, as error messages about tensors spell them
(`caffe2::TypeMeta::name`).
"""


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """The error for a dtype the kernel was not written for: `"floor_vml_cpu" not implemented for
    'Bool'`.
    """
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAME[d]}'")


def check_dtype(kernel: str, d: dtype, *categories: int) -> None:
    """Raises NotImplementedError unless `d` is of a category that the kernel was written for, as
    `AT_DISPATCH_...` does.
    """
    if d.category not in categories:
        raise not_implemented(kernel, d)


def check_same_dtype(a: Tensor, b: Tensor) -> None:
    """Raises RuntimeError for two dtypes."""
    check_is(a.dtype, b)


def check_is(expected: dtype, t: Tensor) -> None:
    """Raises RuntimeError unless `t` is of the dtype."""
    if t.dtype is not expected:
        raise RuntimeError(
            f"expected scalar type {SCALAR_TYPE_NAME[expected]} but found "
            f"{SCALAR_TYPE_NAME[t.dtype]}"
        )
