"""Less common factories: `logspace`, `range`, ranges between 0-d tensors, `empty_permuted`
(`RangeFactories.cpp`).

`arange` and `linspace` are in `factories.py`.

How the real one differs: its `logspace` computes each power in the dtype of the result, here they
are computed in double precision (complex numbers in complex double) and rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.writing import range_out
from internals.core import device as devices, dtype as dt
from internals.core.device import CPU, META, device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Tensor, TensorImpl, array
from internals.core.warn import warn

from .factories import arange_start_step, empty, linspace, range_dtype

DEPRECATED = (
    "torch.range is deprecated and will be removed in a future release because its behavior is "
    "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
    "[start, end)."
)


def logspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    base: float = 10.0,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
    out: Tensor | None = None,
) -> Any:
    """`base` to the powers `linspace(start, end, steps)`. Raises RuntimeError for a negative
    `steps`.
    """
    if out is not None:
        values = logspace(start, end, steps, base, dtype or out.dtype, layout, device, pin_memory)
        return range_out(out, values, warns=False)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = range_dtype("logspace", start, end, dtype)
    if kind.category == dt.BOOL and steps > 1:
        raise not_implemented("logspace_cpu", kind)
    t = empty((steps,), kind, layout, device, pin_memory)
    if t.device is META or not steps:
        return t
    exact = dt.complex128 if kind.is_complex else dt.float64
    a, b = (checked(x, kind).item() for x in (start, end))
    powers = linspace(a, b, steps, exact, None, CPU, None)
    with np.errstate(all="ignore"):
        values = np.power(exact.np.type(base), array(powers))
        if t.device is CPU:
            array(t)[...] = values.astype(kind.np)
            return t
    # another device: numpy computes the numbers, and they are copied there
    on_cpu = empty((steps,), kind, None, CPU, None)
    array(on_cpu)[...] = values.astype(kind.np)
    return ops.copy_(t, on_cpu, False)


def range_step(
    start: Any, end: Any, step: Any = 1, dtype: dtype | None = None, layout: layout | None = None,
    device: device | None = None, pin_memory: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """Numbers from `start` to `end`, which is included, in steps of `step`; the default dtype is
    always the floating one. Warns, as it is deprecated.
    """
    if out is not None:
        values = range_step(start, end, step, dtype or out.dtype, layout, device, pin_memory)
        return range_out(out, values, warns=False)
    warn(DEPRECATED)
    kind = dtype or dt.get_default_dtype()
    check_dtype("range_cpu", kind, dt.INTEGRAL, dt.FLOATING)
    if kind.category == dt.INTEGRAL:
        start, end, step = (checked(x, dt.int64).item() for x in (start, end, step))
    if not start == end:
        # on the meta device nothing is computed: this runs arange's checks of the three numbers
        arange_start_step(start, end, step, dt.float64, None, META, None)
    elif not step:
        raise RuntimeError("step must be nonzero")
    count = int((float(end) - float(start)) / float(step)) + 1
    t = empty((count,), kind, layout, CPU, pin_memory)
    with np.errstate(all="ignore"):
        array(t)[...] = np.arange(count) * checked(step, kind).item() + checked(start, kind).item()
    return t if device is None else t.to(devices.resolve(device))


def range(
    start: Scalar,
    end: Scalar,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Any:
    """`range_step` in steps of 1."""
    return range_step(start, end, 1, dtype, layout, device, pin_memory)


def linspace_of_tensors(
    start: Scalar | Tensor,
    end: Scalar | Tensor,
    steps: int,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
    out: Tensor | None = None,
) -> Any:
    """`linspace` where `start`, `end` or both are 0-d tensors. Raises RuntimeError for other
    tensors.
    """
    a, b = _number(start, "linspace", "start"), _number(end, "linspace", "end")
    return linspace(a, b, steps, dtype, layout, device, pin_memory, out)


def logspace_of_tensors(
    start: Scalar | Tensor,
    end: Scalar | Tensor,
    steps: int,
    base: float = 10.0,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
    out: Tensor | None = None,
) -> Any:
    """`logspace` where `start`, `end` or both are 0-d tensors. Raises RuntimeError for other
    tensors.
    """
    a, b = _number(start, "logspace", "start"), _number(end, "logspace", "end")
    return logspace(a, b, steps, base, dtype, layout, device, pin_memory, out)


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Any:
    """An uninitialised tensor of `size` whose dimensions lie in memory in the order
    `physical_layout`, the outermost first: (0, 2, 3, 1) is channels_last.

    Raises RuntimeError unless `physical_layout` names every dimension once.
    """
    ndim = len(size)
    if len(physical_layout) != ndim:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {ndim} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, d in enumerate(physical_layout):
        if not 0 <= d < ndim:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {ndim - 1}, but got {d} at "
                f"index {i}).  NB: negative dims not currently supported; file an issue if you "
                "want it."
            )
        if d in physical_layout[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    # a contiguous tensor of the permuted sizes has the strides, which are put back in order
    in_memory = empty([size[d] for d in physical_layout], dtype, layout, device, pin_memory)
    strides = dict(zip(physical_layout, in_memory.stride()))
    return ops.as_strided(in_memory, list(size), [strides[d] for d in sorted(strides)], None)


def _number(value: object, op: str, name: str) -> Any:
    """A number as it is, or the element of a 0-d tensor. RuntimeError for other tensors."""
    if not isinstance(value, TensorImpl):
        return value
    if value.dim():
        raise RuntimeError(
            f"{op} only supports 0-dimensional start and end tensors, but got {name} with "
            f"{value.dim()} dimension(s)."
        )
    return value.item()  # type: ignore[attr-defined]
