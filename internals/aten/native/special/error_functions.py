"""The error function's relatives, and the normal distribution (`aten/src/ATen/native/Math.h`,
`UnaryOps.cpp`).

How the real one differs: `erfc` and `erfinv` come from SLEEF or MKL; `erfcx` is Steven G.
Johnson's, as scipy's is.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from internals.aten.deferred import special
from internals.aten.scalar_functions import table as scalar

from ..loops import in_single
from ..real import real

if TYPE_CHECKING:
    from internals._tensor import Tensor

# The x with erf(x) = self: infinite at -1 and 1, NaN beyond.
erfinv = partial(real, "erfinv_vml_cpu", "erfinv")


# exp(self²) erfc(self). Raises NotImplementedError for half precision.
erfcx = partial(real, "erfcx_cpu", "erfcx", half=False)


def ndtr(self: Tensor) -> Any:
    """The probability that a normal variable is below self."""
    return ((self * math.sqrt(0.5)).erf() + 1) * 0.5


# The x with ndtr(x) = self. Raises NotImplementedError for half precision.
ndtri = partial(real, "ndtri_cpu", "ndtri", half=False)


# The logarithm of `ndtr`, exact where that is tiny. Raises NotImplementedError for half precision.
log_ndtr = partial(real, "log_ndtr_cpu", "log_ndtr", half=False)


@scalar.erfc.made_by
@in_single
def erfc_loop(a: Any, out: Any) -> None:
    special.erfc(a, out=out)


# 1 - erf(self), exact where that is tiny.
erfc = partial(real, "erfc_vml_cpu", erfc_loop)
