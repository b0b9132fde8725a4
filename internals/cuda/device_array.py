"""`DeviceArray`: the form in which a kernel gets a tensor, an address with sizes and strides
(`PackedTensorAccessor`).

Most kernels of this package take `flat(t)`, all elements of memory from the tensor's first one on,
and compute with strides themselves, as CUDA C does with a pointer. A tensor passed directly becomes
an array with all its dimensions (`whole`).

How the real one differs: kernels take raw pointers, or a `PackedTensorAccessor64` where indices are
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

    `owner` keeps the memory alive until the launch is queued: in `kernel[...](flat(a.contiguous()),
    flat(b.contiguous()))` there is no other reference to the first copy while the second is made.
    Afterwards the order of work on the stream protects the memory (`queued`).
    """

    pointer: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: dtype
    device: int = 0
    owner: Any = field(default=None, compare=False, repr=False)

    def queued(self) -> DeviceArray:
        """The same array without an owner, for a launch that has been queued."""
        return self if self.owner is None else replace(self, owner=None)

    @property
    def nbytes(self) -> int:
        """The bytes from the first element to the end of the last one, gaps included."""
        if not prod(self.sizes):
            return 0
        # the last element has index n - 1 in every dimension
        return (
            1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))
        ) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The dict by which numba, CuPy and PyTorch take each other's arrays (version 3): strides
        are in bytes, None means row-major.
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
    """All elements from the tensor's first one to the end of its storage, as a vector."""
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
    """The index of a GPU. Raises RuntimeError for another device."""
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
    """numba's name for the type of a kernel's argument: "int64", "float32[::1]", "float32[:,:]",
    "(int64, int64)". In an array's name, `::1` marks a contiguous last dimension.

    `value` is a type or an example. Raises TypeError for anything that a kernel cannot take.
    """
    if isinstance(value, str):  # one dimension means a contiguous array, as from `flat`
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
    """The type name of an array: its dtype and a `:` for each dimension, with `::1` as the last one
    if the array is contiguous.
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
    # contiguous: from the last dimension on, each stride is the product of the sizes behind it
    step, dense = 1, True
    for n, s in zip(reversed(sizes), reversed(strides)):
        dense, step = dense and (n == 1 or s == step), step * n
    return (
        f"{name}[{','.join([':'] * (len(sizes) - 1) + ['::1' if dense else ':']) if sizes else ''}]"
    )
