"""Orthogonal polynomials, each by its recurrence (`aten/src/ATen/native/Math.h`: `chebyshev_polynomial_t_forward`, ...).

A family is two formulas: the polynomial of degree 1 (that of degree 0 is 1), and a step from the last two, p and q, to the
next, of degree k + 1. Chebyshev's four kinds differ in degree 1 only. The degree is the integer part of `n`; negative degrees
give 0. None has a derivative, in PyTorch neither; complex numbers and half precision are refused (NotImplementedError).

How the real one differs: Chebyshev's of high degrees are computed from cosines; Hermite's are NaN from some degree on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..real import real


def chebyshev_polynomial_t(x: Any, n: Any, out: Any = None) -> Any:
    """cos(n t), for x = cos(t)."""
    return _run("chebyshev_polynomial_t_cpu", lambda x: x, chebyshev, x, n, out)


def chebyshev_polynomial_u(x: Any, n: Any, out: Any = None) -> Any:
    """sin((n + 1) t) / sin(t), for x = cos(t)."""
    return _run("chebyshev_polynomial_u_cpu", lambda x: x + x, chebyshev, x, n, out)


def chebyshev_polynomial_v(x: Any, n: Any, out: Any = None) -> Any:
    """cos((n + 1/2) t) / cos(t / 2), for x = cos(t)."""
    return _run("chebyshev_polynomial_v_cpu", lambda x: x + x - 1, chebyshev, x, n, out)


def chebyshev_polynomial_w(x: Any, n: Any, out: Any = None) -> Any:
    """sin((n + 1/2) t) / sin(t / 2), for x = cos(t)."""
    return _run("chebyshev_polynomial_w_cpu", lambda x: x + x + 1, chebyshev, x, n, out)


def shifted_chebyshev_polynomial_t(x: Any, n: Any, out: Any = None) -> Any:
    """Chebyshev's T of 2 x - 1, and so the next three: orthogonal from 0 to 1."""
    return _run("shifted_chebyshev_polynomial_t_cpu", lambda x: 2 * x - 1, shifted, x, n, out)


def shifted_chebyshev_polynomial_u(x: Any, n: Any, out: Any = None) -> Any:
    return _run("shifted_chebyshev_polynomial_u_cpu", lambda x: 2 * (2 * x - 1), shifted, x, n, out)


def shifted_chebyshev_polynomial_v(x: Any, n: Any, out: Any = None) -> Any:
    return _run("shifted_chebyshev_polynomial_v_cpu", lambda x: 2 * (2 * x - 1) - 1, shifted, x, n, out)


def shifted_chebyshev_polynomial_w(x: Any, n: Any, out: Any = None) -> Any:
    return _run("shifted_chebyshev_polynomial_w_cpu", lambda x: 2 * (2 * x - 1) + 1, shifted, x, n, out)


def hermite_polynomial_h(x: Any, n: Any, out: Any = None) -> Any:
    """Hermite's, as physicists define them: leading coefficient 2**n."""
    return _run("hermite_polynomial_h_cpu", lambda x: x + x, physicists, x, n, out)


def hermite_polynomial_he(x: Any, n: Any, out: Any = None) -> Any:
    """Hermite's, as statisticians define them: leading coefficient 1."""
    return _run("hermite_polynomial_he_cpu", lambda x: x, statisticians, x, n, out)


def laguerre_polynomial_l(x: Any, n: Any, out: Any = None) -> Any:
    """Laguerre's: orthogonal from 0 to infinity, weighted by exp(-x)."""
    return _run("laguerre_polynomial_l_cpu", lambda x: 1 - x, laguerre, x, n, out)


def legendre_polynomial_p(x: Any, n: Any, out: Any = None) -> Any:
    """Legendre's: orthogonal from -1 to 1, without a weight."""
    return _run("legendre_polynomial_p_cpu", lambda x: x, legendre, x, n, out)


def chebyshev(k: int, x: Any, p: Any, q: Any) -> Any:
    return 2 * x * q - p


def shifted(k: int, x: Any, p: Any, q: Any) -> Any:
    return chebyshev(k, 2 * x - 1, p, q)


def physicists(k: int, x: Any, p: Any, q: Any) -> Any:
    return 2 * x * q - 2 * k * p


def statisticians(k: int, x: Any, p: Any, q: Any) -> Any:
    return x * q - k * p


def laguerre(k: int, x: Any, p: Any, q: Any) -> Any:
    return ((2 * k + 1 - x) * q - k * p) / (k + 1)


def legendre(k: int, x: Any, p: Any, q: Any) -> Any:
    return ((2 * k + 1) * x * q - k * p) / (k + 1)


def recurrence(x: Any, n: Any, out: Any, first: Callable[[Any], Any], step: Callable[..., Any]) -> None:
    """The polynomials of degrees 0, 1, 2, ... at x, one after the other; each element keeps that of its own degree."""
    x, degree = np.asarray(x), np.asarray(n).astype(np.int64)
    p, q = np.ones_like(x), first(x)
    result = np.where(degree == 0, p, np.where(degree > 0, q, 0))
    for k in range(1, int(degree.max(initial=0))):
        if np.isnan(q).all():  # and so are all that follow
            break
        p, q = q, step(k, x, p, q)
        result = np.where(degree > k, q, result)
    out[...] = result


def _run(kernel: str, first: Any, step: Any, x: Any, n: Any, out: Any) -> Any:
    return real(kernel, partial(recurrence, first=first, step=step), x, n, out=out, half=False)
