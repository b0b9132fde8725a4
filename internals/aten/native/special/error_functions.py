"""Functions related to the error function, and the normal distribution
(`aten/src/ATen/native/Math.h`, `UnaryOps.cpp`).

erf(x) is 2 / sqrt(pi) times the integral of exp(-t²) from 0 to x; erfc(x) = 1 - erf(x). The normal
distribution function is ndtr(x) = (1 + erf(x / sqrt(2))) / 2. scipy computes most of them.

How the real one differs: `erfc` and `erfinv` come from SLEEF or MKL; `erfcx` is Steven G.
Johnson's, as scipy's is.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from internals.aten.deferred import special
from internals.aten.scalar_functions import table as scalar
from internals.core.tensor_impl import Tensor

from ..loops import in_single
from ..real import run_floating

# The x with erf(x) = self: infinite at -1 and 1, NaN beyond.
erfinv = partial(run_floating, "erfinv_vml_cpu", "erfinv")


# exp(self²) erfc(self). Raises NotImplementedError for half precision.
erfcx = partial(run_floating, "erfcx_cpu", "erfcx", half=False)


def ndtr(self: Tensor) -> Any:
    """The probability that a standard normal variable is below self; composed of operators."""
    return ((self * math.sqrt(0.5)).erf() + 1) * 0.5


# The x with ndtr(x) = self. Raises NotImplementedError for half precision.
ndtri = partial(run_floating, "ndtri_cpu", "ndtri", half=False)


# The logarithm of `ndtr`, finite where ndtr rounds to 0. Raises NotImplementedError for half
# precision.
log_ndtr = partial(run_floating, "log_ndtr_cpu", "log_ndtr", half=False)


@scalar.erfc.made_by
@in_single
def erfc_loop(a: Any, out: Any) -> None:
    """scipy's erfc: 1 - erf(a) would be 0 from 6 on."""
    special.erfc(a, out=out)


# 1 - erf(self), with full precision where that is tiny.
erfc = partial(run_floating, "erfc_vml_cpu", erfc_loop)
