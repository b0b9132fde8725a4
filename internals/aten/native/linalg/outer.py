"""Adding an outer product to a matrix (`aten/src/ATen/native/LinearAlgebra.cpp`: `addr`).

An outer product is a pointwise product: of one vector seen as a column and another seen as a row,
which are broadcast. So addr is a pointwise operator with three operands.

How the real one differs: its loop is vectorised C++ (`cpu/LinearAlgebraKernel.cpp`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import BOOL
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, alias

from .. import loops
from ..pointwise import factor
from ..views import expand


def addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * self + alpha * (vec1 times each element of vec2), for vec1 (n,), vec2 (m,) and a
    `self` that expands to (n, m). With beta = 0 `self` is ignored, even where it is NaN.

    For bools, sum and product are `or` and `and`. Raises RuntimeError unless the vectors have one
    dimension and `self` expands to the sizes of the product.
    """
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        if v.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {v.dim()}-D")
    n, m = vec1.shape[0], vec2.shape[0]
    if out is self and tuple(self.shape) != (n, m):
        raise RuntimeError(f"size mismatch, input: {list(self.shape)}, v1: [{n}], v2: [{m}]")
    addend = self if tuple(self.shape) == (n, m) else expand(self, (n, m))
    # stride 0 in the added dimension: nothing is copied
    column = alias(vec1, (n, 1), (vec1.stride(0), 0), vec1.storage_offset())
    row = alias(vec2, (1, m), (0, vec2.stride(0)), vec2.storage_offset())
    it = TensorIterator((addend, column, row), out)
    common = it.common_dtype
    beta, alpha = factor(beta, common, "beta"), factor(alpha, common)
    return it.run(partial(_any if common.category == BOOL else _add_outer, beta=beta, alpha=alpha))


@loops.in_single
def _add_outer(a: Array, x: Array, y: Array, out: Array, beta: Scalar, alpha: Scalar) -> None:
    """`addr` of numbers; with beta = 0, `a` is not read, so that its NaN do not count."""
    if beta == 0:
        np.multiply(alpha * x, y, out=out)
    else:
        np.add(beta * a, alpha * x * y, out=out)


def _any(a: Any, x: Any, y: Any, out: Any, beta: bool, alpha: bool) -> None:
    """`addr` of bools."""
    out[...] = (a if beta else False) | (x & y if alpha else False)
