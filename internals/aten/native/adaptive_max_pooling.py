"""The maximum of windows that cover the input evenly
(`aten/src/ATen/native/AdaptiveMaxPooling{2d,3d}.cpp`).

Of m windows over n places, number i goes from floor(i * n / m) to ceil((i + 1) * n / m); they
overlap where n / m is no integer.

How the real one differs: one kernel for each number of dimensions, and for each gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype
from internals.core import dtype as dt
from internals.core.tensor_impl import array, empty_contiguous

from .pooling import check_places
from .pooling_1d import check_one
from .pooling_backward import scatter_to_places

if TYPE_CHECKING:
    from internals._tensor import Tensor


def adaptive_max_pool1d(self: Tensor, output_size: Sequence[int]) -> tuple[Any, Any]:
    """The maxima of `output_size` windows of (N, C, L) or (C, L), and where they were."""
    check_one(output_size, "adaptive_max_pool1d", "output_size")
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 "
            "'self' (while checking arguments for adaptive_max_pool1d)"
        )
    check_places("adaptive_max_pool1d", self, self.dim() - 1)
    values, indices = ops.adaptive_max_pool2d(self.unsqueeze(-2), [1, *output_size])
    return values.squeeze(-2), indices.squeeze(-2)


def _put_back(name: str, dims: int, grad_output: Tensor, self: Tensor, indices: Tensor) -> Any:
    if grad_output.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D grad_output, but got: "
            f"{list(grad_output.shape)}"
        )
    check_places(name, grad_output, grad_output.dim() - 1, "grad_output")
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
    return scatter_to_places(grad_output, indices, self.shape, dims)


# Each gradient at the place in the H·W plane where its maximum was, which `indices` tells.
adaptive_max_pool2d_backward = partial(_put_back, "adaptive_max_pool2d_backward", 2)
# Each gradient at the place in the D·H·W volume where its maximum was.
adaptive_max_pool3d_backward = partial(_put_back, "adaptive_max_pool3d_backward", 3)


def _pool(name: str, dims: int, t: Tensor, output_size: Sequence[int]) -> tuple[Any, Any]:
    if len(output_size) != dims:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
    if t.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(t.shape)}"
        )
    check_places(name, t, t.dim() - 1)
    check_dtype(name, t.dtype, dt.FLOATING)
    sizes = (*t.shape[:-dims], *output_size)
    values, indices = (empty_contiguous(sizes, d, t.device) for d in (t.dtype, dt.int64))
    if not t._geometry.stored:
        return values, indices
    x, inside = array(t), t.shape[-dims:]
    best, place = array(values), array(indices)
    number = np.arange(prod(inside)).reshape(inside)
    for at in np.ndindex(*output_size):
        window = tuple(
            slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(at, inside, output_size)
        )
        elements = x[(..., *window)].reshape(*t.shape[:-dims], number[window].size)
        first = elements.argmax(-1)  # numpy takes the first maximum, or the first NaN
        best[(..., *at)] = np.take_along_axis(elements, first[..., None], -1)[..., 0]
        place[(..., *at)] = number[window].reshape(-1)[first]
    return values, indices


# The maxima of `output_size` windows of (N, C, H, W) or (C, H, W), and their positions in the H·W
# plane as int64.
adaptive_max_pool2d = partial(_pool, "adaptive_max_pool2d", 2)
# The maxima of `output_size` windows of (N, C, D, H, W) or (C, D, H, W), and their positions in the
# D·H·W volume.
adaptive_max_pool3d = partial(_pool, "adaptive_max_pool3d", 3)
