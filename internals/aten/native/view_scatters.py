"""Functions that write to a view of a copy: `select_scatter`, `slice_scatter`, `diagonal_scatter`,
`as_strided_scatter` (`TensorShape.cpp`).

Each returns a new tensor with the result that `x[0] = src` would leave in `x`: it takes the view of
a copy, writes `src` into it, and returns the copy. So the gradient of `self` is 0 where `src` was
written, and the gradient of `src` is the same view of the result's. The copy has the strides and
the offset of `self`, so that `as_strided_scatter` finds the same elements in it.

How the real one differs: there these functions serve functionalisation, which turns programs that
write to views into programs that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.aten.overlap import check_no_internal_overlap
from internals.core.tensor_impl import Tensor

from . import views


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Any:
    """A copy of `self` with `src` at position `index` of `dim`. Raises RuntimeError unless `src`
    has the shape of the slice.
    """
    result = _copy(self)
    return _write(result, views.select(result, dim, index), src)


def slice_scatter(
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """A copy of `self` with `src` at every `step`-th position of `dim` from `start` up to `end`.
    Raises RuntimeError unless `src` has the shape of the slice.
    """
    result = _copy(self)
    return _write(result, views.slice(result, dim, start, end, step), src)


def diagonal_scatter(
    self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """A copy of `self` with `src` on a diagonal of `dim1` and `dim2`. Raises RuntimeError unless
    `src` has the shape of the diagonal.
    """
    result = _copy(self)
    return _write(result, views.diagonal(result, offset, dim1, dim2), src)


def as_strided_scatter(
    self: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """A copy of `self` with `src` at the elements that `as_strided` shows. Raises RuntimeError
    unless `src` has the shape `size`, and as `as_strided` does.
    """
    result = _copy(self)
    return _write(result, views.as_strided(result, size, stride, storage_offset), src)


def _copy(self: Tensor) -> Any:
    """A copy of the whole storage of `self`, with the sizes, strides and offset of `self`; where
    elements of `self` share memory, which cannot be written to, an ordinary copy.
    """
    try:
        check_no_internal_overlap(self)
    except RuntimeError:
        return write_uncounted(ops.clone_op, self, None)
    # the storage as a vector, so that also elements which `self` does not show are copied
    whole = views.as_strided(self, (self._storage.nbytes() // self.itemsize,), (1,), 0)
    memory = write_uncounted(ops.clone_op, whole, None)
    return views.as_strided(memory, self.shape, self.stride(), self._offset)


def _write(result: Tensor, view: Tensor, src: Tensor) -> Any:
    """`result`, after `src` was copied into its `view`. RuntimeError for two shapes."""
    if view.shape != src.shape:
        sizes = f"src size = {list(src.shape)}, slice size = {list(view.shape)}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {sizes}")
    write_uncounted(ops.copy__op, view, src, False)
    return result
