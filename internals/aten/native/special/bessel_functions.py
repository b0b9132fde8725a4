"""Bessel's functions of orders 0 and 1, and Airy's (`aten/src/ATen/native/Math.h`).

The plain ones (J, Y) oscillate, the modified ones (I, K) grow and decay exponentially; "scaled" means without that exponential.
All are refused for complex numbers, and all but `i0`, `i0e`, `i1` and `i1e` for half precision (NotImplementedError).

How the real one differs: it declares derivatives for the four just named only, and so do we.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.late import special

from ..real import real


def i0(self: Any, out: Any = None) -> Any:
    """The modified Bessel function of the first kind, order 0."""
    return real("i0_vml_cpu", special.i0, self, out=out)


def i0e(self: Any, out: Any = None) -> Any:
    """exp(-|self|) i0(self)."""
    return real("i0e_cpu", special.i0e, self, out=out)


def i1(self: Any, out: Any = None) -> Any:
    """The modified Bessel function of the first kind, order 1."""
    return real("i1_cpu", special.i1, self, out=out)


def i1e(self: Any, out: Any = None) -> Any:
    """exp(-|self|) i1(self)."""
    return real("i1e_cpu", special.i1e, self, out=out)


def bessel_j0(self: Any, out: Any = None) -> Any:
    """The Bessel function of the first kind, order 0."""
    return real("bessel_j0_cpu", special.j0, self, out=out, half=False)


def bessel_j1(self: Any, out: Any = None) -> Any:
    """The Bessel function of the first kind, order 1."""
    return real("bessel_j1_cpu", special.j1, self, out=out, half=False)


def bessel_y0(self: Any, out: Any = None) -> Any:
    """The Bessel function of the second kind, order 0: -inf at 0, NaN below."""
    return real("bessel_y0_cpu", special.y0, self, out=out, half=False)


def bessel_y1(self: Any, out: Any = None) -> Any:
    """The Bessel function of the second kind, order 1: -inf at 0, NaN below."""
    return real("bessel_y1_cpu", special.y1, self, out=out, half=False)


def modified_bessel_i0(self: Any, out: Any = None) -> Any:
    """`i0`; but this one has no derivative."""
    return real("modified_bessel_i0_cpu", special.i0, self, out=out, half=False)


def modified_bessel_i1(self: Any, out: Any = None) -> Any:
    """`i1`; but this one has no derivative."""
    return real("modified_bessel_i1_cpu", special.i1, self, out=out, half=False)


def modified_bessel_k0(self: Any, out: Any = None) -> Any:
    """The modified Bessel function of the second kind, order 0: infinite at 0, NaN below."""
    return real("modified_bessel_k0_cpu", special.k0, self, out=out, half=False)


def modified_bessel_k1(self: Any, out: Any = None) -> Any:
    """The modified Bessel function of the second kind, order 1: infinite at 0, NaN below."""
    return real("modified_bessel_k1_cpu", special.k1, self, out=out, half=False)


def scaled_modified_bessel_k0(x: Any, out: Any = None) -> Any:
    """exp(x) modified_bessel_k0(x)."""
    return real("scaled_modified_bessel_k0_cpu", special.k0e, x, out=out, half=False)


def scaled_modified_bessel_k1(x: Any, out: Any = None) -> Any:
    """exp(x) modified_bessel_k1(x)."""
    return real("scaled_modified_bessel_k1_cpu", special.k1e, x, out=out, half=False)


def spherical_bessel_j0(x: Any, out: Any = None) -> Any:
    """sin(x) / x; 1 at 0, and 0 at infinity."""
    return real("spherical_bessel_j0_cpu", sine_over, x, out=out, half=False)


def airy_ai(x: Any, out: Any = None) -> Any:
    """The solution of y'' = x y that decays to the right."""
    return real("airy_ai_cpu", airy, x, out=out, half=False)


def sine_over(a: Any, out: Any) -> None:
    out[...] = np.where(a == 0, 1, np.where(np.isinf(a), 0, np.sin(a) / a))


def airy(a: Any, out: Any) -> None:
    """0 from about 100 on, where scipy gives up only much later, with NaN; NaN for infinities, as in PyTorch."""
    out[...] = special.airy(np.where(np.isinf(a), np.nan, np.minimum(a, 200)))[0]
