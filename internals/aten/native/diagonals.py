"""Writing to diagonals: `diag_embed`, `diag`, `diagflat`, `fill_diagonal_`,
`block_diag` (`TensorShape.cpp`).

A diagonal is a view whose stride is the sum of those of two dimensions (`views.diagonal`). Values
are put on a diagonal by writing to that view.

How the real one differs: `diag_embed` makes its zeros with an operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.core.dtype import dtype, get_default_dtype
from internals.core.geometry import wrap_dim
from internals.core.promotion import result_type
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, empty_contiguous

from .views import diagonal, slice


def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Zeros with the last dimension of `self` on a diagonal of two new dimensions, `dim1` and
    `dim2`: (..., n) gives (..., n + |offset|, n + |offset|).

    Raises RuntimeError when these are the same, IndexError for a 0-d tensor and for dimensions that
    do not exist.
    """
    ndim = self.dim() + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    result = _zeros([length if d in (a, b) else next(rest) for d in range(ndim)], self.dtype, self)
    write_uncounted(ops.copy__op, diagonal(result, offset, a, b), self, False)
    return result


def diag(self: Tensor, diagonal: int = 0) -> Any:
    """For a vector, the matrix with this diagonal; for a matrix, a copy of its diagonal. Raises
    RuntimeError for other tensors.
    """
    if self.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return (
        ops.diag_embed(self, diagonal, -2, -1)
        if self.dim() == 1
        else ops.diagonal_copy(self, diagonal, 0, 1)
    )


def diagflat(self: Tensor, offset: int = 0) -> Any:
    """The matrix with all elements of `self` on its diagonal."""
    return ops.diag(ops.view(self.contiguous(), [-1]), offset)


def fill_diagonal_(self: Tensor, fill_value: Scalar, wrap: bool = False) -> Any:
    """Write a number to the main diagonal, of a matrix or of more dimensions of equal size.

    With `wrap`, the diagonal of a tall matrix starts again below, after one free row. Raises
    RuntimeError for a vector, and for more than two dimensions whose sizes differ.
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(set(self.shape)) > 1 and self.dim() > 2:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[0], self.shape[1]
    step, offset = sum(self.stride()), self.storage_offset()
    main = ops.as_strided(self, [min(self.shape)], [step], offset)
    ops.fill__Scalar(main, fill_value)
    if wrap and self.dim() == 2 and rows > columns + 1:
        # Counting row by row, the diagonal is every (columns + 1)-th element: ceil(numel / (columns
        # + 1)) in all, of which the first `columns` are written already.
        more = -(-self.numel() // (columns + 1)) - columns
        below = ops.as_strided(self, [more], [step], offset + (columns + 1) * self.stride(0))
        ops.fill__Scalar(below, fill_value)
    return self


def block_diag(tensors: Sequence[Tensor]) -> Any:
    """A matrix with the given matrices as blocks along its diagonal, and zeros elsewhere; a vector
    counts as one row. Raises RuntimeError for more than two dimensions.
    """
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{t.dim()} dimensions"
            )
    blocks = [block_sizes(t.shape) for t in tensors]
    rows, columns = (sum(sizes) for sizes in zip(*blocks)) if blocks else (1, 0)
    result_dtype = result_type(tensors) if tensors else get_default_dtype()
    result = _zeros((rows, columns), result_dtype, tensors[0] if tensors else None)
    row = column = 0
    for t, (height, width) in zip(tensors, blocks):
        block = slice(slice(result, 0, row, row + height), 1, column, column + width)
        write_uncounted(ops.copy__op, block, t, False)
        row, column = row + height, column + width
    return result


def block_sizes(sizes: Sequence[int]) -> tuple[int, int]:
    """The (rows, columns) of a 0-d tensor, a vector or a matrix as a block."""
    rows, columns = (1, 1, *sizes)[-2:]
    return rows, columns


def _zeros(sizes: Sequence[int], dtype: dtype, like: Tensor | None) -> Any:
    """Zeros on the device of `like`, or on the CPU."""
    device = None if like is None else like.device
    result = (
        empty_contiguous(sizes, dtype) if device is None else empty_contiguous(sizes, dtype, device)
    )
    return write_uncounted(ops.zero__op, result)
