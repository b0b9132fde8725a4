"""Sums, products, means, "is any", "are all" on the device (`native/cuda/ReduceSumProdKernel.cu`, `ReduceLogicKernel.cu`).

The operators are those of `internals.aten.native.reductions`, whose checks and dtype rules they use; here each is a choice of
functors for the one reduction kernel. Complex numbers are reduced on the CPU.

How the real one differs: there are instances for complex numbers as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native import reductions as cpu
from internals.aten.native.reduction_tools import reduced_dims
from internals.core import dtype as dt
from internals.core.dtype import dtype

from ..fallback import on_cpu
from ..kernels import reduction_functors as f
from ..kernels.functors import add, maximum, minimum, mul
from .opmath import acc_type, scalar_type
from .reducing import Recipe, converted, examples, number, reduce_into

SUM = Recipe(f.itself, add, 0)
MEAN = Recipe(f.itself, add, 0, f.divided)
PRODUCT = Recipe(f.itself, mul, 1)
ANY = Recipe(f.truth, maximum, 0)
ALL = Recipe(f.truth, minimum, 1)


def sum(self: Any, dtype: dtype | None = None) -> Any:
    """The sum of all elements; 0 of none."""
    return sum_dim_IntList(self, None, False, dtype)


def sum_dim_IntList(
    self: Any, dim: Sequence[int] | None, keepdim: bool = False, dtype: dtype | None = None, out: Any = None
) -> Any:
    """The sum over `dim`. Raises IndexError for a dimension out of range, RuntimeError for a repeated one."""
    d = cpu.sum_dtype(self, dtype, out)
    if self.is_complex() or d.is_complex:
        return on_cpu(ops.sum_dim_IntList_op, self, dim, keepdim, d, out=out)
    return _reduced(ANY if d is dt.bool_ else SUM, self, reduced_dims(self, dim), keepdim, d, out)


def prod(self: Any, dtype: dtype | None = None) -> Any:
    """The product of all elements; 1 of none."""
    d = cpu.sum_dtype(self, dtype, None)
    if self.is_complex() or d.is_complex:
        return on_cpu(ops.prod_op, self, dtype)
    return _reduced(ALL if d is dt.bool_ else PRODUCT, self, reduced_dims(self, None), False, d, None)


def prod_dim_int(self: Any, dim: int, keepdim: bool = False, dtype: dtype | None = None, out: Any = None) -> Any:
    """The product over one dimension."""
    d = cpu.sum_dtype(self, dtype, out)
    if self.is_complex() or d.is_complex:
        return on_cpu(ops.prod_dim_int_op, self, dim, keepdim, d, out=out)
    return _reduced(ALL if d is dt.bool_ else PRODUCT, self, reduced_dims(self, dim), keepdim, d, out)


def mean(self: Any, dtype: dtype | None = None, out: Any = None) -> Any:
    """The mean of all elements; NaN of none."""
    return mean_dim(self, None, False, dtype, out)


def mean_dim(
    self: Any, dim: Sequence[int] | None, keepdim: bool = False, dtype: dtype | None = None, out: Any = None
) -> Any:
    """The mean over `dim`. Raises RuntimeError for integers and bools unless `dtype` is floating or complex."""
    d = cpu.mean_dtype(self, dtype, out)
    if self.is_complex() or d.is_complex:
        return on_cpu(ops.mean_dim_op, self, dim, keepdim, d, out=out)
    dims = reduced_dims(self, dim)
    return _reduced(MEAN, self, dims, keepdim, d, out, product([self.shape[i] for i in dims]))


def any(self: Any, out: Any = None) -> Any:
    """Whether any element is not zero. The result is bool, for uint8 uint8."""
    return _truth("any", self, reduced_dims(self, None), False, out)


def any_dim(self: Any, dim: int, keepdim: bool = False, out: Any = None) -> Any:
    return _truth("any", self, reduced_dims(self, dim), keepdim, out)


def any_dims(self: Any, dim: Sequence[int] | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """Over several dimensions; None means all of them, [] none."""
    return _truth("any", self, cpu.listed_dims(self, dim), keepdim, out)


def all(self: Any, out: Any = None) -> Any:
    """Whether no element is zero. The result is bool, for uint8 uint8."""
    return _truth("all", self, reduced_dims(self, None), False, out)


def all_dim(self: Any, dim: int, keepdim: bool = False, out: Any = None) -> Any:
    return _truth("all", self, reduced_dims(self, dim), keepdim, out)


def all_dims(self: Any, dim: Sequence[int] | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """Over several dimensions; None means all of them, [] none."""
    return _truth("all", self, cpu.listed_dims(self, dim), keepdim, out)


def _truth(name: str, self: Any, dims: tuple[int, ...], keepdim: bool, out: Any) -> Any:
    d = cpu.truth_dtype(name, self, out)
    if self.is_complex():  # not zero where either part is not
        self = ops.ne_Scalar(self, 0)
    return _reduced(ANY if name == "any" else ALL, self, dims, keepdim, d, out)


def _reduced(
    recipe: Recipe, self: Any, dims: tuple[int, ...], keepdim: bool, d: dtype, out: Any, parameter: int = 0
) -> Any:
    if recipe in (ANY, ALL):
        T, R = np.int32, acc_type(self.dtype)
    else:
        self = converted(self, d)
        T, R = acc_type(d), acc_type(d) if d is self.dtype else scalar_type(d)
    reduction = number(recipe, T, R, scalar_type(d))
    return reduce_into(reduction, self, dims, keepdim, (d,), (out,), T(parameter))[0]


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found = []
    for recipe, source, to in (
        (SUM, dt.float32, dt.float32),
        (SUM, dt.float16, dt.float16),
        (SUM, dt.uint8, dt.int64),
        (MEAN, dt.float64, dt.float64),
        (PRODUCT, dt.int64, dt.int64),
        (ANY, dt.bool_, dt.bool_),
        (ALL, dt.float16, dt.bool_),
    ):
        T = np.int32 if recipe in (ANY, ALL) else acc_type(to)
        found += examples(number(recipe, T, acc_type(source), scalar_type(to)), source.name, (to.name,), T)
    return found
