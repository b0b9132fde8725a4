"""The positions of values among sorted boundaries: `searchsorted` and `bucketize`
(`aten/src/ATen/native/Bucketization.cpp`).

A binary search runs for all values at once. Each value has an interval in which its position must
be; every round compares it with the middle of the interval and drops one half. There is one row of
boundaries for all values, or one for each row of values. NaN goes to the end.

How the real one differs: it searches for one value after the other, in several threads.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_dtype
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.promotion import result_type
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, TensorImpl, array, snapshot


def searchsorted_Tensor(
    sorted_sequence: Tensor,
    self: object,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Any:
    """For every value in `self` the first position in its row of `sorted_sequence` where it could
    be inserted with the row still sorted.

    With `right` (or side="right") the last such position, behind equal elements. `sorter` holds the
    indices that sort rows which are not sorted. Raises RuntimeError when the rows do not fit,
    NotImplementedError for bools and complex numbers.
    """
    sizes = tuple(self.shape) if isinstance(self, TensorImpl) else ()
    _check_side(side, right)
    order = None if sorter is None else _checked_sorter(sorted_sequence, sorter)
    _check_sizes(tuple(sorted_sequence.shape), sizes)
    d = dt.int32 if out_int32 else dt.int64
    if out is not None and out.dtype is not d:
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
            "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
            f"dtype {SCALAR_TYPE_NAME[out.dtype]} and out_int32 flag is {out_int32}"
        )
    target = set_output(sizes, d, out)
    if not prod(sizes):
        return target
    common = result_type([sorted_sequence, self])
    check_dtype("searchsorted_out_cpu", common, dt.INTEGRAL, dt.FLOATING)
    # (rows, n) boundaries and (rows, m) values, of one dtype
    rows = prod(sorted_sequence.shape[:-1])
    n = sorted_sequence.shape[-1]
    values = (
        (array(self) if isinstance(self, TensorImpl) else np.asarray(self))
        .astype(common.np)
        .reshape(rows, -1)
    )
    boundaries = array(sorted_sequence).astype(common.np).reshape(rows, n)
    if order is not None:
        boundaries = np.take_along_axis(boundaries, order.reshape(rows, n), -1)
    array(target)[...] = _positions(boundaries, values, right or side == "right").reshape(sizes)
    return target


def searchsorted_Scalar(
    sorted_sequence: Tensor,
    self: Scalar,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Any:
    """`searchsorted_Tensor` for a number: a 0-d tensor."""
    return searchsorted_Tensor(sorted_sequence, self, out_int32, right, side, sorter, out)


def bucketize_Tensor(
    self: object,
    boundaries: Tensor,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Any:
    """For every value the number of the interval in which it lies: 0 up to the first of
    `boundaries` (n), n behind the last.

    An interval includes its right boundary; with `right` its left one instead. Raises
    RuntimeError for more than one row.
    """
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted_Tensor(boundaries, self, out_int32, right, None, None, out)


def bucketize_Scalar(
    self: Scalar, boundaries: Tensor, out_int32: bool = False, right: bool = False
) -> Any:
    """`bucketize_Tensor` for a number: a 0-d tensor."""
    return bucketize_Tensor(self, boundaries, out_int32, right)


def _positions(boundaries: Array, values: Array, right: bool) -> Any:
    """The positions, 0 ... n, of (rows, m) values in (rows, n) boundaries."""
    # positions are in first ... last; bit_length(n) halvings leave one of the n + 1
    n = boundaries.shape[1]
    first, last = np.zeros(values.shape, np.int64), np.full(values.shape, n)
    for _ in range(n.bit_length()):
        middle = (first + last) // 2
        found = np.take_along_axis(boundaries, np.minimum(middle, n - 1), -1)
        # a search that is done (first == last) must stay where it is
        is_here_or_before = (found > values if right else found >= values) | (first == last)
        first = np.where(is_here_or_before, first, middle + 1)
        last = np.where(is_here_or_before, middle, last)
    return first


def _check_side(side: str | None, right: bool) -> None:
    """Raises RuntimeError for an unknown side, and for "left" with `right`."""
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )


def _checked_sorter(boundaries: Tensor, sorter: Tensor) -> Any:
    """`sorter` as an array. Raises RuntimeError unless it is int64, has the sizes of the
    boundaries, and its indices are in range.
    """
    if tuple(sorter.shape) != tuple(boundaries.shape):
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(boundaries.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype is not dt.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{SCALAR_TYPE_NAME[sorter.dtype]}"
        )
    order = snapshot(sorter)
    if order.size and not (order.min() >= 0 and order.max() < sorter.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
    return order


def _check_sizes(boundaries: tuple[int, ...], values: tuple[int, ...]) -> None:
    """Raises RuntimeError unless there is one row of boundaries, or one for each row of values."""
    if not values and len(boundaries) != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({len(boundaries)}) and input "
            "value's dim(0) numel(1)"
        )
    if not boundaries:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
            "dimension"
        )
    if len(boundaries) != 1 and (len(boundaries) != len(values) or boundaries[:-1] != values[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(boundaries)} and input value tensor {list(values)}"
        )
