"""What a list of index tensors asks for, when they lie on the device (`aten/src/ATen/native/cuda/IndexKernel.cu`).

The decisions are those of `AdvancedIndex`; only what an index is differs. A mask is turned into positions, for which the host has
to wait, since it must know how many there are. What comes of it all is `offsets`: how far each combination of indices leads into
a tensor.

How the real one differs: see `kernels/indexing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_strides, coalesce, memory_order
from internals.aten.native.advanced_index import AdvancedIndex
from internals.core import dtype as dt
from internals.core.geometry import contiguous_strides
from internals.core.tensor_impl import TensorImpl, empty_contiguous

from ..device_array import flat
from ..kernels import indexing as kernels
from ..launch import launch_1d
from .compaction import where

Walk = tuple[tuple[int, ...], list[tuple[int, ...]]]


class DeviceIndex(AdvancedIndex):
    """`AdvancedIndex` whose indices are tensors on the device of `source`; those of the CPU are moved there."""

    def integers_of(self, index: TensorImpl) -> Any:
        return self._here(index)

    def positions_of(self, mask: TensorImpl) -> Sequence[Any]:
        return where(self._here(mask))

    def strides_of(self, index: Any) -> Sequence[int]:
        strides: Sequence[int] = index.stride()
        return strides

    def is_contiguous(self, index: Any) -> bool:
        return bool(index.is_contiguous())

    def offsets(self, target: Any) -> Any:
        """How far into `target`, which has the sizes of the source, each combination of indices leads: shape `index_shape`."""
        table = ops.zero_(empty_contiguous(self.index_shape, dt.int64, target.device))
        n, sizes = table.numel(), tuple(self.index_shape) or (1,)
        for d, index in zip(self.dims, self.arrays):
            strides = broadcast_strides(index.shape, index.stride(), self.index_shape) or (1,)
            extent, step = target.shape[d], target.stride(d)
            launch_1d(kernels.add_index, n, flat(table), flat(index), n, sizes, strides, extent, step)
        return table

    def walk(self, target: Any, other: Any) -> Walk:
        """The fewest dimensions for walking the result: strides of `target`, which is indexed, of `other`, and of `offsets`."""
        rest = [s for d, s in enumerate(target.stride()) if d not in self.dims]
        before, after = rest[: self.place], rest[self.place :]
        own = (*before, *(0,) * len(self.index_shape), *after)
        table = (*(0,) * len(before), *contiguous_strides(self.index_shape), *(0,) * len(after))
        rows = [own, broadcast_strides(other.shape, other.stride(), self.shape), table]
        sizes, strides = coalesce(self.shape, rows, memory_order(self.shape, [rows[1], rows[0]]))
        return (sizes, strides) if sizes else ((1,), [(0,), (0,), (0,)])

    def _here(self, index: TensorImpl) -> Any:
        here = self.source.device
        return index if index.device is here else ops._to_copy(index, None, None, here, None, False, None)
