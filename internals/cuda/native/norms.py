"""Norms, and the logarithm of a sum of exponentials, on the device
(`aten/src/ATen/native/cuda/ReduceNormKernel.cu`).

How the real one differs: there `logsumexp` is composed of amax, exp, sum and log; here it is one
pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf

from internals.core.tensor_impl import Tensor

from ..fallback import NoKernel
from ..kernels import reduction_functors as f, reduction_functors as w
from ..kernels.block_reduction import accumulator
from ..kernels.functors import add, maximum, minimum
from .opmath import acc_type, scalar_type
from .reducing import Recipe, Reduction, converted, number, reduce

# take each element by the first functor, combine by the second, begin with the number, finish by
# the last
BY_ORDER = {
    0.0: Recipe(f.truth, add, 0),
    1.0: Recipe(f.magnitude, add, 0),
    2.0: Recipe(f.square, add, 0, f.root),
    inf: Recipe(f.magnitude, maximum, 0),
    -inf: Recipe(f.magnitude, minimum, inf),
}
ANY_ORDER = Recipe(f.power, add, 0, f.root_p)


def norm(result: Tensor, self: Tensor, dims: Sequence[int], p: float) -> None:
    """result = the norm of order `p` over `dims`: (Σ |x|^p)^(1/p). Order 0 counts the elements that
    are not zero, inf and -inf give the largest and smallest |x|.
    """
    if self.is_complex():
        raise NoKernel
    T = acc_type(result.dtype)
    reduction = number(
        BY_ORDER.get(p, ANY_ORDER), T, acc_type(self.dtype), scalar_type(result.dtype)
    )
    reduce(reduction, self, dims, (result,), T(p))


def logsumexp(result: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    """result = log Σ exp(x) over `dims`, without overflow."""
    d = result.dtype
    if self.is_complex() or d.is_complex:
        raise NoKernel
    reduce(_logsumexp(acc_type(d), scalar_type(d)), converted(self, d), dims, (result,))


@cache
def _logsumexp(T: type, OUT: type) -> Reduction:
    """The reduction of pairs (largest, sum of exp(x - largest))."""
    combine = w.add_exponentials
    return Reduction(
        accumulator("pair", T, T),
        w.no_exponentials.bind(T=T),
        w.fold_exponential.bind(T=T, R=T, combine=combine),
        combine,
        w.write_logarithm.bind(OUT=OUT),
    )
