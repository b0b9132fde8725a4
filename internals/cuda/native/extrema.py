"""`amax`, `max`, `argmax` and the same for the smallest, on the device
(`aten/src/ATen/native/cuda/ReduceMaxValuesKernel.cu`).

Values alone need one number for an accumulator. With positions it is a pair, and of equal values
the one at the lower position wins, so that the order in which threads combine does not matter. NaN
wins over every number, in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

from ..kernels import reduction_functors as f, reduction_functors as w
from ..kernels.block_reduction import accumulator
from ..kernels.functors import maximum, minimum
from .opmath import acc_type, scalar_type
from .reducing import Recipe, Reduction, number, reduce

# by whether the dtype is floating; integers are compared in int64. The last argument is the
# accumulator of no elements
LARGEST = {True: Recipe(f.itself, maximum, -np.inf), False: Recipe(f.itself, maximum, -(2**63))}
SMALLEST = {True: Recipe(f.itself, minimum, np.inf), False: Recipe(f.itself, minimum, 2**63 - 1)}


def amax(result: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    """result = the largest elements over `dims`, without positions."""
    reduce(_values(LARGEST, self.dtype), self, dims, (result,))


def amin(result: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    """result = the smallest elements over `dims`, without positions."""
    reduce(_values(SMALLEST, self.dtype), self, dims, (result,))


def _with_indices(largest: bool, results: Any, self: Tensor, dims: Sequence[int]) -> None:
    """Fills `results`: (values, positions), or one tensor of positions (int64)."""
    pair = isinstance(results, tuple)
    reduction = _places(largest, acc_type(self.dtype), scalar_type(self.dtype) if pair else None)
    reduce(reduction, self, dims, results if pair else (results,), ordered=True)


max = argmax = partial(_with_indices, True)
min = argmin = partial(_with_indices, False)


def _values(recipe: Any, d: dt.dtype) -> Reduction:
    """The extreme of a dtype without its position."""
    T = acc_type(d)
    return number(recipe[d.is_floating_point], T, T, scalar_type(d))


@cache
def _places(largest: bool, T: type, OUT: type) -> Reduction:
    """The extreme with its position. If OUT is None, only the position is written."""
    worst = (
        (-np.inf if largest else np.inf)
        if np.issubdtype(T, np.floating)
        else (-(2**63) if largest else 2**63 - 1)
    )
    combine = w.first_largest if largest else w.first_smallest
    return Reduction(
        accumulator("pair", T, np.int64),
        w.nowhere.bind(T=T, S=np.int64, FIRST=worst, LAST=2**63 - 1),
        w.fold_index.bind(T=T, S=np.int64, R=T, combine=combine),
        combine,
        w.write_index if OUT is None else w.write_value_and_index.bind(OUT=OUT),
    )
