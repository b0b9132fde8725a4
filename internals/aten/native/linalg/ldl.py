"""The LDL decomposition of symmetric matrices, A = L D Lᵀ
(`aten/src/ATen/native/BatchLinearAlgebra.cpp`).

It is Cholesky's decomposition for matrices that need not be positive-definite: L has ones on its
diagonal, and D is diagonal except for some 2 by 2 blocks, which negative pivots mark. With
`hermitian` it is A = L D Lᴴ, which for a real matrix is the same. Only the lower triangle is read.
There is no derivative, as in PyTorch.

How the real one differs: LAPACK factors in the memory of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.return_types import named
from internals.core.tensor_impl import Tensor, array, snapshot

from . import checks
from .batches import broadcast_batch, column_major, each, routine, zeros
from .errors import check_errors as raise_for
from .systems import common_batch


def linalg_ldl_factor_ex(self: Tensor, hermitian: bool = False, check_errors: bool = False) -> Any:
    """L and D in one lower triangle, the int32 pivots, and `info`: 0, or which element of D is
    zero.

    Raises RuntimeError for matrices that are not square, for integers, and, with `check_errors`,
    where `info` is not 0; NotImplementedError for half precision.
    """
    name = "torch.linalg.ldl_factor_ex"
    checks.square(name, self)
    checks.floating(name, self)
    if self.numel():
        checks.supported("ldl_factor_kernel_cpu", self)
    LD, info = column_major(self.shape, self.dtype), zeros(self.shape[:-2], dt.int32)
    pivots = zeros(self.shape[:-1], dt.int32)
    sytrf = routine("hetrf" if _is_hermitian(self, hermitian) else "sytrf", self.dtype)
    each(lambda a: sytrf(np.tril(a), lower=True), [self], [LD, pivots, info])
    if check_errors:
        raise_for(array(info), name, self.dim() == 2)
    return named("linalg_ldl_factor_ex", ("LD", "pivots", "info"))(LD, pivots, info)


def linalg_ldl_factor(self: Tensor, hermitian: bool = False) -> Any:
    """L and D in one lower triangle, and the pivots. Raises as `linalg_ldl_factor_ex`, and
    RuntimeError for a zero in D.
    """
    LD, pivots, info = ops.linalg_ldl_factor_ex(self, hermitian, False)
    ops._linalg_check_errors(info, "torch.linalg.ldl_factor", self.dim() == 2)
    return named("linalg_ldl_factor", ("LD", "pivots"))(LD, pivots)


def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool = False) -> Any:
    """X with A X = B, for the A that `linalg_ldl_factor` factored. Batches are broadcast.

    Raises RuntimeError for sizes that do not fit, two dtypes, and pivots that are not integers,
    IndexError for a vector B.
    """
    name = "torch.linalg.ldl_solve"
    checks.square(name, LD)
    checks.floating(name, LD)
    B.size(-2)  # raises IndexError for a vector
    checks.solver(name, B, LD)
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    if pivots.is_floating_point() or pivots.is_complex() or pivots.dtype is dt.bool_:
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {SCALAR_TYPE_NAME[pivots.dtype]}"
        )
    batch = common_batch(LD.shape, B.shape)
    if 0 not in (*batch, LD.shape[-1]):
        checks.supported("ldl_solve_kernel_cpu", LD)
    result = column_major((*batch, *B.shape[-2:]), B.dtype)
    sytrs = routine("hetrs" if _is_hermitian(LD, hermitian) else "sytrs", LD.dtype)
    rows = _checked_pivots(name, pivots, LD.shape[-1])
    inputs = [
        broadcast_batch(LD, batch),
        broadcast_batch(rows, batch, 1),
        broadcast_batch(B, batch),
    ]
    each(lambda a, p, b: sytrs(a, p, b, lower=True)[0], inputs, [result])
    return result


def _checked_pivots(name: str, pivots: Tensor, n: int) -> Any:
    """The pivots as an array.

    LAPACK trusts them: RuntimeError is raised for those that would lead it out of the matrix.
    """
    p = snapshot(pivots)
    for row in p.reshape(-1, n) if p.size else ():
        # A 2 by 2 block has two negative pivots, so each run of negative ones has even length.
        # `bounds` are the positions within `negative` where a run starts, and the end of the last.
        negative = np.flatnonzero(row < 0)
        bounds = np.flatnonzero(np.diff(negative, prepend=-2, append=n + 2) > 1)
        if ((row == 0) | (row > n) | (row < -n)).any() or (np.diff(bounds) % 2).any():
            raise RuntimeError(
                f"{name}: pivots have to be rows from 1 to {n}, or pairs of such numbers that are "
                "negative. "
                "Did you properly pass the result of ldl_factor?"
            )
    return p


def _is_hermitian(t: Tensor, hermitian: bool) -> bool:
    """Whether LAPACK's routine is the Hermitian one: the real routines know only symmetric ones."""
    return hermitian and bool(t.is_complex())
