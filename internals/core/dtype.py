"""`dtype`: the type of a tensor's elements (`c10/core/ScalarType.h`, `torch/csrc/Dtype.h`).

Each dtype is one object, with its name, its numpy equivalent, its size in bytes and its *category*:
bool < integral < floating < complex. Type promotion compares categories first.

How the real one differs: it has more of them (bfloat16, the float8s, the quantized and the unsigned
16/32/64-bit types), and a C++ enum `ScalarType` beside the Python object; here `dtype.code` has the
number of that enum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:
    """One element type. Instances are singletons: compare them with `is`.

    Attributes: `name`; `np`, the numpy dtype; `itemsize` in bytes; `code`, PyTorch's ScalarType
    number; `category`, one of BOOL, INTEGRAL, FLOATING, COMPLEX.
    """

    __slots__ = (
        "name",
        "np",
        "itemsize",
        "code",
        "category",
        "is_floating_point",
        "is_complex",
        "is_signed",
    )

    name: str
    np: np.dtype[Any]
    itemsize: int
    code: int
    category: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __init__(self, name: str, code: int, category: int) -> None:
        self.name, self.code, self.category = name, code, category
        self.np = np.dtype(name)
        self.itemsize = self.np.itemsize
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = name not in ("bool", "uint8")

    def __repr__(self) -> str:
        return f"internals.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name

    def to_real(self) -> dtype:
        """The dtype of the parts of these complex numbers; a real dtype itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype with these parts; float16 gives complex64, a complex dtype itself.
        Raises RuntimeError for integers and bools.
        """
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {SCALAR_TYPE_NAME[self]}")
        return complex128 if self.to_real() is float64 else complex64


uint8 = dtype("uint8", 0, INTEGRAL)
int8 = dtype("int8", 1, INTEGRAL)
int16 = short = dtype("int16", 2, INTEGRAL)
int32 = int_ = dtype("int32", 3, INTEGRAL)
int64 = long = dtype("int64", 4, INTEGRAL)
float16 = half = dtype("float16", 5, FLOATING)
float32 = float_ = dtype("float32", 6, FLOATING)
float64 = double = dtype("float64", 7, FLOATING)
complex64 = cfloat = dtype("complex64", 9, COMPLEX)
complex128 = cdouble = dtype("complex128", 10, COMPLEX)
bool_ = dtype("bool", 11, BOOL)

ALL = (uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128, bool_)
BY_CODE = {d.code: d for d in ALL}
BY_NUMPY = {d.np: d for d in ALL}

# PyTorch's names of the types in error messages and in classes such as `FloatTensor`
SCALAR_TYPE_NAME = {
    uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long", float16: "Half",
    float32: "Float", float64: "Double", complex64: "ComplexFloat", complex128: "ComplexDouble",
    bool_: "Bool",
}  # fmt: skip

_default = float32


def get_default_dtype() -> dtype:
    """The dtype of `tensor(1.0)` and of the factories: float32 unless changed."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Changes the default dtype. Raises TypeError unless `d` is a floating dtype."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def of_number(value: object) -> dtype:
    """The dtype of a tensor made of a number: bool, int64, the default dtype, or the complex dtype
    with such parts. Raises TypeError for anything else.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    raise TypeError(
        f"can't infer a dtype from a {type(value).__name__}; pass a bool, int, float or complex"
    )


class finfo:
    """The limits of a floating dtype (`torch.finfo`): bits, eps, max, min, tiny, smallest_normal,
    resolution, dtype; of a complex one those of its parts.
    """

    def __init__(self, type: dtype | None = None) -> None:
        d = type or _default
        if d.category < FLOATING:
            raise TypeError(
                f"finfo() requires a floating point input type. Use iinfo to handle '{d!r}'"
            )
        info = np.finfo(d.np)
        self.bits, self.eps, self.max, self.min = (
            info.bits,
            float(info.eps),
            float(info.max),
            float(info.min),
        )
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution, self.dtype = float(info.resolution), d.to_real().name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )  # fmt: skip


class iinfo:
    """The limits of an integral dtype (`torch.iinfo`): bits, min, max, dtype."""

    def __init__(self, type: dtype) -> None:
        if type.category != INTEGRAL:
            raise TypeError(
                "internals.iinfo() requires an integer input type. Use internals.finfo to handle "
                f"'{type!r}'"
            )
        info = np.iinfo(type.np)
        self.bits, self.min, self.max, self.dtype = (
            info.bits,
            int(info.min),
            int(info.max),
            type.name,
        )

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
