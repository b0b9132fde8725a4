"""Writing by one index: `index_copy`, `index_fill`, `put`, `masked_scatter`; and `take`, which
reads where `put` writes (`TensorAdvancedIndexing.cpp`).

    index_copy      self[:, index] = source      whole slices of a dimension
    index_fill      self[:, index] = value
    put             self.view(-1)[index] = source, or += with `accumulate`
    take            self.view(-1)[index]
    masked_scatter  self[mask] = the first elements of source
    take_along_dim  `gather`, where all but one dimension are broadcast

Only `index_fill`, `put`, `take` and `take_along_dim` count negative indices from the end.

How the real one differs: if an index occurs twice, it does not say which value is written; here it
is the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.overlap import check_no_internal_overlap
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import infer_size, wrap_dim
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Array, Tensor, array, snapshot
from internals.core.warn import warn

from .indexing import warn_if_expanded
from .scatter_gather import copy_of, sizes_of


def index_copy(
    self: Tensor, dim: int, index: Tensor, source: Tensor, out: Tensor | None = None
) -> Any:
    """A copy of `self` where the slices at `index` (0-d or 1-d, int64) along `dim` are those of
    `source`.

    Raises IndexError for an index out of range or of the wrong length, RuntimeError for other
    dtypes or slices of another shape.
    """
    d = _check_index_copy(self, dim, index, source)
    positions, n = np.atleast_1d(snapshot(index)), sizes_of(self)[d]
    target = copy_of(self, out)
    if positions.size and target.numel():
        wrong = positions[(positions < 0) | (positions >= n)]
        if wrong.size:
            raise IndexError(
                f"index_copy_(): index {wrong[0]} is out of bounds for dimension {d} with size {n}"
            )
        # a view with `dim` in front: slice i of the source goes to positions[i]
        memory = np.moveaxis(np.atleast_1d(array(target)), d, 0)
        memory[positions] = np.moveaxis(
            np.atleast_1d(array(source)), min(d, max(source.dim() - 1, 0)), 0
        )
    return target


def index_fill(
    self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor | None = None
) -> Any:
    """A copy of `self` with `value` in the slices at `index` (0-d or 1-d, int64) along `dim`;
    negative indices count from the end.

    Raises IndexError for an index out of range or of another dtype, RuntimeError for a value that
    does not fit the dtype.
    """
    if isinstance(value, complex) and not self.is_complex():
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    if index.dtype is not dt.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    d, number = wrap_dim(dim, self.dim()), checked(value, self.dtype)
    if out is self:
        warn_if_expanded(self, "index_fill_", "tensor[mask] = scalar")
        target = self
    else:
        target = copy_of(self, out, keep_layout=True)
    positions, n = np.atleast_1d(snapshot(index)), sizes_of(self)[d]
    if not target.numel() and (n or not positions.size):
        return target
    wrong = positions[(positions < -n) | (positions >= n)]
    if wrong.size:
        raise IndexError(f"index {wrong[0]} is out of bounds for dimension {d} with size {n}")
    memory = np.atleast_1d(array(target))
    memory[(slice(None),) * d + (positions,)] = number
    return target


def index_fill_Tensor(
    self: Tensor, dim: int, index: Tensor, value: Tensor, out: Tensor | None = None
) -> Any:
    """`index_fill` with the value in a 0-d tensor. Raises RuntimeError for other tensors."""
    if value.dim():
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dim()} dimension(s)."
        )
    return index_fill(self, dim, index, array(value).item(), out)


def put(
    self: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: bool = False,
    out: Any = None,
) -> Any:
    """A copy of `self` where the elements at `index`, counted in row-major order, are those of
    `source`, or have them added.

    Raises RuntimeError for an index that is not int64 or a source of another dtype, IndexError for
    an index out of range or of another number of elements.
    """
    _check_long(index, "put_")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{SCALAR_TYPE_NAME[self.dtype]} and source.dtype = {SCALAR_TYPE_NAME[source.dtype]}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    if index.numel() and not self.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    positions = _in_flat(snapshot(index).reshape(-1), self.numel())
    target = copy_of(self, out, keep_layout=True)
    if not positions.size:
        return target
    places = np.unravel_index(positions, sizes_of(self))
    memory, values = np.atleast_1d(array(target)), array(source).reshape(-1)
    if accumulate:
        with np.errstate(all="ignore"):
            np.add.at(memory, places, values)
    else:
        memory[places] = values
    return target


def take(self: Tensor, index: Tensor, out: Tensor | None = None) -> Any:
    """The elements at `index`, counted in row-major order, in the shape of `index`.

    Raises RuntimeError for an index that is not int64 or an `out` of another dtype, IndexError for
    an index out of range.
    """
    _check_long(index, "take")
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(
            "take(): self and out expected to have the same dtype, but got self.dtype = "
            f"{SCALAR_TYPE_NAME[self.dtype]} and out.dtype = {SCALAR_TYPE_NAME[out.dtype]}"
        )
    if index.numel() and not self.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    positions = _in_flat(snapshot(index), self.numel())
    out = set_output(index.shape, self.dtype, out, device=self.device)
    if out.numel():
        array(out)[...] = array(self).reshape(-1)[positions]
    return out


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    """`gather` along `dim`, after all other dimensions of both are broadcast; without `dim`, of the
    flattened tensors.

    With `dim` an index is taken modulo the size: -1 is the last position, and none is out of range.
    Without, both tensors have to be contiguous. Raises RuntimeError for indices that are not int64,
    or of another number of dimensions.
    """
    if dim is not None and self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype is not dt.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{SCALAR_TYPE_NAME[indices.dtype]}"
        )
    if dim is None:
        return ops.gather(ops.view(self, [-1]), 0, ops.view(indices, [-1]), False)
    d = wrap_dim(dim, self.dim())
    # along `dim` both keep their own size: it is exchanged before the sizes are broadcast
    sizes, others = list(self.shape), list(indices.shape)
    if sizes:
        sizes[d], others[d] = others[d], sizes[d]
    wanted, source = broadcast_shapes(sizes, indices.shape), broadcast_shapes(others, self.shape)
    inside = ops.remainder_Scalar(ops.broadcast_to(indices, wanted), self.size(d))
    return ops.gather(ops.broadcast_to(self, source), d, inside, False)


def masked_scatter(self: Tensor, mask: Tensor, source: Tensor, out: Tensor | None = None) -> Any:
    """A copy of `self`, broadcast with the mask, where the elements with a true mask are replaced
    by the first elements of `source`, in order.

    Raises RuntimeError for a mask that is not bool, a source of another dtype, or too few elements.
    """
    if out is self and mask.shape != self.shape:
        ops.expand(mask, self.shape, False)  # raises unless the mask fits `self`
    shape = broadcast_shapes(mask.shape, self.shape)
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{SCALAR_TYPE_NAME[self.dtype]} and {SCALAR_TYPE_NAME[source.dtype]}"
        )
    if mask.dtype is dt.uint8:
        warn(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now "
            "deprecated,please use a mask with dtype torch.bool instead."
        )
    if mask.dtype is not dt.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{SCALAR_TYPE_NAME[mask.dtype]}"
        )
    target = set_output(shape, self.dtype, out, out is self)
    check_no_internal_overlap(target)
    places = np.broadcast_to(snapshot(mask), shape)
    count = int(np.count_nonzero(places))
    if source.numel() < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    if target is not self and target.numel():
        array(target)[...] = array(self)
    if count:
        array(target)[places] = array(source).reshape(-1)[:count]
    return target


def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Any:
    """The gradient of `source`, of `sizes`: the elements of `grad_output` where the mask is true,
    and zeros for the elements that were not used.
    """
    used, n = ops.masked_select(grad_output, mask), int(np.prod(sizes, dtype=np.int64))
    if used.numel() < n:
        used = ops.constant_pad_nd(used, [0, n - used.numel()], 0)
    return ops.view(used, infer_size(sizes, n))


def _in_flat(positions: Array, n: int) -> Any:
    """The positions counted from the front. Raises IndexError for those outside -n ... n - 1."""
    wrong = positions[(positions < -n) | (positions >= n)]
    if wrong.size:
        raise IndexError(
            f"out of range: tried to access index {wrong[0]} on a tensor of {n} elements."
        )
    return np.where(positions < 0, positions + n, positions)


def _check_long(index: Tensor, op: str) -> None:
    """Raises RuntimeError unless the index is int64."""
    if index.dtype is not dt.int64:
        raise RuntimeError(
            f"{op}(): Expected a long tensor for index, but got {SCALAR_TYPE_NAME[index.dtype]}"
        )


def _check_index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    """The dimension, counted from the front. Raises IndexError or RuntimeError as `index_copy`."""
    d = wrap_dim(dim, self.dim())
    _check_long(index, "index_copy_")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{SCALAR_TYPE_NAME[self.dtype]} and (source) {SCALAR_TYPE_NAME[source.dtype]}"
        )
    if index.dim() > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    count = index.numel()
    if not source.dim() and count != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {count})"
        )
    if source.dim() and self.dim() and source.dim() != self.dim():
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            f"must match. Source dimensionality ({source.dim()}), destination dimensionality "
            f"({self.dim()})"
        )
    self_sizes, source_sizes = list(self.shape), list(source.shape)
    slices = self_sizes[:d] + self_sizes[d + 1 :], source_sizes[:d] + source_sizes[d + 1 :]
    if slices[0] != slices[1]:
        sizes = [" ".join(map(str, s)) for s in slices]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            "slice shape: "
            f"{sizes[0]} at dimension {d} and source slice shape: {sizes[1]} at dimension 0."
        )
    if source.dim() and count != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) "
            f"({source.shape[d]})"
        )
    return d
