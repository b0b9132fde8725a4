"""Where values would be put in among ordered boundaries (`aten/src/ATen/native/Bucketization.cpp`).

A binary search for every value at once: all have an interval in which their place must be, and in
every round look at its middle and drop half of it. Boundaries are one row for all values, or as
many rows as values have. NaN goes to the end.

How the real one differs: one value after the other, over several threads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.aten.dtype_checks import check_dtype
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.promotion import result_type
from internals.core.tensor_impl import TensorImpl, array, snapshot

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.scalar import Scalar
    from internals.core.tensor_impl import Array


def searchsorted_Tensor(
    sorted_sequence: Tensor,
    self: object,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Any:
    """For every value in `self` the first place in its row of `sorted_sequence` where the row stays
    in order.

    With `right` (or side="right") the last such place: behind what equals it. `sorter` puts rows
    that are not sorted in order. Raises RuntimeError when the rows do not fit, NotImplementedError
    for bools and complex numbers.
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
    array(target)[...] = _places(boundaries, values, right or side == "right").reshape(sizes)
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
    """The place of one number."""
    return searchsorted_Tensor(sorted_sequence, self, out_int32, right, side, sorter, out)


def bucketize_Tensor(
    self: object,
    boundaries: Tensor,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Any:
    """For every value the number of the interval between `boundaries`, one row, in which it lies.

    An interval ends with its right boundary; with `right` it begins with its left one. Raises
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
    """The interval of one number."""
    return bucketize_Tensor(self, boundaries, out_int32, right)


def _places(boundaries: Array, values: Array, right: bool) -> Any:
    """The places of (rows, m) values in (rows, n) boundaries."""
    n = boundaries.shape[1]
    first, last = np.zeros(values.shape, np.int64), np.full(values.shape, n)
    for _ in range(n.bit_length()):
        middle = (first + last) // 2
        found = np.take_along_axis(boundaries, np.minimum(middle, n - 1), -1)
        is_here_or_before = (found > values if right else found >= values) | (first == last)
        first = np.where(is_here_or_before, first, middle + 1)
        last = np.where(is_here_or_before, middle, last)
    return first


def _check_side(side: str | None, right: bool) -> None:
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
