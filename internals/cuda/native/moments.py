"""Variance and standard deviation on the device
(`aten/src/ATen/native/cuda/ReduceMomentKernel.cu`).

One pass over the data by Welford's recurrence, with (mean, sum of squared distances, count) as the
accumulator.

How the real one differs: it computes complex numbers as two real ones; here they are left to the
CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from internals.core.tensor_impl import Tensor

from ..fallback import NoKernel
from ..kernels import reduction_functors as w
from ..kernels.block_reduction import accumulator
from .opmath import acc_type, scalar_type
from .reducing import Reduction, reduce


def moments(results: Any, self: Tensor, dims: Sequence[int], freedom: float, rooted: bool) -> None:
    """Fills `results`: the variance, or its root if `rooted`, alone or in a pair with the mean. The
    divisor `freedom` is the count minus the correction.
    """
    if self.is_complex():
        raise NoKernel
    pair, T = isinstance(results, tuple), acc_type(self.dtype)
    reduction = _welford(rooted, pair, T, scalar_type(self.dtype))
    reduce(reduction, self, dims, results if pair else (results,), T(freedom))


@cache
def _welford(rooted: bool, with_mean: bool, T: type, OUT: type) -> Reduction:
    """The reduction, accumulating in T, with results of type OUT."""
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
