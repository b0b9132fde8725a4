"""The gamma function Γ: its logarithm, derivatives, integrals; the Hurwitz zeta function
(`aten/src/ATen/native/Math.h`).

Γ(n) = (n - 1)! for whole n. scipy computes all of them; the functions here add PyTorch's checks and
limits.

How the real one differs: it computes the first derivative of `digamma` by reflection; at the poles
-1, -2, ... that gives a large number instead of infinity. Its `igamma` of NaN may be 0 or 1, its
`zeta` and `polygamma` of infinity are NaN.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from internals.aten.deferred import special
from internals.aten.dtype_checks import check_dtype
from internals.aten.scalar_functions import table as scalar
from internals.core import dtype as dt
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor

from ..real import run_floating

LAST_FACTORIAL = 170  # 171! is more than a float64 holds
MOST_FACTORS = 1 << 20  # the limit for mvlgamma; for one element they take a tenth of a second
TOGETHER = 1 << 16  # numbers that mvlgamma computes at once, as one array


# The derivative of log Γ.
digamma = partial(run_floating, "digamma", "digamma")


def polygamma(n: int, self: Tensor, out: Tensor | None = None) -> Any:
    """The derivative of order n of `digamma`. Raises RuntimeError for n < 0."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(self, out=out)
    return run_floating(
        "trigamma" if n == 1 else "polygamma", partial(derivative_of_digamma, n=n), self, out=out
    )


def polygamma_(self: Tensor, n: int) -> Any:
    """`polygamma` in place."""
    return polygamma(n, self, self)


def mvlgamma(self: Tensor, p: int, out: Tensor | None = None) -> Any:
    """The logarithm of the multivariate gamma function of dimension p. Raises RuntimeError for
    bool, and unless p is in 1 ... 2**20.
    """
    if self.dtype is dt.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p > MOST_FACTORS:
        raise RuntimeError(
            "mvlgamma: expected p, the number of factors for each element, to be at most "
            f"{MOST_FACTORS}, but got {p}"
        )
    check_dtype("mvlgamma_cpu", self.dtype, dt.BOOL, dt.INTEGRAL, dt.FLOATING)
    return run_floating("mvlgamma_cpu", partial(log_gamma_of_dimension, p=p), self, out=out)


# The integral for Γ(self) from 0 to `other`, divided by that from 0 to infinity. Raises
# NotImplementedError unless floating.
igamma = partial(run_floating, "igamma_cpu", "gammainc", promote="common")


# 1 - igamma(self, other), with full precision where that is tiny. Raises NotImplementedError unless
# floating.
igammac = partial(run_floating, "igammac_cpu", "gammaincc", promote="common")


@scalar.lgamma.made_by
def log_gamma(a: Any, out: Any) -> None:
    """The loop of `lgamma`."""
    out[...] = log_gamma_of(a)


# log |Γ(self)|, infinite at 0, -1, -2, ...
lgamma = partial(run_floating, "lgamma_vml_cpu", log_gamma)


def log_gamma_of(a: Array) -> Any:
    """log |Γ(a)| by scipy, except that it is inf for -inf, as in C."""
    return special.gammaln(np.where(a == -np.inf, np.inf, a))


def derivative_of_digamma(a: Array, out: Array, n: int) -> None:
    """(-1)**(n + 1) n! zeta(n + 1, a)."""
    factorial = float(math.factorial(n)) if n <= LAST_FACTORIAL else math.inf
    out[...] = (factorial if n % 2 else -factorial) * special.zeta(n + 1.0, a)


def hurwitz_zeta(a: Scalar | Array, b: Scalar | Array, out: Array) -> None:
    """The loop of `zeta`."""
    out[...] = special.zeta(a, b)


# The sum of (k + other)**-self over k = 0, 1, 2, ... Raises NotImplementedError for half precision.
zeta = partial(run_floating, "zeta_cpu", hurwitz_zeta, half=False)


def log_gamma_of_dimension(a: Array, out: Array, p: int) -> None:
    """The logarithm of the product of Γ(a - j / 2) over j = 0 ... p - 1, times a power of pi."""
    wide = np.asarray(a, np.result_type(a, np.float32))
    result = np.full_like(wide, p * (p - 1) / 4 * math.log(math.pi))
    together = max(1, TOGETHER // max(1, wide.size))
    for j in range(0, p, together):
        halves = (np.arange(j, min(j + together, p)) / 2).astype(wide.dtype)
        # wide - halves as (j, *wide.shape), summed over j
        result += log_gamma_of(-np.subtract.outer(halves, wide)).sum(0, dtype=np.float64)
    out[...] = result
