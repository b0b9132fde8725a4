"""Views composed of other views: `reshape`, `narrow`, `chunk`, `movedim`, `flatten`, ...
(`aten/src/ATen/native/TensorShape.cpp`).

They call operators only. So autograd needs no formulas for them: it records the `view`, `slice` and
`permute` that they consist of.

How the real one differs: `reshape` has more branches (sparse, MKL-DNN and functionalised tensors).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.formats import contiguous_format
from internals.core.geometry import infer_size, view_strides, wrap_dim
from internals.core.tensor_impl import Tensor
from internals.core.warn import warn_once

from .splitting import check_number_of_parts


def reshape(self: Tensor, shape: Sequence[int]) -> Any:
    """`view` where strides allow it, otherwise a copy in the new shape. One size may be -1, which
    is then inferred.
    """
    if self.is_contiguous():
        return ops.view(self, shape)
    sizes = infer_size(shape, self.numel())
    strides = view_strides(self.shape, self.stride(), sizes)
    if strides is not None:
        return ops._reshape_alias(self, sizes, strides)
    return ops._unsafe_view(ops.clone(self, contiguous_format), sizes)


def reshape_as(self: Tensor, other: Tensor) -> Any:
    """`reshape` to the shape of `other`."""
    return ops.reshape(self, other.shape)


def view_as(self: Tensor, other: Tensor) -> Any:
    """`view` in the shape of `other`."""
    return ops.view(self, other.shape)


def expand_as(self: Tensor, other: Tensor) -> Any:
    """`expand` to the shape of `other`."""
    return ops.expand(self, other.shape, False)


def broadcast_to(self: Tensor, size: Sequence[int]) -> Any:
    """`expand`, by the name that numpy has for it."""
    return ops.expand(self, size, False)


def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions `start_dim` to `end_dim` as one. A 0-d tensor becomes 1-d."""
    first, last = wrap_dim(start_dim, self.dim()), wrap_dim(end_dim, self.dim())
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    sizes = self.shape
    if not sizes:
        return ops.reshape(self, [1])
    if first == last:
        return self
    return ops.reshape(self, [*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :]])


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    """The inverse of `flatten`: dimension `dim` as several of the given sizes. Raises RuntimeError
    unless their product is its size.
    """
    d = wrap_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        n = self.size(d)
        inferred = infer_size(sizes, n)
    except (IndexError, RuntimeError) as error:
        if not self.dim() or list(sizes).count(-1) > 1 or min(sizes) < -1:
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({n}) in the input tensor"
        ) from None
    return ops.view(self, [*self.shape[:d], *inferred, *self.shape[d + 1 :]])


def ravel(self: Tensor) -> Any:
    """All elements as a contiguous vector; a view if `self` is contiguous."""
    return ops.reshape(self.contiguous(), [-1])


def narrow(self: Tensor, dim: int, start: int, length: int) -> Any:
    """`length` positions of dimension `dim` from `start` on. Unlike a slice it does not clamp: it
    raises IndexError or RuntimeError for positions out of range.
    """
    if not self.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n = self.size(dim)
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    first = start + n if start < 0 else start
    if first + length > n:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return ops.slice_Tensor(self, dim, first, first + length, 1)


def narrow_Tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Any:
    """`narrow` with the start in a 0-d tensor of integers."""
    if start.dim() or start.dtype.category != 1:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(self, dim, start.item(), length)


def chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` slices of equal length, except that the last may be shorter."""
    if not self.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = self.size(dim)
    # slices of length 0 could not reach the end, so the number of chunks is taken as it is
    if n == 0:
        check_number_of_parts("chunks", chunks, n)
        return ops.split_with_sizes(self, [0] * chunks, dim)
    return ops.split_Tensor(self, -(-n // chunks), dim)


def movedim_intlist(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Any:
    """A view whose dimension `destination[i]` is dimension `source[i]` of `self`; the others keep
    their order. Raises RuntimeError for repeated dimensions.
    """
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should "
            f"contain the same number of dims as destination ({list(destination)} dims)"
        )
    ndim = self.dim()
    origin = [wrap_dim(d, ndim) for d in source]
    target = [wrap_dim(d, ndim) for d in destination]
    for name, dims, given in (("source", origin, source), ("destination", target, destination)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not ndim:
        return ops.alias(self)
    rest = iter([d for d in range(ndim) if d not in origin])
    # for each dimension of the result the one it shows: a moved one, or the next of the rest
    moved = dict(zip(target, origin))
    return ops.permute(self, [moved[d] if d in moved else next(rest) for d in range(ndim)])


def movedim_int(self: Tensor, source: int, destination: int) -> Any:
    """`movedim` for one dimension."""
    return movedim_intlist(self, [source], [destination])


def mT(self: Tensor) -> Any:
    """The last two dimensions transposed: a batch of matrices. Raises RuntimeError for a vector."""
    if self.dim() == 1:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    if not self.dim():
        warn_once(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases."
        )
        return self
    return ops.transpose_int(self, -2, -1)


def numpy_T(self: Tensor) -> Any:
    """All dimensions in reverse order, the property `T`. Warns unless there are two, where PyTorch
    deprecates it.
    """
    n = self.dim()
    if n == 0:
        warn_once(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        )
    elif n != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return ops.permute(self, list(range(n - 1, -1, -1)))
