"""Bessel functions of orders 0 and 1, and the Airy function (`aten/src/ATen/native/Math.h`).

The plain Bessel functions (J, Y) oscillate, the modified ones (I, K) grow and decay exponentially;
"scaled" means without that exponential. Each kernel is one line, which names scipy's function (see
`real.py`). NotImplementedError for complex numbers, and for half precision except by `i0`, `i0e`,
`i1` and `i1e`. As in PyTorch, only these four have derivatives.

How the real one differs: it has formulas of its own, mostly from Cephes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from internals.aten.deferred import special
from internals.core.tensor_impl import Array

from ..real import run_floating

# The modified Bessel function of the first kind, order 0.
i0 = partial(run_floating, "i0_vml_cpu", "i0")


# exp(-|self|) i0(self).
i0e = partial(run_floating, "i0e_cpu", "i0e")


# The modified Bessel function of the first kind, order 1.
i1 = partial(run_floating, "i1_cpu", "i1")


# exp(-|self|) i1(self).
i1e = partial(run_floating, "i1e_cpu", "i1e")


# The Bessel function of the first kind, order 0.
bessel_j0 = partial(run_floating, "bessel_j0_cpu", "j0", half=False)


# The Bessel function of the first kind, order 1.
bessel_j1 = partial(run_floating, "bessel_j1_cpu", "j1", half=False)


# The Bessel function of the second kind, order 0: -inf at 0, NaN below.
bessel_y0 = partial(run_floating, "bessel_y0_cpu", "y0", half=False)


# The Bessel function of the second kind, order 1: -inf at 0, NaN below.
bessel_y1 = partial(run_floating, "bessel_y1_cpu", "y1", half=False)


# `i0` without a derivative.
modified_bessel_i0 = partial(run_floating, "modified_bessel_i0_cpu", "i0", half=False)


# `i1` without a derivative.
modified_bessel_i1 = partial(run_floating, "modified_bessel_i1_cpu", "i1", half=False)


# The modified Bessel function of the second kind, order 0: infinite at 0, NaN below.
modified_bessel_k0 = partial(run_floating, "modified_bessel_k0_cpu", "k0", half=False)


# The modified Bessel function of the second kind, order 1: infinite at 0, NaN below.
modified_bessel_k1 = partial(run_floating, "modified_bessel_k1_cpu", "k1", half=False)


# exp(x) modified_bessel_k0(x).
scaled_modified_bessel_k0 = partial(
    run_floating, "scaled_modified_bessel_k0_cpu", "k0e", half=False
)


# exp(x) modified_bessel_k1(x).
scaled_modified_bessel_k1 = partial(
    run_floating, "scaled_modified_bessel_k1_cpu", "k1e", half=False
)


def sine_over(a: Array, out: Array) -> None:
    """sin(a) / a, and the limits 1 at 0 and 0 at infinity, where the quotient would be NaN."""
    out[...] = np.where(a == 0, 1, np.where(np.isinf(a), 0, np.sin(a) / a))


# sin(x) / x; 1 at 0, and 0 at infinity.
spherical_bessel_j0 = partial(run_floating, "spherical_bessel_j0_cpu", sine_over, half=False)


def airy(a: Array, out: Array) -> None:
    """The Airy function Ai; NaN for infinities, as in PyTorch. It is 0 from about 100 on: arguments
    are cut off at 200, as scipy's function is NaN for very large ones.
    """
    out[...] = special.airy(np.where(np.isinf(a), np.nan, np.minimum(a, 200)))[0]


# The solution of y'' = x y that decays to the right.
airy_ai = partial(run_floating, "airy_ai_cpu", airy, half=False)
