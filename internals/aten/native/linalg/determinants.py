"""Determinants (`aten/src/ATen/native/LinearAlgebra.cpp`: `_linalg_det`, `_linalg_slogdet`).

From P A = L U: the determinant of U is the product of its diagonal, that of L is 1, and that of P
is 1 or -1, depending on whether the number of row exchanges is even or odd. The product of many
numbers overflows soon; `slogdet` gives its sign and the logarithm of its absolute value instead.
The factors are results of `_linalg_det` too, for the derivative.

How the real one differs: it computes the sign of P and the products with operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, array, from_array

from . import checks
from .factors import factor, factors_transpose


def _linalg_det(A: Tensor) -> Any:
    """The determinant of every matrix, the factors of A or Aᵀ, and their pivots.

    Raises RuntimeError for matrices that are not square and for integers, NotImplementedError for
    half precision.
    """
    LU, pivots, diagonal = _factors(A, "linalg.det", low_precision=True)
    with np.errstate(all="ignore"):
        det = np.multiply.reduce(diagonal, -1) * _parity(pivots).astype(diagonal.dtype)
    return named("_linalg_det", ("result", "LU", "pivots"))(from_array(np.asarray(det)), LU, pivots)


def _linalg_slogdet(A: Tensor) -> Any:
    """The sign of the determinant of every matrix (complex: a number of absolute value 1), the
    logarithm of its absolute value, and the factors.

    Of a singular matrix the sign is 0 and the logarithm -inf. Raises RuntimeError for matrices that
    are not square, and for dtypes other than float32, float64 and complex.
    """
    LU, pivots, diagonal = _factors(A, "linalg.slogdet", low_precision=False)
    with np.errstate(all="ignore"):
        sign = np.multiply.reduce(_sign(diagonal), -1) * _parity(pivots).astype(diagonal.dtype)
        logabsdet = np.add.reduce(np.log(np.abs(diagonal)), -1)
    results = from_array(np.asarray(sign)), from_array(np.asarray(logabsdet)), LU, pivots
    return named("_linalg_slogdet", ("sign", "logabsdet", "LU", "pivots"))(*results)


def linalg_det(A: Tensor) -> Any:
    """The determinant of every matrix. Raises as `_linalg_det`."""
    return ops._linalg_det(A)[0]


def linalg_slogdet(A: Tensor) -> Any:
    """The sign of the determinant of every matrix, and the logarithm of its absolute value. Raises
    as `_linalg_slogdet`.
    """
    return named("linalg_slogdet", ("sign", "logabsdet"))(*ops._linalg_slogdet(A)[:2])


def slogdet(self: Tensor) -> Any:
    """`linalg.slogdet` by an older name. Raises as `_linalg_slogdet`."""
    return named("slogdet", ("sign", "logabsdet"))(*ops.linalg_slogdet(self))


def logdet(self: Tensor) -> Any:
    """The logarithm of the determinant of every matrix: NaN where a real one is negative. Raises
    as `_linalg_slogdet`.
    """
    checks.square("logdet", self)
    checks.floating("logdet", self, low_precision=False)
    sign, logabsdet = ops.linalg_slogdet(self)
    # |sign| is 1, so log(sign) is i times the angle: log det = log |det| + i angle
    if self.dtype.is_complex:
        return ops.add_Tensor(ops.log(sign), logabsdet, 1)
    return ops.where_ScalarSelf(ops.eq_Scalar(sign, -1.0), float("nan"), logabsdet)


def _factors(A: Tensor, name: str, low_precision: bool) -> tuple[Any, Any, Any]:
    """LU and pivots of A or Aᵀ, whose determinants are equal, and the diagonal of U as an array."""
    checks.square(name, A)
    checks.floating(name, A, low_precision)
    LU, pivots, _ = factor(A, factors_transpose(A))
    return LU, pivots, np.diagonal(array(LU), axis1=-2, axis2=-1)


def _parity(pivots: Tensor) -> Any:
    """The determinant of P: 1 for an even number of row exchanges, -1 for an odd one."""
    # step i exchanges row i + 1 with row pivots[i], counted from 1: no exchange if they are equal
    exchanged = array(pivots) != np.arange(1, pivots.shape[-1] + 1)
    return 1 - 2 * (np.add.reduce(exchanged, -1, dtype=np.int64) % 2)


def _sign(z: Array) -> Any:
    """z / |z|, and 0 for 0."""
    return np.sign(z) if z.dtype.kind != "c" else np.where(z == 0, 0, z / np.abs(z))
