"""Fractional max pooling: windows at pseudo-random positions
(`aten/src/ATen/native/FractionalMaxPool{2d,3d}.cpp`).

Of m windows over n elements, window i starts at floor((i + u) * alpha) - floor(u * alpha), where
alpha = (n - kernel) / (m - 1). The steps have two neighbouring sizes, in an order that depends on
u, one random number for each channel and dimension. So an image can shrink by a factor that is not
an integer (Graham 2014).

How the real one differs: it has one kernel for two dimensions, and one for three.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous

from .pooling_backward import scatter_to_positions

_SIDES = ("time", "height", "width")


def fractional_max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Tensor,
) -> Any:
    """The gradient of the input: each gradient is added at its maximum's position, in `indices`."""
    return scatter_to_positions(grad_output, indices, self.shape, 2)


def fractional_max_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Tensor,
) -> Any:
    """The gradient of the input: each gradient is added at its maximum's position, in `indices`."""
    return scatter_to_positions(grad_output, indices, self.shape, 3)


def _pool(
    dims: int, name: str, t: Tensor, kernel: Sequence[int], size: Sequence[int], samples: Tensor
) -> tuple[Any, Any]:
    """The maxima and their positions, both (N, C, *size) or (C, *size)."""
    _check(dims, name, t, kernel, size, samples)
    # all samples and channels are planes: x (planes, *inside), u (planes, dims)
    inside, planes = t.shape[-dims:], prod(t.shape[:-dims])
    x = array(t).reshape(planes, *inside)
    u = array(samples).reshape(-1, dims)[:planes]
    if dims == 2:
        u = u[:, ::-1]  # the first number is for the width
    starts = [_starts(u[:, d], inside[d], size[d], kernel[d]) for d in range(dims)]
    # Element `offset` of all windows at once: its coordinates, (planes, m, 1) and (planes, 1, m) in
    # two dimensions, index x together with `plane`, (planes, 1, 1).
    plane = np.arange(planes).reshape(-1, *[1] * dims)
    maxima = np.full((planes, *size), -np.inf, x.dtype)
    positions = np.zeros((planes, *size), np.int64)
    for offset in np.ndindex(*kernel):
        coordinates = [
            _along(start + i, d, dims) for d, (start, i) in enumerate(zip(starts, offset))
        ]
        value = x[(plane, *coordinates)]
        better = (value > maxima) | (value != value)  # NaN is not equal to itself
        if not any(offset):
            better[...] = True  # a window's first element counts until a larger one is found
        np.copyto(maxima, value, where=better)
        np.copyto(
            positions,
            np.ravel_multi_index(np.broadcast_arrays(*coordinates), inside)
            if positions.size
            else positions,
            where=better,
        )
    values, indices = (empty_contiguous([*t.shape[:-dims], *size], d) for d in (t.dtype, dt.int64))
    array(values)[...] = maxima.reshape(values.shape)
    array(indices)[...] = positions.reshape(indices.shape)
    return values, indices


# The maxima of (N, C, H, W) or (C, H, W) and their positions in the H·W plane. `random_samples`:
# (N, C, 2), from [0, 1). Raises RuntimeError for sizes that do not fit, NotImplementedError for a
# dtype that is not floating.
fractional_max_pool2d = partial(_pool, 2, "fractional_max_pool2d")
# The maxima of (N, C, D, H, W) or (C, D, H, W) and their positions in the D·H·W volume.
# `random_samples`: (N, C, 3).
fractional_max_pool3d = partial(_pool, 3, "fractional_max_pool3d")


def _starts(u: Array, n: int, m: int, kernel: int) -> Any:
    """The first elements (planes, m) of the windows. The last window ends with the input."""
    starts = np.zeros((len(u), m), np.int64)
    if m > 1:
        alpha = u.dtype.type(n - kernel) / u.dtype.type(m - 1)
        steps = np.arange(m, dtype=u.dtype) + u[:, None]
        starts = (steps * alpha).astype(np.int64) - (u * alpha).astype(np.int64)[:, None]
    starts[:, m - 1 :] = n - kernel
    return starts


def _along(starts: Array, dim: int, dims: int) -> Any:
    """(planes, m) as (planes, 1, m, 1): broadcastable with the starts of the other dimensions."""
    return starts.reshape(
        len(starts), *[1] * dim, -1 if starts.size else starts.shape[1], *[1] * (dims - 1 - dim)
    )


def _check(
    dims: int, name: str, t: Tensor, kernel: Sequence[int], size: Sequence[int], samples: Tensor
) -> None:
    """Raises RuntimeError for sizes that do not fit, NotImplementedError unless floating."""
    for value, what in ((kernel, "kernel_size"), (size, "output_size")):
        if len(value) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
        if min(value) < (what == "kernel_size"):
            raise RuntimeError(f"{name}: {what} must be positive, but got {list(value)}")
    if t.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(t.shape)}"
        )
    name = name if dims == 2 else f"{name}_out"
    if 0 in t.shape[1:]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
            f"got{list(t.shape)} with dimension {t.shape.index(0, 1)} being empty."
        )
    for side, n, m, k in zip(_SIDES[-dims:], t.shape[-dims:], size, kernel):
        if k < 0:
            raise RuntimeError(
                f"{name}(): kernel_size must not be negative, but got {list(kernel)}"
            )
        if m + k - 1 > n - (dims == 3):  # PyTorch asks for one element more in volumes
            raise RuntimeError(f"{name}(): pool {side} {k} too large relative to input {side} {n}")
    if samples.dtype is not t.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.shape[0] < (t.shape[0] if t.dim() == dims + 2 else 1):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != t.shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {dims} got {samples.shape[2]}."
        )
    if not t.dtype.is_floating_point:
        raise not_implemented(f"fractional_max_pool{dims}d_out_frame", t.dtype)
