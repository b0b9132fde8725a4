"""Rotation and reflection of the elements of a tensor: `rot90`, `fliplr`, `flipud`
(`aten/src/ATen/native/TensorTransformations.cpp`).

A rotation by 90° is a flip and a transposition; one by 180° is two flips.

How the real one differs: it transposes the flipped copy in place, by `transpose_`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.core.formats import contiguous_format
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor

from .views import transpose


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """A copy rotated by `k` times 90° in the plane of two dimensions, from the first towards the
    second.

    Raises RuntimeError unless `dims` are two different dimensions, IndexError for a dimension out
    of range.
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    a, b = (wrap_dim(d, self.dim()) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    if k % 4 == 0:
        return write_uncounted(ops.clone_op, self, contiguous_format)
    flipped = write_uncounted(ops.flip_op, self, {1: [b], 2: [a, b], 3: [a]}[k % 4])
    return flipped if k % 4 == 2 else transpose(flipped, a, b)


def fliplr(self: Tensor) -> Any:
    """`flip` of dimension 1. Raises RuntimeError for fewer than two dimensions."""
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(self, [1])


def flipud(self: Tensor) -> Any:
    """`flip` of dimension 0. Raises RuntimeError for a 0-d tensor."""
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(self, [0])
