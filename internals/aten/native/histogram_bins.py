"""The bins of histograms: the edges of equal bins, and checks of arguments
(`aten/src/ATen/native/Histogram.cpp`: `histogramdd_check_inputs`).

How the real one differs: the checks of `out` are made with those of the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype, not_implemented
from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.scalar import checked
from internals.core.tensor_impl import Array, Tensor, array

from .factories import linspace

Range = Sequence[float] | None


def equal_bins(rows: Array, bins: Sequence[int], range: Range, d: dtype) -> list[Any]:
    """The edges (bins[i] + 1) of equal bins in each dimension, for `rows` (elements, dimensions).

    They go from the smallest to the largest element, or between the two numbers of `range` for that
    dimension. Raises RuntimeError for a `range` of another length or an infinite one,
    NotImplementedError for half precision and integers without a `range`.
    """
    n = rows.shape[1]
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} "
            f"elements, but got {len(range)}"
        )
    if range is not None:
        lows, highs = (
            np.array([checked(bound, d) for bound in bounds], d.np)
            for bounds in (range[::2], range[1::2])
        )
    elif not len(rows):
        lows, highs = np.zeros(n, d.np), np.ones(n, d.np)
    elif d in (dt.float32, dt.float64):
        lows, highs = rows.min(0), rows.max(0)
    else:
        raise not_implemented("histogramdd", d)
    return [_between(i, low, high, k, d) for i, (low, high, k) in enumerate(zip(lows, highs, bins))]


def _between(dim: int, low: Any, high: Any, bins: int, d: dtype) -> Any:
    """The edges of `bins` equal bins; if `low` equals `high`, of bins over a range of width 1."""
    check_real(d)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            f"dimension {dim}"
        )
    half = low.dtype.type(0.5 if low == high else 0)
    edges = linspace(float(low - half), float(high + half), bins + 1, d, None, None, None)
    return array(edges).copy()


def check_real(d: dtype) -> None:
    """Raises NotImplementedError for bools and complex numbers, which cannot be divided into equal
    bins.
    """
    check_dtype("linspace_cpu", d, dt.INTEGRAL, dt.FLOATING)


def check_bin_counts(bins: Sequence[int]) -> None:
    """Raises RuntimeError unless there is at least one bin in each dimension."""
    for dim, n in enumerate(bins):
        if n <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {n} for dimension {dim}"
            )


def check_edges(self: Tensor, bins: Sequence[Any], n: int) -> None:
    """Raises RuntimeError unless `bins` are `n` vectors of the dtype of `self`, none of them
    empty.
    """
    if len(bins) != n:
        raise RuntimeError(
            f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional "
            f"histogram but got {len(bins)}"
        )
    for dim, edges in enumerate(bins):
        if edges.dtype is not self.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {TYPE_META_NAME[self.dtype]} and bins for dimension {dim} "
                f"with dtype {TYPE_META_NAME[edges.dtype]}"
            )
        if edges.dim() != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} "
                f"dimensions in the bins tensor for dimension {dim}"
            )
        if not edges.numel():
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
                f"elements in the bins tensor for dimension {dim}"
            )


def check_weight(self: Tensor, rows: Array, weight: Tensor) -> None:
    """Raises RuntimeError unless there is a weight for every row, of the dtype of `self`."""
    if weight.dtype is not self.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({TYPE_META_NAME[self.dtype]}), and "
            f"weight({TYPE_META_NAME[weight.dtype]})"
        )
    shape = self.shape if self.dim() > 1 else rows.shape
    if weight.numel() != len(rows):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(shape)} and weight with shape {list(weight.shape)}"
        )


def check_same_dtype(
    name: str, self: Tensor, out: Tensor | None, what: str, where: str = ""
) -> None:
    """Raises RuntimeError for an `out`, called `what`, of another dtype."""
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}: input tensor and {what} tensor should have the same dtype, but got input "
            f"{TYPE_META_NAME[self.dtype]} and {what} {TYPE_META_NAME[out.dtype]}{where}"
        )
