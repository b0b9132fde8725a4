"""Coordinates and combinations: `meshgrid`, `cartesian_prod`, `combinations`, `tril_indices`,
`vander` (`TensorShape.cpp`, `Itertools.cpp`, `TensorFactories.cpp`).

A grid of coordinates costs no memory: `meshgrid` expands each vector along the dimensions of the
others. `cartesian_prod` writes such a grid down row by row, and `combinations` keeps the rows whose
positions ascend.

How the real one differs: the gradient of `vander` fails there, because a saved tensor is written
to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import not_implemented
from internals.core import device as devices, dtype as dt
from internals.core.device import CPU, device
from internals.core.dtype import INTEGRAL, dtype
from internals.core.formats import layout
from internals.core.tensor_impl import Tensor, array
from internals.core.warn import warn_once

from .factories import empty

MOST_DIMENSIONS = 64  # numpy's limit for an array
INDEXING = (
    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
)


def meshgrid(tensors: Sequence[Any]) -> Any:
    """The grid of vectors and 0-d tensors, one view for each: `result[i][p] == tensors[i][p[i]]`
    for every position p.

    Warns that `indexing` should be given. Raises RuntimeError for matrices, no tensors, or several
    dtypes or devices.
    """
    warn_once(INDEXING)
    return _grid(tensors)


def meshgrid_indexing(tensors: Sequence[Any], indexing: str) -> Any:
    """`meshgrid` with the first dimension for the first tensor ("ij"), or with the first two
    exchanged ("xy", as in pictures).
    """
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if indexing == "ij" or len(tensors) < 2:
        return _grid(tensors)
    first, second, *rest = tensors
    second_grid, first_grid, *others = _grid([second, first, *rest])
    return (first_grid, second_grid, *others)


def cartesian_prod(tensors: Sequence[Any]) -> Any:
    """Every choice of one element of each vector, one per row; a single vector is returned as it
    is. Raises
    RuntimeError as `meshgrid` does.
    """
    for t in tensors:
        _check_vector(t)
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ops.flatten_using_ints(g, 0, -1) for g in _grid(tensors)], 1)


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Any:
    """Every choice of `r` elements of a vector in their order, one per row; with replacement an
    element may be chosen again.

    Raises RuntimeError for a negative `r`, and unless `self` is a vector.
    """
    _check_vector(self)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r > MOST_DIMENSIONS:
        raise RuntimeError(
            "combinations: expected r, the number of dimensions of a grid of all choices, to be "
            f"at most {MOST_DIMENSIONS}, but got {r}"
        )
    if r == 0:
        return ops.new_empty(self, [0], self.dtype, None, self.device, None)
    # The mask has n ** r elements: simple, but for large r most of them are dropped.
    n = self.numel()
    positions = ops.arange(n, dt.int64, None, self.device, None)
    grids = _grid([positions] * r)
    kept = ops.full([n] * r, True, dt.bool_, None, self.device, None)
    for a, b in zip(grids, grids[1:]):
        kept = ops.logical_and(
            kept, ops.le_Tensor(a, b) if with_replacement else ops.lt_Tensor(a, b)
        )
    return ops.stack([ops.masked_select(g, kept) for g in _grid([self] * r)], 1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of each element, the highest first unless `increasing`; N columns,
    as many as rows when None.

    Raises RuntimeError unless `x` is a vector, and for a negative N.
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    result_dtype = x.dtype if x.dtype.category > INTEGRAL else dt.int64
    powers = ops.empty_memory_format([x.numel(), n], result_dtype, None, x.device, None, None)
    if n:
        ops.fill__Scalar(ops.select_int(powers, 1, 0), 1)
    if n > 1:
        # cumprod of (x, x, ..., x) is (x, x², ..., xⁿ⁻¹), in columns 1 and up
        repeated = ops.expand(ops.unsqueeze(x, 1), [x.numel(), n - 1], False)
        ops.copy_(
            ops.slice_Tensor(powers, 1, 1, None, 1), ops.cumprod(repeated, 1, result_dtype), False
        )
    return powers if increasing else ops.flip(powers, [1])


def _grid(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The views that `meshgrid` returns, each with a dimension for every tensor."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device is not tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}"
            )
    sizes = [t.numel() for t in tensors]
    n = len(sizes)
    return tuple(
        ops.expand(ops.view(t, [-1 if d == i else 1 for d in range(n)]), sizes, False)
        for i, t in enumerate(tensors)
    )


def _check_vector(t: Tensor) -> None:
    """Raises RuntimeError unless there is one dimension."""
    if t.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")


def _indices(
    name: str,
    lower: bool,
    row: int,
    col: int,
    offset: int = 0,
    dtype: dtype = dt.int64,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Any:
    """The (2, count) positions of one triangle: the rows above, the columns below."""
    for what, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{what} must be non-negative, got{n}")
    result_dtype = dtype or dt.int64
    if result_dtype not in (dt.int64, dt.int32):
        raise not_implemented(name, result_dtype)
    count = _below(row, col, offset) if lower else row * col - _below(row, col, offset - 1)
    t = empty((2, count), result_dtype, layout, CPU, pin_memory)
    if count:
        first = max(0, -offset) if lower else 0
        # Of each row that has any: its first column, and how many. Huge offsets are clamped to the
        # matrix, so that int64 does not overflow.
        rows = np.arange(first, row if lower else min(row, col - offset))
        starts = np.zeros_like(rows) if lower else np.maximum(rows + max(offset, -row), 0)
        lengths = (np.minimum(rows + min(offset, col) + 1, col) if lower else col) - starts
        # Element i of the list is column i - (where its row starts in the list) + (first column).
        skipped = np.cumsum(lengths) - lengths - starts
        array(t)[0], array(t)[1] = (
            np.repeat(rows, lengths),
            np.arange(count) - np.repeat(skipped, lengths),
        )
    return t if device is None else t.to(devices.resolve(device))


# The positions of the lower triangle of a (row, col) matrix, row by row: shape (2, count). Raises
# RuntimeError for a negative size, NotImplementedError for another dtype than int64 and int32.
tril_indices = partial(_indices, "tril_indices", True)
# The same for the upper triangle.
triu_indices = partial(_indices, "triu_indices", False)


def _below(row: int, col: int, offset: int) -> int:
    """The number of elements of a matrix on and below the diagonal `offset`."""
    first = min(row, max(0, -offset))  # the first row that has any
    full = max(first, min(row, col - offset - 1))  # the first that has all
    # row r has r + offset + 1 of them: an arithmetic series, then the full rows
    return (full - first) * (first + full + 2 * offset + 1) // 2 + (row - full) * col
