"""`DeviceArray`: what a kernel is given for a tensor, an address with sizes and strides
(`PackedTensorAccessor`).

Most kernels of this package take `flat(t)`, the run of elements from the tensor's first on, and do
the arithmetic of strides themselves, as CUDA C does with a pointer. A tensor handed over as it is
becomes an array with all its dimensions.

How the real one differs: kernels take raw pointers, and `PackedTensorAccessor64` where indices are
more readable; an `OffsetCalculator` divides by sizes with precomputed magic numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from internals.core.corrected import corrected
from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.geometry import is_contiguous
from internals.core.tensor_impl import TensorImpl, backed_ptr


@dataclass(slots=True)
class DeviceArray:
    """Memory of device `device` as an array. `pointer` is the address of the first element; strides
    are in elements.

    `owner` keeps the memory until the launch is queued: in `kernel[...](flat(a.contiguous()),
    flat(b.contiguous()))` nobody else holds the first copy while the second is made. After that the
    order of the stream protects it (`queued`).
    """

    pointer: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: dtype
    device: int = 0
    owner: Any = field(default=None, compare=False, repr=False)

    def queued(self) -> DeviceArray:
        """The same without an owner, for a launch that is on its stream."""
        return self if self.owner is None else replace(self, owner=None)

    @property
    def nbytes(self) -> int:
        """From the first byte to behind the last one it reaches."""
        if not prod(self.sizes):
            return 0
        return (
            1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))
        ) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How numba, CuPy and PyTorch take each other's arrays (version 3; strides in bytes, None
        for row-major).
        """
        n = self.dtype.itemsize
        # numba compiles better code for what it knows to be dense
        dense = is_contiguous(self.sizes, self.strides)
        return {
            "shape": self.sizes,
            "strides": None if dense else tuple(s * n for s in self.strides),
            "typestr": self.dtype.np.str,
            "data": (self.pointer, False),
            "version": 3,
        }


def flat(t: Any) -> DeviceArray:
    """The elements from the tensor's first one to the end of its storage, one after the other."""
    g, storage = t._geometry, t._storage
    count = storage._nbytes // g.dtype.itemsize - t._offset
    return DeviceArray(
        backed_ptr(t), (count if count > 0 else 0,), (1,), g.dtype, _index(g.device), storage
    )


def whole(t: Any) -> DeviceArray:
    """The tensor with its own sizes and strides."""
    g = t._geometry
    return DeviceArray(
        backed_ptr(t), tuple(g.sizes), tuple(g.strides), g.dtype, _index(g.device), t._storage
    )


def _index(where: device) -> int:
    if where.type != "cuda" or where.index is None:
        raise RuntimeError(
            corrected(
                f"a kernel runs on a GPU, and a tensor is on '{where}'",
                "kernel[grid, block](t)",
                "kernel[grid, block](t.cuda())",
            )
        )
    return where.index


def type_name(value: object) -> str:
    """How the type of a kernel's argument is written: "int64", "float32[::1]", "float32[:,:]",
    "(int64, int64)".

    `value` is a type or an example. Raises TypeError for what a kernel cannot take.
    """
    if isinstance(value, str):
        return value.replace(" ", "").replace("[:]", "[::1]")
    if isinstance(value, tuple):
        return f"({', '.join(type_name(v) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, (TensorImpl, DeviceArray, np.ndarray)):
        return _array_name(value)
    for python, name in ((bool, "bool"), (int, "int64"), (float, "float64")):
        if value is python or type(value) is python:
            return name
    if isinstance(value, (dtype, np.dtype)):
        return value.name
    if isinstance(value, np.generic) or isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value if isinstance(value, type) else value.dtype).name
    raise TypeError(
        "a kernel's argument is described by a dtype, a text such as 'float32[:]', or a tuple, "
        f"not {value!r}"
    )


def _array_name(value: Any) -> str:
    """The type that a launch gives to an array: its dtype and how many dimensions it has, `::1`
    where it is contiguous.
    """
    if isinstance(value, DeviceArray):
        sizes, strides, name = value.sizes, value.strides, value.dtype.name
    elif isinstance(value, np.ndarray):
        sizes, strides, name = (
            value.shape,
            tuple(s // value.itemsize for s in value.strides),
            value.dtype.name,
        )
    else:
        sizes, strides, name = tuple(value.shape), tuple(value.stride()), value.dtype.name
    step, dense = 1, True
    for n, s in zip(reversed(sizes), reversed(strides)):
        dense, step = dense and (n == 1 or s == step), step * n
    return (
        f"{name}[{','.join([':'] * (len(sizes) - 1) + ['::1' if dense else ':']) if sizes else ''}]"
    )
