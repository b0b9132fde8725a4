"""Adaptive max pooling: the maxima of a given number of windows that cover the input
(`aten/src/ATen/native/AdaptiveMaxPooling{2d,3d}.cpp`).

Of m windows over n elements, window i is floor(i * n / m) ... ceil((i + 1) * n / m) - 1; they
overlap where n / m is not an integer.

How the real one differs: one kernel for each number of dimensions, and for each gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from .pooling import check_nonempty
from .pooling_1d import check_one
from .pooling_backward import scatter_to_positions


def adaptive_max_pool1d(self: Tensor, output_size: Sequence[int]) -> tuple[Any, Any]:
    """The maxima of `output_size` windows of (N, C, L) or (C, L), and their positions.

    Raises RuntimeError for other sizes.
    """
    check_one(output_size, "adaptive_max_pool1d", "output_size")
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 "
            "'self' (while checking arguments for adaptive_max_pool1d)"
        )
    check_nonempty("adaptive_max_pool1d", self, self.dim() - 1)
    values, indices = ops.adaptive_max_pool2d(self.unsqueeze(-2), [1, *output_size])
    return values.squeeze(-2), indices.squeeze(-2)


def _gradient(name: str, dims: int, grad_output: Tensor, self: Tensor, indices: Tensor) -> Any:
    """The gradient of the input, with the sizes of `self`. Raises RuntimeError for sizes or dtypes
    that do not fit.
    """
    if grad_output.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D grad_output, but got: "
            f"{list(grad_output.shape)}"
        )
    check_nonempty(name, grad_output, grad_output.dim() - 1, "grad_output")
    for t, what in ((grad_output, "grad_output"), (indices, "indices")):
        if (*t.shape[:-dims], *grad_output.shape[-dims:]) != (
            *self.shape[:-dims],
            *indices.shape[-dims:],
        ):
            raise RuntimeError(
                f"expected sizes {list(indices.shape)} for `{what}` but got sizes {list(t.shape)}"
            )
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"expected dtype {TYPE_META_NAME[self.dtype]} for `grad_output` but got dtype "
            f"{TYPE_META_NAME[grad_output.dtype]}"
        )
    check_dtype(name, self.dtype, dt.FLOATING)
    return scatter_to_positions(grad_output, indices, self.shape, dims)


# Each gradient is added at its maximum's position in the H·W plane, which is in `indices`.
adaptive_max_pool2d_backward = partial(_gradient, "adaptive_max_pool2d_backward", 2)
# Each gradient is added at its maximum's position in the D·H·W volume.
adaptive_max_pool3d_backward = partial(_gradient, "adaptive_max_pool3d_backward", 3)


def _pool(name: str, dims: int, t: Tensor, output_size: Sequence[int]) -> tuple[Any, Any]:
    """The maxima and their positions, for `dims` spatial dimensions; both (N, C, *output_size)."""
    if len(output_size) != dims:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
    if t.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(t.shape)}"
        )
    check_nonempty(name, t, t.dim() - 1)
    check_dtype(name, t.dtype, dt.FLOATING)
    sizes = (*t.shape[:-dims], *output_size)
    values, indices = (empty_contiguous(sizes, d, t.device) for d in (t.dtype, dt.int64))
    if not t._geometry.stored:
        return values, indices
    x, inside = array(t), t.shape[-dims:]
    maxima, positions = array(values), array(indices)
    # number[y, x] is y * W + x: the positions that are returned count through the whole plane
    number = np.arange(prod(inside)).reshape(inside)
    # -(-a // m) is a / m rounded up
    for output in np.ndindex(*output_size):
        window = tuple(
            slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(output, inside, output_size)
        )
        # (N, C, elements of the window)
        elements = x[(..., *window)].reshape(*t.shape[:-dims], number[window].size)
        first = elements.argmax(-1)  # numpy takes the first maximum, or the first NaN
        maxima[(..., *output)] = np.take_along_axis(elements, first[..., None], -1)[..., 0]
        positions[(..., *output)] = number[window].reshape(-1)[first]
    return values, indices


# The maxima of `output_size` windows of (N, C, H, W) or (C, H, W), and their positions in the H·W
# plane as int64.
adaptive_max_pool2d = partial(_pool, "adaptive_max_pool2d", 2)
# The maxima of `output_size` windows of (N, C, D, H, W) or (C, D, H, W), and their positions in the
# D·H·W volume.
adaptive_max_pool3d = partial(_pool, "adaptive_max_pool3d", 3)
