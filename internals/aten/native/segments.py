"""Reductions of segments of a dimension, one result for each
(`aten/src/ATen/native/SegmentReduce.cpp`).

Segments lie one behind the other. Either `lengths` has the length of each, or `offsets` the
position where each begins and, at last, where the last one ends: lengths 2, 0, 3 are offsets 0, 2,
2, 5. Both may have leading dimensions, those of `data` before `axis`: then every row has segments
of its own.

How the real one differs: `unsafe=True` omits all checks, and lengths that do not fit read other
memory. Here those that guard memory are made in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan, prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.core import dtype as dt
from internals.core.geometry import wrap_dim
from internals.core.scalar import Scalar, real
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous

_REDUCE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_IDENTITY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -inf, "min": inf}
_NAMES = {"amax": "max", "amin": "min"}


def segment_reduce(
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
    initial: Scalar | None,
) -> Any:
    """The "sum", "mean", "prod", "max" or "min" of each segment along `axis`, which starts from
    `initial`.

    A segment without elements gives `initial`, or without that the identity of the reduction; for a
    mean NaN. Raises RuntimeError for another reduction, without `lengths` and `offsets`, and
    where these do not fit.
    """
    axis = wrap_dim(axis, data.dim())
    reduce = _known(reduce)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    bounds = _bounds(data, lengths, offsets, axis, unsafe)
    check_dtype("_segment_reduce_cpu", data.dtype, dt.FLOATING)
    start = _IDENTITY[reduce] if initial is None else real(initial, data.dtype)
    if bounds.shape[1] < 1:
        sizes = [*data.shape[:axis], -1, *data.shape[axis + 1 :]]
        raise RuntimeError(f"Trying to create tensor with negative dimension -1: {sizes}")
    # (rows, axis, inner): the dimensions before `axis` as one, and those behind it
    rows, inner = bounds.shape[0], prod(data.shape[axis + 1 :])
    result = np.empty((rows, bounds.shape[1] - 1, inner), _wide(data))
    x = (
        array(data).reshape(rows, -1, inner)
        if data.numel()
        else np.empty((rows, data.shape[axis], inner), result.dtype)
    )
    with np.errstate(all="ignore"):
        # x[row, first:last] is (elements of the segment, inner); the result is (inner)
        for row, segment, first, last in _segments(bounds):
            value = _REDUCE[reduce].reduce(
                x[row, first:last].astype(result.dtype), axis=0, initial=start
            )
            if reduce == "mean":
                value = (
                    value / (last - first)
                    if last > first
                    else value + (nan if initial is None else 0)
                )
            result[row, segment] = value
        out = empty_contiguous(
            [*data.shape[:axis], bounds.shape[1] - 1, *data.shape[axis + 1 :]], data.dtype
        )
        array(out)[...] = result.reshape(out.shape)
    return out


def _segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    initial: Scalar | None,
) -> Any:
    """The gradient of `data`: each segment's gradient times the derivative of its result with
    respect to each of its elements. Several equal extrema share it in equal parts.
    """
    axis = wrap_dim(axis, data.dim())
    reduce = _known(reduce)
    bounds = _bounds(data, lengths, offsets, axis, unsafe=True)
    check_dtype("_segment_reduce_cpu", data.dtype, dt.FLOATING)
    wide, inner = _wide(data), prod(data.shape[axis + 1 :])
    rows, count = bounds.shape[0], bounds.shape[1] - 1
    x = array(data).reshape(rows, data.shape[axis], inner).astype(wide)
    g, y = (array(t).reshape(rows, count, inner).astype(wide) for t in (grad, output))
    dx = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for row, segment, first, last in _segments(bounds):
            if last > first:
                part = x[row, first:last]
                dx[row, first:last] = g[row, segment] * _share(
                    reduce, part, y[row, segment], initial
                )
        out = empty_contiguous(data.shape, data.dtype)
        array(out)[...] = dx.reshape(out.shape)
    return out


def _share(reduce: str, x: Array, y: Array, initial: object) -> Any:
    """The derivative of `y` (inner), to which the elements `x` (n, inner) of a segment were
    reduced, with respect to each of them.
    """
    if reduce == "sum":
        return np.ones_like(x)
    if reduce == "mean":
        return np.full_like(x, 1 / len(x))
    if reduce == "prod":
        # the product of all others: of those before, times those after; no division, which 0
        # forbids
        ones = np.ones_like(x[:1])
        before = np.cumprod(np.concatenate([ones, x[:-1]]), axis=0)
        after = np.cumprod(np.concatenate([ones, x[:0:-1]]), axis=0)[::-1]
        return before * after * (1.0 if initial is None else x.dtype.type(initial))
    chosen = (x == y) | (np.isnan(x) & np.isnan(y))
    return chosen / np.maximum(chosen.sum(0), 1)


def _known(reduce: str) -> str:
    """The reduction's name in `_REDUCE`; amax and amin count as max and min. Raises RuntimeError
    for others.
    """
    reduce = _NAMES.get(reduce, reduce)
    if reduce not in _REDUCE:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    return reduce


def _segments(bounds: Array) -> Iterator[tuple[int, int, int, int]]:
    """(row, segment, begin, end) for each segment of each row."""
    for row, segment in np.ndindex(bounds.shape[0], bounds.shape[1] - 1):
        yield row, segment, int(bounds[row, segment]), int(bounds[row, segment + 1])


def _bounds(data: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> Any:
    """The offsets of the segments, (rows, segments + 1): a row for each row of `data` along `axis`.

    Raises RuntimeError unless they fit `data`, NotImplementedError unless int32 or int64.
    """
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    if data.dim() < given.dim():
        raise RuntimeError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.")
    if axis != given.dim() - 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
        )
    if given.dtype not in (dt.int32, dt.int64):
        raise not_implemented(f"_segment_reduce_{name}_cpu_kernel1", given.dtype)
    values, rows = array(given).astype(np.int64), prod(data.shape[:axis])
    if tuple(given.shape[:axis]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): {name} of {list(given.shape)} do not go with data of "
            f"{list(data.shape)}"
        )
    values = values.reshape(rows, given.shape[axis])
    size = data.shape[axis]
    if name == "lengths":
        if (values < 0).any():
            raise RuntimeError("lengths contains negative value!")
        # lengths to offsets: 0 and the running sums
        values = np.concatenate([np.zeros((rows, 1), np.int64), values.cumsum(1)], axis=1)
        if not unsafe and (values[:, -1] != size).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    if (np.diff(values) < 0).any():
        raise RuntimeError("Expected segment_length >= 0 to be true, but got false.")
    if values.size and (values.min() < 0 or values.max() > size):
        raise RuntimeError(
            f"segment_reduce(): a segment reaches beyond the {size} elements along axis {axis}"
        )
    return values


def _wide(t: Tensor) -> Any:
    """The numpy dtype to compute in: float32 for half precision."""
    return np.float32 if t.dtype is dt.float16 else t.dtype.np
