"""Resampling images (`aten/src/ATen/native/UpSample.h`, `cpu/UpSampleKernel.cpp`).

Whatever the filter, each dimension is resampled by itself, and linearly: position i of the output
is a weighted sum of some positions of the input. So a filter is a matrix, (output, input), with a
handful of weights in each row, and its gradient is the transposed matrix.

| filter    | weights of                                                                        |
|-----------|-----------------------------------------------------------------------------------|
| nearest   | 1 for position floor(i * n / m); "exact": of the pixels' centers, floor((i + 1/2) |
|           | * n / m)                                                                          |
| linear    | the two nearest, by distance                                                      |
| cubic     | the four nearest, by Keys' polynomial with a = -3/4                               |
| antialias | when shrinking, all within the filter's reach after stretching it by n / m        |

Here n is the size of the input and m that of the output. Nearest and bilinear in two dimensions,
which most networks use, have faster functions of their own. Images of bytes are mixed in integers
(`resampling_bytes.py`).

How the real one differs: it has a kernel for each case, for the gradient too, where a general
filter's gradient here multiplies by the whole matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.native.memory_format import empty_as
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array

from .resampling_bytes import mixed_bytes
from .resampling_checks import check_gradient, check_input


def upsample_nearest2d(
    self: Tensor, output_size: Sequence[int], scales_h: float | None, scales_w: float | None
) -> Any:
    """(N, C, H, W) resized to (N, C, *output_size): row i of the output is row floor(i · H / oH) of
    the input, where oH is the output's height, and columns alike.
    """
    check_input(
        self,
        output_size,
        2,
        f"upsample_nearest2d_{'out_frame' if self.is_cuda else 'channels_last'}",
    )
    rows, columns = (
        nearest_positions(n, m, scale)
        for n, m, scale in zip(self.shape[2:], output_size, (scales_h, scales_w))
    )
    out = empty_as(self, (*self.shape[:2], *output_size))
    if self._geometry.stored:
        array(out)[...] = array(self)[:, :, rows[:, None], columns]
        return out
    return on_device("upsampling.nearest", out, self, False, (scales_h, scales_w))


def upsample_bilinear2d(
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """(N, C, H, W) resized to (N, C, *output_size), each pixel a mix of the four nearest, by
    distance.
    """
    check_input(
        self,
        output_size,
        2,
        "upsample_bilinear2d_out_frame" if self.is_cuda else "compute_index_ranges_weights",
    )
    out = empty_as(self, (*self.shape[:2], *output_size))
    if not self._geometry.stored:
        return on_device("upsampling.linear", out, self, align_corners, (scales_h, scales_w))
    if self.dtype is dt.uint8:
        return resample("linear", self, output_size, align_corners, scales_h, scales_w)
    compute = np.float64 if self.dtype is dt.float64 else np.float32
    mixed = array(self).astype(compute, copy=False)
    for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w)):
        # (m) each; for rows the shares are a column, so that they broadcast along the width
        low, high, share = linear_weights(self.shape[dim], m, align_corners, scale, compute)
        share = share if dim == 3 else share[:, None]
        with np.errstate(invalid="ignore"):  # a share of 0 of infinity is NaN
            mixed = mixed.take(low, dim) * (1 - share) + mixed.take(high, dim) * share
    array(out)[...] = mixed
    return out


def upsample_nearest2d_backward(
    grad_output: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """The adjoint of `upsample_nearest2d`: every pixel of the input gets the sum over the outputs
    that read it.
    """
    check_gradient(grad_output, output_size, input_size, 2)
    out = empty_as(grad_output, input_size)
    if not grad_output._geometry.stored:
        return on_device(
            "upsampling.nearest_backward", out, grad_output, False, (scales_h, scales_w)
        )
    g = array(grad_output)
    g = g.astype(np.float32) if grad_output.dtype is dt.float16 else g
    for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w)):
        n = input_size[dim]
        # rows first, (N, C, H, oW), then columns, (N, C, H, W)
        total = np.zeros((*g.shape[:dim], n, *g.shape[dim + 1 :]), g.dtype)
        _add_at(total, dim, nearest_positions(n, m, scale), g)
        g = total
    array(out)[...] = g
    return out


def upsample_bilinear2d_backward(
    grad_output: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """The adjoint of `upsample_bilinear2d`: a product with the transposed matrix of each dimension,
    from the left for rows and from the right for columns.
    """
    check_gradient(grad_output, output_size, input_size, 2)
    out = empty_as(grad_output, input_size)
    if not grad_output._geometry.stored:
        return on_device(
            "upsampling.linear_backward", out, grad_output, align_corners, (scales_h, scales_w)
        )
    compute = np.float64 if grad_output.dtype is dt.float64 else np.float32
    rows, columns = (
        _mixing(input_size[dim], m, align_corners, scale, compute)
        for dim, m, scale in zip((2, 3), output_size, (scales_h, scales_w))
    )
    # (H, oH) @ (N, C, oH, oW) @ (oW, W)
    array(out)[...] = rows.T @ (array(grad_output).astype(compute, copy=False) @ columns)
    return out


def nearest_positions(n: int, m: int, scale: float | None, exact: bool = False) -> Any:
    """The index in the input, of size `n`, that each of `m` output positions reads: an array (m).
    With `exact` it is the one under the center of the output's pixel.
    """
    # the step is rounded to single precision, as PyTorch's is: otherwise some outputs would read a
    # neighbour
    step = np.float32(1 / scale) if scale is not None and scale > 0 else np.float32(n / m)
    positions = np.arange(m)
    if exact:
        return np.minimum(np.floor((positions + np.float32(0.5)) * step).astype(np.int64), n - 1)
    if m == n:  # here and below whatever `scale` says
        return positions
    if m == 2 * n:
        return positions >> 1
    return np.minimum(np.floor(positions.astype(np.float32) * step).astype(np.int64), n - 1)


def linear_weights(
    n: int, m: int, align_corners: bool, scale: float | None, compute: Any
) -> tuple[Any, Any, Any]:
    """(low, high, share): for each of `m` outputs the two of `n` inputs that it mixes, and the
    share of the second.

    If m is n the result is the input, whatever `scale` says.
    """
    if n == m:
        return np.arange(n), np.arange(n), np.zeros(n, compute)
    positions = np.arange(m, dtype=compute)
    if align_corners:  # the first and last centers coincide
        source = positions * compute((n - 1) / (m - 1) if m > 1 else 0)
    else:  # the edges coincide: centers are at (i + 1/2) * step - 1/2
        step = compute(1 / scale) if scale is not None and scale > 0 else compute(n / m)
        source = np.maximum(step * (positions + compute(0.5)) - compute(0.5), compute(0))
    low = np.minimum(source.astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    return low, high, np.clip(source - low, 0, 1).astype(compute)


def _mixing(n: int, m: int, align_corners: bool, scale: float | None, compute: Any) -> Any:
    """The matrix (m, n) of bilinear resampling from `n` to `m`, with two weights in every row."""
    low, high, share = linear_weights(n, m, align_corners, scale, compute)
    matrix = np.zeros((m, n), compute)
    matrix[np.arange(m), low] = 1 - share
    matrix[np.arange(m), high] += share  # `+=`: at the border high is low
    return matrix


def _add_at(total: Array, dim: int, positions: Array, values: Array) -> None:
    """total[positions] += values along `dim`. The positions ascend, so those that are equal are one
    segment to add up.
    """
    n, m = total.shape[dim], len(positions)
    before: Any = (slice(None),) * dim
    if m % n == 0 and np.array_equal(positions, np.arange(m) // (m // n)):
        # all segments are equally long: one strided addition for each place in them
        for i in range(m // n):
            total += values[(*before, slice(i, None, m // n))]
        return
    starts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    total[(*before, positions[starts])] += np.add.reduceat(values, starts, dim)


def resample(kind: str, t: Tensor, output_size: Sequence[int], *how: Any) -> Any:
    """`t` (N, C, *S) resized to (N, C, *output_size) by the filter `kind`. `how` is align_corners,
    unless `kind` is a nearest one, and a scale or None for each dimension.

    Raises RuntimeError for sizes that do not fit.
    """
    align_corners, scales = _corners_and_scales(kind, how)
    check_input(t, output_size, len(scales), f"upsample_{kind}")
    out = empty_as(t, (*t.shape[:2], *output_size))
    if not t._geometry.stored:
        return out
    x = array(t)
    if kind in ("nearest", "exact"):
        for dim, (m, scale) in enumerate(zip(output_size, scales), 2):
            x = x.take(nearest_positions(x.shape[dim], m, scale, kind == "exact"), dim)
    elif t.dtype is dt.uint8 and len(scales) == 2:
        # along rows first, then along columns, as the real one does: every pass rounds to bytes
        for dim, m, scale in zip((3, 2), reversed(output_size), reversed(scales)):
            if m != x.shape[dim]:
                x = mixed_bytes(
                    x, dim, *taps(kind, x.shape[dim], m, align_corners, scale, np.float64)
                )
    else:
        compute = np.float64 if t.dtype is dt.float64 else np.float32
        x = x.astype(compute, copy=False)
        for dim, (m, scale) in enumerate(zip(output_size, scales), 2):
            if kind in FILTERS and m == x.shape[dim] and _step(m, m, align_corners, scale) == 1:
                continue
            positions, weights = taps(kind, x.shape[dim], m, align_corners, scale, compute)
            # weights (m, 1, ...) broadcast along the dimensions behind `dim`; one term for each tap
            across = [-1] + [1] * (x.ndim - dim - 1)
            x = sum(
                x.take(at, dim) * weight.reshape(across) for at, weight in zip(positions, weights)
            )
        if t.dtype is dt.uint8:
            x = np.clip(np.rint(x), 0, 255)
    array(out)[...] = x
    return out


def resample_backward(
    kind: str, grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *how: Any
) -> Any:
    """The adjoint of `resample`: the gradient of an input of `input_size`, from that of the result.
    Raises RuntimeError for sizes that do not fit.
    """
    align_corners, scales = _corners_and_scales(kind, how)
    check_gradient(grad_output, output_size, input_size, len(scales))
    compute = np.float64 if grad_output.dtype is dt.float64 else np.float32
    g = array(grad_output).astype(compute, copy=False)
    for dim, (n, scale) in enumerate(zip(input_size[2:], scales), 2):
        g = _along(matrix(kind, n, g.shape[dim], align_corners, scale, compute).T, g, dim)
    out = empty_as(grad_output, g.shape)
    array(out)[...] = g
    return out


def _corners_and_scales(kind: str, how: Sequence[Any]) -> tuple[bool, Sequence[float | None]]:
    """`align_corners`, which the nearest filters do not have, and a scale for each dimension."""
    return (False, how) if kind in ("nearest", "exact") else (how[0], how[1:])


def matrix(
    kind: str, n: int, m: int, align_corners: bool, scale: float | None, compute: Any
) -> Any:
    """The matrix (m, n) of the filter `kind`: row i holds the weights of output i."""
    total = np.zeros((m, n), compute)
    for at, weight in zip(*taps(kind, n, m, align_corners, scale, compute)):
        np.add.at(total, (np.arange(m), at), weight)
    return total


def taps(
    kind: str, n: int, m: int, align_corners: bool, scale: float | None, compute: Any
) -> tuple[list[Any], list[Any]]:
    """The matrix of the filter without its zeros: (positions, weights), two lists of arrays (m), as
    long as the number of inputs that an output reads. Output i is the sum of
    weights[j][i] * input[positions[j][i]] over j.
    """
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
        return positions, [
            _keys(center - first - offset, -0.75).astype(compute) for offset in offsets
        ]
    return _antialiased(kind, n, m, step, compute)


def _antialiased(
    kind: str, n: int, m: int, step: float, compute: Any
) -> tuple[list[Any], list[Any]]:
    """The taps of a filter that is stretched by `step` when that is more than 1, that is, when the
    image shrinks; the weights of an output add up to 1.
    """
    shape, reach = FILTERS[kind]
    stretch = max(step, 1.0)
    support = reach * stretch
    center = step * (np.arange(m) + 0.5)
    start = np.maximum((center - support + 0.5).astype(np.int64), 0)
    count = np.minimum((center + support + 0.5).astype(np.int64), n) - start
    # (taps, m): outputs read `count` inputs from `start` on, so some use fewer taps than there are
    offset = np.arange(count.max())[:, None]
    weights = np.where(offset < count, shape((start + offset - center + 0.5) / stretch), 0)
    total = weights.sum(0)
    weights = weights / np.where(total == 0, 1, total)
    # a tap without weight has to read some input all the same
    positions = np.where(offset < count, start + offset, start)
    return list(positions), list(weights.astype(compute))


def _triangle(x: Array) -> Any:
    """1 - |x| between -1 and 1, else 0: the weights of linear interpolation."""
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: Array, a: float) -> Any:
    """The cubic convolution of R. Keys (1981): 1 at 0, and 0 at all other integers, so the result
    passes through the points. `a` is the derivative at 1.
    """
    x = np.abs(x)
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0))


def _lanczos(x: Array) -> Any:
    """Lanczos' filter: sinc, damped by a wider sinc that ends at -3 and 3."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS = {
    "linear_aa": (_triangle, 1.0),
    "cubic_aa": (lambda x: _keys(x, -0.5), 2.0),
    "lanczos_aa": (_lanczos, 3.0),
}
"""An antialiasing filter, and how far it reaches."""


def _step(n: int, m: int, align_corners: bool, scale: float | None) -> float:
    """The distance in the input, in pixels, between two neighbours of the output."""
    if align_corners:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else n / m


def _along(weights: Array, x: Array, dim: int) -> Any:
    """`x` with its dimension `dim` multiplied from the left by the matrix `weights`."""
    return np.moveaxis(np.tensordot(weights, x, (1, dim)), 0, dim)
