"""Running sums and products (`aten/src/ATen/native/ReduceOps.cpp`: `cumsum`, `cumprod`,
`logcumsumexp`).

Element i of the result is the sum of elements 0...i. Integers and bools give int64; `dtype=`
converts the elements first. Floats are added up in the next wider dtype, as PyTorch's loop does,
and every partial result is rounded.

Large tensors are left to machine code (`aten/compiled/scans.py`).

How the real one differs: it has one loop for tensors of any size, which runs over rows in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype, not_implemented
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import FLOATING, SCALAR_TYPE_NAME, dtype
from internals.core.float_errors import quietly
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code.settings import settings, use_compiled

from .reduction_tools import cast
from .special.logarithms import complex_logaddexp

# the dtype of the running sum or product; others have none that is wider
_WIDER = {dt.float16: np.float32, dt.float32: np.float64, dt.complex64: np.complex128}


def logcumsumexp(self: Tensor, dim: int, out: Tensor | None = None) -> Any:
    """log Σ exp(x) over the elements so far along `dim`, without overflow. Raises
    NotImplementedError for integers and bools.
    """
    d = wrap_dim(dim, self.dim())
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(
            f"expected scalar_type {SCALAR_TYPE_NAME[self.dtype]} but found "
            f"{SCALAR_TYPE_NAME[out.dtype]}"
        )
    check_dtype("logcumsumexp_out_cpu", self.dtype, dt.FLOATING, dt.COMPLEX)
    target = set_output(self.shape, self.dtype, out, device=self.device)
    if not self._geometry.stored:
        return target
    a = array(self)
    if a.ndim and self.is_complex():
        a = quietly(_log_sums_of_complex, a.astype(np.complex128), d)
    elif a.ndim:
        a = quietly(np.logaddexp.accumulate, a, d, np.float64)
    array(target)[...] = a
    return target


def _scan(
    name: str, loop: Any, self: Any, dim: int, dtype: dtype | None = None, out: Any = None
) -> Any:
    """The results of the ufunc `loop` over the elements so far along `dim`. Raises IndexError for a
    dimension out of range, NotImplementedError for a result of bools.
    """
    d = wrap_dim(dim, self.dim())
    if out is self and dtype not in (None, self.dtype):
        names = TYPE_META_NAME[self.dtype], TYPE_META_NAME[dtype]
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {names[0]} and output tensor dtype {names[1]} "
            "should match"
        )
    default = dt.int64 if self.dtype.category < FLOATING else self.dtype
    result = dtype or (out.dtype if out is not None else default)
    target = set_output(self.shape, result, out, device=self.device)
    if result is dt.bool_ and self.dim() and target.numel():
        raise not_implemented(f"{name}_out_cpu", result)
    if not target._geometry.stored:
        return on_device(f"scans.{name}", target, self, d)
    if target.numel() >= settings.least and _compiled(loop, self, d, target):
        return target
    a = cast(self, result)
    if a.ndim:  # of a 0-d tensor the only element is the result
        a = quietly(loop.accumulate, a, d, _WIDER.get(result, result.np))
    array(target)[...] = a
    return target


# Sums of the elements so far along `dim`.
cumsum = partial(_scan, "cumsum", np.add)
# Products of the elements so far along `dim`.
cumprod = partial(_scan, "cumprod", np.multiply)


def _log_sums_of_complex(a: Array, dim: int) -> Any:
    """logcumsumexp along `dim` of complex128, slice by slice, as numpy has no such ufunc."""
    rows = np.moveaxis(a, dim, 0)
    sums = np.empty_like(rows)
    so_far: Any = -np.inf + 0j  # log(0)
    for i, x in enumerate(rows):
        complex_logaddexp(x, so_far, sums[i, ...])
        so_far = sums[i]
    return np.moveaxis(sums, 0, dim)


def _compiled(loop: Callable[..., Any], self: Tensor, d: int, target: Tensor) -> bool:
    """Fill `target` by machine code. Returns False where numpy has to do it: few elements, other
    dtypes, operands that are not contiguous.
    """
    from internals.aten.compiled.reductions import adds_up
    from internals.aten.compiled.scans import THRESHOLD, scan

    if not use_compiled(target.numel(), THRESHOLD) or not adds_up(self.dtype, target.dtype):
        return False
    # in place is fine, as each element is read before it is written; a partial overlap is not
    safe = target is self or target._storage is not self._storage
    return (
        safe
        and self.is_contiguous()
        and target.is_contiguous()
        and scan(self, target, d, loop is np.multiply)
    )
