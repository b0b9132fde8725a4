"""Variance and standard deviation (`aten/src/ATen/native/ReduceOps.cpp`: `std_var_out`).

The variance is the sum of the squared distances from the mean, divided by n - correction, the
degrees of freedom: correction 1 (`unbiased=True`) is Bessel's, which makes up for the mean being an
estimate from the same data. For complex numbers the distances are moduli, and the result is real.
The overloads with `unbiased` call those with `correction`.

Large tensors are left to machine code (`aten/compiled/moments.py`).

How the real one differs: it makes one pass over the data, by Welford's recurrence, in double
precision; here there are two passes, in double precision too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.on_device import on_device
from internals.core.device import CPU
from internals.core.dtype import COMPLEX, float64
from internals.core.scalar import checked
from internals.core.tensor_impl import Tensor, array
from internals.core.warn import warn
from internals.machine_code.settings import settings, use_compiled

from .reduction_tools import is_floating, reduced_dims, store, total

Dim = Sequence[int] | None


def var(self: Tensor, unbiased: bool = True) -> Any:
    """The variance of all elements. Raises RuntimeError for integers and bools."""
    return ops.var_correction(self, None, int(unbiased), False)


def var_dim(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Any:
    """The variance over `dim`; None means all."""
    return ops.var_correction(self, dim, int(unbiased), keepdim)


def std(self: Tensor, unbiased: bool = True) -> Any:
    """The standard deviation of all elements: the root of the variance."""
    return ops.std_correction(self, None, int(unbiased), False)


def std_dim(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Any:
    """The standard deviation over `dim`; None means all."""
    return ops.std_correction(self, dim, int(unbiased), keepdim)


def var_mean(self: Tensor, unbiased: bool = True) -> Any:
    """The variance and the mean of all elements."""
    return ops.var_mean_correction(self, None, int(unbiased), False)


def var_mean_dim(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Any:
    """The variance and the mean over `dim`; None means all."""
    return ops.var_mean_correction(self, dim, int(unbiased), keepdim)


def std_mean(self: Tensor, unbiased: bool = True) -> Any:
    """The standard deviation and the mean of all elements."""
    return ops.std_mean_correction(self, None, int(unbiased), False)


def std_mean_dim(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Any:
    """The standard deviation and the mean over `dim`; None means all."""
    return ops.std_mean_correction(self, dim, int(unbiased), keepdim)


def number_of(correction: int | None) -> float:
    """The correction as a real number: 1 if none is given."""
    return 1 if correction is None else float(checked(correction, float64))


def _moments(
    name: str, self: Tensor, dim: Dim = None, correction: int | None = None, keepdim: bool = False
) -> Any:
    """The variance over `dim`, or its root if `name` starts with "std"; (that, mean) if it ends
    with "_mean".

    Raises RuntimeError for integers, bools and an imaginary correction; warns where there are no
    degrees of freedom.
    """
    if not is_floating(self.dtype):
        what = f"{name} only support" if name.endswith("_mean") else "std and var only support"
        raise RuntimeError(f"{what} floating point and complex dtypes")
    dims = reduced_dims(self, dim)
    # n elements for each result
    n = prod(self.shape[d] for d in dims)
    freedom = n - number_of(correction)
    if freedom <= 0 and self.numel() // (n or 1):
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )
    # dividing by 0 gives NaN where all elements are equal, else inf
    freedom = max(freedom, 0) if n else 0
    variance, mean = _variance_and_mean(self, dims, n, freedom) if self.device is CPU else (0, 0)
    # on another device `store` only allocates, and `on_device` fills the tensors
    rooted = name.startswith("std")
    spread = store(
        self, lambda: np.sqrt(variance) if rooted else variance, dims, keepdim, self.dtype.to_real()
    )
    if not name.endswith("_mean"):
        return on_device("moments.moments", spread, self, dims, freedom, rooted)
    results = spread, store(self, lambda: mean, dims, keepdim, self.dtype)
    return on_device("moments.moments", results, self, dims, freedom, rooted)


# The variance over `dim`. NaN or infinite, with a warning, where there are no degrees of freedom.
var_correction = partial(_moments, "var")
# The standard deviation over `dim`.
std_correction = partial(_moments, "std")
# The variance and the mean over `dim`.
var_mean_correction = partial(_moments, "var_mean")
# The standard deviation and the mean over `dim`.
std_mean_correction = partial(_moments, "std_mean")


def _variance_and_mean(self: Tensor, dims: tuple[int, ...], n: int, freedom: float) -> Any:
    """Both as arrays without the dimensions `dims`: the mean of the `n` elements of each result,
    and the sum of squared distances from it, divided by `freedom`.
    """
    if self.numel() >= settings.least and (found := _compiled(self, dims, freedom)) is not None:
        return found
    a = array(self).astype(np.complex128 if self.dtype.category == COMPLEX else np.float64)
    with np.errstate(all="ignore"):
        mean = total(a, dims) / np.float64(n)
        distance = np.abs(a - np.expand_dims(mean, dims))
        return total(distance * distance, dims) / np.float64(freedom), mean


def _compiled(self: Tensor, dims: tuple[int, ...], freedom: float) -> tuple[Any, Any] | None:
    """(variance, mean) by machine code; None where numpy does it."""
    from internals.aten.compiled.moments import THRESHOLD, moments

    if (
        not self.numel()
        or not use_compiled(self.numel(), THRESHOLD)
        or (found := moments(self, dims)) is None
    ):
        return None
    mean, squares = found
    with np.errstate(all="ignore"):
        return squares / np.float64(freedom), mean
