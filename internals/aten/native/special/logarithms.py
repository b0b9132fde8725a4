"""Logarithms whose plain formula would overflow, or compute 0 · log 0
(`aten/src/ATen/native/BinaryOps.cpp`, `UnaryOps.cpp`).

All except `logaddexp` raise NotImplementedError for complex numbers.

How the real one differs: its loops are written out in C++ (`cpu/BinaryOpsKernel.cpp`); here numpy
and scipy have most of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from internals.aten.deferred import special
from internals.aten.dtype_checks import check_dtype
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import COMPLEX, FLOATING
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor

from ..loops import in_single
from ..real import run_floating


def logaddexp(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """log(exp(self) + exp(other)). Raises NotImplementedError for integers and bool."""
    it = TensorIterator((self, other), out)
    check_dtype("logaddexp_cpu", it.common_dtype, FLOATING, COMPLEX)
    return it.run(complex_logaddexp if it.common_dtype.category == COMPLEX else np.logaddexp)


# log2(2**self + 2**other). Raises NotImplementedError unless floating.
logaddexp2 = partial(run_floating, "logaddexp2_cpu", np.logaddexp2, promote="common")


# self · log(1 + other); 0 where self is 0, unless `other` is NaN.
xlog1py = partial(run_floating, "xlog1py_cpu", "xlog1py")


# -self · log(self), the term of a probability in an entropy: 0 at 0, -inf below.
entr = partial(run_floating, "entr_cpu", "entr")


def logit(self: Tensor, eps: float | None = None, out: Tensor | None = None) -> Any:
    """log(p / (1 - p)) for p = self, the inverse of `sigmoid`; an `eps` that is not negative clamps
    p to eps ... 1 - eps.
    """
    return run_floating(
        "logit_cpu",
        special.logit if eps is None or eps < 0 else partial(saved_logit, eps=eps),
        self,
        out=out,
    )


def complex_logaddexp(a: Scalar | Array, b: Scalar | Array, out: Array) -> None:
    """high + log(1 + exp(low - high)), where `high` has the larger real part: nothing overflows.

    Where both real parts are infinite, their difference is NaN. If they are -inf, the logarithms of
    two zeros, one of the operands is the result; if inf, the plain formula gives the result. A NaN
    in any part makes both parts NaN.
    """
    swap = a.real < b.real
    low, high = np.where(swap, a, b), np.where(swap, b, a)
    infinite = np.isinf(low.real) & (low.real == high.real)
    special_values = [
        (np.isnan(a) | np.isnan(b), complex("nan+nanj")),
        (infinite & (low.real < 0), low),
        (infinite, np.log(np.exp(low) + np.exp(high))),
    ]
    conditions, values = zip(*special_values)
    out[...] = np.select(conditions, values, high + np.log1p(np.exp(low - high)))


@scalar.xlogy.made_by
@in_single
def xlogy_loop(a: object, b: Any, out: Any) -> None:
    """The loop of `xlogy`."""
    special.xlogy(a, b, out=out)


# self · log(other); 0 where self is 0, unless `other` is NaN.
xlogy = partial(run_floating, "xlogy_cpu", xlogy_loop)


@in_single
def saved_logit(a: Array, out: Array, eps: float) -> None:
    """logit of `a` clamped to eps ... 1 - eps; NaN stays NaN."""
    low, high = a.dtype.type(eps), a.dtype.type(1 - eps)
    special.logit(np.where(a < low, low, np.minimum(a, high)), out=out)
