"""Unpooling, which puts maxima back to where they were: a partial inverse of max pooling
(`aten/src/ATen/native/MaxUnpooling.cpp`).

Every element goes to the position that its index names; all other positions are 0. The gradient of
an element is the one at its position.

How the real one differs: where two elements have the same index, its threads decide which of them
stays; here it is the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor, array, empty_contiguous, snapshot

from .memory_format import empty_as

_WORDS = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Any:
    """(N, C, H, W) or (C, H, W) spread over planes of `output_size`; `indices`, int64, count the
    elements of such a plane, row by row.

    Raises RuntimeError for an index outside the plane, for another shape or dtype of `indices`,
    NotImplementedError for a dtype that is not of floating point.
    """
    _check(2, self, indices, output_size)
    return _spread(self, indices, output_size, empty_as(self, [*self.shape[:-2], *output_size]))


def max_unpool3d(
    self: Tensor,
    indices: Tensor,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Any:
    """(N, C, D, H, W) or (C, D, H, W) spread over volumes of `output_size`. `stride` and `padding`
    are only checked.
    """
    _check(3, self, indices, output_size)
    for value, name in ((stride, "stride"), (padding, "padding")):
        if len(value) != 3:
            raise RuntimeError(
                f"There should be exactly {_WORDS[3]} in {name}, but got: {len(value)} elements."
            )
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _spread(
        self, indices, output_size, empty_contiguous([*self.shape[:-3], *output_size], self.dtype)
    )


def _spread(t: Tensor, indices: Tensor, output_size: Sequence[int], out: Tensor) -> Any:
    """Fill `out` with zeros, and the elements of `t` at the positions that `indices` name."""
    if not t.dtype.is_floating_point:
        raise not_implemented(f"max_unpool{len(output_size)}d", t.dtype)
    size, planes = prod(output_size), prod(t.shape[: -len(output_size)])
    # a row for each plane: the elements to place, (planes, each), and the result, (planes, size)
    each = prod(t.shape[-len(output_size) :])
    positions = snapshot(indices).reshape(planes, each)
    wrong = positions[(positions < 0) | (positions >= size)]
    if wrong.size:
        volume = "x".join(map(str, output_size))
        raise RuntimeError(
            f"Found an invalid max index: {wrong[0]} (output volumes are of size {volume})"
        )
    flat = np.zeros((planes, size), array(t).dtype)
    if t.numel():
        np.put_along_axis(flat, positions, array(t).reshape(planes, each), 1)
    array(out)[...] = flat.reshape(out.shape)
    return out


def _check(dims: int, t: Tensor, indices: Tensor, output_size: Sequence[int]) -> None:
    """Raises RuntimeError unless `indices` is int64 with the sizes of `t`, which has channels and
    `dims` dimensions, or is a batch of those, and `output_size` has `dims` sizes.
    """
    if indices.dtype is not dt.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {SCALAR_TYPE_NAME[indices.dtype]}"
        )
    if len(output_size) != dims:
        raise RuntimeError(
            f"There should be exactly {_WORDS[dims]} in output_size, but got {len(output_size)} "
            "elements."
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"max_unpooling{dims}d(): output_size must contain non-negative spatial dimensions, "
            f"but got output_size={tuple(output_size)}"
        )
    if t.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got "
            f"a tensor with {t.dim()} dimensions."
        )
    if t.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(t.shape)}) "
            f"but got indices tensor with shape: {list(indices.shape)}"
        )
    for i in range(1, t.dim()):
        if t.shape[i] == 0:
            raise RuntimeError(
                f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size for "
                f"non-batch dimensions, but got {list(t.shape)} with dimension {i} being empty."
            )
