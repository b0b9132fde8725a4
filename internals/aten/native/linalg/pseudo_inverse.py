"""The pseudo-inverse, `linalg.pinv` (`aten/src/ATen/native/LinearAlgebra.cpp`: `pinv`).

For A = U diag(S) Vᴴ it is V diag(1/S) Uᴴ, where 1/S is 0 for the singular values that count as
zero: those not larger than `atol`, or than `rtol` times the largest. If neither is given, `rtol` is
the epsilon of the dtype times the larger side of the matrix.

How the real one differs: it is composed of operators, below autograd.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor, array, empty_contiguous, from_array

from . import checks
from .eigen import _linalg_eigh
from .svd import _linalg_svd


def linalg_pinv_atol_rtol_tensor(
    self: Tensor, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Any:
    """The pseudo-inverse of every matrix; tolerances of several elements are broadcast with the
    batch.

    With `hermitian` only the lower triangle of a square matrix is read. Raises RuntimeError for
    less than two dimensions, dtypes other than float32, float64 and complex, and complex
    tolerances.
    """
    if self.dim() < 2 or self.dtype not in checks.LAPACK_DTYPES:
        raise RuntimeError(
            f"linalg.pinv({SCALAR_TYPE_NAME[self.dtype]}{{{list(self.shape)}}}): expected a tensor "
            "with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
    a, r = _tolerances("torch.linalg.pinv", self, atol, rtol)
    *batch, m, n = self.shape
    if not self.numel():
        return empty_contiguous((*batch, n, m), self.dtype)
    # the tensors have to stay alive: the arrays below are their memory
    factors = _linalg_eigh(self) if hermitian else _linalg_svd(self)
    if hermitian:  # A = U diag(s) Uᴴ: a singular value is the absolute value of an eigenvalue
        s, u = map(array, factors)
        vh = u.conj().swapaxes(-1, -2)
    else:
        u, s, vh = map(array, factors)
    size = np.abs(s)
    for t in (a, r):
        broadcast_shapes((*t.shape, 1), s.shape)  # raises
    keep = size > np.maximum(a[..., None], r[..., None] * size.max(-1, keepdims=True))
    with np.errstate(divide="ignore"):
        inverse = np.where(keep, 1 / s, 0).astype(s.dtype)
    v, uh = vh.conj().swapaxes(-1, -2), u.conj().swapaxes(-1, -2)
    # (..., n, k) * (..., 1, k) scales the columns of V; @ (..., k, m)
    return from_array((v * inverse[..., None, :]) @ uh)


def linalg_pinv_atol_rtol_float(
    self: Tensor, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Any:
    """`linalg_pinv.atol_rtol_tensor` with numbers. Raises the same errors."""
    return ops.linalg_pinv_atol_rtol_tensor(
        self, as_tensor(self, atol), as_tensor(self, rtol), hermitian
    )


def linalg_pinv(self: Tensor, rcond: float, hermitian: bool = False) -> Any:
    """The pseudo-inverse with `rtol` of `rcond`. Raises as `linalg_pinv.atol_rtol_tensor`."""
    return ops.linalg_pinv_atol_rtol_float(self, 0.0, rcond, hermitian)


def linalg_pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Any:
    """`linalg_pinv` with a tensor `rcond`. Raises as `linalg_pinv.atol_rtol_tensor`."""
    return ops.linalg_pinv_atol_rtol_tensor(self, as_tensor(self, 0.0), rcond, hermitian)


def pinverse(self: Tensor, rcond: float = 1e-15) -> Any:
    """An older name of `linalg.pinv`. Raises the same errors."""
    return ops.linalg_pinv(self, rcond, False)


def as_tensor(like: Tensor, tolerance: float | None) -> Any:
    """A number as a 0-d float64 tensor on the device of `like`; None stays None."""
    return (
        None if tolerance is None else ops.full([], tolerance, dt.float64, None, like.device, None)
    )


def _tolerances(name: str, A: Tensor, atol: Tensor | None, rtol: Tensor | None) -> tuple[Any, Any]:
    """Both tolerances as arrays: `rtol` is 0 by default where `atol` is positive. Raises
    RuntimeError for complex ones.
    """
    checks.real_tolerances(name, atol, rtol)
    a = np.zeros(()) if atol is None else array(atol)
    if rtol is not None:
        return a, array(rtol)
    default = float(np.finfo(A.dtype.np).eps) * max(A.shape[-2:])
    return a, np.where(a > 0, 0.0, default)
