"""Norms, and the logarithm of a sum of exponentials, on the device (`native/cuda/ReduceNormKernel.cu`).

How the real one differs: `logsumexp` is composed of amax, exp, sum and log there; here it is one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native import norms as cpu
from internals.core.dtype import dtype

from ..fallback import on_cpu
from ..kernels import reduction_functors as f
from ..kernels import reduction_functors as w
from ..kernels.block_reduction import accumulator
from ..kernels.functors import add, maximum, minimum
from .opmath import acc_type, scalar_type
from .reducing import Recipe, Reduction, converted, examples, number, reduce_into

BY_ORDER = {
    0.0: Recipe(f.truth, add, 0),
    1.0: Recipe(f.magnitude, add, 0),
    2.0: Recipe(f.square, add, 0, f.root),
    inf: Recipe(f.magnitude, maximum, 0),
    -inf: Recipe(f.magnitude, minimum, inf),
}
ANY_ORDER = Recipe(f.power, add, 0, f.root_p)


def linalg_vector_norm(
    self: Any,
    ord: Any = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Any = None,
) -> Any:
    """The norm of order `ord` over `dim`; None means all. What `internals.norm` calls."""
    p, dims = cpu.check_norm(self, ord, dim, dtype)
    if self.is_complex():
        return on_cpu(ops.linalg_vector_norm_op, self, ord, dim, keepdim, dtype, out=out)
    d = dtype or self.dtype
    T = acc_type(d)
    reduction = number(BY_ORDER.get(p, ANY_ORDER), T, acc_type(self.dtype), scalar_type(d))
    return reduce_into(reduction, self, dims, keepdim, (d,), (out,), T(p))[0]


def norm_Scalar(self: Any, p: Any = 2) -> Any:
    """The p-norm of all elements."""
    return linalg_vector_norm(self, 2 if p is None else p)


def norm_ScalarOpt_dtype(self: Any, p: Any, dtype: dtype) -> Any:
    return linalg_vector_norm(self, 2 if p is None else p, None, False, dtype)


def norm_ScalarOpt_dim(self: Any, p: Any, dim: Sequence[int], keepdim: bool = False, out: Any = None) -> Any:
    """The p-norm over `dim`."""
    return linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, None, out)


def norm_ScalarOpt_dim_dtype(
    self: Any, p: Any, dim: Sequence[int], keepdim: bool, dtype: dtype, out: Any = None
) -> Any:
    return linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype, out)


def logsumexp(self: Any, dim: Sequence[int], keepdim: bool = False, out: Any = None) -> Any:
    """log Σ exp(x) over `dim`, computed without overflow; integers become the default dtype."""
    dims, d = cpu.check_logsumexp(self, dim, out)
    if self.is_complex():
        return on_cpu(ops.logsumexp_op, self, dim, keepdim, out=out)
    d = d if out is None else out.dtype
    if d.is_complex:
        return on_cpu(ops.logsumexp_op, self, dim, keepdim, out=out)
    return reduce_into(_logsumexp(acc_type(d), scalar_type(d)), converted(self, d), dims, keepdim, (d,), (out,))[0]


@cache
def _logsumexp(T: Any, OUT: Any) -> Reduction:
    combine = w.add_exponentials
    return Reduction(
        accumulator("pair", T, T),
        w.no_exponentials.bind(T=T),
        w.fold_exponential.bind(T=T, R=T, combine=combine),
        combine,
        w.write_logarithm.bind(OUT=OUT),
    )


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    single, half = (np.float32, np.float32, np.float32), (np.float32, np.float32, np.float16)
    found = examples(number(BY_ORDER[2.0], *single), "float32", ("float32",), np.float32)
    found += examples(number(ANY_ORDER, *half), "float16", ("float16",), np.float32)
    found += examples(number(BY_ORDER[0.0], *single), "float32", ("float32",), np.float32)
    found += examples(_logsumexp(np.float32, np.float32), "float32", ("float32",), np.int64)
    return found
