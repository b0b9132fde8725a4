"""Putting tensors beside, below and behind each other: `hstack`, `vstack`, `dstack`, `column_stack`
(`TensorShape.cpp`).

`flatten_dense_tensors` puts tensors of any sizes into one long one, `unflatten_dense_tensors` finds
them in it again: how many small gradients become one message (`torch/csrc/utils/tensor_flatten.h`).

What has too few dimensions is given more (`atleast_2d`), then `cat` does the work, and its rules
are theirs: dtypes are promoted, and where the result goes is `cat`'s business too.

How the real one differs: not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """All elements of all tensors, one after the other; of one tensor perhaps a view. Raises
    ValueError for an empty list.
    """
    flat = [t.contiguous().view([-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else ops.cat(flat, 0)


def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Any]) -> list[Any]:
    """The pieces of `flat` with the sizes of `tensors`: views, but where there is nothing to
    see.
    """
    pieces, start = [], 0
    for t in tensors:
        n = t.numel()
        pieces.append(flat.narrow(0, start, n).view(t.shape) if n else flat.new_empty(t.shape))
        start += n
    return pieces


def hstack(tensors: Sequence[Any], out: Tensor | None = None) -> Any:
    """`cat` along dimension 1; vectors and numbers along dimension 0. Raises RuntimeError for an
    empty list.
    """
    rows = atleast_1d_Sequence(_some(tensors, "hstack"))
    return _cat(rows, 0 if rows[0].dim() == 1 else 1, out)


def vstack(tensors: Sequence[Any], out: Tensor | None = None) -> Any:
    """`cat` along dimension 0, where a vector is a row. Raises RuntimeError for an empty list."""
    return _cat(atleast_2d_Sequence(_some(tensors, "vstack")), 0, out)


def dstack(tensors: Sequence[Any], out: Tensor | None = None) -> Any:
    """`cat` along dimension 2, where a matrix has depth 1. Raises RuntimeError for an empty
    list.
    """
    return _cat(atleast_3d_Sequence(_some(tensors, "dstack")), 2, out)


def column_stack(tensors: Sequence[Any], out: Tensor | None = None) -> Any:
    """`hstack`, where a vector is a column. Raises RuntimeError for an empty list."""
    columns = [
        ops.reshape(t, [t.numel(), 1]) if t.dim() <= 1 else t
        for t in _some(tensors, "column_stack")
    ]
    return hstack(columns, out)


def atleast_1d(self: Tensor) -> Any:
    return self if self.dim() else ops.reshape(self, [1])


def atleast_2d(self: Tensor) -> Any:
    """A number as a matrix, a vector as its only row; anything else as it is."""
    if not self.dim():
        return ops.reshape(self, [1, 1])
    return ops.unsqueeze(self, 0) if self.dim() == 1 else self


def atleast_3d(self: Tensor) -> Any:
    """A number or vector as (1, n, 1), a matrix with a last dimension of 1; anything else as it
    is.
    """
    if not self.dim():
        return ops.reshape(self, [1, 1, 1])
    if self.dim() == 1:
        return ops.unsqueeze(ops.unsqueeze(self, 0), -1)
    return ops.unsqueeze(self, -1) if self.dim() == 2 else self


def atleast_1d_Sequence(tensors: Sequence[Any]) -> Any:
    return tuple(map(atleast_1d, tensors))


def atleast_2d_Sequence(tensors: Sequence[Any]) -> Any:
    return tuple(map(atleast_2d, tensors))


def atleast_3d_Sequence(tensors: Sequence[Any]) -> Any:
    return tuple(map(atleast_3d, tensors))


def _some(tensors: Sequence[Any], op: str) -> Sequence[Any]:
    if not tensors:
        raise RuntimeError(f"{op} expects a non-empty TensorList")
    return tensors


def _cat(tensors: Sequence[Any], dim: int, out: Tensor | None) -> Any:
    return ops.cat(tensors, dim) if out is None else ops.cat_out(tensors, dim, out)
