"""Reading and writing by index tensors and masks (`aten/src/ATen/native/cuda/IndexKernel.cu`, `Indexing.cu`).

An index out of range is found by the kernel, not by the host: it ends in "device-side assert triggered", when somebody next
waits for the device. Where two indices are the same, `index_put_` leaves one of the values there, any of them; with `accumulate`
it adds all, with atomics: sums of floats may differ in the last digits from run to run.

How the real one differs: with `accumulate=True` it sorts the indices first and gives each place to one warp, so that the result
is the same every time, and slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.indexing import (
    check_some,
    check_sources,
    check_target,
    check_values,
    index_output,
    single_mask,
    warn_if_expanded,
)
from internals.core import dtype as dt
from internals.core.scalar import checked
from internals.core.tensor_impl import TensorImpl

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import indexing as kernels
from ..launch import launch_1d
from .accumulating import ATOMIC, add_atomically
from .device_index import DeviceIndex


def index(self: TensorImpl, indices: Sequence[TensorImpl | None], out: Any = None) -> Any:
    """`self[indices]`, copied. Raises IndexError for shapes that do not fit."""
    check_some(indices)
    wanted = DeviceIndex(self, indices)
    out = index_output(wanted, out)
    n = out.numel()
    if n:
        sizes, (source_strides, out_strides, offset_strides) = wanted.walk(self, out)
        arrays = (flat(out), flat(self), flat(wanted.offsets(self)))
        launch_1d(kernels.read, n, *arrays, n, sizes, out_strides, source_strides, offset_strides)
    return out


def index_put_(
    self: TensorImpl, indices: Sequence[TensorImpl | None], values: TensorImpl, accumulate: bool = False
) -> Any:
    """`self[indices] = values`, or `+=` with `accumulate`, which counts repeated indices as often as they occur.

    Raises IndexError as `index` does, RuntimeError when `values` has another dtype or does not broadcast.
    """
    return _index_put_impl_(self, indices, values, accumulate, False)


def _index_put_impl_(
    self: TensorImpl,
    indices: Sequence[TensorImpl | None],
    values: TensorImpl,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Any:
    check_target(self, indices)
    warn_if_expanded(self, "index_put_", "tensor[indices] = tensor")
    masked = None if accumulate or values.numel() != 1 else single_mask(self, indices)
    if masked is not None:
        return _fill_masked(self, *masked, values)
    if values.device is not self.device:  # one number, which `device_check` lets through
        values = ops._to_copy(values, None, None, self.device, None, False, None)
    check_sources(self, indices, values)
    if accumulate and self.is_complex():
        return on_cpu(ops._index_put_impl__op, self, indices, values, accumulate, unsafe)
    wanted = DeviceIndex(self, indices)
    check_values(wanted, values)
    if not np.prod(wanted.shape):
        return self
    if accumulate:
        add_atomically(self, lambda wide, T: _write(wanted, wide, values, kernels.add.bind(T=T)))
    else:
        _write(wanted, self, values, kernels.write)
    return self


def index_put(
    self: TensorImpl, indices: Sequence[TensorImpl | None], values: TensorImpl, accumulate: bool = False
) -> Any:
    """`index_put_` on a copy."""
    return _index_put_impl_(ops.clone(self, None), indices, values, accumulate)


def _fill_masked(self: Any, first: int, mask: Any, value: Any) -> Any:
    """One value where a mask says so: an elementwise operation, for which nobody has to count."""
    warn_if_expanded(self, "masked_fill_", "tensor[mask] = scalar")
    mask = ops._to_copy(mask, None, None, self.device, None, False, None) if mask.device is not self.device else mask
    trailing = (1,) * (self.dim() - first - mask.dim())
    number = checked(ops._local_scalar_dense(value), self.dtype) if value.dtype is not self.dtype else None
    lifted = ops.view(mask.contiguous(), (*mask.shape, *trailing))
    if number is not None:
        return ops.masked_fill__Scalar(self, lifted, number)
    return ops.masked_fill__Tensor(self, lifted, ops.reshape(value, ()))


def _write(wanted: DeviceIndex, target: Any, values: Any, kernel: Any) -> None:
    n = int(np.prod(wanted.shape))
    sizes, (target_strides, value_strides, offset_strides) = wanted.walk(target, values)
    arrays = (flat(target), flat(values), flat(wanted.offsets(target)))
    launch_1d(kernel, n, *arrays, n, sizes, target_strides, value_strides, offset_strides)


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    two = (int, int)
    found: list[tuple[Any, tuple[Any, ...]]] = [
        (kernels.add_index, ("int64[:]", f"{name}[:]", int, two, two, int, int)) for name in ("int32", "int64")
    ]
    for kind in dt.ALL:
        array = f"{kind.name}[:]"
        for kernel in (kernels.read, kernels.write):
            found.append((kernel, (array, array, "int64[:]", int, two, two, two, two)))
        if kind in ATOMIC:
            found.append((kernels.add.bind(T=kind.np.type), (array, array, "int64[:]", int, two, two, two, two)))
    return found
