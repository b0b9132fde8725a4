"""Copies to, from and on the device (`aten/src/ATen/native/cuda/Copy.cu`).

The two sides of a copy may lie in memory in different orders, have different dtypes, or be on
different devices. A kernel changes layout and dtype, on one device; only runs of bytes cross the
bus between devices.

A copy between host and device is asynchronous if the caller asks for `non_blocking` and the host's
memory is pinned. Then it returns at once, and an event on the stream keeps the host memory from
being reused too early (`record_event` of the pinned allocator). Otherwise it waits.

How the real one differs: copies between two GPUs may need peer access to be enabled.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes, broadcast_strides, coalesce, memory_order
from internals.aten.layout import strides_like
from internals.aten.native import copying
from internals.aten.overlap import (
    check_no_internal_overlap,
    check_no_partial_overlap,
    is_non_overlapping_and_dense,
)
from internals.aten.tensor_iterator import number
from internals.core import dtype as dt
from internals.core.device import CPU, META
from internals.core.formats import memory_format
from internals.core.geometry import contiguous_geometry, geometry
from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor, backed_ptr, empty, make

from .. import backend
from ..device_array import flat
from ..kernels import copy as kernels
from ..launch import launch_1d
from ..sync_debug import about_to_wait


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    """Writes the elements of `src`, broadcast, into `self`; at least one of the two is on the
    device. It raises the same errors as on the CPU.
    """
    if self is src:
        return self
    check_no_internal_overlap(self)
    if self.device is src.device:
        check_no_partial_overlap(self, src)
    shape = broadcast_shapes(self.shape, src.shape)
    if self.shape != shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if src.device is META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if not self.numel() or self.device is META:
        return self
    if self.device is src.device:
        _on_device(self, src)
    else:
        _between(self, src, non_blocking)
    return self


def clone(self: Tensor, memory_format: memory_format | None = None) -> Any:
    """A copy of `self` in new memory."""
    g = self._geometry
    return copy_(
        empty(geometry(g.sizes, strides_like(self, memory_format), g.dtype, g.device)), self
    )


def fill__Tensor(self: Tensor, value: Tensor) -> Any:
    """Writes the element of the 0-d tensor `value` everywhere in `self`."""
    if value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} "
            "dimensions."
        )
    distinct = self
    for d, (n, stride) in enumerate(zip(self.shape, self.stride())):
        if n > 1 and not stride:  # expanded: the same elements again
            distinct = distinct.narrow(d, 0, 1)
    copy_(distinct, value)
    return self


def zero_(self: Any) -> Any:
    """Sets all elements to 0. In every dtype, 0 consists of zero bytes: if there are no gaps, they
    are set without a kernel.
    """
    if self.is_contiguous() and self.numel():
        index = self.device.index
        backend.driver().memset(
            index, backend.current_stream(index), backed_ptr(self), 0, self.nbytes
        )
    else:
        fill(self, 0)
    return self


def _local_scalar_dense(self: Tensor) -> Any:
    """The only element as a Python number (`item`). The host waits for all work that is queued on
    the stream.
    """
    return copying._local_scalar_dense(ops._to_copy(self, None, None, CPU, None, False, None))


def equal(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and equal elements. They are compared on the CPU."""
    if self.device is not other.device:
        raise RuntimeError(
            f"Cannot compare two tensors on different devices. Got: {self.device} and "
            f"{other.device}"
        )
    on_cpu = [ops._to_copy(t, None, None, CPU, None, False, None) for t in (self, other)]
    return copying.equal(*on_cpu)


def _on_device(target: Any, source: Tensor) -> None:
    """A copy with both sides on one device: bytes if dtype and order agree, else a kernel that
    converts and reorders.
    """
    if target.dtype is source.dtype and _same_order(target, source):
        index = target.device.index
        stream = backend.current_stream(index)
        backend.driver().copy(
            index, stream, backed_ptr(target), backed_ptr(source), target.nbytes, "d2d"
        )
        return
    if target.dtype.is_complex or source.dtype.is_complex:
        _complex_copy(target, source)
        return
    n, to = target.numel(), target.dtype.np.type
    sizes, (target_strides, source_strides) = walk(target, source)
    if len(sizes) == 1 and target_strides == source_strides == (1,):
        launch_1d(kernels.copy_contiguous.bind(T=to), n, flat(target), flat(source), n)
        return
    kernel = kernels.copy_strided.bind(T=to)
    launch_1d(kernel, n, flat(target), flat(source), n, sizes, target_strides, source_strides)


def _between(target: Tensor, source: Tensor, non_blocking: bool) -> None:
    """A copy between two devices. Only bytes are sent: a copy on the source's side first brings the
    elements into the target's dtype and order. If the target has gaps, the bytes arrive in a dense
    tensor on its device first.
    """
    g = target._geometry
    if (
        target.dtype is not source.dtype
        or target.shape != source.shape
        or not _same_order(target, source)
    ):
        # On the host, or on the source's device, into the target's dtype and order.
        dense = target if is_non_overlapping_and_dense(g.sizes, g.strides) else None
        strides = g.strides if dense is not None else contiguous_geometry(g.sizes, g.dtype).strides
        staged = ops.copy_(empty(geometry(g.sizes, strides, g.dtype, source.device)), source, False)
        if dense is None:
            arrived = empty(geometry(g.sizes, strides, g.dtype, g.device))
            _between(arrived, staged, False)
            ops.copy_(target, arrived, False)
            return
        source, non_blocking = staged, False
    _copy_bytes(target, source, non_blocking)


def _copy_bytes(target: Tensor, source: Tensor, non_blocking: bool) -> None:
    """Sends the bytes of a dense tensor to another device."""
    nbytes = target._geometry.nbytes
    copy_run(
        target._storage,
        backed_ptr(target),
        source._storage,
        backed_ptr(source),
        nbytes,
        non_blocking,
    )


def copy_run(
    target: Storage, to: int, source: Storage, since: int, nbytes: int, non_blocking: bool
) -> None:
    """Copies `nbytes` bytes from the address `since` in `source` to the address `to` in `target`,
    on the current stream of the device (of the source's, between two devices).
    """
    driver = backend.driver()
    where = target.device if source.device is CPU else source.device
    kind = "d2h" if target.device is CPU else "h2d" if source.device is CPU else "d2d"
    index = where.index or 0
    stream = backend.current_stream(index)
    if kind == "d2d" and target.device is not source.device:
        # The copy waits for what the target's stream does now, which may still use the memory; and
        # that stream waits for the copy before it does anything more.
        there = target.device.index or 0
        other = backend.current_stream(there)
        driver.stream_wait_event(index, stream, driver.record_event(there, other))
        driver.copy(index, stream, to, since, nbytes, kind)
        driver.stream_wait_event(there, other, driver.record_event(index, stream))
        return
    if kind != "d2d" and not non_blocking:
        about_to_wait()
    driver.copy(index, stream, to, since, nbytes, kind)
    if kind == "d2d":
        return
    if non_blocking:
        from ..memory import pinned_allocator

        host = target if target.device is CPU else source
        pinned_allocator().record_event(host.owner().data_ptr_object, index, stream)
    else:
        driver.synchronize_stream(index, stream)


def fill(target: Tensor, value: Any) -> None:
    """Writes `value`, a number that the dtype can hold, everywhere."""
    n = target.numel()
    if not n:
        return
    if target.dtype.is_complex:
        pairs = real_parts(target)
        fill(pairs.select(-1, 0), complex(value).real)
        fill(pairs.select(-1, 1), complex(value).imag)
        return
    number_ = number(value, target.dtype)
    sizes, (strides,) = walk(target)
    if len(sizes) == 1 and strides == (1,):
        launch_1d(kernels.fill_contiguous, n, flat(target), number_, n)
    else:
        launch_1d(kernels.fill_strided, n, flat(target), number_, n, sizes, strides)


def _complex_copy(target: Tensor, source: Tensor) -> None:
    """A copy with complex numbers on one side or both. No kernel here knows them, so they are
    copied as pairs of real ones.
    """
    if target.dtype.is_complex and source.dtype.is_complex:
        _on_device(real_parts(target), real_parts(source.expand(target.shape)))
    elif target.dtype.is_complex:
        pairs = real_parts(target)
        _on_device(pairs.select(-1, 0), source)
        fill(pairs.select(-1, 1), 0)
    elif target.dtype is dt.bool_:  # true where either part is not zero
        _between(target, ops._to_copy(source, target.dtype, None, CPU, None, False, None), False)
    else:
        _on_device(target, real_parts(source).select(-1, 0))


def real_parts(t: Tensor) -> Any:
    """A complex tensor as a view of real numbers, (*shape, 2): real and imaginary part."""
    g = t._geometry
    strides = (*[2 * s for s in g.strides], 1)
    return make(
        t._storage, geometry((*g.sizes, 2), strides, g.dtype.to_real(), g.device), 2 * t._offset
    )


def walk(target: Tensor, *sources: Any) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The fewest dimensions in which all operands can be walked together: their sizes, and each
    operand's strides in elements. Neighbouring dimensions that lie one behind the other in all
    operands are merged into one.
    """
    shape = tuple(target.shape)
    rows = [broadcast_strides(t.shape, t.stride(), shape) for t in (target, *sources)]
    sizes, strides = coalesce(shape, rows, memory_order(shape, rows))
    return (sizes, strides) if sizes else ((1,), [(1,)] * len(rows))


def _same_order(a: Tensor, b: Tensor) -> bool:
    """Whether the two have the same shape and strides, without gaps: then one run of bytes can be
    copied.
    """
    g, h = a._geometry, b._geometry
    if g.sizes != h.sizes:
        return False
    if g.is_contiguous and h.is_contiguous:
        return True
    return g.strides == h.strides and is_non_overlapping_and_dense(g.sizes, g.strides)
