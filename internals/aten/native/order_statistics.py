"""The median, the k-th smallest and the most frequent element (`aten/src/ATen/native/Sorting.cpp`,
`TensorCompare.cpp`).

The median of an even number of elements is the lower one of the middle two, so that it is always an
element, with an index. NaN counts as larger than everything; `median` is NaN as soon as one element
is, `nanmedian` leaves the NaNs out. The median and the k-th smallest do not need all elements in
order: `np.partition` puts only the k-th where it belongs. `mode` needs runs of equal elements, so
it sorts.

Of equal elements the index names the first; for the mode, the last.

How the real one differs: its quickselect finds value and index together, so the index may name any
of several equal elements; its `mode` sorts without regard to NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.dtype import BOOL, COMPLEX
from internals.core.float_errors import quietly
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Array, Tensor, array, snapshot

from .extrema import check_not_empty
from .reduction_tools import reduced_sizes, store


def median_dim(
    self: Tensor, dim: int, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The medians along `dim` and their indices. Raises IndexError for a dimension of size 0."""
    name = return_types.median if out is None else return_types.median_out
    return name(
        *_along(
            "median", self, dim, keepdim, out, lambda a: _or_nan(a, _kth(a, (a.shape[-1] + 1) // 2))
        )
    )


def nanmedian_dim(
    self: Tensor, dim: int, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The medians along `dim` of the elements that are not NaN, and their indices. Raises
    IndexError for a dimension of size 0.
    """
    name = return_types.nanmedian if out is None else return_types.nanmedian_out
    return name(*_along("median", self, dim, keepdim, out, _median_of_numbers))


def kthvalue(
    self: Tensor, k: int, dim: int = -1, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The `k`-th smallest elements along `dim`, counted from 1, and their indices. Raises
    RuntimeError when there are fewer.
    """
    name = return_types.kthvalue if out is None else return_types.kthvalue_out
    d = _dimension("kthvalue", self, dim)
    if not 1 <= k <= (self.shape[d] if self.dim() else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if not self.dim():
        return name(*_itself(self, out))
    return name(*_along("kthvalue", self, dim, keepdim, out, lambda a: _kth(a, k)))


def mode(
    self: Tensor, dim: int = -1, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The most frequent elements along `dim`, of equally frequent ones the smallest, and their last
    indices.
    """
    name = return_types.mode if out is None else return_types.mode_out
    d = _dimension("mode", self, dim)
    if not self.dim():
        return name(*_itself(self, out))
    values, indices = _outputs(self, d, keepdim, out)
    if self.numel() and self.dtype.category == COMPLEX:
        raise not_implemented("mode_cpu", self.dtype)
    if self._geometry.stored:
        a = _last(self, d)
        index = _ends_of_longest_runs(a)
        array(indices)[...] = index.reshape(indices.shape)
        array(values)[...] = np.take_along_axis(a, index[..., None], -1).reshape(values.shape)
    return name(values, indices)


def _of_all(kernel: str, self: Tensor, chosen: Callable[..., Any]) -> Any:
    """The result of `chosen` for all elements as one row; NaN if there are none."""
    if self.numel() and self.dtype.category in (BOOL, COMPLEX):
        raise not_implemented(kernel, self.dtype)

    def loop() -> Any:
        return (
            chosen(array(self).reshape(-1))
            if self.numel()
            else quietly(np.float64(np.nan).astype, self.dtype.np)
        )

    return store(self, loop, range(self.dim()), False, self.dtype)


def _along(
    name: str,
    self: Tensor,
    dim: int,
    keepdim: bool,
    out: Sequence[Tensor] | None,
    chosen: Callable[..., Any],
) -> tuple[Any, Any]:
    """(values, indices): `chosen` takes an array (..., n) to the value of each row, (...), and the
    indices are those of the first elements that are equal to them.
    """
    d = _dimension(name, self, dim)
    values, indices = _outputs(self, d, keepdim, out)
    check_dtype(_KERNELS[name], self.dtype, dt.INTEGRAL, dt.FLOATING)
    if self._geometry.stored:
        a = _last(self, d)  # (..., n): `dim` moved to the end
        found = chosen(a)
        array(values)[...] = found.reshape(values.shape)
        array(indices)[...] = _first_indices(a, found).reshape(indices.shape)
    return values, indices


def _dimension(name: str, self: Tensor, dim: int) -> int:
    """The wrapped dimension. Raises IndexError when it has size 0."""
    d = wrap_dim(dim, self.dim())
    check_not_empty(name, self, d)
    return d


def _itself(self: Tensor, out: Any) -> tuple[Any, Any]:
    """(values, indices) for a 0-d tensor of any dtype: the element, and 0."""
    values, indices = _outputs(self, 0, False, out)
    if self._geometry.stored:
        array(values)[...], array(indices)[...] = array(self), 0
    return values, indices


def _outputs(self: Tensor, d: int, keepdim: bool, out: Any) -> tuple[Any, Any]:
    """Tensors for values and int64 indices, without dimension `d` or with size 1 there: new ones,
    or those of `out`, resized.
    """
    sizes = reduced_sizes(self.shape, (d,) if self.dim() else (), keepdim)
    out_values, out_indices = out or (None, None)
    values = set_output(sizes, self.dtype, out_values, device=self.device)
    return values, set_output(sizes, dt.int64, out_indices, device=self.device)


def _last(self: Tensor, d: int) -> Any:
    """A copy of the elements with dimension `d` last; a 0-d tensor gives a row of one."""
    return np.moveaxis(np.atleast_1d(snapshot(self)), wrap_dim(d, max(self.dim(), 1)), -1)


def _kth(a: Array, k: int) -> Any:
    """The k-th smallest of every row, NaN being the largest."""
    return np.partition(a, k - 1, -1)[..., k - 1]


def _or_nan(a: Array, found: Array) -> Any:
    """`found`, but NaN for each row of `a` that holds a NaN."""
    return (
        np.where(np.isnan(a).any(-1), np.asarray(np.nan, a.dtype), found)
        if a.dtype.kind == "f"
        else found
    )


# The median of all elements; NaN when one is, or when there are none. Raises NotImplementedError
# for bools and complex numbers.
median = partial(_of_all, "median_cpu", chosen=lambda a: _or_nan(a, _kth(a, (a.size + 1) // 2)))


def _median_of_numbers(a: Array) -> Any:
    """The median of the elements of every row that are not NaN; NaN where all are."""
    # sorting puts NaN last, so the numbers come first
    numbers = a.shape[-1] - np.isnan(a).sum(-1, keepdims=True)
    return np.take_along_axis(np.sort(a, -1), np.maximum(numbers - 1, 0) // 2, -1)[..., 0]


# The median of the elements that are not NaN; NaN when there is none.
nanmedian = partial(_of_all, "nanmedian_cpu", chosen=_median_of_numbers)


def _first_indices(a: Array, found: Array) -> Any:
    """The index in every row of `a` of the first element that is equal to `found`, NaN being equal
    to NaN.
    """
    value = found[..., None]
    same = a == value
    return (same if a.dtype.kind != "f" else same | (np.isnan(a) & np.isnan(value))).argmax(-1)


def _ends_of_longest_runs(a: Array) -> Any:
    """The index in every row of its mode: of the last element of the first longest run of equal
    ones in sorted order.

    The first longest run is that of the smallest of the most frequent values; and as the sort is
    stable, the last element of the run is the last one of that value in the row.
    """
    n = a.shape[-1]
    order = np.argsort(a, -1, kind="stable")
    ordered = np.take_along_axis(a, order, -1)
    is_end = np.ones(a.shape, bool)
    is_end[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    # the place where the run of each element begins: one behind the nearest end before it
    begin = np.zeros(a.shape, np.int64)
    begin[..., 1:] = np.maximum.accumulate(np.where(is_end, np.arange(1, n + 1), 0), -1)[..., :-1]
    lengths = np.where(is_end, np.arange(n) - begin, -1)
    return np.take_along_axis(order, lengths.argmax(-1)[..., None], -1)[..., 0]


_KERNELS = {"median": "median_out", "kthvalue": "kthvalue_cpu"}
