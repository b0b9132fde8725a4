"""Which elements of a row a point between them is made of, and with which weights
(`aten/src/ATen/native/GridSampler.h`).

A grid names points by numbers from -1 to 1, whatever the size. Along each dimension a point has a
few taps: one for nearest, two for linear, four for cubic interpolation. With several dimensions
every combination of taps counts, with the product of their weights. Everything else, values and
derivatives of any order, follows from here.

The functions take arrays as well as tensors: kernels give them the first, formulas that must be
differentiable the second.

How the real one differs: it spells the combinations out, corner by corner, and keeps positions and
their derivatives apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.tensor_impl import Array

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Tap(NamedTuple):
    """An element's number, whether there is such an element, its weight, and the weight's first and
    second derivative.
    """

    index: Any
    inside: Any
    weight: Any
    slope: Any
    bend: Any


def taps(
    x: Tensor | Array, n: int, interpolation: int, padding: int, align_corners: bool
) -> list[Tap]:
    """The taps of points `x` along a dimension of `n` elements.

    -1 and 1 are the middles of the first and the last element with `align_corners`, else their
    outer edges.
    """
    at = (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2
    rate = (n - 1) / 2 if align_corners else n / 2
    if interpolation == CUBIC:
        first = at // 1
        return [
            _tap(
                _moved(first + k, n, padding, align_corners)[0],
                n,
                *_cubic(at - first - k, k in (0, 1)),
                rate,
            )
            for k in (-1, 0, 1, 2)
        ]
    at, direction = _moved(at, n, padding, align_corners)
    nothing = at * 0
    if interpolation == NEAREST:
        return [_tap(at.round(), n, nothing + 1, nothing, nothing, rate)]
    first = at // 1
    return [
        _tap(first, n, first + 1 - at, nothing - direction, nothing, rate),
        _tap(first + 1, n, at - first, nothing + direction, nothing, rate),
    ]


def _tap(
    index: Tensor | Array,
    n: int,
    weight: Tensor | Array,
    slope: Tensor | Array,
    bend: Tensor | Array,
    rate: float,
) -> Tap:
    """Derivatives by position are made derivatives by `x`, which runs `rate` times slower."""
    return Tap(index, (index >= 0) & (index < n), weight, slope * rate, bend * rate**2)


def _moved(at: Tensor | Array, n: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """Positions outside moved to the border or reflected, and how they move when the original does:
    by 1, -1 or 0.
    """
    if padding == ZEROS:
        return at, 1
    direction: Any = 1
    if padding == REFLECTION:
        at, direction = _reflected(at, n, align_corners)
    return at.clip(0, n - 1), direction * ((at > 0) & (at < n - 1))


def _reflected(at: Any, n: int, align_corners: bool) -> tuple[Any, Any]:
    """Positions thrown back at the middles, or at the edges, of the first and the last element, as
    often as it takes.
    """
    low, span = (0, n - 1) if align_corners else (-0.5, n)
    if span == 0:
        return at * 0, 0
    from_low = abs(at - low)
    rest = from_low % span
    even = from_low // span % 2 == 0
    sign = 1 - 2 * ((at < low) * 1)
    return rest * even + (span - rest) * (even == 0) + low, sign * (2 * (even * 1) - 1)


def _cubic(distance: Any, near: bool) -> tuple[Any, Any, Any]:
    """The weight of Keys' kernel with a = -0.75 at this distance, at most 1 if `near`, else up to
    2; and its two derivatives.
    """
    a, d = -0.75, abs(distance)
    sign = 1 - 2 * ((distance < 0) * 1)
    if near:
        return (
            ((a + 2) * d - (a + 3)) * d * d + 1,
            sign * (3 * (a + 2) * d - 2 * (a + 3)) * d,
            6 * (a + 2) * d - 2 * (a + 3),
        )
    return ((d - 5) * d + 8) * d * a - 4 * a, sign * ((3 * d - 10) * d + 8) * a, (6 * d - 10) * a
