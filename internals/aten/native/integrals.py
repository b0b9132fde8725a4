"""Integrals by the trapezoidal rule (`aten/src/ATen/native/Integration.cpp`).

Between two samples the function is assumed to be a straight line: the area is the distance times
the mean of both. The distance is `dx` everywhere, or that of the coordinates `x`.

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.geometry import wrap_dim
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor


def trapezoid_x(y: Tensor, x: Tensor, dim: int = -1) -> Any:
    """The integral along `dim` of the samples `y` at the coordinates `x`: a vector with one for
    each sample, or a tensor that broadcasts with `y`.

    Raises RuntimeError for bools, and where coordinates and samples do not fit.
    """
    # wrapped before `_dimension` for its error, too: PyTorch's says 0 where -1 was passed
    d = _dimension(y, wrap_dim(dim, y.dim()))
    if not y.shape[d]:
        return y.new_zeros([*y.shape[:d], *y.shape[d + 1 :]])
    width = _widths("trapezoid", y, x, d)
    left, right = _neighbours(y, d)
    return ops.div_Scalar(((left + right) * width).sum(d), 2.0)


def trapezoid_dx(y: Tensor, dx: Scalar = 1, dim: int = -1) -> Any:
    """The integral along `dim` of samples at distance `dx`. Raises RuntimeError for bools."""
    d = _dimension(y, dim)
    if not y.shape[d]:
        return y.new_zeros([*y.shape[:d], *y.shape[d + 1 :]])
    _check_not_bool("trapezoid", "`y`", y)
    # each inner sample belongs to two trapezoids, the first and the last to one
    return ops.mul_Scalar(y.sum(d) - (y.select(d, 0) + y.select(d, -1)) * 0.5, dx)


def cumulative_trapezoid_x(y: Tensor, x: Tensor, dim: int = -1) -> Any:
    """The integrals from the first sample to each of the others, for samples at the coordinates
    `x`: one element less along `dim`. Raises as `trapezoid_x`.
    """
    _check_not_bool("cumulative_trapezoid", "`x` or `y`", x, y)
    left, right = _neighbours(y, dim)
    d = wrap_dim(dim, y.dim())
    width = _widths("cumulative_trapezoid", y, x, d)
    return ops.div_Scalar(((left + right) * width).cumsum(d), 2.0)


def cumulative_trapezoid_dx(y: Tensor, dx: Scalar = 1, dim: int = -1) -> Any:
    """The integrals from the first sample to each of the others, for samples at distance `dx`: one
    element less along `dim`. Raises RuntimeError for bools.
    """
    _check_not_bool("cumulative_trapezoid", "`y`", y)
    left, right = _neighbours(y, dim)
    return ((left + right) * (dx / 2.0)).cumsum(dim)


def _dimension(y: Tensor, dim: int) -> int:
    """The wrapped dimension. Raises IndexError for a 0-d tensor."""
    d = wrap_dim(dim, y.dim())
    if not y.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return d


def _widths(name: str, y: Any, x: Any, d: int) -> Any:
    """The distances of neighbouring coordinates, in a shape that broadcasts with the samples.
    Raises RuntimeError for bools, and unless a vector `x` has one coordinate for each sample.
    """
    _check_not_bool(name, "`x` or `y`", x, y)
    if x.dim() == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.view([-1 if i == d else 1 for i in range(y.dim())])
    elif x.dim() < y.dim():
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape))
    left, right = _neighbours(x, d)
    return right - left


def _neighbours(t: Tensor, d: int) -> tuple[Any, Any]:
    """Views of all elements along `d` but the last, and of all but the first."""
    return ops.slice_Tensor(t, d, 0, -1, 1), ops.slice_Tensor(t, d, 1, None, 1)


def _check_not_bool(name: str, what: str, *tensors: Any) -> None:
    """Raises RuntimeError if one of the tensors is bool."""
    if any(t.dtype is dt.bool_ for t in tensors):
        raise RuntimeError(f"{name}: received a bool input for {what}, but bool is not supported")
