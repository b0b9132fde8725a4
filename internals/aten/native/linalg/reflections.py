"""Products of Householder reflections (`aten/src/ATen/native/BatchLinearAlgebra.cpp`:
`householder_product`, `ormqr`).

A reflection H = 1 - tau v vᴴ maps a vector to another of the same length. Q = H₁ H₂ … H_k is kept
as `geqrf` leaves it: v of reflection i is column i below the diagonal; its 1 on the diagonal and
its zeros above are not stored.

How the real one differs: LAPACK works in the memory of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor, array

from . import checks
from .batches import column_major, each, routine


def linalg_householder_product(input: Tensor, tau: Tensor) -> Any:
    """The first n columns of Q, for `input` (m, n) with m >= n, and `tau` (k) with k <= n.

    Raises RuntimeError for other shapes and two dtypes, NotImplementedError for dtypes that LAPACK
    does not know.
    """
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.dim() and input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    _check_tau(name, input, tau)
    result = column_major(input.shape, input.dtype)
    checks.supported("orgqr_cpu", input)
    array(result)[...] = array(input)
    multiply_out(result, tau)
    return result


def multiply_out(Q: Tensor, tau: Tensor) -> None:
    """Replace the reflections that the tensor `Q` holds by their product, in place."""
    if not tau.shape[-1]:
        array(Q)[...] = np.eye(*Q.shape[-2:])
        return
    orgqr = routine("ungqr" if Q.is_complex() else "orgqr", Q.dtype)
    each(lambda a, tau: orgqr(a, tau)[0], [Q, tau], [Q])


def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Any:
    """Q C, for the reflections `self` with factors `input2`, and C = `input3`; Qᴴ C with
    `transpose`, C Q without `left`.

    Raises RuntimeError for other shapes and two dtypes, NotImplementedError for dtypes that LAPACK
    does not know.
    """
    _check_ormqr(self, input2, input3, left)
    checks.supported("ormqr_cpu", self)
    result = column_major(input3.shape, self.dtype)
    array(result)[...] = array(input3)
    ormqr = routine("unmqr" if self.is_complex() else "ormqr", self.dtype)
    side, trans = "L" if left else "R", ("C" if self.is_complex() else "T") if transpose else "N"
    # the workspace, for blocks of up to 64 reflections at a time
    work = 64 * max(*input3.shape[-2:], 1)
    k = input2.shape[-1]
    each(
        lambda a, tau, c: ormqr(side, trans, a[:, :k], tau, c, work)[0],
        [self, input2, input3],
        [result],
    )
    return result


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    """Raises RuntimeError unless sizes and dtypes fit for Q C, or C Q without `left`."""
    name, d = "torch.ormqr", -2 if left else -1
    for argument, t in (("input", input), ("other", other)):
        if t.dim() < 2:
            raise RuntimeError(f"{name}: {argument} must have at least 2 dimensions.")
    if other.shape[d] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{d}] must be equal to input.shape[-2]")
    if tau.dim() and tau.shape[-1] != min(other.shape[d], input.shape[-1]):
        raise RuntimeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{d}], input.shape[-1])"
        )
    _check_tau(name, input, tau)
    if other.dim() != input.dim():
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.dim()} and input.ndim is equal to {input.dim()}"
        )
    if other.shape[:-2] != input.shape[:-2]:
        batch = list(other.shape[:-2])
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{batch}"
        )
    if other.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but input has "
            f"dtype{SCALAR_TYPE_NAME[input.dtype]} and other has dtype "
            f"{SCALAR_TYPE_NAME[other.dtype]}"
        )


def _check_tau(name: str, input: Tensor, tau: Tensor) -> None:
    """Raises RuntimeError unless `tau` has the batch and the dtype of `input`."""
    if tau.dim() != input.dim() - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.dim()} and input.ndim is equal to {input.dim()}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        batch = list(tau.shape[:-1])
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{batch}"
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {SCALAR_TYPE_NAME[tau.dtype]} does not match input dtype "
            f"{SCALAR_TYPE_NAME[input.dtype]}"
        )
