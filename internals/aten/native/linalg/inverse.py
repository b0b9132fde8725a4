"""Inverses (`aten/src/ATen/native/BatchLinearAlgebra.cpp`, `LinearAlgebra.cpp`).

A⁻¹ is the X of A X = 1, and it is computed as such: A is factored into L U, which is then solved
for each column of the identity matrix. `linalg.inv_ex` says in `info` which matrices have no
inverse; `linalg.inv` raises for the first of them. Everything else here is composite.

How the real one differs: `linalg.inv_ex` calls `linalg.solve_ex`, with the identity matrix as B.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.core.return_types import named
from internals.core.tensor_impl import Tensor, array

from . import checks
from .batches import column_major
from .errors import check_errors as raise_for
from .factors import factor, solve_factored


def linalg_inv_ex(A: Tensor, check_errors: bool = False) -> Any:
    """The inverse of every matrix, and `info`: 0, or the number of the first diagonal element of U
    that is zero.

    Raises RuntimeError for matrices that are not square and for dtypes other than float32, float64
    and complex, and, with `check_errors`, LinAlgError for a singular matrix.
    """
    checks.square("linalg.inv", A)
    checks.floating("linalg.inv", A, low_precision=False)
    LU, pivots, info = factor(A)
    if check_errors:
        raise_for(array(info), "linalg.inv_ex", A.dim() == 2)
    inverse = column_major(A.shape, A.dtype)
    identity = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype.np), A.shape)
    solve_factored(array(LU), array(pivots), identity, array(inverse))
    return named("linalg_inv_ex", ("inverse", "info"))(inverse, info)


def linalg_inv(A: Tensor) -> Any:
    """The inverse of every matrix. Raises as `linalg_inv_ex`, and LinAlgError for a singular
    matrix.
    """
    inverse, info = ops.linalg_inv_ex(A, False)
    ops._linalg_check_errors(info, "linalg.inv", A.dim() == 2)
    return inverse


def linalg_tensorinv(self: Tensor, ind: int = 2) -> Any:
    """The inverse of a tensor as a linear map, from the dimensions from `ind` on to those before.

    The result has them exchanged: sizes (*after, *before). So tensordot(result, t, ind) is t for
    every t that has the first `ind` sizes. Raises RuntimeError unless the two products of sizes are
    equal.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > self.dim():
        raise RuntimeError(f"'ind' is {ind}, but self has {self.dim()} dimensions")
    before, after = self.shape[:ind], self.shape[ind:]
    if prod(after) != prod(before):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {prod(after)} != {prod(before)}"
        )
    n = prod(after)
    return ops.reshape(ops.linalg_inv(ops.reshape(self, [n, n])), [*after, *before])
