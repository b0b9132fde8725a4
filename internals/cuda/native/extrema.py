"""The largest and smallest elements, and where they are, on the device
(`native/cuda/ReduceMaxValuesKernel.cu`).

Values alone need one number for an accumulator; with positions it is a pair, and among equals the
lower position wins, in whatever order the threads come together. NaN counts as larger and as
smaller than everything.

How the real one differs: in nothing that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core import dtype as dt

from ..kernels import reduction_functors as f, reduction_functors as w
from ..kernels.block_reduction import accumulator
from ..kernels.functors import maximum, minimum
from .opmath import acc_type, scalar_type
from .reducing import Recipe, Reduction, number, reduce

if TYPE_CHECKING:
    from internals._tensor import Tensor

# by: is it floating
LARGEST = {True: Recipe(f.itself, maximum, -np.inf), False: Recipe(f.itself, maximum, -(2**63))}
SMALLEST = {True: Recipe(f.itself, minimum, np.inf), False: Recipe(f.itself, minimum, 2**63 - 1)}


def amax(result: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    reduce(_values(LARGEST, self.dtype), self, dims, (result,))


def amin(result: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    reduce(_values(SMALLEST, self.dtype), self, dims, (result,))


def _with_places(largest: bool, results: Any, self: Tensor, dims: Sequence[int]) -> None:
    """Fill `results`: values and positions, or positions alone."""
    pair = isinstance(results, tuple)
    reduction = _places(largest, acc_type(self.dtype), scalar_type(self.dtype) if pair else None)
    reduce(reduction, self, dims, results if pair else (results,), ordered=True)


max = argmax = partial(_with_places, True)
min = argmin = partial(_with_places, False)


def _values(recipe: Any, d: dt.dtype) -> Reduction:
    T = acc_type(d)
    return number(recipe[d.is_floating_point], T, T, scalar_type(d))


@cache
def _places(largest: bool, T: type, OUT: type) -> Reduction:
    """The extreme with its position; without OUT only the latter is written."""
    worst = (
        (-np.inf if largest else np.inf)
        if np.issubdtype(T, np.floating)
        else (-(2**63) if largest else 2**63 - 1)
    )
    combine = w.first_largest if largest else w.first_smallest
    return Reduction(
        accumulator("pair", T, np.int64),
        w.nowhere.bind(T=T, S=np.int64, FIRST=worst, LAST=2**63 - 1),
        w.fold_place.bind(T=T, S=np.int64, R=T, combine=combine),
        combine,
        w.write_place if OUT is None else w.write_value_and_place.bind(OUT=OUT),
    )
