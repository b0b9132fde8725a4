"""`x.float()`, `x.long()`, `x.type("internals.LongTensor")`: casts by the name of a type
(`python_variable_methods.cpp`).

Each is `to(dtype)`: the tensor itself when it has that dtype already, else a copy. They have a
class of their own because in its body `float` and `int` are these methods, not Python's types.

How the real one differs: `bfloat16`, `chalf` and the quantized types are missing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.formats import memory_format
from internals.core.tensor_impl import Tensor


def _cast(kind: dt.dtype) -> Callable[..., Any]:
    """The method that casts to the dtype `kind`."""

    def cast(self: Tensor, memory_format: memory_format | None = None) -> Any:
        return ops.to_dtype(self, kind, False, False, memory_format)

    cast.__doc__ = f"The tensor as {kind.name}; itself if it is that already."
    return cast


class Conversions:
    """The part of `Tensor` with the casts."""

    __slots__ = ()

    double = _cast(dt.float64)
    float = _cast(dt.float32)
    half = _cast(dt.float16)
    long = _cast(dt.int64)
    int = _cast(dt.int32)
    short = _cast(dt.int16)
    char = _cast(dt.int8)
    byte = _cast(dt.uint8)
    bool = _cast(dt.bool_)
    cfloat = _cast(dt.complex64)
    cdouble = _cast(dt.complex128)


def type_name(kind: dt.dtype, device_type: str = "cpu") -> str:
    """The result of `x.type()`: "internals.FloatTensor", or "internals.cuda.FloatTensor"."""
    package = "internals" if device_type == "cpu" else f"internals.{device_type}"
    return f"{package}.{SCALAR_TYPE_NAME[kind]}Tensor"


def type_named(name: str) -> tuple[dt.dtype, str]:
    """The dtype and the kind of device, "cpu" or "cuda", of a type name such as
    "internals.FloatTensor" or "torch.cuda.FloatTensor". "torch.Tensor" has the default dtype.

    Raises ValueError for anything else.
    """
    short = name.removeprefix("torch.").removeprefix("internals.").removesuffix("Tensor")
    device_type = "cuda" if short.startswith("cuda.") else "cpu"
    short = short.removeprefix("cuda.")
    if name.endswith("Tensor") and name.startswith(("torch.", "internals.")):
        if not short:
            return dt.get_default_dtype(), device_type
        for kind, known in SCALAR_TYPE_NAME.items():
            if known == short:
                return kind, device_type
    raise ValueError(f"invalid type: '{name}'")
