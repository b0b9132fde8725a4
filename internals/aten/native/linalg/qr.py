"""The QR decomposition, A = Q R (`aten/src/ATen/native/BatchLinearAlgebra.cpp`: `linalg_qr_out`).

R is upper triangular, the columns of Q are orthonormal. LAPACK uses Householder reflections:
`geqrf` leaves R in the upper triangle, and below it the vectors of the reflections, whose product
is Q. Another routine multiplies them out (`reflections`); it is not called where only R is asked
for.

How the real one differs: LAPACK works in the memory of Q or of R, where A fits into one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core.return_types import named
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from . import checks
from .batches import column_major, each, routine, zeros
from .deprecation import deprecated
from .reflections import multiply_out


def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q (m, k) and R (k, n), k the smaller of m and n; with mode "complete" (m, m) and (m, n); with
    "r" Q is empty.

    Raises RuntimeError for less than two dimensions, for integers, and for another mode;
    NotImplementedError for half precision.
    """
    checks.matrices("linalg.qr", A)
    checks.floating("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    checks.supported("geqrf_cpu", A)
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    packed, tau = _geqrf(A)
    R = column_major((*batch, k, n), A.dtype)
    array(R)[...] = np.triu(array(packed)[..., :k, :])
    if mode == "r":
        Q = empty_contiguous((0,), A.dtype)
    else:
        # the vectors of the reflections; "complete" has more columns of Q, which follow from them
        Q = column_major((*batch, m, k), A.dtype)
        array(Q)[..., : min(n, k)] = array(packed)[..., : min(n, k)]
        multiply_out(Q, tau)
    return named("linalg_qr", ("Q", "R"))(Q, R)


def qr(self: Tensor, some: bool = True) -> Any:
    """An older `linalg.qr`, with mode "reduced" if `some`, else "complete". Raises the same
    errors.
    """
    deprecated("qr", "linalg.qr")
    return named("qr", ("Q", "R"))(*ops.linalg_qr(self, "reduced" if some else "complete"))


def geqrf(self: Tensor) -> Any:
    """R and the vectors of the reflections in one matrix, and the factors `tau` of the reflections.

    Raises RuntimeError for less than two dimensions, NotImplementedError for dtypes that LAPACK
    does not know.
    """
    if self.dim() < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    checks.supported("geqrf_cpu", self)
    return named("geqrf", ("a", "tau"))(*_geqrf(self))


def _geqrf(A: Tensor) -> tuple[Any, Any]:
    """LAPACK's `geqrf` of every (m, n) matrix: the packed (m, n) result, and `tau` (min(m, n))."""
    *batch, m, n = A.shape
    packed, tau = column_major(A.shape, A.dtype), zeros((*batch, min(m, n)), A.dtype)
    geqrf = routine("geqrf", A.dtype)
    each(lambda a: geqrf(a)[:2], [A], [packed, tau])
    return packed, tau
