"""Factories, which make tensors from sizes and a value (`aten/src/ATen/native/TensorFactories.cpp`,
`RangeFactories.cpp`).

`empty` only takes memory from the device's allocator; all others are `empty` and a fill. Each
factory takes the four tensor options at its end: `dtype` (the default dtype when None), `layout`,
`device` and `pin_memory`. Those of `*_like` and `new_*` default to those of a tensor.

How the real one differs: PyTorch's factories call each other through the dispatcher (`zeros` is
`empty` and then `zero_`), so that a backend need only provide `empty`; here they fill the memory
themselves, and tensors on `meta` have none to fill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.aten.dtype_checks import TYPE_META_NAME
from internals.aten.layout import strides_for, strides_like
from internals.aten.on_device import on_device
from internals.aten.writing import range_out
from internals.core import device as devices, dtype as dt
from internals.core.backend_hooks import hooks
from internals.core.device import CPU, device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.formats import layout, memory_format
from internals.core.geometry import Geometry, contiguous_geometry, geometry
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Tensor, array, empty as allocate, empty_pinned


def empty(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    memory_format: memory_format | None = None,
) -> Any:
    """A tensor of shape `size` in uninitialised memory. Raises RuntimeError for a negative size."""
    check_sizes(size)
    where, result_dtype = devices.resolve(device), dtype or dt.get_default_dtype()
    if memory_format is None:
        return _allocate(contiguous_geometry(size, result_dtype, where), layout, pin_memory)
    return _allocate(
        geometry(size, strides_for(size, memory_format), result_dtype, where), layout, pin_memory
    )


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """A tensor with the given sizes and strides in uninitialised memory. Raises RuntimeError for a
    negative size, and unless there are as many strides as sizes.
    """
    check_sizes(size)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(stride)})"
        )
    g = geometry(size, stride, dtype or dt.get_default_dtype(), devices.resolve(device))
    return _allocate(g, layout, pin_memory)


def empty_like(
    self: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    memory_format: memory_format | None,
) -> Any:
    """A tensor of the shape of `self` in uninitialised memory, in the memory order of `self`
    (`preserve_format`) unless `memory_format` names another.
    """
    if (
        dtype is layout is device is pin_memory is memory_format is None
        and (g := self._geometry.without_grad).plain
    ):
        return allocate(g)
    strides = strides_like(self, memory_format)
    return _allocate(
        geometry(self.shape, strides, dtype or self.dtype, _device(device, self)),
        layout,
        pin_memory,
    )


def new_empty(
    self: Tensor,
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """`empty` with the dtype and device of `self` where none are given."""
    return empty(size, dtype or self.dtype, layout, _device(device, self), pin_memory)


def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """`empty_strided` with the dtype and device of `self` where none are given."""
    return empty_strided(
        size, stride, dtype or self.dtype, layout, _device(device, self), pin_memory
    )


def zeros(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """A tensor of zeros. Raises RuntimeError for a negative size, with its own message."""
    if any(n < 0 for n in size):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return _filled(empty(size, dtype, layout, device, pin_memory), 0)


def ones(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """A tensor of ones. Raises RuntimeError for a negative size."""
    return _filled(empty(size, dtype, layout, device, pin_memory), 1)


def full(
    size: Sequence[int],
    fill_value: Scalar,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """A tensor with `fill_value` everywhere, whose type gives the dtype if there is no `dtype`.
    Raises RuntimeError if the value does not fit the dtype.
    """
    return _filled(
        empty(size, dtype or dt.of_number(fill_value), layout, device, pin_memory), fill_value
    )


def zeros_like(
    self: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    memory_format: memory_format | None,
) -> Any:
    """Zeros in the shape of `self`."""
    return _filled(empty_like(self, dtype, layout, device, pin_memory, memory_format), 0)


def ones_like(
    self: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    memory_format: memory_format | None,
) -> Any:
    """Ones in the shape of `self`."""
    return _filled(empty_like(self, dtype, layout, device, pin_memory, memory_format), 1)


def full_like(
    self: Tensor,
    fill_value: Scalar,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    memory_format: memory_format | None,
) -> Any:
    """`fill_value` in the shape of `self`. Raises RuntimeError if it does not fit the dtype."""
    return _filled(empty_like(self, dtype, layout, device, pin_memory, memory_format), fill_value)


def new_zeros(
    self: Tensor,
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """Zeros of shape `size`, with the dtype and device of `self` where none are given."""
    return _filled(new_empty(self, size, dtype, layout, device, pin_memory), 0)


def new_ones(
    self: Tensor,
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """Ones of shape `size`, with the dtype and device of `self` where none are given."""
    return _filled(new_empty(self, size, dtype, layout, device, pin_memory), 1)


def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: object,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """`fill_value` in shape `size`, with the dtype and device of `self` where none are given."""
    return _filled(new_empty(self, size, dtype, layout, device, pin_memory), fill_value)


def scalar_tensor(
    s: Scalar,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """A number as a 0-d tensor of the default dtype, whatever its type; `tensor(s)` uses the type
    of the number.
    """
    return _filled(empty((), dtype, layout, device, pin_memory), s)


def eye(
    n: int,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """The (n, n) identity matrix. Raises RuntimeError for a negative n."""
    return eye_m(n, n, dtype, layout, device, pin_memory)


def eye_m(
    n: int,
    m: int,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """An (n, m) matrix with ones on the diagonal, zeros elsewhere. Raises RuntimeError for a
    negative size.
    """
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    t = _filled(empty((n, m), dtype, layout, device, pin_memory), 0)
    if t.device is CPU:
        np.fill_diagonal(array(t), 1) if n and m else None
    elif t.device is not devices.META:
        write_uncounted(ops.fill__Scalar_op, t.diagonal(), 1)
    return t


def arange(
    end: Scalar,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """0, 1, 2, ... up to `end`, which is not included. Raises as `arange_start_step`."""
    return arange_start_step(0, end, 1, dtype, layout, device, pin_memory, out)


def arange_start(
    start: Scalar,
    end: Scalar,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """start, start + 1, ... up to `end`, which is not included. Raises as `arange_start_step`."""
    return arange_start_step(start, end, 1, dtype, layout, device, pin_memory)


def arange_start_step(
    start: Any,
    end: Any,
    step: Any,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: Any,
    out: Tensor | None = None,
) -> Any:
    """start, start + step, ... up to `end`, which is not included. The dtype is int64 if all three
    are integers, else the default dtype. An `out` with as many elements keeps its shape.

    Raises RuntimeError for a step of 0 or of the wrong sign, and for infinite bounds, ValueError
    for a step that int64 rounds to 0, NotImplementedError for bool and complex dtypes.
    """
    if out is not None:
        return range_out(
            out, arange_start_step(start, end, step, dtype or out.dtype, layout, device, pin_memory)
        )
    numbers = (start, end, step)
    result_dtype = dtype or (
        dt.int64 if all(isinstance(x, int) for x in numbers) else dt.get_default_dtype()
    )
    if any(isinstance(x, complex) for x in numbers):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if result_dtype.category not in (dt.INTEGRAL, dt.FLOATING):
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{SCALAR_TYPE_NAME[result_dtype]}'"
        )
    _check_range(*numbers)
    if result_dtype is dt.int64:
        low, high, stride = int(start), int(end), int(step) if math.isfinite(step) else 0
        if stride == 0:
            raise ValueError("step must be nonzero")
        count = -((low - high) // stride)  # (high - low) / stride, rounded up
    else:
        count = math.ceil((float(end) - float(start)) / float(step))
    t = empty((count,), result_dtype, layout, device, pin_memory)
    if not count or t.device is devices.META:
        return t
    if t.device is CPU:
        with np.errstate(all="ignore"):
            if result_dtype.category == dt.INTEGRAL:
                first, stride = checked(start, dt.int64), checked(step, dt.int64)
                array(t)[...] = (np.arange(count, dtype=np.int64) * stride + first).astype(
                    result_dtype.np
                )
            else:
                array(t)[...] = np.arange(count, dtype=np.float64) * float(step) + float(start)
        return t
    return on_device("ranges.arange", t, start, step)


def linspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """`steps` values from `start` to `end`, both included, evenly spaced. Raises RuntimeError for a
    negative `steps`.

    The second half is counted back from `end`, so that the last value is exactly `end`. An `out`
    with as many elements keeps its shape.
    """
    if out is not None:
        values = linspace(start, end, steps, dtype or out.dtype, layout, device, pin_memory)
        return range_out(out, values, warns=False)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    result_dtype = range_dtype("linspace", start, end, dtype)
    if result_dtype.category == dt.BOOL:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    t = empty((steps,), result_dtype, layout, device, pin_memory)
    if t.device is devices.META or not steps:
        return t
    if t.device is not CPU and result_dtype.is_complex:
        return t.copy_(linspace(start, end, steps, result_dtype, layout, CPU, False))
    a, b = checked(start, result_dtype), checked(end, result_dtype)
    if t.device is not CPU:
        return on_device("ranges.linspace", t, a, b)
    if steps == 1:
        array(t)[...] = a
        return t
    # integers are computed in double precision, half precision in single
    compute = np.dtype(np.float64) if result_dtype.category == dt.INTEGRAL else result_dtype.np
    if result_dtype is dt.float16:
        compute = np.dtype(np.float32)
    with np.errstate(all="ignore"):
        low, high = compute.type(a), compute.type(b)
        step = (high - low) / compute.type(steps - 1)
        i = np.arange(steps)
        from_start = low + step * i.astype(compute)
        from_end = high - step * (steps - 1 - i).astype(compute)
        array(t)[...] = np.where(i < steps // 2, from_start, from_end).astype(result_dtype.np)
    return t


def range_dtype(op: str, start: Any, end: Any, dtype: dtype | None) -> Any:
    """The dtype of a range: `dtype`, or the default dtype, complex if one of the ends is. Raises
    RuntimeError for complex ends with a `dtype` that is not complex.
    """
    default = dt.get_default_dtype()
    if not (isinstance(start, complex) or isinstance(end, complex)):
        return dtype or default
    if dtype is not None and not dtype.is_complex:
        inferred = TYPE_META_NAME[default.to_complex()]
        raise RuntimeError(
            f"torch.{op}(): inferred dtype {inferred} can't be safely cast to passed dtype "
            f"{SCALAR_TYPE_NAME[dtype]}"
        )
    return dtype or default.to_complex()


def check_sizes(sizes: Sequence[int]) -> None:
    """Raises RuntimeError for a negative size."""
    for n in sizes:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(sizes)}"
            )


def _filled(t: Any, value: object) -> Any:
    """`t` with `value` in every element. Raises RuntimeError if that does not fit the dtype."""
    number = checked(value, t.dtype)
    if t.device is CPU:
        array(t).fill(number)
    elif t.device is not devices.META:
        write_uncounted(ops.fill__Scalar_op, t, value)
    return t


def _device(given: Any, t: Tensor) -> Any:
    """The given device, or that of `t` for None."""
    return t.device if given is None else devices.resolve(given)


def _allocate(g: Geometry, layout: layout | None, pin_memory: int | None) -> Any:
    """A tensor of the geometry `g`, in page-locked memory if `pin_memory`. Raises RuntimeError for
    layouts that are not strided, and where memory cannot be pinned.
    """
    if layout is not None and layout.name != "strided":
        raise RuntimeError(f"unsupported layout {layout!r}; every tensor here is strided")
    if not pin_memory or g.device is devices.META:
        return allocate(g)
    if g.device is not CPU:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    check_can_pin()
    return empty_pinned(g)


def check_can_pin() -> None:
    """Raises RuntimeError where there is no GPU, for which memory could be page-locked."""
    if not hooks("cuda").device_count():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def _check_range(start: Any, end: float, step: int) -> None:
    """Raises RuntimeError for a step of 0 or of the wrong sign, and for infinite bounds."""
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if not ((step > 0 and end >= start) or (step < 0 and end <= start)):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
