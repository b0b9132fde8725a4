"""Reading and writing by index tensors and masks (`aten/src/ATen/native/cuda/IndexKernel.cu`,
`Indexing.cu`).

`AdvancedIndex` decides which dimensions are indexed, and by what. From that follow the `offsets`:
how far each combination of indices leads into a tensor. The kernel, not the host, detects an index
out of range: you get "device-side assert triggered" at the next call that waits for the device.

If two indices are the same, `index_put_` leaves one of the values there; which one is left to
chance. With `accumulate` it adds all of them, with atomics: sums of floats may differ in the last
digits from run to run.

How the real one differs: with `accumulate=True` it sorts the indices first and gives each position
to one warp, so that the result is the same every time, and slower.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_strides, coalesce, memory_order
from internals.aten.native.advanced_index import AdvancedIndex
from internals.core import dtype as dt
from internals.core.geometry import contiguous_strides
from internals.core.scalar import checked
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import indexing as kernels
from ..launch import launch_1d
from .accumulating import add_atomically

if TYPE_CHECKING:
    from internals.cuda.language import Kernel

Walk = tuple[tuple[int, ...], list[tuple[int, ...]]]


def index(out: Any, wanted: AdvancedIndex) -> None:
    """out = wanted.source[indices]."""
    _walked(kernels.read, wanted, wanted.source, out, reads=True)


def put(self: Tensor, wanted: AdvancedIndex, values: Tensor, accumulate: bool) -> None:
    """`self[indices] = values`, or with `accumulate` `+=`, which adds once for each occurrence of
    an index.
    """
    if accumulate and self.is_complex():
        raise NoKernel
    if accumulate:
        add_atomically(self, lambda wide, T: _walked(kernels.add.bind(T=T), wanted, wide, values))
    else:
        _walked(kernels.write, wanted, self, values)


def fill_masked(self: Tensor, first: int, mask: Tensor, value: Tensor) -> None:
    """`self[mask] = value`, with the mask over the dimensions from `first` on. With a single value
    this is elementwise: the true elements need not be counted, so the host does not wait.
    """
    mask = (
        ops._to_copy(mask, None, None, self.device, None, False, None)
        if mask.device is not self.device
        else mask
    )
    # the mask is broadcast over the dimensions before `first` and over those behind it
    trailing = (1,) * (self.dim() - first - mask.dim())
    lifted = ops.view(mask.contiguous(), (*mask.shape, *trailing))
    if value.dtype is self.dtype:
        ops.masked_fill__Tensor(self, lifted, ops.reshape(value, ()))
    else:
        ops.masked_fill__Scalar(self, lifted, checked(ops._local_scalar_dense(value), self.dtype))


def _walked(
    kernel: Kernel, wanted: AdvancedIndex, target: Tensor, other: Tensor, reads: bool = False
) -> None:
    """Runs `kernel` over the indexed elements of `target` and the elements of `other`, which is the
    first argument of a kernel that reads.
    """
    n = prod(wanted.shape)
    if not n:
        return
    sizes, (strides, other_strides, table_strides) = walk(wanted, target, other)
    arrays, steps = (flat(target), flat(other)), (strides, other_strides)
    if reads:
        arrays, steps = arrays[::-1], steps[::-1]
    launch_1d(kernel, n, *arrays, flat(offsets(wanted, target)), n, sizes, *steps, table_strides)


def offsets(wanted: AdvancedIndex, target: Tensor) -> Any:
    """The offset in `target`, which has the sizes of the source, that each combination of indices
    adds, in elements: int64 of shape `index_shape`.
    """
    table = ops.zero_(empty_contiguous(wanted.index_shape, dt.int64, target.device))
    n, sizes = table.numel(), tuple(wanted.index_shape) or (1,)
    for d, index in zip(wanted.dims, wanted.arrays):
        strides = broadcast_strides(index.shape, index.stride(), wanted.index_shape) or (1,)
        extent, step = target.shape[d], target.stride(d)
        launch_1d(kernels.add_index, n, flat(table), flat(index), n, sizes, strides, extent, step)
    return table


def walk(wanted: AdvancedIndex, target: Tensor, other: Tensor) -> Walk:
    """The fewest dimensions in which the result can be walked: their sizes, and the strides of
    `target`, which is indexed, of `other` and of `offsets`.
    """
    rest = [s for d, s in enumerate(target.stride()) if d not in wanted.dims]
    # the result is (*before, *index_shape, *after): the target moves along the outer two, the table
    # of offsets along the middle
    before, after = rest[: wanted.place], rest[wanted.place :]
    own = (*before, *(0,) * len(wanted.index_shape), *after)
    table = (*(0,) * len(before), *contiguous_strides(wanted.index_shape), *(0,) * len(after))
    rows = [own, broadcast_strides(other.shape, other.stride(), wanted.shape), table]
    sizes, strides = coalesce(wanted.shape, rows, memory_order(wanted.shape, [rows[1], rows[0]]))
    return (sizes, strides) if sizes else ((1,), [(0,), (0,), (0,)])
