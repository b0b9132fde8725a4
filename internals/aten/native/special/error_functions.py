"""The error function's relatives, and the normal distribution (`aten/src/ATen/native/Math.h`, `UnaryOps.cpp`).

How the real one differs: `erfc` and `erfinv` come from SLEEF or MKL; `erfcx` is Steven G. Johnson's, as scipy's is.
"""

from __future__ import annotations

import math
from typing import Any

from internals.aten.late import special
from internals.aten.scalar_functions import table as scalar

from ..loops import in_single
from ..real import real


def erfc(self: Any, out: Any = None) -> Any:
    """1 - erf(self), exact where that is tiny."""
    return real("erfc_vml_cpu", erfc_loop, self, out=out)


def erfinv(self: Any, out: Any = None) -> Any:
    """The x with erf(x) = self: infinite at -1 and 1, NaN beyond."""
    return real("erfinv_vml_cpu", special.erfinv, self, out=out)


def erfcx(self: Any, out: Any = None) -> Any:
    """exp(self²) erfc(self). Raises NotImplementedError for half precision."""
    return real("erfcx_cpu", special.erfcx, self, out=out, half=False)


def ndtr(self: Any) -> Any:
    """The probability that a normal variable is below self."""
    return ((self * math.sqrt(0.5)).erf() + 1) * 0.5


def ndtri(self: Any, out: Any = None) -> Any:
    """The x with ndtr(x) = self. Raises NotImplementedError for half precision."""
    return real("ndtri_cpu", special.ndtri, self, out=out, half=False)


def log_ndtr(self: Any, out: Any = None) -> Any:
    """The logarithm of `ndtr`, exact where that is tiny. Raises NotImplementedError for half precision."""
    return real("log_ndtr_cpu", special.log_ndtr, self, out=out, half=False)


@scalar.erfc.made_by
@in_single
def erfc_loop(a: Any, out: Any) -> None:
    special.erfc(a, out=out)
