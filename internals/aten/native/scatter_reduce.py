"""Reducing several values to one position by sum, product, mean or extremum: `scatter_reduce`,
`index_reduce` (`TensorAdvancedIndexing.cpp`).

They name a position for every value in different ways, as `scatter` and `index_add` do; `reduce_at`
does the work for both. With `include_self` the element of `self` counts as one more value. Without
it the positions that get values begin at the identity of the reduction (0, 1, the largest or the
smallest value of the dtype). Positions that get no value keep their element.

How the real one differs: it has a loop for each reduction; `scatter_reduce` of whole rows sorts the
index first and runs over threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array, snapshot
from internals.core.warn import warn_once

from .scatter_gather import (
    along,
    check_index_add,
    check_positions,
    check_scatter,
    copy_of,
    cropped,
    sizes_of,
)

LOOPS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}
BETA = "index_reduce() is in beta and the API may change at any time."


def scatter_reduce(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Any:
    """A copy of `self` where the elements of `src` that have the same position are reduced to one;
    `index` holds the position of each along `dim`.

    `reduce` is sum, prod, mean, amax or amin. Raises RuntimeError for another, and as `scatter`
    does; NotImplementedError for the extrema of complex numbers and the mean of bools. The mean of
    integers is rounded down.
    """
    if reduce not in LOOPS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    d = check_scatter(self, dim, index, src, "")
    if index.numel() and not _is_reducible(self, reduce):
        raise not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", self.dtype)
    target = copy_of(self, out)
    if not index.numel():
        return target
    positions = np.atleast_1d(snapshot(index))
    check_positions(positions, d, sizes_of(self)[d])
    values = np.atleast_1d(array(src))[tuple(slice(n) for n in positions.shape)]
    memory = np.atleast_1d(array(target))
    reduce_at(
        cropped(memory, positions.shape, d), along(positions, d), values, reduce, include_self
    )
    return target


def index_reduce(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Any:
    """A copy of `self` where the slices of `source` that have the same position along `dim` are
    reduced to one; `index` holds the position of each.

    `reduce` is prod, mean, amax or amin. Raises RuntimeError or IndexError as `index_add` does,
    NotImplementedError for some bools and complex numbers: in a vector, without `include_self`, or
    where the reduction itself has no meaning.
    """
    if reduce not in LOOPS or reduce == "sum":
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    warn_once(BETA)
    d = check_index_add(self, dim, index, source, "index_reduce_")
    if source.numel() or self.dim() <= 1 or not include_self:
        _check_index_dtype(self, reduce, include_self)
    target = copy_of(self, out)
    if not source.numel():
        return target
    positions = np.atleast_1d(snapshot(index))
    if positions.min() < 0 or positions.max() >= sizes_of(self)[d]:
        raise IndexError("index out of range in self")
    memory = np.atleast_1d(array(target))
    values = np.moveaxis(np.atleast_1d(array(source)), d, 0)
    reduce_at(np.moveaxis(memory, d, 0), (positions,), values, reduce, include_self)
    return target


def reduce_at(
    memory: Array, positions: Sequence[Array], values: Array, reduce: str, include_self: bool
) -> None:
    """Reduce `values` into `memory[positions]`, in the order of the positions, which may repeat.
    `positions` is a numpy index, an array for each of the first dimensions.
    """
    with np.errstate(all="ignore"):
        if not include_self:
            memory[positions] = _identity(reduce, memory.dtype)
        LOOPS[reduce].at(memory, positions, values)
        if reduce != "mean":
            return
        # a mean is the sum, divided by the number of values at each position
        counts = np.zeros(memory.shape, np.int64)
        np.add.at(counts, positions, 1)
        counts = np.maximum(counts + include_self, 1)
        divide = np.floor_divide if memory.dtype.kind in "iu" else np.true_divide
        memory[...] = divide(memory, counts).astype(memory.dtype)


def _check_index_dtype(self: Tensor, reduce: str, include_self: bool) -> None:
    """Raises NotImplementedError for bools and complex numbers where PyTorch has no kernel."""
    if self.dtype.category in (dt.INTEGRAL, dt.FLOATING):
        return
    if self.dim() <= 1:
        raise not_implemented("index_func_", self.dtype)
    if not include_self:
        raise not_implemented("index_reduce_func_exclude_input_init", self.dtype)
    if not _is_reducible(self, reduce):
        raise not_implemented(
            "div_floor_cpu" if reduce == "mean" else f"{reduce[1:]}imum_cpu", self.dtype
        )


def _identity(reduce: str, d: Any) -> Any:
    """The value of a numpy dtype that changes nothing when it is reduced with another one."""
    if reduce not in ("amax", "amin"):
        return 1 if reduce == "prod" else 0
    if d.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if d.kind == "b":
        return reduce == "amin"
    return np.iinfo(d).min if reduce == "amax" else np.iinfo(d).max


def _is_reducible(self: Tensor, reduce: str) -> bool:
    """Whether the reduction has a meaning for the dtype: complex numbers have no order, and bools
    no mean.
    """
    if reduce in ("amax", "amin"):
        return not self.dtype.is_complex
    return reduce != "mean" or self.dtype is not dt.bool_
