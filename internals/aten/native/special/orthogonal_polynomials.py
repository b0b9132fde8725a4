"""Orthogonal polynomials, each by its recurrence (`aten/src/ATen/native/Math.h`:
`chebyshev_polynomial_t_forward`, ...).

A family is defined by two formulas: the polynomial of degree 1 (that of degree 0 is 1), and a step
from the last two, p of degree k - 1 and q of degree k, to that of degree k + 1. Chebyshev's four
kinds differ in degree 1 only. The degree is the integer part of `n`; negative degrees give 0. As in
PyTorch, none has a derivative. Complex numbers and half precision raise NotImplementedError.

Some high degrees take no steps, as in PyTorch: between -1 and 1 Chebyshev's polynomials are
functions of an angle; Hermite's are NaN from some degree on; where Legendre's and Laguerre's are 1,
or 1 and -1, in all degrees, that is the result. A NaN stays NaN in all higher degrees.

How the real one differs: it takes as many steps as `n` says, for minutes or years; here `MOST`
steps are the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor

from ..real import run_floating

MOST = 1 << 16  # the limit to the number of steps; so many take half a second


def hermite_polynomial_h(x: Scalar | Tensor, n: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """Hermite's, as physicists define them: leading coefficient 2**n."""
    return _run("hermite_polynomial_h_cpu", lambda x: x + x, physicists, too_high, x, n, out)


def hermite_polynomial_he(x: Scalar | Tensor, n: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """Hermite's, as statisticians define them: leading coefficient 1."""
    return _run("hermite_polynomial_he_cpu", lambda x: x, statisticians, too_high, x, n, out)


def laguerre_polynomial_l(x: Scalar | Tensor, n: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """Laguerre's: orthogonal from 0 to infinity, weighted by exp(-x)."""
    return _run("laguerre_polynomial_l_cpu", lambda x: 1 - x, laguerre, at_zero, x, n, out)


def legendre_polynomial_p(x: Scalar | Tensor, n: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """Legendre's: orthogonal from -1 to 1, without a weight."""
    return _run("legendre_polynomial_p_cpu", lambda x: x, legendre, at_the_ends, x, n, out)


# The steps: from the polynomials p and q, of degrees k - 1 and k at x, to that of degree k + 1.


def chebyshev(k: int, x: Array, p: Array, q: Array) -> Any:
    return 2 * x * q - p


def physicists(k: int, x: Array, p: Array, q: Array) -> Any:
    return 2 * x * q - 2 * k * p


def statisticians(k: int, x: Array, p: Array, q: Array) -> Any:
    return x * q - k * p


def laguerre(k: int, x: Array, p: Array, q: Array) -> Any:
    return ((2 * k + 1 - x) * q - k * p) / (k + 1)


def legendre(k: int, x: Array, p: Array, q: Array) -> Any:
    return ((2 * k + 1) * x * q - k * p) / (k + 1)


FIRST_OF_CHEBYSHEV = {  # the polynomial of degree 1 for each kind
    "t": lambda x: x,
    "u": lambda x: x + x,
    "v": lambda x: x + x - 1,
    "w": lambda x: x + x + 1,
}

# High degrees that take no steps: (mask, values), the elements for which that is so, and the
# results.


def of_angle(x: Any, n: Any, kind: str) -> tuple[Any, Any]:
    """Chebyshev's polynomials for |x| <= 1 and n > 8, by the angle whose cosine is x; at 1 and -1
    the limits of the fractions, which are 0 / 0 there.
    """
    angle, m = np.arccos(x), n.astype(x.dtype)
    sign = np.where(n % 2, -1, 1)
    if kind == "t":
        limits, between = (1, sign), np.cos(m * angle)
    elif kind == "u":
        limits, between = (m + 1, sign * (m + 1)), np.sin((m + 1) * angle) / np.sin(angle)
    elif kind == "v":
        limits, between = (1, sign * (2 * m + 1)), np.cos((m + 0.5) * angle) / np.cos(angle / 2)
    else:
        limits, between = (2 * m + 1, sign), np.sin((m + 0.5) * angle) / np.sin(angle / 2)
    return (n > 8) & (abs(x) <= 1), np.select([x == 1, x == -1], limits, between)


def too_high(x: Array, n: Array) -> tuple[Any, Any]:
    """Hermite's, from the degree on where PyTorch gives NaN."""
    return n > (128 if x.dtype == np.float32 else 512), np.nan


def at_zero(x: Array, n: Array) -> tuple[Any, Any]:
    """Laguerre's: 1 at 0 for every degree."""
    return (x == 0) & (n >= 0), 1


def at_the_ends(x: Array, n: Array) -> tuple[Any, Any]:
    """Legendre's: 1 at 1, and at -1 it is 1 for even degrees and -1 for odd ones."""
    return (abs(x) == 1) & (n >= 0), np.where((x < 0) & (n % 2 == 1), -1, 1)


def polynomial(
    x: Scalar | Array,
    n: Scalar | Array,
    out: Array,
    name: str,
    first: Callable[..., Any],
    step: Callable[..., Any],
    high: Callable[..., Any],
    shift: bool,
) -> None:
    """The polynomial of degree n at x, element by element; with `shift` at 2 * x - 1. `high` gives
    the results that are known without steps.
    """
    x, degree = np.broadcast_arrays(2 * x - 1 if shift else x, np.asarray(n).astype(np.int64))
    known, values = high(x, degree)
    out[...] = np.where(known, values, np.where(degree > 0, first(x), degree == 0))
    remaining = ~known & (degree > 1)
    out[remaining] = recurrence(x[remaining], degree[remaining], name, first, step)


def recurrence(
    x: Array, degree: Array, name: str, first: Callable[..., Any], step: Callable[..., Any]
) -> Any:
    """The polynomial of its own `degree`, at least 2, for each element of the vector x.

    Steps run for all elements at once, from one degree that occurs to the next; the elements of
    that degree are then stored. Raises RuntimeError for a degree that takes more than `MOST` steps.
    """
    result = np.full_like(x, np.nan)
    p, q, k = np.ones_like(x), first(x), 1
    for last in np.unique(degree).tolist():
        while k < last:
            if k % 64 == 0 and np.isnan(q[degree >= last]).all():  # and so are all that follow
                return result
            if k == MOST:
                raise RuntimeError(
                    f"special_{name}: expected n to be at most {MOST}, the number of steps that "
                    f"are taken to a polynomial of degree n, but got {last}"
                )
            p, q, k = q, step(k, x, p, q), k + 1
        result[degree == last] = q[degree == last]
    return result


def _chebyshev(
    kind: str,
    x: Scalar | Tensor,
    n: Scalar | Tensor,
    out: Tensor | None = None,
    shift: bool = False,
) -> Any:
    """Chebyshev's polynomials of the kind t, u, v or w; with `shift` of 2 * x - 1."""
    kernel = f"{'shifted_' if shift else ''}chebyshev_polynomial_{kind}_cpu"
    first, high = FIRST_OF_CHEBYSHEV[kind], partial(of_angle, kind=kind)
    return _run(kernel, first, chebyshev, high, x, n, out, shift)


# cos(n t), for x = cos(t).
chebyshev_polynomial_t = partial(_chebyshev, "t")
# sin((n + 1) t) / sin(t), for x = cos(t).
chebyshev_polynomial_u = partial(_chebyshev, "u")
# cos((n + 1/2) t) / cos(t / 2), for x = cos(t).
chebyshev_polynomial_v = partial(_chebyshev, "v")
# sin((n + 1/2) t) / sin(t / 2), for x = cos(t).
chebyshev_polynomial_w = partial(_chebyshev, "w")
# The same four at 2 x - 1: orthogonal from 0 to 1.
shifted_chebyshev_polynomial_t = partial(_chebyshev, "t", shift=True)
shifted_chebyshev_polynomial_u = partial(_chebyshev, "u", shift=True)
shifted_chebyshev_polynomial_v = partial(_chebyshev, "v", shift=True)
shifted_chebyshev_polynomial_w = partial(_chebyshev, "w", shift=True)


def _run(
    kernel: str,
    first: Callable[..., Any],
    step: Callable[..., Any],
    high: Callable[..., Any],
    x: Scalar | Tensor,
    n: Scalar | Tensor,
    out: Tensor | None,
    shift: bool = False,
) -> Any:
    """The operator of one family: `run_floating` with `polynomial` as its loop."""
    name = kernel.removesuffix("_cpu")
    loop = partial(polynomial, name=name, first=first, step=step, high=high, shift=shift)
    return run_floating(kernel, loop, x, n, out=out, half=False)
