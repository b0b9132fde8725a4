"""Writing to a view of a copy: `select_scatter`, `slice_scatter`, `diagonal_scatter`,
`as_strided_scatter` (`TensorShape.cpp`).

Each is what `x[0] = src` would have done to `x`, given back as a new tensor: take the view of a
copy, write `src` into it, return the copy. So its gradient is 0 where something was written, and
`src` finds its own by the same view. The copy has the strides of `self`, and its offset as well, so
that `as_strided_scatter` finds the same elements in it.

How the real one differs: these exist for functionalisation, which turns programs that write to
views into programs that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.aten.overlap import check_no_internal_overlap

from . import views

if TYPE_CHECKING:
    from internals._tensor import Tensor


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
    """A copy of `self` with `src` at every `step`-th position of `dim` from `start` to `end`;
    RuntimeError as above.
    """
    result = _copy(self)
    return _write(result, views.slice(result, dim, start, end, step), src)


def diagonal_scatter(
    self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """A copy of `self` with `src` on a diagonal of `dim1` and `dim2`; RuntimeError as above."""
    result = _copy(self)
    return _write(result, views.diagonal(result, offset, dim1, dim2), src)


def as_strided_scatter(
    self: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """A copy of `self` with `src` where `as_strided` would look; RuntimeError as above, and as
    `as_strided` does.
    """
    result = _copy(self)
    return _write(result, views.as_strided(result, size, stride, storage_offset), src)


def _copy(self: Tensor) -> Any:
    """A copy of all the memory of `self`, seen as `self` sees its own; an ordinary one if elements
    share memory.
    """
    try:
        check_no_internal_overlap(self)
    except RuntimeError:
        return write_uncounted(ops.clone_op, self, None)
    whole = views.as_strided(self, (self._storage.nbytes() // self.itemsize,), (1,), 0)
    memory = write_uncounted(ops.clone_op, whole, None)
    return views.as_strided(memory, self.shape, self.stride(), self._offset)


def _write(result: Tensor, view: Tensor, src: Tensor) -> Any:
    if view.shape != src.shape:
        sizes = f"src size = {list(src.shape)}, slice size = {list(view.shape)}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {sizes}")
    write_uncounted(ops.copy__op, view, src, False)
    return result
