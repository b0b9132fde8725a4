"""Raises the errors of kernels for dtypes that they do not take (`aten/src/ATen/Dispatch.h`,
`c10/util/TypeCast.h`).

How the real one differs: a kernel is wrapped in a macro such as `AT_DISPATCH_FLOATING_TYPES`, which
lists its dtypes and raises the error.
"""

from __future__ import annotations

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.tensor_impl import Tensor

TYPE_META_NAME = {
    dt.uint8: "unsigned char", dt.int8: "signed char", dt.int16: "short int", dt.int32: "int",
    dt.int64: "long int", dt.float16: "c10::Half", dt.float32: "float", dt.float64: "double",
    dt.complex64: "c10::complex<float>", dt.complex128: "c10::complex<double>", dt.bool_: "bool",
}  # fmt: skip
"""The C++ types behind the dtypes, as error messages about tensors spell them
(`caffe2::TypeMeta::name`).
"""


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """The error for a dtype that a kernel does not take: `"floor_vml_cpu" not implemented for
    'Bool'`.
    """
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAME[d]}'")


def check_dtype(kernel: str, d: dtype, *categories: int) -> None:
    """Raises NotImplementedError unless `d` is of one of these categories, such as FLOATING, as
    `AT_DISPATCH_...` does.
    """
    if d.category not in categories:
        raise not_implemented(kernel, d)


def check_same_dtype(a: Tensor, b: Tensor) -> None:
    """Raises RuntimeError unless both tensors have the same dtype."""
    check_is(a.dtype, b)


def check_is(expected: dtype, t: Tensor) -> None:
    """Raises RuntimeError unless `t` has the dtype `expected`."""
    if t.dtype is not expected:
        raise RuntimeError(
            f"expected scalar type {SCALAR_TYPE_NAME[expected]} but found "
            f"{SCALAR_TYPE_NAME[t.dtype]}"
        )
