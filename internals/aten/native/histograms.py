"""Histograms: how many elements fall into each bin (`aten/src/ATen/native/Histogram.cpp`,
`SummaryOps.cpp`: `bincount`).

Bins are adjacent: n of them have n + 1 edges. An element x belongs to the bin with left <= x <
right; the last bin also holds its right edge. Elements outside, and NaN, are not counted. In
several dimensions a bin is a box, and each row of the input is a point: its coordinates are looked
up one by one.

`histc` computes the bin from the distance to the first edge, in the dtype of the input; `histogram`
searches among the edges.

How the real one differs: each thread fills a histogram of its own, and these are added up; for
equal bins it computes the bin first and searches only next to it. Counts are kept in the dtype of
the input there, here in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.device import CPU
from internals.core.dtype import FLOATING
from internals.core.float_errors import quietly
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, from_array, snapshot

from .histogram_bins import (
    Range,
    check_bin_counts,
    check_edges,
    check_real,
    check_same_dtype,
    check_weight,
    equal_bins,
)

BinOf = Callable[[Any, Any], Any]  # (elements, edges) -> the indices of their bins


def histc(
    self: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0, out: Tensor | None = None
) -> Any:
    """Counts in `bins` equal bins from `min` to `max`; if these are equal, from the smallest to the
    largest element.

    Raises RuntimeError for fewer than one bin, for infinite bounds and for `max` below `min`;
    NotImplementedError for integers.
    """
    check_bin_counts([bins])
    check_same_dtype("torch.histogram", self, out, "hist")
    check_real(self.dtype)
    a = snapshot(self).reshape(-1, 1)
    numpy_dtype = self.dtype.np
    low, high = (
        numpy_dtype.type(checked(min, self.dtype)),
        numpy_dtype.type(checked(max, self.dtype)),
    )
    if low == high and a.size:
        low, high = a.min(), a.max()
    if low == high:  # all elements are equal: the bins need some width
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    check_dtype("histogram_cpu", self.dtype, dt.FLOATING)
    counts = _count(
        a,
        [np.array([low, high], numpy_dtype)],
        None,
        False,
        lambda x, _: _computed_bins(x, low, high, bins),
        [bins],
    )
    target = set_output((bins,), self.dtype, out)
    array(target)[...] = counts
    return target


def histogram_bins_tensor(
    self: Tensor,
    bins: Tensor,
    weight: Tensor | None = None,
    density: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """(counts, edges) for the edges in `bins`, which ascend; each element counts `weight`, or 1.

    With `density` counts are divided so that they integrate to 1. Raises RuntimeError where shapes
    or dtypes do not fit.
    """
    check_edges(self, [bins], 1)
    return _histogram(self, snapshot(bins), weight, density, out)


def histogram_bin_ct(
    self: Tensor,
    bins: int = 100,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """(counts, edges) for `bins` equal bins over `range`, or from the smallest to the largest
    element.
    """
    check_bin_counts([bins])
    return _histogram(
        self,
        equal_bins(array(self).reshape(-1, 1), [bins], range, self.dtype)[0],
        weight,
        density,
        out,
    )


def histogramdd(
    self: Tensor,
    bins: Sequence[int],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """(counts, list of edges) of the rows of the input, in as many dimensions as a row has
    elements, with `bins[d]` equal bins in dimension d.
    """
    edges = ops._histogramdd_bin_edges(self, bins, range, weight, density)
    counts = ops._histogramdd_from_bin_cts(self, bins, range, weight, density)
    return return_types.histogramdd(counts, tuple(edges))


def histogramdd_int_bins(
    self: Tensor,
    bins: int,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """`histogramdd` with the same number of bins in all dimensions."""
    return histogramdd(self, [bins] * self.shape[-1], range, weight, density)


def histogramdd_TensorList_bins(
    self: Tensor,
    bins: Sequence[Any],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """`histogramdd` with the edges of each dimension given, as a list of vectors."""
    return return_types.histogramdd(
        ops._histogramdd_from_bin_tensors(self, list(bins), weight, density), tuple(bins)
    )


def _histogramdd_bin_edges(
    self: Tensor,
    bins: Sequence[int],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The edges of `bins[d]` equal bins in each dimension d, as a list of tensors."""
    rows = _rows(self, bins)
    return [from_array(e) for e in equal_bins(rows, bins, range, self.dtype)]


def _histogramdd_from_bin_cts(
    self: Tensor,
    bins: Sequence[int],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The counts in `bins[d]` equal bins in each dimension d, a tensor of sizes `bins`."""
    rows = _rows(self, bins)
    return from_array(
        _counts(self, rows, equal_bins(rows, bins, range, self.dtype), weight, density)
    )


def _histogramdd_from_bin_tensors(
    self: Tensor, bins: Sequence[Any], weight: Tensor | None = None, density: bool = False
) -> Any:
    """The counts between the given edges."""
    if self.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    check_edges(self, bins, self.shape[-1])
    rows = snapshot(self).reshape(-1, self.shape[-1])
    return from_array(_counts(self, rows, [snapshot(b) for b in bins], weight, density))


def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Any:
    """How often 0, 1, 2, ... occur, up to the largest element and at least up to `minlength` - 1;
    or the sums of their weights, added up in float64.

    Raises RuntimeError for negative elements and for more than one dimension, NotImplementedError
    for other than integers.
    """
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    a = snapshot(self)
    if self.dtype.category == FLOATING or self.dtype is dt.bool_ or self.is_complex():
        raise not_implemented("bincount_cpu", self.dtype)
    if a.shape == (0,):
        return _tally([], None, (minlength,))
    if a.ndim != 1 or a.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    last = int(a.max())
    if last >= 2**63 - 1:
        raise RuntimeError(
            f"maximum value of input overflowed, it should be < {2**63 - 1} but got {last}"
        )
    size = (max(last + 1, minlength),)
    if weights is None:
        return _tally([a], None, size)
    if tuple(weights.shape) != tuple(self.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = _tally([a], array(weights).real.astype(np.float64), size)
    return from_array(array(sums).astype(np.float32)) if weights.dtype is dt.float32 else sums


def _histogram(
    self: Tensor, edges: Array, weight: Tensor | None, density: bool, out: Sequence[Tensor] | None
) -> Any:
    """(counts, edges) in one dimension, for given edges; both are written to `out` if given."""
    hist, bin_edges = out or (None, None)
    check_same_dtype("torch.histogram", self, hist, "hist")
    check_same_dtype("torch.histogram", self, bin_edges, "bin_edges", " for dimension 0")
    counts = _counts(self, snapshot(self).reshape(-1, 1), [edges], weight, density)
    hist = set_output(counts.shape, self.dtype, hist)
    bin_edges = set_output(edges.shape, self.dtype, bin_edges)
    array(hist)[...], array(bin_edges)[...] = counts, edges
    return (return_types.histogram if out is None else return_types.histogram_out)(hist, bin_edges)


def _counts(
    self: Tensor, rows: Array, edges: list[Any], weight: Tensor | None, density: bool
) -> Any:
    """The histogram in the dtype of `self`, after the checks. Raises NotImplementedError unless
    floating.
    """
    check_bin_counts([len(e) - 1 for e in edges])
    if weight is not None:
        check_weight(self, rows, weight)
    check_dtype("histogram_cpu", self.dtype, dt.FLOATING)
    w = None if weight is None else array(weight).reshape(-1)
    return _count(rows, edges, w, density, _searched_bins, [len(e) - 1 for e in edges]).astype(
        self.dtype.np
    )


def _count(
    rows: Array,
    edges: list[Any],
    weight: Array | None,
    density: bool,
    bins_of: BinOf,
    bins: Sequence[int],
) -> Any:
    """The histogram of `rows` (n, d), by the bin of each of their elements among the edges of its
    dimension, in float64 with `weight` or `density` and otherwise in int64.
    """
    inside = np.ones(len(rows), bool)
    for x, e in zip(rows.T, edges):
        # x (n,) is one column of the input; a comparison with NaN is false
        inside &= (x >= e[0]) & (x <= e[-1])
    # n, from an element that equals the last edge, becomes n - 1: it belongs to the last bin
    bin_indices = [np.minimum(bins_of(x[inside], e), n - 1) for x, e, n in zip(rows.T, edges, bins)]
    tally = _tally(bin_indices, None if weight is None else weight[inside], tuple(bins))
    counts = array(tally).copy()
    return quietly(_densities, counts, edges) if density else counts


def _tally(bin_indices: list[Any], weights: Array | None, shape: tuple[int, ...]) -> Any:
    """A tensor of `shape` that says how often each of its positions occurs, or the sum of the
    weights. `bin_indices` holds the coordinates, an array for each dimension.

    The tensor is made first: that fails if there is no memory for it, while numpy's `bincount`
    writes beyond its array when the largest position overflows.
    """
    out = empty_contiguous(shape, dt.int64 if weights is None else dt.float64, CPU)
    if len(bin_indices) > 1:
        flat = np.ravel_multi_index(bin_indices, shape)
    else:
        flat = bin_indices[0] if bin_indices else np.zeros(0, np.int64)
    # numpy's result ends with the largest position that occurs: the rest is zero
    found, counts = np.bincount(flat, weights), array(out).reshape(-1)
    counts[: found.size], counts[found.size :] = found, 0
    return out


def _densities(counts: Array, edges: list[Any]) -> Any:
    """The counts over their sum and over the volume of each bin: they integrate to 1."""
    result = counts / counts.sum()
    for d, e in enumerate(edges):
        result = result / np.diff(e).reshape([-1 if d == i else 1 for i in range(len(edges))])
    return result


def _computed_bins(x: Array, low: Scalar, high: Scalar, bins: int) -> Any:
    """The bins of elements among equal bins, rounded in the dtype of `x` as PyTorch does."""
    return ((x - low) * x.dtype.type(bins) / (high - low)).astype(np.int64)


def _searched_bins(x: Array, edges: Array) -> Any:
    """The bins of elements among ascending edges: the last edge that is not above each of them."""
    return np.searchsorted(edges, x, "right") - 1


def _rows(self: Tensor, bins: Sequence[int]) -> Any:
    """The input as a matrix. Raises RuntimeError if it is a vector, or if its rows have another
    length than `bins`.
    """
    if self.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(bins) != self.shape[-1]:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    check_bin_counts(bins)
    return snapshot(self).reshape(prod(self.shape[:-1]), self.shape[-1])
