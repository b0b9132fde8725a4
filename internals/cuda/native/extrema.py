"""The largest and smallest elements, and where they are, on the device (`native/cuda/ReduceMaxValuesKernel.cu`).

Values alone need one number for an accumulator; with positions it is a pair, and among equals the lower position wins, in
whatever order the threads come together. NaN counts as larger and as smaller than everything.

How the real one differs: in nothing that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native import extrema as cpu
from internals.core import dtype as dt
from internals.core import return_types

from ..fallback import on_cpu
from ..kernels import reduction_functors as f
from ..kernels import reduction_functors as w
from ..kernels.block_reduction import accumulator
from ..kernels.functors import maximum, minimum
from .opmath import acc_type, scalar_type
from .reducing import Recipe, Reduction, examples, number, reduce_into

LARGEST = {True: Recipe(f.itself, maximum, -np.inf), False: Recipe(f.itself, maximum, -(2**63))}  # by: is it floating
SMALLEST = {True: Recipe(f.itself, minimum, np.inf), False: Recipe(f.itself, minimum, 2**63 - 1)}


def amax(self: Any, dim: Sequence[int] = (), keepdim: bool = False, out: Any = None) -> Any:
    """The maximum over `dim`; [] means all. Raises IndexError over a dimension of size 0."""
    return _extreme("amax", ops.amax_op, LARGEST, self, dim, keepdim, out)


def amin(self: Any, dim: Sequence[int] = (), keepdim: bool = False, out: Any = None) -> Any:
    """The minimum over `dim`; [] means all. Raises IndexError over a dimension of size 0."""
    return _extreme("amin", ops.amin_op, SMALLEST, self, dim, keepdim, out)


def max(self: Any) -> Any:
    """The largest element. Raises RuntimeError when there is none."""
    return _extreme_of_all("max", ops.max_op, LARGEST, self)


def min(self: Any) -> Any:
    """The smallest element. Raises RuntimeError when there is none."""
    return _extreme_of_all("min", ops.min_op, SMALLEST, self)


def max_dim(self: Any, dim: int, keepdim: bool = False, out: Any = None) -> Any:
    """The largest elements along `dim` and their indices, as (values, indices)."""
    name = return_types.max if out is None else return_types.max_out
    return name(*_with_indices("max", self, dim, keepdim, out))


def min_dim(self: Any, dim: int, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest elements along `dim` and their indices, as (values, indices)."""
    name = return_types.min if out is None else return_types.min_out
    return name(*_with_indices("min", self, dim, keepdim, out))


def argmax(self: Any, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The index of the largest element along `dim`, or in the flattened tensor."""
    return _index("argmax", self, dim, keepdim, out)


def argmin(self: Any, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The index of the smallest element along `dim`, or in the flattened tensor."""
    return _index("argmin", self, dim, keepdim, out)


def _extreme(name: str, op: Any, recipe: Any, self: Any, dim: Sequence[int], keepdim: bool, out: Any) -> Any:
    dims = cpu.check_extreme(name, self, dim, out)
    if self.is_complex():
        return on_cpu(op, self, dim, keepdim, out=out)
    return reduce_into(_values(recipe, self.dtype), self, dims, keepdim, (self.dtype,), (out,))[0]


def _extreme_of_all(name: str, op: Any, recipe: Any, self: Any) -> Any:
    cpu.check_some(name, self)
    if self.is_complex():
        return on_cpu(op, self)
    return reduce_into(_values(recipe, self.dtype), self, tuple(range(self.dim())), False, (self.dtype,), (None,))[0]


def _with_indices(name: str, self: Any, dim: int, keepdim: bool, out: Any) -> Any:
    d = cpu.check_extreme_along(name, self, dim)
    reduction = _places(name == "max", acc_type(self.dtype), scalar_type(self.dtype))
    dtypes = (self.dtype, dt.int64)
    return reduce_into(reduction, self, (d,) if self.dim() else (), keepdim, dtypes, out or (None, None), ordered=True)


def _index(name: str, self: Any, dim: int | None, keepdim: bool, out: Any) -> Any:
    dims = cpu.check_index(name, self, dim)
    reduction = _places(name == "argmax", acc_type(self.dtype), None)
    return reduce_into(reduction, self, dims, keepdim, (dt.int64,), (out,), ordered=True)[0]


def _values(recipe: Any, d: dt.dtype) -> Reduction:
    T = acc_type(d)
    return number(recipe[d.is_floating_point], T, T, scalar_type(d))


@cache
def _places(largest: bool, T: Any, OUT: Any) -> Reduction:
    """The extreme with its position; without OUT only the latter is written."""
    worst = (-np.inf if largest else np.inf) if np.issubdtype(T, np.floating) else (-(2**63) if largest else 2**63 - 1)
    combine = w.first_largest if largest else w.first_smallest
    return Reduction(
        accumulator("pair", T, np.int64),
        w.nowhere.bind(T=T, S=np.int64, FIRST=worst, LAST=2**63 - 1),
        w.fold_place.bind(T=T, S=np.int64, R=T, combine=combine),
        combine,
        w.write_place if OUT is None else w.write_value_and_place.bind(OUT=OUT),
    )


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found = examples(_values(LARGEST, dt.float32), "float32", ("float32",), np.int64)
    found += examples(_values(SMALLEST, dt.bool_), "bool", ("bool",), np.int64)
    found += examples(_places(True, np.float32, np.float16), "float16", ("float16", "int64"), np.int64)
    found += examples(_places(False, np.int64, None), "int64", ("int64",), np.int64)
    return found
