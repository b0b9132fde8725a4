"""The taps of a point: the elements that it is interpolated from, and their weights
(`aten/src/ATen/native/GridSampler.h`).

The coordinates of a grid go from -1 to 1, whatever the size. Along each dimension a point has a few
taps: one for nearest, two for linear, four for cubic interpolation. In several dimensions every
combination of taps counts, with the product of their weights. Values and derivatives of any order
are computed from the taps.

The functions accept arrays as well as tensors: kernels pass arrays, and formulas that must be
differentiable pass tensors.

How the real one differs: its code lists the combinations, corner by corner, and separates positions
and their derivatives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from internals.core.tensor_impl import Array, Tensor

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Tap(NamedTuple):
    """An element's index, whether there is such an element, its weight, and the weight's first
    (`slope`) and second (`bend`) derivatives by the coordinate.
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
    # positions count elements: 0 is the middle of the first, n - 1 that of the last
    position = (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2
    rate = (n - 1) / 2 if align_corners else n / 2
    # Cubic taps are moved inside one by one; otherwise the point is moved, and then has its taps.
    if interpolation == CUBIC:
        first = position // 1
        return [
            _tap(
                _moved(first + k, n, padding, align_corners)[0],
                n,
                *_cubic(position - first - k, k in (0, 1)),
                rate,
            )
            for k in (-1, 0, 1, 2)
        ]
    position, direction = _moved(position, n, padding, align_corners)
    zero = position * 0
    if interpolation == NEAREST:
        return [_tap(position.round(), n, zero + 1, zero, zero, rate)]
    first = position // 1
    # the weights are 1 - t and t, for the fraction t of the way from one element to the next
    return [
        _tap(first, n, first + 1 - position, zero - direction, zero, rate),
        _tap(first + 1, n, position - first, zero + direction, zero, rate),
    ]


def _tap(
    index: Tensor | Array,
    n: int,
    weight: Tensor | Array,
    slope: Tensor | Array,
    bend: Tensor | Array,
    rate: float,
) -> Tap:
    """A tap whose derivatives by the position become derivatives by the coordinate: a step of the
    coordinate is `rate` steps of the position.
    """
    return Tap(index, (index >= 0) & (index < n), weight, slope * rate, bend * rate**2)


def _moved(position: Tensor | Array, n: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """Positions with those outside moved to the border or reflected, and the derivative of the new
    position by the old one: 1, -1 or 0.
    """
    if padding == ZEROS:
        return position, 1
    direction: Any = 1
    if padding == REFLECTION:
        position, direction = _reflected(position, n, align_corners)
    return position.clip(0, n - 1), direction * ((position > 0) & (position < n - 1))


def _reflected(position: Any, n: int, align_corners: bool) -> tuple[Any, Any]:
    """Positions reflected at the middles, or at the outer edges, of the first and the last element,
    as often as needed; and the derivative, 1 or -1, or 0 if there is one element only.
    """
    low, span = (0, n - 1) if align_corners else (-0.5, n)
    if span == 0:
        return position * 0, 0
    # after an even number of spans the position runs forward from `low`, after an odd number back
    from_low = abs(position - low)
    rest = from_low % span
    even = from_low // span % 2 == 0
    sign = 1 - 2 * ((position < low) * 1)
    return rest * even + (span - rest) * (even == 0) + low, sign * (2 * (even * 1) - 1)


def _cubic(distance: Any, near: bool) -> tuple[Any, Any, Any]:
    """The weight of Keys' cubic kernel with a = -0.75 at this signed distance, and its first and
    second derivatives. |distance| is at most 1 if `near`, else from 1 to 2.
    """
    # (a + 2) d³ - (a + 3) d² + 1 up to 1, and a (d³ - 5 d² + 8 d - 4) from 1 to 2
    a, d = -0.75, abs(distance)
    sign = 1 - 2 * ((distance < 0) * 1)
    if near:
        return (
            ((a + 2) * d - (a + 3)) * d * d + 1,
            sign * (3 * (a + 2) * d - 2 * (a + 3)) * d,
            6 * (a + 2) * d - 2 * (a + 3),
        )
    return ((d - 5) * d + 8) * d * a - 4 * a, sign * ((3 * d - 10) * d + 8) * a, (6 * d - 10) * a
