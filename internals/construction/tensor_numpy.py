"""`from_numpy`, `numpy()` and `frombuffer`: memory shared with numpy and with other buffers
(`torch/csrc/utils/tensor_numpy.cpp`, `tensor_new.cpp`).

Nothing here copies. `from_numpy` makes a storage whose `DataPtr` points into the array and has the
array as its context; its deleter drops this reference. So the array lives as long as any tensor on
the storage. `to_numpy` is the other direction: numpy keeps the owner of an array's memory in
`.base`, and there the storage is kept. The tensor may be freed, or be given other memory.

Writes through such an array do not raise the tensor's version: autograd does not see them.

How the real one differs: `.base` is the tensor, set through numpy's C API; after `t.set_()` the
array points to freed memory.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.allocator import DataPtr, drop_reference
from internals.core.device import CPU
from internals.core.dtype import BY_NUMPY, dtype
from internals.core.geometry import Geometry, bytes_spanned, contiguous_geometry, geometry
from internals.core.storage import Storage
from internals.core.tensor_impl import Array, Tensor, check_backed, make, newly_made, with_grad
from internals.core.tracer import CONSTRUCTOR, tracer, warn_if_tracing

SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool"
)
READ_ONLY = (
    "The given {what} is not writable, and PyTorch does not support non-writable tensors. This "
    "means {danger} You may want to copy the {thing} to protect its data or make it writable "
    "before converting it to a tensor. This type of warning will be suppressed for the rest of "
    "this program."
)
_warned: set[str] = set()


def from_numpy(array: Array, /) -> Any:
    """A tensor on the array's own memory, with its shape and strides: writing to one writes to the
    other. The array is kept alive.

    Raises TypeError for anything but an ndarray and for dtypes that PyTorch does not have;
    ValueError for negative strides, strides that are not a multiple of the element size, and
    foreign byte order. Warns, once, about a read-only array.
    """
    warn_if_tracing("torch.from_numpy", CONSTRUCTOR)
    if not issubclass(type(array), np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(array)})")
    if not plain(array).flags.writeable:
        _warn_read_only(
            "NumPy array", "writing to this tensor will result in undefined behavior.", "array"
        )
    t = borrow_array(array)
    return t if tracer.state is None else ops.lift_fresh(t)


def borrow_array(array: Array) -> Any:
    """`from_numpy` without the warning about read-only arrays: for tensors that are only read."""
    owner, array = array, plain(array)
    kind = dtype_of(array)
    n = kind.itemsize
    if any(s % n for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    strides = [s // n for s in array.strides]  # from bytes to elements
    data = DataPtr(array.__array_interface__["data"][0], owner, drop_reference)
    g = geometry(array.shape, strides, kind)
    return newly_made(make(Storage(data, bytes_spanned(g)), g))


def plain(array: Array) -> Any:
    """The array as a plain ndarray: a subclass may override its shape, dtype and memory."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


def dtype_of(array: Array) -> dtype:
    """Our dtype for a numpy array. Raises TypeError when there is none, ValueError for foreign byte
    order.
    """
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    kind = BY_NUMPY.get(array.dtype)
    if kind is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only "
            f"supported types are: {SUPPORTED}."
        )
    return kind


def to_numpy(t: Tensor, force: bool = False) -> Any:
    """The array on the tensor's own memory. From now on the storage may not be resized: the array
    would point to freed memory.

    Raises RuntimeError for a tensor that requires a gradient, unless `force`; TypeError for one
    that is not on the CPU.
    """
    if t.device is not CPU:
        raise TypeError(
            f"can't convert {t.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )
    if t.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return np.asarray(ArrayInterface(*lent(t)))


def lent(t: Tensor) -> tuple[Storage, Geometry, int]:
    """The storage, geometry and offset of a tensor whose memory another library is going to use.
    The storage can no longer be resized.

    Raises RuntimeError if the tensor does not fit into its storage, which was made smaller.
    """
    storage, g, offset = t._storage, t._geometry, t._offset
    storage._resizable = False
    check_backed(storage, g, offset)
    return storage, g, offset


class ArrayInterface:
    """The `.base` of the arrays that `numpy()` returns: it refers to the storage, and describes the
    elements to numpy. Strides are in bytes, as numpy has them.
    """

    __slots__ = ("_storage", "_geometry", "_offset")

    def __init__(self, storage: Storage, geometry: Geometry, offset: int = 0) -> None:
        self._storage, self._geometry, self._offset = storage, geometry, offset

    @property
    def __array_interface__(self) -> dict[str, Any]:
        g, n = self._geometry, self._geometry.dtype.itemsize
        address = self._storage.data_ptr()
        return {
            "version": 3,
            "shape": tuple(g.sizes),
            "typestr": g.dtype.np.str,
            "strides": tuple(s * n for s in g.strides),
            "data": (address and address + self._offset * n, False),
        }

    def __repr__(self) -> str:
        return "<the storage that owns this array's memory>"


def bytes_in(storage: Storage) -> memoryview:
    """The bytes of a storage on the CPU. They stay valid even if the storage is freed or resized:
    `lend` gives a second owner of the memory.
    """
    keeper = storage.lend()
    whole = contiguous_geometry((keeper.nbytes(),), dt.uint8)
    # numpy's stubs lack __buffer__ before 3.12
    array: Any = np.asarray(ArrayInterface(keeper, whole))
    return memoryview(array)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-d tensor on the memory of an object with a buffer (`bytearray`, `array.array`, `mmap`),
    which it keeps alive.

    It has `count` elements (negative: as many as there are) from the byte `offset` on, which need
    not be a multiple of the element size. Raises ValueError if the buffer is too short, TypeError
    for arguments of other types, RuntimeError for a buffer with gaps.
    """
    if not isinstance(dtype, dt.dtype):
        raise TypeError(
            f"frombuffer(): argument 'dtype' must be internals.dtype, not {type(dtype).__name__}"
        )
    for name, value in (("count", count), ("offset", offset)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"frombuffer(): argument '{name}' must be int, not {type(value).__name__}"
            )
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError(
            "could not retrieve buffer from object: its bytes have gaps between them; copy it first"
        )
    n, size = dtype.itemsize, view.nbytes
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0:
        if (size - offset) % n:
            raise ValueError(
                f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
                f"multiple of element size ({n})"
            )
        count = (size - offset) // n
    elif offset + count * n > size:
        raise ValueError(
            f"requested buffer length ({count} * {n} bytes) after offset ({offset} bytes) must not "
            f"be greater than actual buffer length ({size} bytes)"
        )
    if view.readonly:
        danger = (
            "you can write to the underlying (supposedly non-writable) buffer using the tensor."
        )
        _warn_read_only("buffer", danger, "buffer")
    # numpy knows the address of a buffer, which Python does not show; the view keeps it in place
    address = np.frombuffer(view, np.uint8).__array_interface__["data"][0] + offset
    storage = Storage(DataPtr(address, view, drop_reference), count * n)
    t = newly_made(make(storage, contiguous_geometry((count,), dtype)))
    return with_grad(t, requires_grad)


def type_name(x: object) -> str:
    """The name of the type of `x` as C has it: numpy's with their module, others without."""
    kind = type(x)
    return kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"


def _warn_read_only(what: str, danger: str, thing: str) -> None:
    """Warns, once in this process for each `what`, about memory that should not be written to."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(
            READ_ONLY.format(what=what, danger=danger, thing=thing), UserWarning, stacklevel=3
        )
