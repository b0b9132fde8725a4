"""`sum`, `mean`, `prod`, `any` and `all` on the device
(`aten/src/ATen/native/cuda/ReduceSumProdKernel.cu`, `ReduceLogicKernel.cu`).

Each is a choice of functors for the one reduction kernel. Complex numbers are reduced on the CPU.

How the real one differs: it has instances for complex numbers as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from internals._generated import ops
from internals.core.tensor_impl import Tensor

from ..fallback import NoKernel
from ..kernels import reduction_functors as f
from ..kernels.functors import add, maximum, minimum, mul
from .opmath import acc_type, scalar_type
from .reducing import Recipe, converted, number, reduce

SUM = Recipe(f.itself, add, 0)
MEAN = Recipe(f.itself, add, 0, f.divided)
PRODUCT = Recipe(f.itself, mul, 1)
ANY = Recipe(f.truth, maximum, 0)
ALL = Recipe(f.truth, minimum, 1)


def _reduced(
    recipe: Recipe, result: Tensor, self: Tensor, dims: Sequence[int], count: int = 0
) -> None:
    """Fills `result` with the reduction of `self` over `dims`; a mean is divided by `count`."""
    d = result.dtype
    truth = recipe in (ANY, ALL)
    if d.is_complex or self.is_complex() and not truth:
        raise NoKernel
    if self.is_complex():  # for `any` and `all`: true where either part is not zero
        self = ops.ne_Scalar(self, 0)
    self = self if truth else converted(self, d)
    # T accumulates; R is the type that elements are read in, before they are accumulated
    T = np.int32 if truth else acc_type(d)
    R = acc_type(self.dtype) if truth or d is self.dtype else scalar_type(d)
    reduce(number(recipe, T, R, scalar_type(d)), self, dims, (result,), T(count))


sum, mean, prod, any, all = (partial(_reduced, recipe) for recipe in (SUM, MEAN, PRODUCT, ANY, ALL))
