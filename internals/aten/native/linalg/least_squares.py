"""Least squares, `linalg.lstsq` (`aten/src/ATen/native/BatchLinearAlgebra.cpp`:
`linalg_lstsq_out_info`).

The solution is the X with the smallest |A X - B|, and if there are several, the smallest of those.
LAPACK has four routines for it: `gels` (QR, A of full rank), `gelsy` (QR with pivots, which finds
the rank), `gelsd` and `gelss` (singular values). Each leaves X in the first n rows of B's memory;
the rows below, if there are any, hold the part of B that A X cannot reach, and their sums of
squares are the residuals.

How the real one differs: on a GPU there is only `gels`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.return_types import named
from internals.core.tensor_impl import Array, Tensor, alias, array, empty_contiguous, from_array

from . import checks
from .batches import broadcast_batch, column_major, each, routine, zeros
from .errors import check_errors
from .systems import common_batch, is_vector

NAME = "torch.linalg.lstsq"
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def linalg_lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None
) -> Any:
    """The solution, the sums of squared residuals, the rank of A, and its singular values; all but
    the first may be empty.

    `rcond`: singular values (for `gelsy` pivots) smaller than this times the largest count as zero.
    Raises RuntimeError for sizes that do not fit, dtypes other than float32, float64 and complex,
    and an unknown `driver`, LinAlgError when `gels` meets a matrix without full rank.
    """
    _check(self, b)
    driver = "gelsy" if driver is None else driver
    if driver not in DRIVERS:
        raise RuntimeError(
            f"{NAME}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    vector = b.dim() < self.dim()
    sides = array(b)[..., None] if vector else array(b)
    *_, m, n = self.shape
    batch = common_batch(self.shape, sides.shape)
    # B (m, rhs) goes in, X (n, rhs) comes out: the buffer (max(m, n), rhs) has room for both
    k, rhs, real = min(m, n), sides.shape[-1], self.dtype.to_real()
    buffer = column_major((*batch, max(m, n), rhs), self.dtype)
    array(buffer)[..., :m, :] = sides
    own_batch = self.shape[:-2]
    rank, values, info = (
        zeros(own_batch, dt.int64),
        zeros((*own_batch, k), real),
        np.zeros(own_batch, np.int32),
    )
    if rcond is None:
        rcond = float(np.finfo(self.dtype.np).eps) * max(m, n)
    if self.numel():
        targets = [
            _broadcast_target(array(rank), batch),
            _broadcast_target(array(values), (*batch, k)),
            _broadcast_target(info, batch),
        ]
        each(
            _solver(driver, self, rcond, rhs),
            [broadcast_batch(self, batch), buffer],
            [buffer, *targets],
        )
    elif driver == "gels" or not m:
        array(buffer)[...] = 0
    check_errors(info, NAME, self.dim() == 2)
    # only where A has more rows than columns and full rank; PyTorch omits them for gelsy
    residuals = empty_contiguous((0,), real)
    if m > n and driver != "gelsy" and (driver == "gels" or (array(rank) == n).all()):
        residuals = from_array((np.abs(array(buffer)[..., n:, :]) ** 2).sum(-2, dtype=real.np))
    # the first n rows of the buffer; of a vector b its only column
    strides, end = buffer.stride(), (n,) if vector else (n, rhs)
    solution = alias(buffer, (*batch, *end), strides[:-1] if vector else strides, 0)
    return named("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))(
        solution,
        residuals,
        empty_contiguous((0,), dt.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else empty_contiguous((0,), real),
    )


def _broadcast_target(a: Array, sizes: Sequence[int]) -> Any:
    """`a` broadcast to `sizes`, and writable: an A that has several B writes the same rank, values
    and `info` to the same memory each time.
    """
    spread = np.broadcast_to(a, sizes)
    spread.flags.writeable = True
    return spread


def _solver(driver: str, A: Tensor, rcond: float, rhs: int) -> Callable[[Any, Any], Any]:
    """LAPACK's routine as a function of A and B. It returns the solution, the rank, the singular
    values (0 where the routine does not compute them), and `info`.
    """
    *_, m, n = A.shape
    lapack = routine(driver, A.dtype)
    if driver == "gels":

        def solve(a: Array, b: Array) -> Any:
            _, x, info = lapack(a, b)
            return x, 0, 0, info

    elif driver == "gelsy":
        # a first call says how much workspace the second one needs
        work = int(routine("gelsy_lwork", A.dtype)(m, n, rhs, rcond)[0].real)

        def solve(a: Array, b: Array) -> Any:
            _, x, _, rank, info = lapack(a, b, np.zeros(n, np.int32), rcond, work)
            return x, rank, 0, info

    elif driver == "gelsd":
        *work, _ = routine("gelsd_lwork", A.dtype)(m, n, rhs, rcond)
        sizes = [int(np.real(size)) for size in work]

        def solve(a: Array, b: Array) -> Any:
            x, s, rank, info = lapack(a, b, *sizes, cond=rcond)
            return x, rank, s, info

    else:

        def solve(a: Array, b: Array) -> Any:
            _, x, s, rank, _, info = lapack(a, b, cond=rcond)
            return x, rank, s, info

    return solve


def _check(A: Tensor, B: Tensor) -> None:
    """Raises RuntimeError unless A is (..., m, n), B (..., m, rhs) or (..., m), of one dtype that
    LAPACK knows.
    """
    if A.dim() < 2:
        raise RuntimeError(f"{NAME}: input must have at least 2 dimensions.")
    if B.dim() < 1:
        raise RuntimeError(f"{NAME}: other must have at least 1 dimension.")
    if A.dtype is not B.dtype:
        a, b = SCALAR_TYPE_NAME[A.dtype], SCALAR_TYPE_NAME[B.dtype]
        raise RuntimeError(
            f"{NAME}: Expected input and other to have the same dtype, but got input's dtype {a} "
            f"and other's dtype {b}"
        )
    if not 0 <= A.dim() - B.dim() <= 1:
        raise RuntimeError(
            f"{NAME}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1"
        )
    side = -1 if is_vector(A, B) else -2
    if A.shape[-2] != B.shape[side]:
        raise RuntimeError(f"{NAME}: input.size(-2) should match other.size({side})")
    if A.dtype not in checks.LAPACK_DTYPES:
        raise RuntimeError("This function doesn't handle types other than float and double")
