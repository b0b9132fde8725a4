"""Resampling in one to three dimensions, with any filter (`aten/src/ATen/native/UpSample.h`, `cpu/UpSampleKernel.cpp`).

Whatever the filter, each dimension is resampled by itself, and linearly: position i of the output is a weighted sum of some
positions of the input. So a filter is a matrix, (output, input), with a handful of weights in each row, and its gradient is
the transposed matrix.

| filter    | weights of                                                                         |
|-----------|------------------------------------------------------------------------------------|
| nearest   | 1 for position floor(i * n / m); "exact": of the pixels' centers, floor((i + 1/2) * n / m) |
| linear    | the two nearest, by distance                                                       |
| cubic     | the four nearest, by Keys' polynomial with a = -3/4                                |
| antialias | when shrinking, all that the filter reaches when it is stretched by n / m          |

Images of bytes are mixed in integers (`resampling_bytes.py`).

How the real one differs: kernels for each case gather only the positions that have a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.tensor_impl import array

from .memory_format import empty_as
from .resampling import linear_weights, nearest_positions
from .resampling_bytes import mixed_bytes
from .resampling_checks import check_gradient, check_input


def resample(t: Any, output_size: Sequence[int], kind: str, align_corners: bool, scales: Sequence[float | None]) -> Any:
    """`t` (N, C, *S) at (N, C, *output_size). Raises RuntimeError for sizes that do not fit."""
    check_input(t, output_size, len(scales), f"upsample_{kind}")
    out = empty_as(t, (*t.shape[:2], *output_size))
    if not t._geometry.stored:
        return out
    x = array(t)
    if kind in ("nearest", "exact"):
        for dim, (m, scale) in enumerate(zip(output_size, scales), 2):
            x = x.take(nearest_positions(x.shape[dim], m, scale, kind == "exact"), dim)
    elif t.dtype is dt.uint8 and len(scales) == 2:
        for dim, m, scale in zip((3, 2), reversed(output_size), reversed(scales)):
            if m != x.shape[dim]:
                x = mixed_bytes(x, dim, *taps(kind, x.shape[dim], m, align_corners, scale, np.float64))
    else:
        compute = np.float64 if t.dtype is dt.float64 else np.float32
        x = x.astype(compute, copy=False)
        for dim, (m, scale) in enumerate(zip(output_size, scales), 2):
            if kind in FILTERS and m == x.shape[dim] and _step(m, m, align_corners, scale) == 1:
                continue
            positions, weights = taps(kind, x.shape[dim], m, align_corners, scale, compute)
            across = [-1] + [1] * (x.ndim - dim - 1)
            x = sum(x.take(at, dim) * weight.reshape(across) for at, weight in zip(positions, weights))
        if t.dtype is dt.uint8:
            x = np.clip(np.rint(x), 0, 255)
    array(out)[...] = x
    return out


def resample_backward(
    grad_output: Any,
    output_size: Sequence[int],
    input_size: Sequence[int],
    kind: str,
    align_corners: bool,
    scales: Sequence[float | None],
) -> Any:
    """The adjoint of `resample`: from the gradient of its result, that of an input of `input_size`. Raises RuntimeError."""
    check_gradient(grad_output, output_size, input_size, len(scales))
    compute = np.float64 if grad_output.dtype is dt.float64 else np.float32
    g = array(grad_output).astype(compute, copy=False)
    for dim, (n, scale) in enumerate(zip(input_size[2:], scales), 2):
        g = _along(matrix(kind, n, g.shape[dim], align_corners, scale, compute).T, g, dim)
    out = empty_as(grad_output, g.shape)
    array(out)[...] = g
    return out


def matrix(kind: str, n: int, m: int, align_corners: bool, scale: float | None, compute: Any) -> Any:
    """The weights (m, n) with which `m` positions are made of `n`."""
    total = np.zeros((m, n), compute)
    for at, weight in zip(*taps(kind, n, m, align_corners, scale, compute)):
        np.add.at(total, (np.arange(m), at), weight)
    return total


def taps(kind: str, n: int, m: int, align_corners: bool, scale: float | None, compute: Any) -> tuple[list[Any], list[Any]]:
    """The same, without the zeros: arrays of `m` positions, and arrays of the weights that they have."""
    if kind in ("nearest", "exact"):
        return [nearest_positions(n, m, scale, kind == "exact")], [np.ones(m, compute)]
    if kind == "linear":
        low, high, share = linear_weights(n, m, align_corners, scale, compute)
        return [low, high], [1 - share, share]
    step = _step(n, m, align_corners, scale)
    if kind == "cubic":
        center = np.arange(m) * step if align_corners else (np.arange(m) + 0.5) * step - 0.5
        first = np.floor(center)
        offsets = range(-1, 3)
        positions = [np.clip(first + offset, 0, n - 1).astype(np.int64) for offset in offsets]
        return positions, [_keys(center - first - offset, -0.75).astype(compute) for offset in offsets]
    return _antialiased(kind, n, m, step, compute)


def _antialiased(kind: str, n: int, m: int, step: float, compute: Any) -> tuple[list[Any], list[Any]]:
    """The taps of a filter that is stretched to `step` when that is more than 1; the weights add up to 1."""
    shape, reach = FILTERS[kind]
    stretch = max(step, 1.0)
    support = reach * stretch
    center = step * (np.arange(m) + 0.5)
    start = np.maximum((center - support + 0.5).astype(np.int64), 0)
    count = np.minimum((center + support + 0.5).astype(np.int64), n) - start
    offset = np.arange(count.max())[:, None]
    weights = np.where(offset < count, shape((start + offset - center + 0.5) / stretch), 0)
    total = weights.sum(0)
    weights = weights / np.where(total == 0, 1, total)
    positions = np.where(offset < count, start + offset, start)  # what has no weight reads something that has
    return list(positions), list(weights.astype(compute))


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: Any, a: float) -> Any:
    """The cubic convolution of R. Keys (1981), which passes through the points."""
    x = np.abs(x)
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0))


def _lanczos(x: Any) -> Any:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS = {
    "linear_aa": (_triangle, 1.0),
    "cubic_aa": (lambda x: _keys(x, -0.5), 2.0),
    "lanczos_aa": (_lanczos, 3.0),
}
"""An antialiasing filter, and how far it reaches."""


def _step(n: int, m: int, align_corners: bool, scale: float | None) -> float:
    """How far apart in the input two neighbours of the output lie."""
    if align_corners:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else n / m


def _along(weights: Any, x: Any, dim: int) -> Any:
    return np.moveaxis(np.tensordot(weights, x, (1, dim)), 0, dim)
