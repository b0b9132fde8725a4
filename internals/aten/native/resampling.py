"""Resampling images: nearest and bilinear (`aten/src/ATen/native/UpSample.h`, `UpSampleNearest2d.cpp`, `UpSampleBilinear2d.cpp`).

Both are separable. Nearest picks one source row and one source column for each output row and column. Bilinear mixes two of
each, which is a matrix product from the left (rows) and one from the right (columns) with two weights in every row.

How the real one differs: PyTorch walks over output pixels, vectorised over channels, and has antialiased and cubic variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.core import dtype as dt
from internals.core.tensor_impl import array

from .resampling_checks import check_gradient, check_input, sizes_and_scales


def upsample_nearest2d(self: Any, output_size: Sequence[int], scales_h: float | None, scales_w: float | None) -> Any:
    """(N, C, H, W) at (N, C, *output_size): element i of the output reads floor(i · H / output)."""
    check_input(self, output_size, 2, "upsample_nearest2d_channels_last")
    rows, columns = (
        nearest_positions(n, m, scale) for n, m, scale in zip(self.shape[2:], output_size, (scales_h, scales_w))
    )
    out = empty_as(self, (*self.shape[:2], *output_size))
    if self._geometry.stored:
        array(out)[...] = array(self)[:, :, rows[:, None], columns]
    return out


def upsample_bilinear2d(
    self: Any, output_size: Sequence[int], align_corners: bool, scales_h: float | None, scales_w: float | None
) -> Any:
    """(N, C, H, W) at (N, C, *output_size), mixing the four nearest pixels by distance."""
    check_input(self, output_size, 2, "compute_index_ranges_weights")
    if self.dtype is dt.uint8:
        from .resampling_any import resample

        return resample(self, output_size, "linear", align_corners, (scales_h, scales_w))
    out = empty_as(self, (*self.shape[:2], *output_size))
    if not self._geometry.stored:
        return out
    compute = np.float64 if self.dtype is dt.float64 else np.float32
    mixed = array(self).astype(compute, copy=False)
    for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w)):
        low, high, share = linear_weights(self.shape[dim], m, align_corners, scale, compute)
        share = share if dim == 3 else share[:, None]
        with np.errstate(invalid="ignore"):  # nothing of infinity is NaN
            mixed = mixed.take(low, dim) * (1 - share) + mixed.take(high, dim) * share
    array(out)[...] = mixed
    return out


def upsample_nearest2d_backward(
    grad_output: Any, output_size: Sequence[int], input_size: Sequence[int], scales_h: float | None, scales_w: float | None
) -> Any:
    """The adjoint of `upsample_nearest2d`: every pixel of the input gets the sum over the outputs that read it."""
    check_gradient(grad_output, output_size, input_size, 2)
    g = array(grad_output)
    g = g.astype(np.float32) if grad_output.dtype is dt.float16 else g
    for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w)):
        n = input_size[dim]
        total = np.zeros((*g.shape[:dim], n, *g.shape[dim + 1 :]), g.dtype)
        _add_at(total, dim, nearest_positions(n, m, scale), g)
        g = total
    return _as_image(grad_output, g)


def upsample_bilinear2d_backward(
    grad_output: Any,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """The adjoint of `upsample_bilinear2d`: the transposed matrices, from the left for rows and from the right for columns."""
    check_gradient(grad_output, output_size, input_size, 2)
    compute = np.float64 if grad_output.dtype is dt.float64 else np.float32
    rows, columns = (
        _mixing(input_size[dim], m, align_corners, scale, compute)
        for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w))
    )
    g = rows.T @ (array(grad_output).astype(compute, copy=False) @ columns)
    return _as_image(grad_output, g)


def upsample_nearest2d_vec(input: Any, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Any:
    """The form that `interpolate` calls: an output size or scale factors."""
    sizes, (h, w) = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops.upsample_nearest2d(input, sizes, h, w)


def upsample_bilinear2d_vec(
    input: Any, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    """The form that `interpolate` calls: an output size or scale factors."""
    sizes, (h, w) = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops.upsample_bilinear2d(input, sizes, align_corners, h, w)


def nearest_positions(n: int, m: int, scale: float | None, exact: bool = False) -> Any:
    """The source index of each of `m` output positions; `exact`: of their centers."""
    step = np.float32(1 / scale) if scale is not None and scale > 0 else np.float32(n / m)
    positions = np.arange(m)
    if exact:
        return np.minimum(np.floor((positions + np.float32(0.5)) * step).astype(np.int64), n - 1)
    if m == n:
        return positions
    if m == 2 * n:
        return positions >> 1
    return np.minimum(np.floor(positions.astype(np.float32) * step).astype(np.int64), n - 1)


def linear_weights(n: int, m: int, align_corners: bool, scale: float | None, compute: Any) -> tuple[Any, Any, Any]:
    """For each of `m` outputs the two source positions that it mixes, and the share of the second.

    As many outputs as sources are the sources themselves, whatever `scale` says.
    """
    if n == m:
        return np.arange(n), np.arange(n), np.zeros(n, compute)
    positions = np.arange(m, dtype=compute)
    if align_corners:
        source = positions * compute((n - 1) / (m - 1) if m > 1 else 0)
    else:
        step = compute(1 / scale) if scale is not None and scale > 0 else compute(n / m)
        source = np.maximum(step * (positions + compute(0.5)) - compute(0.5), compute(0))
    low = np.minimum(source.astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    return low, high, np.clip(source - low, 0, 1).astype(compute)


def _mixing(n: int, m: int, align_corners: bool, scale: float | None, compute: Any) -> Any:
    """The matrix (m, n) that makes `m` positions of `n`, with two shares in every row."""
    low, high, share = linear_weights(n, m, align_corners, scale, compute)
    matrix = np.zeros((m, n), compute)
    matrix[np.arange(m), low] = 1 - share
    matrix[np.arange(m), high] += share
    return matrix


def _add_at(total: Any, dim: int, positions: Any, values: Any) -> None:
    """total[positions] += values along `dim`. The positions ascend, so those that are equal are one segment to add up."""
    n, m = total.shape[dim], len(positions)
    before: Any = (slice(None),) * dim
    if m % n == 0 and np.array_equal(positions, np.arange(m) // (m // n)):  # all segments are equally long
        for i in range(m // n):
            total += values[(*before, slice(i, None, m // n))]
        return
    starts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    total[(*before, positions[starts])] += np.add.reduceat(values, starts, dim)


def _as_image(like: Any, a: Any) -> Any:
    out = empty_as(like, a.shape)
    array(out)[...] = a
    return out
