"""Variance and standard deviation on the device (`aten/src/ATen/native/cuda/ReduceMomentKernel.cu`).

One pass over the data by Welford's recurrence, with (mean, sum of squared distances, count) as the accumulator.

How the real one differs: complex numbers go through it as two real ones; here they are left to the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native import moments as cpu

from ..fallback import on_cpu
from ..kernels import reduction_functors as w
from ..kernels.block_reduction import accumulator
from .opmath import acc_type, scalar_type
from .reducing import Reduction, examples, reduce_into

Dim = Sequence[int] | None


def var_correction(self: Any, dim: Dim = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The variance over `dim`. NaN, with a warning, where there are no degrees of freedom."""
    return _moment("var", ops.var_correction_op, self, dim, correction, keepdim)[0]


def std_correction(self: Any, dim: Dim = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The standard deviation over `dim`."""
    return _moment("std", ops.std_correction_op, self, dim, correction, keepdim)[0]


def var_mean_correction(self: Any, dim: Dim = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The variance and the mean over `dim`."""
    return _moment("var_mean", ops.var_mean_correction_op, self, dim, correction, keepdim)


def std_mean_correction(self: Any, dim: Dim = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The standard deviation and the mean over `dim`."""
    return _moment("std_mean", ops.std_mean_correction_op, self, dim, correction, keepdim)


def _moment(name: str, op: Any, self: Any, dim: Dim, correction: Any, keepdim: bool) -> Any:
    if self.is_complex():
        result = on_cpu(op, self, dim, correction, keepdim)
        return result if isinstance(result, tuple) else (result,)
    dims, _, freedom = cpu.check_moments(name, self, dim, correction)
    T, with_mean = acc_type(self.dtype), name.endswith("_mean")
    count = 2 if with_mean else 1
    reduction = _welford(name.startswith("std"), with_mean, T, scalar_type(self.dtype))
    return reduce_into(reduction, self, dims, keepdim, (self.dtype,) * count, (None,) * count, T(freedom))


@cache
def _welford(rooted: bool, with_mean: bool, T: Any, OUT: Any) -> Reduction:
    finish = w.deviation if rooted else w.variance
    return Reduction(
        accumulator("triple", T),
        w.no_moments.bind(T=T),
        w.fold_moments.bind(T=T, R=T),
        w.merge_moments.bind(T=T),
        w.write_moment_and_mean.bind(T=T, OUT=OUT, MEAN=OUT, finish=finish)
        if with_mean
        else w.write_moment.bind(OUT=OUT, finish=finish),
    )


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found = examples(_welford(False, False, np.float32, np.float32), "float32", ("float32",), np.float32)
    found += examples(_welford(True, True, np.float32, np.float16), "float16", ("float16", "float16"), np.float32)
    return found
