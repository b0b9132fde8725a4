"""Writing into existing memory, and moving between dtypes, devices and layouts
(`aten/src/ATen/native/Copy.cpp`, `Resize.cpp`).

All conversions happen in `copy_`: it reads elements of one dtype in one memory order, and writes
them in another dtype and order. `clone`, `to` and `contiguous` are an allocation and a copy, or
return the tensor itself when there is nothing to change. `resize_` and `set_` give a tensor other
memory.

How the real one differs: it has one kernel for each pair of devices. Here those that involve CUDA
are in `internals/cuda/native/copy.py`; `meta` has no memory, so that nothing is copied. In both,
the result of converting a float out of an integer's range depends on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import TYPE_META_NAME
from internals.aten.layout import strides_for, strides_like
from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap, check_no_partial_overlap
from internals.aten.writing import resize
from internals.core import dtype as dt
from internals.core.backend_hooks import hooks
from internals.core.device import CPU, META, resolve
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.formats import channels_last, contiguous_format, preserve_format
from internals.core.geometry import bytes_spanned, contiguous_strides, geometry, numel_of
from internals.core.scalar import checked
from internals.core.storage import Storage
from internals.core.tensor_impl import array, empty, empty_pinned
from internals.core.warn import warn_once
from internals.machine_code.settings import settings

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.device import device
    from internals.core.dtype import dtype
    from internals.core.formats import layout, memory_format
    from internals.core.scalar import Scalar
    from internals.cuda.streams import Stream


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    """Write the elements of `src` into `self`: broadcast to its shape, cast to its dtype.

    Raises RuntimeError when the shapes do not fit, or when the two overlap partially in memory.
    """
    if self is src:
        return self
    # The fast path of small tensors: with the same sizes, strides and dtype, and in different
    # memory, there is nothing to check and nothing to convert.
    g = self._geometry.without_grad
    if (
        g.plain
        and src._geometry.without_grad is g
        and src._storage is not self._storage
        and g.numel < settings.least
    ):
        np.copyto(array(self), array(src))
        return self
    check_no_internal_overlap(self)
    check_no_partial_overlap(self, src)
    shape = broadcast_shapes(self.shape, src.shape)
    if self.shape != shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    warn_of_loss(src, self)
    _write(self, src)
    return self


def clone(self: Tensor, memory_format: memory_format | None) -> Any:
    """A copy in new memory, in the memory order of `self` unless `memory_format` names another."""
    g = self._geometry.without_grad
    if g.plain and (
        memory_format is None
        or memory_format is preserve_format
        or memory_format is contiguous_format
    ):
        result = empty(g)
        if g.numel >= settings.least:
            return _write(result, self)
        np.copyto(array(result), array(self))
        return result
    return _write(
        empty(geometry(g.sizes, strides_like(self, memory_format), g.dtype, g.device)), self
    )


def _to_copy(
    self: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    memory_format: memory_format | None,
) -> Any:
    """A copy with `dtype`, on `device`; None means that of `self`.

    With `non_blocking`, a copy from a GPU goes to pinned memory: only to that can a GPU copy while
    Python runs on.
    """
    g = self._geometry
    where = g.device if device is None else resolve(device)
    wanted = geometry(g.sizes, strides_like(self, memory_format), dtype or g.dtype, where)
    pinned = non_blocking and where is CPU and g.device.type == "cuda"
    result = empty_pinned(wanted) if pinned else empty(wanted)
    warn_of_loss(self, result)
    return _write(result, self, non_blocking)


def warn_of_loss(source: Tensor, target: Tensor) -> None:
    """Warn where imaginary parts are lost. In a conversion to bool none is: it says whether the
    number is different from 0.
    """
    if source.is_complex() and not target.is_complex() and target.dtype is not dt.bool_:
        warn_once("Casting complex values to real discards the imaginary part")


def to_dtype_layout(
    self: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    copy: bool,
    memory_format: memory_format | None,
) -> Any:
    """`self` itself where dtype, device and memory format are already as asked for, else a
    converted copy. With `copy`, always a copy.
    """
    where = self.device if device is None else resolve(device)
    result_dtype = dtype or self.dtype
    preserve = memory_format is None or memory_format is preserve_format
    if (
        not copy
        and result_dtype is self.dtype
        and where is self.device
        and (preserve or self.is_contiguous(memory_format))
    ):
        return self
    return ops._to_copy(self, result_dtype, layout, where, pin_memory, non_blocking, memory_format)


def to_device(
    self: Tensor,
    device: device,
    dtype: dtype,
    non_blocking: bool,
    copy: bool,
    memory_format: memory_format | None,
) -> Any:
    """`to_dtype_layout` with a device and a dtype."""
    return to_dtype_layout(self, dtype, None, device, None, non_blocking, copy, memory_format)


def to_dtype(
    self: Tensor, dtype: dtype, non_blocking: bool, copy: bool, memory_format: memory_format | None
) -> Any:
    """`to_dtype_layout` with a dtype only."""
    return to_dtype_layout(self, dtype, None, None, None, non_blocking, copy, memory_format)


def to_other(
    self: Tensor, other: Tensor, non_blocking: bool, copy: bool, memory_format: memory_format | None
) -> Any:
    """`to_dtype_layout` with the dtype and the device of `other`."""
    return to_dtype_layout(
        self, other.dtype, None, other.device, None, non_blocking, copy, memory_format
    )


def type_as(self: Tensor, other: Tensor) -> Any:
    """`self` with the dtype and on the device of `other`."""
    return to_other(self, other, False, False, None)


def lift_fresh(self: Tensor) -> Any:
    """`self`. A trace calls it on tensors that were made from data, so that they appear in it."""
    return self


def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Any:
    """`self` if its memory order is that of `memory_format`, else a copy in that order. Raises
    RuntimeError for `preserve_format` unless it is contiguous.
    """
    if memory_format is preserve_format:
        if self.is_contiguous():
            return self
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self if self.is_contiguous(memory_format) else ops.clone(self, memory_format)


def copy(self: Tensor, src: Any, non_blocking: bool = False) -> Any:
    """A new tensor like `self` with the values of `src`: `copy_` that leaves `self` unchanged."""
    return ops.clone(self.detach(), None).copy_(src.detach(), non_blocking)


def to_dense(self: Tensor, dtype: dtype | None = None, masked_grad: bool | None = None) -> Any:
    """`self`, which is always dense here, in `dtype` if that is given."""
    return self if dtype is None else self.to(dtype)


def fill_Scalar(self: Tensor, value: Scalar) -> Any:
    """A new tensor like `self` with `value` everywhere."""
    return ops.fill__Scalar(ops.empty_like(self, None, None, None, None, None), value)


def fill_Tensor(self: Tensor, value: Tensor) -> Any:
    """A new tensor like `self` with the 0-d tensor `value` everywhere."""
    return ops.fill__Tensor(ops.empty_like(self, None, None, None, None, None), value)


def fill__Scalar(self: Tensor, value: Scalar) -> Any:
    """Write `value` to every element. Raises RuntimeError when the dtype cannot hold it."""
    number = checked(value, self.dtype)
    if self.device is CPU:
        array(self).fill(number)
        return self
    return on_device("copy.fill", self, number)


def fill__Tensor(self: Tensor, value: Tensor) -> Any:
    """Write the element of a 0-d tensor to every element. Raises RuntimeError for other tensors."""
    if value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} "
            "dimensions."
        )
    check_no_internal_overlap(self)
    return _write(self, value)


def zero_(self: Tensor) -> Any:
    """Write 0 to every element."""
    if self.device is CPU:
        array(self).fill(0)
        return self
    return on_device("copy.zero_", self)


def resize_(self: Tensor, size: Sequence[int], memory_format: memory_format | None) -> Any:
    """Change the sizes, on the same storage, which grows if it has to; new elements are
    uninitialised. The same sizes change nothing.

    Raises RuntimeError when the memory is too small and borrowed (`from_numpy`) or lent
    (`numpy()`), or when a gradient is required.
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    numel_of(size)
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory format Preserve")
    if memory_format is not None:
        resize(self, size, strides_for(size, memory_format))
    elif tuple(size) != self.shape:
        resize(self, size)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: memory_format | None) -> Any:
    """Change the sizes to those of another tensor; with `preserve_format` the result is in
    channels_last order if that tensor is.
    """
    if memory_format is preserve_format:
        memory_format = channels_last if the_template.is_contiguous(channels_last) else None
    return ops.resize_(self, list(the_template.shape), memory_format)


def set_(self: Tensor) -> Any:
    """Make `self` an empty tensor, on a new empty storage."""
    return _adopt(self, Storage.allocate(0, self.device), 0, (0,), (1,))


def set__source_Tensor(self: Tensor, source: Tensor) -> Any:
    """Make `self` use the storage and the geometry of `source`. Raises RuntimeError for another
    dtype.
    """
    _check_same_dtype(self, source)
    return _adopt(self, source._storage, source._offset, source.shape, source.stride())


def set__source_Tensor_storage_offset(
    self: Tensor,
    source: Tensor,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """Make `self` use the storage of `source` with the given offset, sizes and strides. Raises
    RuntimeError for another dtype.
    """
    _check_same_dtype(self, source)
    return _adopt(self, source._storage, storage_offset, size, stride or contiguous_strides(size))


def set__source_Storage(self: Tensor, source: Storage) -> Any:
    """Make `self` a vector of all elements of a storage."""
    storage = _untyped(self, source)
    return _adopt(self, storage, 0, (storage.nbytes() // self.itemsize,), (1,))


def set__source_Storage_storage_offset(
    self: Tensor, source: Storage, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> Any:
    """Make `self` use a storage with the given offset, sizes and strides; it grows if it is too
    small for them.
    """
    return _adopt(
        self, _untyped(self, source), storage_offset, size, stride or contiguous_strides(size)
    )


def item(self: Tensor) -> Any:
    """The only element as a Python number. Raises RuntimeError when there is not exactly one."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    if self.device.type == "meta":
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return ops._local_scalar_dense(self)


def _local_scalar_dense(self: Tensor) -> Any:
    """The first element as a Python number; `item` checks that it is the only one. Raises
    RuntimeError for an empty tensor.
    """
    if not self.numel():
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return array(self).item(0)


def is_nonzero(self: Tensor) -> bool:
    """The truth value of a single element. Raises RuntimeError when there is not exactly one."""
    n = self.numel()
    if n != 1:
        what = "no values" if n == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(item(self))


def equal(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and equal elements. NaN is equal to nothing."""
    if self.device is not other.device:
        raise RuntimeError(
            f"Cannot compare two tensors on different devices. Got: {self.device} and "
            f"{other.device}"
        )
    return self.shape == other.shape and bool(np.array_equal(array(self), array(other)))


def isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Any:
    """|self - other| <= atol + rtol * |other|, elementwise. An infinity is only close to itself,
    NaN only to NaN and only with `equal_nan`. Raises RuntimeError for two dtypes.
    """
    if self.dtype is not other.dtype:
        raise RuntimeError(
            f"{SCALAR_TYPE_NAME[self.dtype]} did not match {SCALAR_TYPE_NAME[other.dtype]}"
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    close = self.eq(other)
    if equal_nan and self.dtype.category >= dt.FLOATING:
        close = close.logical_or(self.ne(self).logical_and(other.ne(other)))
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.category < dt.FLOATING:
        self, other = self.to(dt.get_default_dtype()), other.to(dt.get_default_dtype())
    allowed = other.mul(rtol).abs().add(atol)
    difference = self.sub(other).abs()
    return close.logical_or(difference.isfinite().logical_and(difference.le(allowed)))


def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether all elements are close. Raises RuntimeError for different dtypes or shapes that do
    not broadcast.
    """
    return bool(isclose(self, other, rtol, atol, equal_nan).all().item())


def is_pinned(self: Tensor, device: device | None = None) -> bool:
    """Whether the memory is page-locked, so that a GPU can read it directly."""
    return self._storage.is_pinned()


def pin_memory(self: Tensor, device: device | None = None) -> Any:
    """The tensor in page-locked memory; itself if it is there already."""
    return self if self.is_pinned(device) else ops._pin_memory(self, device)


def _pin_memory(self: Tensor, device: device | None = None) -> Any:
    """A copy in page-locked memory. Raises RuntimeError for a tensor that is not on the CPU, or
    where there is no GPU.
    """
    g = self._geometry
    if g.device is not CPU:
        name = SCALAR_TYPE_NAME[g.dtype]
        type_name = f"{g.device.type.capitalize()}{name}Type"
        if g.device.type == "cuda":
            type_name = f"torch.cuda.{name}Tensor"
        raise RuntimeError(f"cannot pin '{type_name}' only dense CPU tensors can be pinned")
    if not hooks("cuda").device_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _write(empty_pinned(geometry(g.sizes, strides_like(self, None), g.dtype)), self)


def record_stream(self: Tensor, s: Stream) -> None:
    """Tell the allocator that the stream `s` uses the memory: once it is freed, it is not reused
    before the work that is queued there now is done.
    """
    hooks("cuda").record_stream(self._storage, s.device_index, s.cuda_stream)


def _write(target: Tensor, source: Tensor, non_blocking: bool = False) -> Any:
    """Store the elements of `source` in `target`, cast to its dtype and broadcast to its shape."""
    if target.device is META:
        return target
    if source.device is META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if target.device is not CPU or source.device is not CPU:
        return write_uncounted(ops.copy__op, target, source, non_blocking)
    if target._geometry.numel >= settings.least and _copied_by_machine_code(target, source):
        return target
    values, target_dtype = array(source), target.dtype
    if source.dtype is not target_dtype:
        if source.is_complex() and target_dtype.category in (dt.INTEGRAL, dt.FLOATING):
            values = values.real
        with np.errstate(all="ignore"):
            if target_dtype is dt.float16 and values.dtype == np.float64:
                values = values.astype(np.float32)  # as PyTorch converts: two roundings
            array(target)[...] = values
    else:
        array(target)[...] = values
    return target


def _copied_by_machine_code(target: Tensor, source: Tensor) -> bool:
    """Copy with a compiled loop, for the pairs of dtypes that have one. Returns whether it did."""
    from internals.aten.compiled.copying import copy

    return copy(target, source)


def _adopt(
    t: Tensor, storage: Storage, offset: int, size: Sequence[int], stride: Sequence[int]
) -> Any:
    """Make `t` use `storage`, which grows if the geometry needs more. Raises RuntimeError for
    another device, a negative offset, and strides that are not as many as the sizes.
    """
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if storage.device is not t.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{t.device}" to a storage on '
            "different device "
            f'"{storage.device}".  This is no longer allowed; the devices must match.'
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    g = geometry(size, stride, t.dtype, storage.device, t._geometry.keys)
    if (needed := bytes_spanned(g, offset)) > storage.nbytes():
        storage.resize_(needed)
    # the cached numpy array belongs to the old memory
    t._storage, t._geometry, t._offset, t._array = storage, g, offset, None
    return t


def _untyped(t: Tensor, source: Any) -> Storage:
    """The storage of `source`, typed or not. Raises RuntimeError if its type is not that of `t`."""
    source_dtype = getattr(source, "dtype", None)
    if source_dtype is not None and source_dtype is not t.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {TYPE_META_NAME[t.dtype]} or an UntypedStorage, but got "
            f"type {SCALAR_TYPE_NAME[source_dtype]} for argument 1 'storage'"
        )
    return source if isinstance(source, Storage) else source.untyped()


def _check_same_dtype(t: Tensor, source: Tensor) -> None:
    """Raises RuntimeError if the dtypes differ."""
    if source.dtype is not t.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {TYPE_META_NAME[source.dtype]} to a tensor of type "
            f"{TYPE_META_NAME[t.dtype]}"
        )
