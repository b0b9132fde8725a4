"""`unique`, which keeps each distinct element once (`aten/src/ATen/native/Unique.cpp`).

Sorting makes equal elements neighbours, and the first of each run is kept. The starts of the runs
give the rest: the inverse holds, at the position that each element came from, the number of its
run, and the count is the length of the run:

    elements  3 1 3    sorted  1 3 3    values 1 3    inverse 1 0 1    counts 1 2

`unique_consecutive` does not sort. Along a dimension the elements are whole slices, which are
sorted as words are, by the first element in which they differ. NaN equals nothing, not even itself.

Each function returns three tensors; those that were not asked for are empty.

How the real one differs: it sorts slices without regard to NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_dtype
from internals.core.dtype import BOOL, FLOATING, INTEGRAL
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Array, Tensor, array, from_array, snapshot

from . import views
from .sorting import sort_stable

Three = tuple[Any, Any, Any]


def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """(values, inverse) of `_unique2`."""
    return _unique2(self, sorted, return_inverse)[:2]


def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """(values, inverse, counts): the distinct elements in order, for each element of `self` its
    index among them, and the number of times that each occurs. They are sorted whatever `sorted`
    says.

    Raises NotImplementedError for complex numbers.
    """
    _check(self, "unique")
    flat = from_array(array(self).reshape(-1))
    values, order = sort_stable(flat, True, 0)  # `order`: the positions in `flat`
    ordered = array(values)
    starts = _starts(ordered[1:] != ordered[:-1], ordered.size)
    inverse, counts = _inverse_and_counts(starts, array(order), return_inverse, return_counts)
    return (
        from_array(ordered[starts]),
        from_array(inverse.reshape(self.shape if return_inverse else 0)),
        from_array(counts),
    )


def unique_consecutive(
    self: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Three:
    """(values, inverse, counts) of the elements, or slices along `dim`, without those that equal
    the one before: only the first of each run is kept.
    """
    if dim is not None and not (dim == 0 and self.dim() == 1):
        return _unique_slices(self, dim, False, "unique_dim")
    _check(self, "unique")
    a = array(self).reshape(-1)
    starts = _starts(a[1:] != a[:-1], a.size)
    inverse, counts = _inverse_and_counts(starts, None, return_inverse, return_counts)
    return (
        from_array(a[starts]),
        from_array(inverse.reshape(self.shape if return_inverse else 0)),
        from_array(counts),
    )


def unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Three:
    """(values, inverse, counts): the distinct slices along `dim` in order, for each slice its index
    among them, and the number of times that each occurs.

    Raises RuntimeError when another dimension has size 0.
    """
    return _unique_slices(self, dim, True, "unique_dim")


def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """`unique_consecutive` of slices along `dim`."""
    return _unique_slices(self, dim, False, "unique_dim")


def _unique_slices(self: Tensor, dim: int, in_order: bool, kernel: str) -> Three:
    """(values, inverse, counts) of slices along `dim`, sorted first if `in_order`."""
    _check(self, kernel)
    if not self.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, self.dim())
    zeros = list(self.shape).count(0)
    if zeros > 1 and self.shape[d] == 0:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    if zeros and self.shape[d]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    slices = np.moveaxis(snapshot(self), d, 0)  # (n, *others); `rows` is (n, elements)
    rows = slices.reshape(len(slices), -1) if slices.size else np.zeros((0, 1))
    # lexsort takes the most important key last: the first column
    order = np.lexsort(rows.T[::-1]) if in_order else np.arange(len(rows))
    ordered = rows[order]
    starts = _starts((ordered[1:] != ordered[:-1]).any(1), len(rows))
    inverse, counts = _inverse_and_counts(starts, order, True, True)
    different = from_array(slices[order[starts]])
    # the first dimension back to where `dim` was
    others = range(1, self.dim())
    back = [*others[:d], 0, *others[d:]]
    return views.permute(different, back), from_array(inverse), from_array(counts)


def _starts(changes: Array, n: int) -> Any:
    """A mask (n): whether each element begins a run. `changes` (n - 1) holds whether each but the
    first differs from the one before.
    """
    return np.concatenate([np.ones(min(n, 1), bool), changes])


def _inverse_and_counts(
    starts: Array, order: Array | None, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any]:
    """(inverse, counts): the number of each element's run, at the position that it had before it
    was sorted by `order`, and the lengths of the runs. Empty where they are not asked for.
    """
    inverse = counts = np.zeros(0, np.int64)
    if return_inverse:
        runs = np.cumsum(starts) - 1
        inverse = np.empty_like(runs)
        inverse[slice(None) if order is None else order] = runs
    if return_counts:
        counts = np.diff(np.append(np.flatnonzero(starts), starts.size))
    return inverse, counts


def _check(self: Tensor, kernel: str) -> None:
    """Raises NotImplementedError, naming `kernel`, for complex numbers."""
    check_dtype(kernel, self.dtype, BOOL, INTEGRAL, FLOATING)
