"""What a list of index tensors asks for (`AdvancedIndex` in `aten/src/ATen/native/TensorAdvancedIndexing.h`, `IndexingUtils.h`).

`x.index([i, None, j])` has one entry a dimension: an index tensor, or None for "all of it". Before an element is read or
written, somebody has to decide

- what a mask means: the positions where it is true, one integer tensor for each dimension of the mask;
- what all index tensors broadcast to: that shape replaces the dimensions they index;
- where it goes: in their place when the indexed dimensions are neighbours, else in front of all others;
- whether every index is in range; negative ones count from the end.

`AdvancedIndex` makes these decisions in its constructor. `key` is then what numpy indexes with: slices and non-negative arrays.

How the real one differs: it ends with byte strides and a loop that adds up `index * stride`; numpy has that loop inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.tensor_iterator import broadcast_strides, memory_order
from internals.core import dtype as dt
from internals.core.geometry import contiguous_strides
from internals.core.tensor_impl import TensorImpl, array

MASKS = (dt.bool_, dt.uint8)


class AdvancedIndex:
    """The decisions for indexing `source` with `indices`. Raises IndexError when they do not fit.

    Attributes: `index_shape`, what the index tensors broadcast to; `dims`, the dimensions they index; `adjacent`; `shape` of the
    result; `key` for numpy.
    """

    def __init__(self, source: TensorImpl, indices: Sequence[TensorImpl | None]) -> None:
        self.source = source
        sizes = source.shape
        if len(indices) > len(sizes):
            raise IndexError(f"too many indices for tensor of dimension {len(sizes)} (got {len(indices)})")
        arrays = _integer_indices(sizes, indices)
        self.dims = [d for d, a in enumerate(arrays) if a is not None]
        given = [a for a in arrays if a is not None]
        try:
            self.index_shape = np.broadcast_shapes(*[a.shape for a in given])
        except ValueError:
            shapes = ", ".join(str(list(a.shape)) for a in given)
            raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
        self.adjacent = all(b - a == 1 for a, b in zip(self.dims, self.dims[1:]))
        rest = [n for d, n in enumerate(sizes) if d not in self.dims]
        self.place = self.dims[0] if self.adjacent and self.dims else 0
        self.shape = (*rest[: self.place], *self.index_shape, *rest[self.place :])
        self._check_range(arrays, sizes)
        self._strides = [a.strides for a in given]
        self.key = tuple(slice(None) if a is None else np.where(a < 0, a + n, a) for a, n in zip(arrays, sizes))

    def strides(self) -> tuple[int, ...]:
        """Strides of a new result: the order in memory of the source's dimensions, then of the index tensors', is kept."""
        sizes, strides = self.source.shape, self.source.stride()
        rest = [s for d, s in enumerate(strides) if d not in self.dims]
        extra = len(self.shape) - self.place - len(self.index_shape)
        walked = [(*rest[: self.place], *(0,) * len(self.index_shape), *rest[self.place :])]
        for d, s in zip(self.dims, self._strides):
            a = self.key[d]
            walked.append((*(0,) * self.place, *broadcast_strides(a.shape, s, self.index_shape), *(0,) * extra))
        one = [tuple(0 if n == 1 else s for n, s in zip(self.shape, row)) for row in walked]
        result, step = [0] * len(self.shape), 1
        for d in reversed(memory_order(self.shape, one)):
            result[d] = step
            step *= max(self.shape[d], 1)
        return tuple(result) if sizes else contiguous_strides(self.shape)

    def _check_range(self, arrays: list[Any], sizes: Sequence[int]) -> None:
        indexed = [sizes[d] for d in self.dims]
        if 0 in indexed and 0 not in self.index_shape:
            raise IndexError("index is out of bounds for dimension with size 0")
        if 0 in self.shape:
            return
        for position, (d, n) in enumerate(zip(self.dims, indexed)):
            a = arrays[d]
            if a.min() < -n or a.max() >= n:
                wrong = a[(a < -n) | (a >= n)].flat[0]
                raise IndexError(f"index {wrong} is out of bounds for dimension {position} with size {n}")


def _integer_indices(sizes: Sequence[int], indices: Sequence[TensorImpl | None]) -> list[Any]:
    """One integer array (or None) for each dimension: masks become the positions where they are true."""
    arrays: list[Any] = []
    for index in indices:
        if index is None:
            arrays.append(None)
        elif index.dtype in MASKS:
            if index.dtype is dt.uint8:
                warnings.warn(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                    UserWarning,
                    stacklevel=6,
                )
            check_mask(index, sizes, len(arrays))
            arrays += np.nonzero(np.atleast_1d(array(index)))
        elif index.dtype in (dt.int64, dt.int32):
            arrays.append(array(index))
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return arrays + [None] * (len(sizes) - len(arrays))


def check_mask(mask: TensorImpl, sizes: Sequence[int], first: int) -> None:
    """Raises IndexError unless the mask has the sizes of the dimensions it stands for, `first` and those after it."""
    if first + mask.dim() > len(sizes):
        raise IndexError(f"too many indices for tensor of dimension {len(sizes)} (got {first + mask.dim()})")
    for j, n in enumerate(mask.shape):
        if n != sizes[first + j]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {j} does not match the shape of the indexed tensor "
                f"{list(sizes)} at index {first + j}"
            )
