"""Sums, products, means, counts, `any` and `all` (`aten/src/ATen/native/ReduceOps.cpp`).

`dim` is a list of dimensions, None or [] for all of them; with `keepdim` they stay, with size 1.
Sums and products of integers and bools are int64. `dtype=` converts the elements first. Most
functions try `quick_sum` or machine code (`aten/compiled/reductions.py`, for large tensors) first,
and then numpy by way of `store`; both are in `reduction_tools.py`.

How the real one differs: it has one vectorised two-pass loop per operation, split over threads, for
tensors of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import not_implemented
from internals.aten.set_output import set_output
from internals.aten.writing import check_cast
from internals.core import dtype as dt
from internals.core.dtype import FLOATING, SCALAR_TYPE_NAME, dtype
from internals.core.float_errors import quietly
from internals.core.geometry import wrap_dims
from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code.settings import settings, use_compiled

from .reduction_tools import (
    cast,
    compiled_sum,
    is_floating,
    quick_sum,
    reduced_dims,
    reduced_sizes,
    shares_memory,
    store,
    total,
)


def sum(self: Tensor, dtype: dtype | None = None) -> Any:
    """The sum of all elements; 0 if there are none."""
    if dtype is None and (quick := quick_sum(self, None, False)) is not None:
        return quick
    return sum_dim_IntList(self, None, False, dtype)


def sum_dim_IntList(
    self: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    """The sum over `dim`. Raises IndexError for a dimension out of range, RuntimeError for a
    repeated one.
    """
    if dtype is None and out is None and (quick := quick_sum(self, dim, keepdim)) is not None:
        return quick
    dims = reduced_dims(self, dim)
    d = sum_dtype(self, dtype, out)
    if (
        self._geometry.stored >= settings.least
        and (found := compiled_sum(self, dim, keepdim, d, out, False)) is not None
    ):
        return found
    if d is dt.bool_:  # the sum of bools as a bool: whether it is not 0
        return store(
            self,
            lambda: np.logical_or.reduce(array(self), axis=dims),
            dims,
            keepdim,
            d,
            out,
            "reductions.any",
        )
    return store(
        self, lambda: quietly(total, cast(self, d), dims), dims, keepdim, d, out, "reductions.sum"
    )


def sum_to_size(self: Tensor, size: Sequence[int]) -> Any:
    """The sum over the dimensions that broadcasting `size` to the shape of `self` would expand: the
    inverse of `expand`, for its gradient. Raises RuntimeError when `size` does not broadcast.
    """
    extra = self.dim() - len(size)
    misfits = [n for n, m in zip(reversed(size), reversed(self.shape)) if n not in (1, m)]
    if extra < 0 or misfits:
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}."
        )
    if not size:
        return ops.sum(self, None)
    # the new dimensions in front, and those that had size 1
    dims = [d for d, n in enumerate(self.shape) if d < extra or size[d - extra] == 1 != n]
    result = ops.sum_dim_IntList(self, dims, True, None) if dims else self
    return ops.view(result, size) if extra else result


def prod(self: Tensor, dtype: dtype | None = None) -> Any:
    """The product of all elements; 1 if there are none."""
    return _product(self, reduced_dims(self, None), False, dtype, None)


def prod_dim_int(
    self: Tensor,
    dim: int,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    """The product over one dimension."""
    return _product(self, reduced_dims(self, dim), keepdim, dtype, out)


def mean(self: Tensor, dtype: dtype | None = None, out: Tensor | None = None) -> Any:
    """The mean of all elements; NaN if there are none."""
    return mean_dim(self, None, False, dtype, out)


def mean_dim(
    self: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    """The mean over `dim`. Raises RuntimeError for integers and bools unless `dtype` is floating or
    complex.
    """
    if dtype is None and out is None and (quick := quick_sum(self, dim, keepdim, True)) is not None:
        return quick
    d = dtype or (out.dtype if out is not None else self.dtype)
    if not is_floating(d if dtype is not None else self.dtype):
        which = "Optional" if dtype is not None else "Input"
        raise RuntimeError(_NO_MEAN.format("mean", which, SCALAR_TYPE_NAME[dtype or self.dtype]))
    if not is_floating(d):  # `out` is of integers: a mean cannot be stored there
        check_cast(dt.get_default_dtype(), d)
    if (
        self._geometry.stored >= settings.least
        and (found := compiled_sum(self, dim, keepdim, d, out, True)) is not None
    ):
        return found
    dims = reduced_dims(self, dim)
    n = product([self.shape[i] for i in dims])
    return store(
        self,
        lambda: quietly(_mean, cast(self, d), dims, n),
        dims,
        keepdim,
        d,
        out,
        "reductions.mean",
        n,
    )


def nansum(
    self: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    """`sum_dim_IntList` with NaN counting as 0. Raises RuntimeError for complex numbers."""
    dims = reduced_dims(self, dim)
    if self.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    d = sum_dtype(self, dtype, out)
    if self.dtype.category < FLOATING:
        return sum_dim_IntList(self, dim, keepdim, dtype, out)
    if self.numel() and (d.is_complex or (d.category < FLOATING and dtype is None)):
        raise not_implemented("nansum_cpu", d)
    return store(
        self,
        lambda: quietly(total, _without_nan(array(self)).astype(d.np), dims),
        dims,
        keepdim,
        d,
        out,
    )


def nanmean(
    self: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The mean of the elements that are not NaN; NaN where there are none. Raises RuntimeError for
    integers, bools and complex numbers.
    """
    if not is_floating(self.dtype):
        name = SCALAR_TYPE_NAME[self.dtype]
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {name}"
        )
    if dtype is not None and not is_floating(dtype):
        raise RuntimeError(_NO_MEAN.format("nanmean", "Optional", SCALAR_TYPE_NAME[dtype]))
    numbers = ops.sum_dim_IntList(ops.logical_not(ops.isnan(self.detach())), dim, keepdim, None)
    return ops.div_Tensor(ops.nansum(self, dim, keepdim, dtype), numbers)


def count_nonzero(self: Tensor, dim: int | None = None) -> Any:
    """The number of elements that are not zero, NaN included, along `dim` or of all: int64."""
    return _count_nonzero(self, reduced_dims(self, dim))


def count_nonzero_dim_IntList(self: Tensor, dim: Sequence[int]) -> Any:
    """`count_nonzero` over several dimensions; [] means all."""
    return _count_nonzero(self, reduced_dims(self, dim))


def any(self: Tensor, out: Tensor | None = None) -> Any:
    """Whether any element is not zero. The result is bool, for uint8 uint8."""
    return _truth("any", np.logical_or, self, reduced_dims(self, None), False, out)


def any_dim(self: Tensor, dim: int, keepdim: bool = False, out: Tensor | None = None) -> Any:
    """`any` over one dimension."""
    return _truth("any", np.logical_or, self, reduced_dims(self, dim), keepdim, out)


def any_dims(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, out: Tensor | None = None
) -> Any:
    """`any` over several dimensions; None means all of them, [] none."""
    return _truth("any", np.logical_or, self, listed_dims(self, dim), keepdim, out)


def all(self: Tensor, out: Tensor | None = None) -> Any:
    """Whether no element is zero. The result is bool, for uint8 uint8."""
    return _truth("all", np.logical_and, self, reduced_dims(self, None), False, out)


def all_dim(self: Tensor, dim: int, keepdim: bool = False, out: Tensor | None = None) -> Any:
    """`all` over one dimension."""
    return _truth("all", np.logical_and, self, reduced_dims(self, dim), keepdim, out)


def all_dims(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, out: Tensor | None = None
) -> Any:
    """`all` over several dimensions; None means all of them, [] none."""
    return _truth("all", np.logical_and, self, listed_dims(self, dim), keepdim, out)


def _count_nonzero(self: Tensor, dims: tuple[int, ...]) -> Any:
    """The number of elements over `dims` that are not zero, NaN included."""
    return store(self, lambda: np.count_nonzero(array(self), dims), dims, False, dt.int64)


def _without_nan(a: Array) -> Any:
    """A copy with 0 in the place of NaN."""
    return np.where(np.isnan(a), 0, a)


def _mean(a: Array, axes: tuple[int, ...], n: int) -> Any:
    """The sum over `axes` divided by `n`, in the dtype of the sum."""
    s = total(a, axes)
    return np.divide(s, n, dtype=s.dtype)


def sum_dtype(self: Tensor, dtype: dtype | None, out: Tensor | None) -> Any:
    """The dtype of a sum or product: `dtype`, else that of `out`, else that of `self`, or int64 for
    integers and bools.
    """
    if dtype is not None:
        return dtype
    if out is not None:
        return out.dtype
    return self.dtype if self.dtype.category >= FLOATING else dt.int64


def _product(
    self: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: dtype | None, out: Tensor | None
) -> Any:
    """The product over `dims`, converted to `dtype` first if it is given; bools are combined by
    `and`, half precision is multiplied in single.
    """
    d = sum_dtype(self, dtype, out)
    if (
        self._geometry.stored >= settings.least
        and (found := compiled_product(self, dims, keepdim, d, out)) is not None
    ):
        return found
    loop, name = (
        (np.logical_and, "reductions.all") if d is dt.bool_ else (np.multiply, "reductions.prod")
    )
    accumulate = np.float32 if d is dt.float16 else d.np
    return store(
        self,
        lambda: quietly(loop.reduce, cast(self, d), dims, accumulate),
        dims,
        keepdim,
        d,
        out,
        name,
    )


def compiled_product(
    self: Tensor, dims: tuple[int, ...], keepdim: bool, d: dtype, out: Tensor | None
) -> Any:
    """The product in dtype `d` by machine code; None where numpy does it."""
    from internals.aten.compiled.reductions import THRESHOLD, adds_up, products

    if not self.numel() or not use_compiled(self.numel(), THRESHOLD) or not adds_up(self.dtype, d):
        return None
    if shares_memory(self, out):
        return None
    target = set_output(reduced_sizes(self.shape, dims, keepdim), d, out)
    return target if products(self, dims, target) else None


def _truth(
    name: str, loop: Any, self: Any, dims: tuple[int, ...], keepdim: bool, out: Tensor | None
) -> Any:
    """`any` or `all` (`name`) over `dims` by the ufunc `loop`. The result is bool, or uint8 if
    `self` or `out` is. Raises RuntimeError for an `out` of another dtype.
    """
    d = out.dtype if out is not None else dt.uint8 if self.dtype is dt.uint8 else dt.bool_
    if d not in (dt.bool_, dt.uint8):
        raise RuntimeError(
            f"{name} only supports bool tensor for result, got: {SCALAR_TYPE_NAME[d]}"
        )
    return store(
        self,
        lambda: loop.reduce(array(self), axis=dims),
        dims,
        keepdim,
        d,
        out,
        f"reductions.{name}",
    )


def listed_dims(self: Tensor, dim: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that `any` and `all` reduce, each 0 .. ndim - 1: None means all, [] none."""
    return (
        ()
        if dim is not None and not len(dim) or not self.dim() and not wrap_dims(dim, 0)
        else reduced_dims(self, dim)
    )


_NO_MEAN = (
    "{}(): could not infer output dtype. {} dtype must be either a floating point or complex "
    "dtype. Got: {}"
)
