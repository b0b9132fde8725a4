"""The meaning of a list of index tensors (`AdvancedIndex` in
`aten/src/ATen/native/IndexingUtils.h`).

`x.index([i, None, j])` has one entry for each dimension: an index tensor, or None for "all of it".
Before an element is read or written, three things are decided:

- A mask becomes the positions where it is true: one integer tensor for each dimension of the mask.
- All index tensors are broadcast to one shape, which replaces the dimensions that they index.
- That shape stands in their place if the indexed dimensions are neighbours, else in front of all
  others.

`AdvancedIndex` makes these decisions in its constructor. Its `key` is the index for numpy, slices
and integer arrays. Negative indices count from the end; numpy raises for those out of range before
it reads or writes anything.

On a GPU the decisions are the same; index tensors stay where they are
(`internals/cuda/native/indexing.py`).

How the real one differs: it ends with byte strides and a loop that adds up `index * stride`; numpy
has that loop inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_strides, memory_order
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.geometry import contiguous_strides, view_strides, wrap_dim
from internals.core.tensor_impl import Array, Tensor, TensorImpl, array, snapshot
from internals.core.warn import warn

MASKS = (dt.bool_, dt.uint8)  # uint8 is how masks were written before bool existed


class AdvancedIndex:
    """The decisions for indexing `source` with `indices`. Raises IndexError when they do not fit.

    Attributes: `index_shape`, the common shape of the index tensors; `dims`, the dimensions they
    index; `adjacent`, whether these are neighbours; `place`, the dimension of the result where
    `index_shape` begins; `shape` of the result; `key` for numpy.
    """

    def __init__(self, source: Tensor, indices: Sequence[Tensor | None]) -> None:
        self.source = source
        sizes = tuple(source.shape)
        if len(indices) > len(sizes):
            raise IndexError(
                f"too many indices for tensor of dimension {len(sizes)} (got {len(indices)})"
            )
        arrays = self._integer_indices(sizes, indices)
        self.dims = [d for d, a in enumerate(arrays) if a is not None]
        self.arrays = [arrays[d] for d in self.dims]
        self.index_shape = _broadcast(self.arrays)
        self.adjacent = all(b - a == 1 for a, b in zip(self.dims, self.dims[1:]))
        # (A, B, C, D) indexed in B and C becomes (A, *index_shape, D); indexed in B and D, it
        # becomes (*index_shape, A, C)
        rest = [n for n, a in zip(sizes, arrays) if a is None]
        self.place = self.dims[0] if self.adjacent and self.dims else 0
        self.shape = (*rest[: self.place], *self.index_shape, *rest[self.place :])
        if 0 in (sizes[d] for d in self.dims) and 0 not in self.index_shape:
            raise IndexError("index is out of bounds for dimension with size 0")

    @cached_property
    def key(self) -> Any:
        """A slice or an index array for each dimension. The memory of a tensor is copied: numpy
        checks the range first, and another thread may write to the tensor before numpy reads it.
        """
        key: list[Any] = [slice(None)] * len(self.source.shape)
        for d, a in zip(self.dims, self.arrays):
            key[d] = a.copy("K") if d in self._tensors else a
        return tuple(key)

    def strides(self) -> tuple[int, ...]:
        """The strides of a new result, which keep the memory order of the source's dimensions, and
        then of the index tensors', as PyTorch's TensorIterator does.
        """
        strides = self.source.stride()
        if strides == contiguous_strides(self.source.shape) and all(
            a.ndim < 2 or _is_contiguous(a) for a in self.arrays
        ):
            return contiguous_strides(self.shape)
        rest = [s for d, s in enumerate(strides) if d not in self.dims]
        before, after = rest[: self.place], rest[self.place :]
        # Strides of each operand as seen from the result: those of the source are 0 in the
        # dimensions of `index_shape`; those of an index are 0 in all others.
        operands = [(*before, *(0,) * len(self.index_shape), *after)]
        aligned = (*(1,) * len(before), *self.index_shape, *(1,) * len(after))
        for a in self.arrays:
            index_strides = broadcast_strides(a.shape, _strides(a), self.index_shape)
            aligned_strides = view_strides(self.index_shape, index_strides, aligned) or (0,) * len(
                aligned
            )
            operands.append(broadcast_strides(aligned, aligned_strides, self.shape))
        # the fastest dimension gets stride 1, and each further one the product of the sizes so far
        result, step = [0] * len(self.shape), 1
        for d in reversed(memory_order(self.shape, operands)):
            result[d] = step
            step *= max(self.shape[d], 1)
        return tuple(result)

    def range_error(self) -> IndexError:
        """The error for the first element with an index out of range. As in PyTorch, the dimension
        that it names counts only those that are indexed.
        """
        errors = []
        for position, d in enumerate(self.dims):
            n, flat = self.source.shape[d], np.broadcast_to(self.key[d], self.index_shape).ravel()
            wrong = np.nonzero((flat < -n) | (flat >= n))[0]
            errors += [(wrong[0], position, flat[wrong[0]], n)] if wrong.size else []
        if not errors:
            return IndexError(
                "an index was out of bounds, and was then written to by another thread"
            )
        _, position, index, n = min(errors)
        return IndexError(f"index {index} is out of bounds for dimension {position} with size {n}")

    def _integer_indices(self, sizes: Sequence[int], indices: Sequence[Tensor | None]) -> list[Any]:
        """One integer array (or None) for each dimension: masks become the positions where they are
        true.
        """
        arrays: list[Any] = []
        self._tensors = set()  # the dimensions whose arrays are the memory of tensors
        for index in indices:
            if index is None:
                arrays.append(None)
            elif index.dtype in MASKS:
                if index.dtype is dt.uint8:
                    warn(
                        "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                        "torch.bool instead."
                    )
                check_mask(index, sizes, len(arrays))
                arrays += self._positions(index)
            elif index.dtype in (dt.int64, dt.int32):
                self._tensors.add(len(arrays))
                arrays.append(self._here(index))
            else:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return arrays + [None] * (len(sizes) - len(arrays))

    def _here(self, index: Tensor) -> Any:
        """`index` on the source's device: on the CPU an array, elsewhere a tensor."""
        here = self.source.device
        if here is CPU:
            return array(index)
        return (
            index
            if index.device is here
            else ops._to_copy(index, None, None, here, None, False, None)
        )

    def _positions(self, mask: Tensor) -> Sequence[Any]:
        """The positions where a mask is true: an index (count,) for each of its dimensions."""
        if self.source.device is CPU:
            return np.nonzero(np.atleast_1d(snapshot(mask)))
        positions: Sequence[Any] = ops.where(self._here(mask))
        return positions


def _strides(index: Any) -> Sequence[int]:
    """The strides of an index; those of an array count bytes, but only their order matters here."""
    strides: Sequence[int] = index.stride() if isinstance(index, TensorImpl) else index.strides
    return strides


def _is_contiguous(index: Tensor | Array) -> bool:
    """Whether an index, a tensor or an array, is contiguous."""
    return bool(
        index.is_contiguous() if isinstance(index, TensorImpl) else index.flags.c_contiguous
    )


def _broadcast(arrays: list[Any]) -> tuple[int, ...]:
    """The shape that all index tensors broadcast to. Raises IndexError if there is none."""
    if len(arrays) == 1:
        return tuple(arrays[0].shape)
    try:
        return np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def check_mask(mask: Tensor, sizes: Sequence[int], first: int) -> None:
    """Raises IndexError unless the mask has the sizes of the dimensions it indexes, `first` and
    those after it.
    """
    for j, n in enumerate(mask.shape):
        if n != sizes[wrap_dim(first + j, len(sizes))]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {j} does not match the shape "
                f"of the indexed tensor {list(sizes)} at index {first + j}"
            )
