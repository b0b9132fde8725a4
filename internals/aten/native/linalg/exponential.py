"""The exponential of a matrix (`aten/src/ATen/native/LinearAlgebra.cpp`: `linalg_matrix_exp`).

1 + A + A²/2 + A³/6 + ..., a series that converges for every A, but slowly and with large terms that
cancel. So A is first divided by 2ˢ, and the result squared s times: exp(A) = exp(A/2)². scipy does
it, with a quotient of polynomials (a Padé approximant) for the series (A. H. Al-Mohy, N. J.
Higham).

How the real one differs: it uses polynomials, of a degree (1, 2, 4, 8, 12 or 18) that it chooses
for each matrix of a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.deferred import linalg
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor, array, from_array

from . import checks


def linalg_matrix_exp(self: Tensor) -> Any:
    """The exponential of every matrix; all NaN for a matrix with an infinity or NaN.

    Raises RuntimeError for integers and for matrices that are not square.
    """
    checks.square("linalg.matrix_exp", self)
    checks.floating("linalg.matrix_exp", self)
    a = array(self)
    if self.dtype is dt.float16:
        a = a.astype(np.float32)
    result = np.full(a.shape, np.nan, a.dtype)
    with np.errstate(all="ignore"):
        for i in np.ndindex(a.shape[:-2]) if a.size else ():
            if np.isfinite(a[i]).all():
                result[i] = linalg.expm(a[i])
    return from_array(result.astype(self.dtype.np, copy=False))
