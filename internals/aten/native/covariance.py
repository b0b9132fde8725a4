"""Covariances and correlations of variables (`aten/src/ATen/native/Correlation.cpp`).

Each row of a matrix is a variable, each column an observation. Observations may count several times
(`fweights`), or be more reliable than others (`aweights`).

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import FLOATING, INTEGRAL, SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor
from internals.core.warn import warn


def cov(
    self: Tensor,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Any:
    """The covariances of all pairs of rows of an (m, n) matrix, as (m, m); of one row, a number.

    Raises RuntimeError for more than two dimensions, for bools, and for weights that do not fit or
    are negative. Warns where there are no degrees of freedom.
    """
    _check_dimensions("cov", self)
    if self.dtype is dt.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self.view([1, -1]) if self.dim() < 2 else self
    n = rows.shape[1]
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, n, "integral", INTEGRAL)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, n, "floating point", FLOATING)
        weights = aweights if weights is None else weights * aweights
    total = (
        ops.scalar_tensor(n, dt.int64, None, self.device, None)
        if weights is None
        else weights.sum()
    )
    if weights is not None and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (rows if weights is None else rows * weights).sum(1) / total
    # With reliabilities the correction is scaled: for w = f * a it is sum(w * a) / sum(w), which is
    # 1 where all `aweights` are 1.
    degrees = total - correction
    if aweights is not None and correction:
        degrees = total - correction * (weights * aweights).sum() / total
    if degrees.item() <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations."
        )
        degrees.zero_()
    rows = rows - mean.unsqueeze(1)
    # (m, n) @ (n, m)
    products = ops.mm(rows, (rows if weights is None else rows * weights).t().conj())
    return ops.true_divide_Tensor(products, degrees).squeeze()


def corrcoef(self: Tensor) -> Any:
    """The correlations of all pairs of rows: their covariance divided by both standard deviations,
    from -1 to 1. Raises RuntimeError as `cov`.
    """
    _check_dimensions("corrcoef", self)
    c = ops.cov(self, 1, None, None)
    if not c.dim():
        return c / c
    variances = c.diagonal()
    # rounding may give a little more than 1: hence the clip
    deviations = (ops.real(variances) if c.is_complex() else variances).sqrt()
    c = c / deviations.view([-1, 1]) / deviations.view([1, -1])
    return (
        ops.complex(ops.real(c).clip(-1, 1), ops.imag(c).clip(-1, 1))
        if c.is_complex()
        else c.clip(-1, 1)
    )


def _check_dimensions(name: str, self: Tensor) -> None:
    """Raises RuntimeError for more than two dimensions."""
    if self.dim() > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{self.dim()} dimensions"
        )


def _check_weights(name: str, weights: Any, n: int, kind: str, category: int) -> None:
    """Raises RuntimeError unless `weights` are n numbers of the category, none of them negative."""
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.dim()} dimensions"
        )
    if weights.dtype.category != category:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{SCALAR_TYPE_NAME[weights.dtype]} dtype"
        )
    if weights.numel() != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights.numel()} != {n}"
        )
    if n and not weights.min().ge(0).item():
        raise RuntimeError(f"cov(): {name} cannot be negative")
