"""Views: other sizes and strides on the same storage (`aten/src/ATen/native/TensorShape.cpp`).

Nothing here touches an element. Each function computes sizes, strides and an offset and calls `alias`. The tie between a view
and its base is made one layer up, in `internals.aten.adinplaceorview`.

How the real one differs: every view op also has a `_copy` twin for backends without views, and symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.dtype import dtype
from internals.core.geometry import contiguous_strides, infer_size, view_strides, wrap_dim
from internals.core.tensor_impl import TensorImpl, make
from internals.core.tensor_impl import alias as _alias


def view(self: TensorImpl, size: Sequence[int]) -> Any:
    """The same elements in the same order, seen in another shape. Raises RuntimeError when no strides can express it."""
    sizes = infer_size(size, self.numel())
    strides = view_strides(self.shape, self.stride(), sizes)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return _alias(self, sizes, strides, self._offset)


def transpose(self: TensorImpl, dim0: int, dim1: int) -> Any:
    """Dimensions `dim0` and `dim1` change places: so do their strides."""
    ndim = self.dim()
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    sizes, strides = list(self.shape), list(self.stride())
    if ndim:
        sizes[a], sizes[b] = sizes[b], sizes[a]
        strides[a], strides[b] = strides[b], strides[a]
    return _alias(self, sizes, strides, self._offset)


def t(self: TensorImpl) -> Any:
    """The transpose of a matrix; a vector is returned as it is. Raises RuntimeError for more than two dimensions."""
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return transpose(self, 0, 1) if self.dim() == 2 else _alias(self, self.shape, self.stride(), self._offset)


def detach(self: TensorImpl) -> Any:
    """The same memory and version counter, cut off from autograd."""
    return make(self._storage, without_grad(self), self._offset)


def without_grad(self: TensorImpl) -> Any:
    from internals.core.dispatch_key import AUTOGRAD_MASK
    from internals.core.geometry import with_keys

    g = self._geometry
    return with_keys(g, g.keys & ~AUTOGRAD_MASK)


__all__ = ["contiguous_strides", "dtype"]
