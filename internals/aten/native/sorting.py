"""Sorting: `sort`, `msort`, `argsort`, `topk` (`aten/src/ATen/native/Sorting.cpp`).

All of them find the indices of the elements first, and take the values by them. NaN counts as
larger than everything.

Large tensors are left to machine code (`aten/compiled/sorting.py`).

How the real one differs: equal elements keep their order only with `stable=True`; here they always
do. `topk` chooses a partial sort or a quickselect by the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.layout import dense_strides
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.geometry import geometry, wrap_dim
from internals.core.tensor_impl import Array, Tensor, array, empty, snapshot
from internals.machine_code.settings import settings, use_compiled


def sort(
    self: Tensor, dim: int = -1, descending: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """(values, indices): the values along `dim` in order, and the positions that they had. Raises
    RuntimeError for complex numbers.
    """
    return sort_stable(self, True, dim, descending, out)


def sort_stable(
    self: Tensor,
    stable: bool | None,
    dim: int = -1,
    descending: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """`sort`; equal elements keep their order whatever `stable` says."""
    d = wrap_dim(dim, self.dim())
    if self.is_complex():
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    values, indices = sort_outputs(self, out)
    results = (return_types.sort if out is None else return_types.sort_out)(values, indices)
    if not self._geometry.stored:
        return on_device(
            "sorting.first", results, self, self.shape[d] if self.dim() else 1, d, descending
        )
    if self._geometry.stored < settings.least or not _compiled_sort(
        self, values, indices, d, descending
    ):
        a = np.atleast_1d(snapshot(self))
        order = _order(a, d, descending)
        array(values)[...] = np.take_along_axis(a, order, d).reshape(self.shape)
        array(indices)[...] = order.reshape(self.shape)
    return results


def msort(self: Tensor) -> Any:
    """The values along the first dimension in order."""
    return ops.sort(self, 0, False)[0]


def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """The positions that would sort `dim`."""
    return ops.sort(self, dim, descending)[1]


def argsort_stable(self: Tensor, stable: bool, dim: int = -1, descending: bool = False) -> Any:
    """`argsort`; equal elements keep their order whatever `stable` says."""
    return ops.sort_stable(self, stable, dim, descending)[1]


def topk(
    self: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """(values, indices): the `k` largest (or smallest) along `dim`, in order, and their positions.
    Raises RuntimeError when there are fewer, and for complex numbers and bools.
    """
    d = wrap_dim(dim, self.dim())
    if not 0 <= k <= (self.shape[d] if self.dim() else 1):
        raise RuntimeError("selected index k out of range")
    if self.is_complex():
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self.dtype is dt.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    sizes = (*self.shape[:d], k, *self.shape[d + 1 :]) if self.dim() else ()
    values = set_output(sizes, self.dtype, out and out[0], device=self.device)
    indices = set_output(sizes, dt.int64, out and out[1], device=self.device)
    results = (return_types.topk if out is None else return_types.topk_out)(values, indices)
    if not self._geometry.stored:
        return on_device("sorting.first", results, self, k if self.dim() else 1, d, largest)
    if (
        self._geometry.stored >= settings.least
        and (found := _compiled_topk(self, k, d, largest)) is not None
    ):
        array(values)[...], array(indices)[...] = found
    elif values._geometry.stored:
        a = np.atleast_1d(snapshot(self))
        # first which elements, by a partition, then their order: only k of n have to be sorted
        chosen = _chosen(a, k if self.dim() else 1, d, largest)
        found = np.take_along_axis(a, chosen, d)
        order = _order(found, d, largest)
        array(values)[...] = np.take_along_axis(found, order, d).reshape(sizes)
        array(indices)[...] = np.take_along_axis(chosen, order, d).reshape(sizes)
    return results


def _compiled_sort(self: Tensor, values: Tensor, indices: Tensor, d: int, descending: bool) -> bool:
    """Fill `values` and `indices` by machine code; False where numpy has to do it."""
    from internals.aten.compiled.sorting import THRESHOLD, sort

    separate = values._storage is not self._storage and indices._storage is not self._storage
    return bool(
        separate and self.dim() and self.numel() and use_compiled(self.numel(), THRESHOLD)
    ) and sort(self, values, indices, d, descending)


def _compiled_topk(self: Tensor, k: int, d: int, largest: bool) -> Any:
    """(values, indices) by machine code, as arrays; None where numpy finds them."""
    from internals.aten.compiled.sorting import THRESHOLD, topk

    fits = self.dim() and self.numel() and use_compiled(self.numel(), THRESHOLD)
    return topk(self, k, d, largest) if fits else None


def _order(a: Array, dim: int, descending: bool) -> Any:
    """The indices that sort `dim`, where equal elements keep their order.

    Reversing an ascending order would also reverse equal elements. So the array is reversed,
    sorted, and the result reversed back; its indices count from the other end.
    """
    if not descending:
        return np.argsort(a, dim, kind="stable")
    return a.shape[dim] - 1 - np.flip(np.argsort(np.flip(a, dim), dim, kind="stable"), dim)


def _chosen(a: Array, k: int, dim: int, largest: bool) -> Any:
    """The positions of the k largest or smallest along `dim`, in ascending order of position."""
    n = a.shape[dim]
    if k == n:
        return np.broadcast_to(
            np.arange(n).reshape([-1 if d == dim else 1 for d in range(a.ndim)]), a.shape
        )
    found = np.argpartition(a, n - k if largest else k - 1, dim)
    return np.sort(found.take(range(n - k, n) if largest else range(k), dim), dim)


def sort_outputs(self: Tensor, out: Sequence[Tensor] | None) -> tuple[Any, Any]:
    """(values, indices): the tensors to fill, those of `out`, or new ones with the order of
    dimensions that `self` has in memory.
    """
    if out is not None:
        return tuple(
            [
                set_output(self.shape, d, o, device=self.device)
                for d, o in zip((self.dtype, dt.int64), out)
            ]
        )
    strides = dense_strides(self.shape, self.stride())
    values, indices = (
        geometry(self.shape, strides, dtype, self.device) for dtype in (self.dtype, dt.int64)
    )
    return empty(values), empty(indices)
