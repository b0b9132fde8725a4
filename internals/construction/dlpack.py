"""DLPack: passing memory from one library to another, neither of which knows the other
(`aten/src/ATen/DLConvertor.cpp`).

The sender fills a small C struct (where the elements are, their shape, strides and type, and a
`deleter`) and passes a pointer to it inside a `PyCapsule`. The receiver uses the memory in place
and calls the deleter when it is done. Ownership moves exactly once: the receiver renames the
capsule to "used_...", and a capsule that dies unused calls the deleter itself.

    a = np.from_dlpack(tensor)        # numpy asks tensor.__dlpack__() for the capsule
    t = internals.from_dlpack(a)      # and the other way round

As a sender, we keep struct, shape, strides and storage in `_exported` until the deleter is called.
As a receiver, we make a `DataPtr` whose context is the struct and whose deleter calls the sender's.

How the real one differs: the structs are written in C (`aten/src/ATen/dlpack.h`). It keeps the
tensor, whose storage may be resized or exchanged while others use the memory; here the storage is
kept, and can no longer be resized, as after `numpy()`.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from enum import IntEnum
from typing import Any

from internals.construction.tensor_numpy import lent
from internals.core import dtype as dt
from internals.core.allocator import DataPtr
from internals.core.corrected import corrected
from internals.core.device import CPU, DeviceLike, device, is_simulated, resolve
from internals.core.dtype import dtype
from internals.core.geometry import bytes_spanned, contiguous_strides, geometry
from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor, make, newly_made

INT, UINT, FLOAT, _OPAQUE, _BFLOAT, COMPLEX, BOOL = range(7)  # DLDataTypeCode
IS_COPIED = 2  # a bit of `flags`: the memory is a copy, made for the receiver
VERSION = (1, 0)
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class DLDeviceType(IntEnum):
    """DLPack's numbers for the two kinds of memory that this package can take."""

    kDLCPU = 1
    kDLCUDA = 2


class DLDevice(ctypes.Structure):
    """A `DLDeviceType` and the index of the device."""

    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    """The type of an element: a `DLDataTypeCode`, its bits, and how many form a vector (1)."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    """The description of the memory. Strides count elements; NULL means row-major."""

    _fields_ = [
        ("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]  # fmt: skip


class DLManagedTensor(ctypes.Structure):
    """A `DLTensor` and its deleter: the struct in a capsule named "dltensor"."""

    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", _Deleter)]


class DLManagedTensorVersioned(ctypes.Structure):
    """The struct that DLPack 1.0 introduced, with a version, in a capsule named
    "dltensor_versioned".
    """

    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p), ("deleter", _Deleter),
        ("flags", c_uint64), ("dl_tensor", DLTensor),
    ]  # fmt: skip


STRUCTS = {b"dltensor": DLManagedTensor, b"dltensor_versioned": DLManagedTensorVersioned}
# address of a struct that we sent → the struct and all objects that it points to
_exported: dict[int, tuple[Any, ...]] = {}


def to_dlpack(t: Tensor, versioned: bool = False, copied: bool = False) -> Any:
    """A capsule through which another library can take the tensor's memory. Raises BufferError for
    a tensor that requires a gradient, or is on another kind of device than CPU and CUDA.

    From now on the storage may not be resized: the other library would use freed memory.
    """
    if t.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if t.device.type not in ("cpu", "cuda"):
        raise BufferError(f"Cannot pack tensors on {t.device}")
    name = b"dltensor_versioned" if versioned else b"dltensor"
    managed: Any = STRUCTS[name]()
    storage, g, offset = lent(t)
    n, first = len(g.sizes), storage.data_ptr()
    # a dimension of size 1 may have any stride: 1 is the one that all libraries accept
    strides = [s if size > 1 else 1 for size, s in zip(g.sizes, g.strides)]
    shape_array, strides_array = (c_int64 * n)(*g.sizes), (c_int64 * n)(*strides)
    d = managed.dl_tensor
    d.data, d.ndim, d.dtype = first and first + offset * g.dtype.itemsize, n, pack_dtype(g.dtype)
    d.device = DLDevice(*dlpack_device(t))
    d.shape, d.strides, d.byte_offset = shape_array, strides_array, 0
    managed.manager_ctx, managed.deleter = None, _forget
    if versioned:
        managed.major, managed.minor, managed.flags = *VERSION, IS_COPIED if copied else 0
    address = ctypes.addressof(managed)
    _exported[address] = managed, shape_array, strides_array, storage
    return _capsule_new(address, _NAMES[name], _capsule_destructor)


def from_dlpack(
    ext_tensor: object, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Any:
    """A tensor on the memory of `ext_tensor`: an object with `__dlpack__` (numpy arrays, torch
    tensors, ...) or a capsule.

    `device` and `copy` are passed on to `__dlpack__`. Raises RuntimeError for a capsule that was
    used before and for other objects, BufferError for memory or types that tensors cannot have.
    """
    if hasattr(ext_tensor, "__dlpack__"):
        options: dict[str, Any] = {} if copy is None else {"copy": copy}
        if device is not None:
            options["dl_device"] = (_device_type(device), 0)
        options.update(_stream_for(ext_tensor))
        try:
            capsule = ext_tensor.__dlpack__(max_version=VERSION, **options)
        except TypeError:  # written before DLPack 1.0
            capsule = ext_tensor.__dlpack__(**options)
    else:
        if device is not None or copy is not None:
            raise AttributeError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        capsule = ext_tensor
    return take(capsule)


def take(capsule: Any) -> Any:
    """A tensor that owns the content of a capsule, which cannot be used again."""
    name = next((n for n in STRUCTS if _capsule_is_valid(capsule, n)), None)
    if name is None:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once."
        )
    address = _capsule_pointer(capsule, name)
    managed: Any = STRUCTS[name].from_address(address)
    if name == b"dltensor_versioned" and managed.major > VERSION[0]:
        raise BufferError(
            f"the capsule speaks DLPack {managed.major}.{managed.minor}; known is {VERSION[0]}.x"
        )
    d = managed.dl_tensor
    kind = unpack_dtype(d.dtype)
    where = _device_of(d.device)
    sizes = [d.shape[i] for i in range(d.ndim)]
    strides = (
        [d.strides[i] for i in range(d.ndim)] if d.strides else list(contiguous_strides(sizes))
    )
    if any(s < 0 for s in strides):
        raise BufferError(
            corrected(
                f"strides {strides} are negative, and those of a tensor are not: copy the array "
                "first",
                "torch.from_dlpack(array[::-1])",
                "torch.from_dlpack(array[::-1].copy())",
            )
        )
    g = geometry(sizes, strides, kind, where)
    nbytes = bytes_spanned(g)
    # All checks are done: an error above leaves the capsule with its owner. From here on we are the
    # owner, and the storage calls the deleter.
    _capsule_set_name(capsule, _NAMES[b"used_" + name])
    data = DataPtr((d.data or 0) + d.byte_offset, managed, call_deleter, where)
    return newly_made(make(Storage(data, nbytes), g))


def call_deleter(managed: DLManagedTensor | DLManagedTensorVersioned) -> None:
    """Calls the sender's deleter, if it has one: we no longer use the memory."""
    if managed.deleter:
        managed.deleter(ctypes.addressof(managed))


def pack_dtype(kind: dtype) -> DLDataType:
    """DLPack's description of one of our dtypes."""
    code = (BOOL, INT if kind.is_signed else UINT, FLOAT, COMPLEX)[kind.category]
    return DLDataType(code, kind.itemsize * 8, 1)


def unpack_dtype(d: DLDataType) -> dtype:
    """Our dtype for DLPack's description. Raises BufferError if there is none."""
    for kind in dt.ALL:
        p = pack_dtype(kind)
        if (p.code, p.bits, p.lanes) == (d.code, d.bits, d.lanes):
            return kind
    raise BufferError(f"Unsupported DLPack dtype: code {d.code}, {d.bits} bits, {d.lanes} lanes")


def dlpack_device(t: Tensor) -> tuple[DLDeviceType, int]:
    """The result of `Tensor.__dlpack_device__()`: the kind of device and its index."""
    return DLDeviceType(_device_type(t.device)), t.device.index or 0


def _device_type(where: Any) -> int:
    """DLPack's number for a device: one of ours, its name, or a DLPack pair of number and index."""
    if isinstance(where, tuple):
        return int(where[0])
    kind = resolve(where).type
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type {kind} for Dlpack")
    return DLDeviceType.kDLCPU if kind == "cpu" else DLDeviceType.kDLCUDA


def hand_over_to_stream(t: Tensor, stream: int | None) -> None:
    """Makes `stream`, on which the receiver will use the memory, wait for all work that is queued
    on the current stream.

    1 and None are the default stream, -1 means not to wait. Raises BufferError for the per-thread
    stream (2), and for a tensor that is not on the current device; AssertionError for 0, which CUDA
    leaves ambiguous.
    """
    from internals import cuda

    if t.device.index != cuda.current_device():
        raise BufferError(
            f"Can't export tensors on a different CUDA device index. Expected: {t.device.index}. "
            "Current device: "
            f"{cuda.current_device()}."
        )
    if stream == -1:
        return
    if stream == 2:
        raise BufferError("per-thread default stream is not supported.")
    if stream == 0:
        raise AssertionError(f"unsupported stream on CUDA: {stream}.")
    current = cuda.current_stream()
    # an event on our stream, which theirs waits for: the CPU does not wait
    theirs = cuda.default_stream() if stream in (None, 1) else cuda.ExternalStream(stream)
    if theirs != current:
        theirs.wait_stream(current)


def _stream_for(sender: object) -> dict[str, int]:
    """The argument `stream` for `__dlpack__` of a sender of GPU memory: the stream on which we are
    going to use it, 1 for the default one. No argument for CPU memory.
    """
    if (
        not hasattr(sender, "__dlpack_device__")
        or sender.__dlpack_device__()[0] != DLDeviceType.kDLCUDA
    ):
        return {}
    from internals.cuda import backend

    return {"stream": backend.current_stream() or 1}


def _device_of(d: DLDevice) -> device:
    """Our device for DLPack's. Raises BufferError for memory that we cannot use."""
    if d.device_type == DLDeviceType.kDLCPU:
        return CPU
    if d.device_type != DLDeviceType.kDLCUDA:
        raise BufferError(
            f"Unsupported device_type: {d.device_type}; CPU (1) and CUDA (2) memory can be taken"
        )
    where = resolve(device("cuda", d.device_id))
    if is_simulated(where):
        raise BufferError(
            f"the memory is that of a real GPU, and '{where}' is a simulated one here; send CPU "
            "memory instead"
        )
    return where


@_Deleter
def _forget(address: int) -> None:
    """Our deleter: drops our references, as the receiver no longer uses the memory."""
    _exported.pop(address, None)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _capsule_destructor(capsule: int) -> None:
    """Called when a capsule is freed: one that was never used still owns its content, which is
    dropped. `capsule` is a bare pointer, since a new reference would revive the object.
    """
    for name in STRUCTS:
        if _dying_is_valid(capsule, name):
            _forget(_dying_pointer(capsule, name))


def _prototype(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C API with these types of result and arguments."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_capsule_new = _prototype("PyCapsule_New", py_object, c_void_p, c_void_p, c_void_p)
_capsule_is_valid = _prototype("PyCapsule_IsValid", c_int, py_object, c_char_p)
_capsule_pointer = _prototype("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_capsule_set_name = _prototype("PyCapsule_SetName", c_int, py_object, c_void_p)
_dying_is_valid = _prototype("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_dying_pointer = _prototype("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)

# Capsules keep pointers to their names, and other libraries pointers to our deleter. They may use
# them when Python shuts down and this module is gone; the extra references keep the objects alive.
_BUFFERS = [ctypes.create_string_buffer(prefix + n) for n in STRUCTS for prefix in (b"", b"used_")]
_NAMES = {b.value: ctypes.addressof(b) for b in _BUFFERS}
for _immortal in (_forget, _capsule_destructor, _exported, STRUCTS, *_BUFFERS):
    ctypes.pythonapi.Py_IncRef(py_object(_immortal))
