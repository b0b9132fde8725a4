"""Functions that join tensors beside, below and behind each other: `hstack`, `vstack`, `dstack`,
`column_stack` (`TensorShape.cpp`).

Tensors with too few dimensions get more (`atleast_2d`), then `cat` does the work. So its rules hold
for them, too: dtypes are promoted, and `out` is resized.

`flatten_dense_tensors` copies tensors of any sizes into one long vector, and
`unflatten_dense_tensors` finds them in it again. So many small gradients can be sent as one message
(`torch/csrc/utils/tensor_flatten.h`).

How the real one differs: for `out=` each has a function of its own, `hstack_out` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """A vector of all elements of all tensors, one after the other; for a single contiguous tensor
    a view of it. Raises ValueError for an empty list.
    """
    flat = [t.contiguous().view([-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else ops.cat(flat, 0)


def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Any]) -> list[Any]:
    """The parts of `flat` with the sizes of `tensors`: views of it, but new tensors where there are
    no elements.
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
    """A 0-d tensor as (1); others as they are."""
    return self if self.dim() else ops.reshape(self, [1])


def atleast_2d(self: Tensor) -> Any:
    """A 0-d tensor as (1, 1), a vector (n) as (1, n); others as they are."""
    if not self.dim():
        return ops.reshape(self, [1, 1])
    return ops.unsqueeze(self, 0) if self.dim() == 1 else self


def atleast_3d(self: Tensor) -> Any:
    """A 0-d tensor as (1, 1, 1), a vector (n) as (1, n, 1), a matrix (n, m) as (n, m, 1); others as
    they are.
    """
    if not self.dim():
        return ops.reshape(self, [1, 1, 1])
    if self.dim() == 1:
        return ops.unsqueeze(ops.unsqueeze(self, 0), -1)
    return ops.unsqueeze(self, -1) if self.dim() == 2 else self


def atleast_1d_Sequence(tensors: Sequence[Any]) -> Any:
    """`atleast_1d` of each tensor."""
    return tuple(map(atleast_1d, tensors))


def atleast_2d_Sequence(tensors: Sequence[Any]) -> Any:
    """`atleast_2d` of each tensor."""
    return tuple(map(atleast_2d, tensors))


def atleast_3d_Sequence(tensors: Sequence[Any]) -> Any:
    """`atleast_3d` of each tensor."""
    return tuple(map(atleast_3d, tensors))


def _some(tensors: Sequence[Any], op: str) -> Sequence[Any]:
    """`tensors`. Raises RuntimeError, naming `op`, if there are none."""
    if not tensors:
        raise RuntimeError(f"{op} expects a non-empty TensorList")
    return tensors


def _cat(tensors: Sequence[Any], dim: int, out: Tensor | None) -> Any:
    """`cat` along `dim`, into `out` if it is given."""
    return ops.cat(tensors, dim) if out is None else ops.cat_out(tensors, dim, out)
