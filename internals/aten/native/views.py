"""Views: other sizes and strides on the same storage (`aten/src/ATen/native/TensorShape.cpp`).

The element with indices (i, j) is at offset + i * strides[0] + j * strides[1] in the storage. So no
function here touches an element: each computes sizes, strides and an offset. A row of a matrix, for
example, begins at another offset; a transpose exchanges strides. The results for a geometry are
kept (`lru_cache`), since programs ask for the same views again and again.

A view is tied to its base one layer up, in `internals.aten.adinplaceorview`. Views composed of
other views (`reshape`, `narrow`, `flatten`, ...) are in `view_composites`, views that copy in
`view_copies`.

How the real one differs: sizes and strides may be symbols there, for compilers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import Geometry, geometry, infer_size, view_strides, wrap_dim
from internals.core.tensor_impl import Tensor, alias as _alias, make, make_checked


def view(self: Tensor, size: Sequence[int]) -> Any:
    """The same elements in the same order, in another shape; one size may be -1. Raises
    RuntimeError when no strides can express it.
    """
    return make(self._storage, _viewed(self._geometry, tuple(size)), self._offset)


@lru_cache(maxsize=1 << 12)
def _viewed(g: Geometry, size: tuple[int, ...]) -> Geometry:
    """The geometry of `view`, from the old one and the new sizes."""
    sizes = infer_size(size, g.numel)
    strides = view_strides(g.sizes, g.strides, sizes)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return geometry(sizes, strides, g.dtype, g.device, g.keys)


def _unsafe_view(self: Tensor, size: Sequence[int]) -> Any:
    """`view` of a tensor that the caller drops afterwards: autograd does not treat it as a view."""
    result = view(self, size)
    result._geometry = result._geometry.without_grad
    return result


def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Any:
    """A view with the sizes and strides that `reshape` computed for a tensor that is not
    contiguous.
    """
    return as_strided(self, size, stride)


def view_dtype(self: Tensor, dtype: dtype) -> Any:
    """The same bytes read as another dtype. With another element size the last dimension changes:
    (n, 4) of float32 is (n, 2) of float64, or (n, 16) of uint8.

    Raises RuntimeError when the last dimension is not contiguous or the bytes do not divide.
    """
    (sizes, strides), offset = _layout(self), self._offset
    old, new = self.dtype.itemsize, dtype.itemsize
    if old != new:
        what = (
            f"to view {SCALAR_TYPE_NAME[self.dtype]} as {SCALAR_TYPE_NAME[dtype]} (different "
            "element sizes)"
        )
        if not sizes:
            raise RuntimeError(f"self.dim() cannot be 0 {what}")
        if old < new:
            _divisible(new // old, what, {"size(-1)": sizes[-1], "storage_offset()": offset})
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {strides[-1]}")
        if old < new:
            _divisible(new // old, what, {f"stride({d})": s for d, s in enumerate(strides[:-1])})
        # sizes, strides and offset count elements: the same bytes are old / new times as many
        sizes = (*sizes[:-1], sizes[-1] * old // new)
        strides = (*(s * old // new for s in strides[:-1]), 1)
        offset = offset * old // new
    g = self._geometry.without_grad
    return make(self._storage, geometry(sizes, strides, dtype, g.device, g.keys), offset)


def alias(self: Tensor) -> Any:
    """A view with the geometry of the tensor itself."""
    return make(self._storage, self._geometry, self._offset)


def detach(self: Tensor) -> Any:
    """The same memory and version counter, cut off from autograd."""
    return make(self._storage, self._geometry.without_grad, self._offset)


def as_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """A view with any sizes, strides and offset on the tensor's storage. Raises RuntimeError when
    they reach outside it.
    """
    offset = self._offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    if min(size, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    g = self._geometry
    return make_checked(self._storage, geometry(size, stride, g.dtype, g.device, g.keys), offset)


def expand(self: Tensor, size: Sequence[int], implicit: bool = False) -> Any:
    """A view that repeats dimensions of size 1, and new ones in front, without copying: their
    stride is 0. -1 keeps a size.

    Raises RuntimeError when a dimension of another size would have to change.
    """
    return make(self._storage, _expanded(self._geometry, tuple(size)), self._offset)


@lru_cache(maxsize=1 << 12)
def _expanded(g: Geometry, size: tuple[int, ...]) -> Geometry:
    """The geometry of `expand`. Raises RuntimeError for sizes that do not fit."""
    sizes, strides = tuple(g.sizes), g.strides
    missing = len(size) - len(sizes)
    if missing < 0:
        raise RuntimeError(
            f"expand({_type_and_sizes(g)}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(sizes)})"
        )
    new_sizes, new_strides = [0] * len(size), [0] * len(size)
    # from the last dimension to the first: `missing` ones in front are new
    for d in range(len(size) - 1, -1, -1):
        target = size[d]
        if d >= missing:
            n, stride = sizes[d - missing], strides[d - missing]
        else:
            if target == -1:
                raise RuntimeError(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, "
                    f"non-existing dimension {d}"
                )
            # a new dimension counts as one of size 1, with the stride that it would have if packed
            n, stride = 1, new_sizes[d + 1] * new_strides[d + 1] if sizes else 0
        if target not in (-1, n):
            if n != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({target}) must match the existing size "
                    f"({n}) at non-singleton dimension {d}.  Target sizes: {list(size)}.  Tensor "
                    f"sizes: {list(sizes)}"
                )
            n, stride = target, 0  # all positions show the same element
        new_sizes[d], new_strides[d] = n, stride
    if min(new_sizes, default=0) < 0:
        raise RuntimeError(f"expand: sizes must be non-negative or -1, got {list(size)}")
    return geometry(new_sizes, new_strides, g.dtype, g.device, g.keys)


def permute(self: Tensor, dims: Sequence[int]) -> Any:
    """A view with the dimensions in the order `dims`. Raises RuntimeError unless `dims` names each
    of them once.
    """
    (sizes, strides), ndim = _layout(self), self.dim()
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, ndim) for d in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _alias(self, [sizes[d] for d in order], [strides[d] for d in order], self._offset)


def transpose(self: Tensor, dim0: int, dim1: int) -> Any:
    """A view with dimensions `dim0` and `dim1` exchanged: their sizes and strides change places."""
    return make(self._storage, _transposed(self._geometry, dim0, dim1), self._offset)


@lru_cache(maxsize=1 << 12)
def _transposed(g: Geometry, dim0: int, dim1: int) -> Geometry:
    """The geometry of `transpose`."""
    sizes, strides = list(g.sizes), list(g.strides)
    a, b = wrap_dim(dim0, len(sizes)), wrap_dim(dim1, len(sizes))
    if sizes:
        sizes[a], sizes[b] = sizes[b], sizes[a]
        strides[a], strides[b] = strides[b], strides[a]
    return geometry(sizes, strides, g.dtype, g.device, g.keys)


def t(self: Tensor) -> Any:
    """The transpose of a matrix; for a vector or number an alias. Raises RuntimeError for more than
    two dimensions.
    """
    g = self._geometry
    ndim = len(g.sizes)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    if ndim < 2:
        return alias(self)
    # the numpy array of the matrix, if there is one already: transposing it is quicker than making
    # another one later
    a = self._array
    return make(self._storage, _transposed(g, 0, 1), self._offset, None if a is None else a.T)


def squeeze(self: Tensor) -> Any:
    """A view without the dimensions of size 1."""
    return make(self._storage, _squeezed(self._geometry, tuple(range(self.dim()))), self._offset)


def squeeze_dim(self: Tensor, dim: int) -> Any:
    """A view without dimension `dim` if its size is 1, else an alias."""
    return make(self._storage, _squeezed(self._geometry, (dim,)), self._offset)


def squeeze_dims(self: Tensor, dim: Sequence[int]) -> Any:
    """A view without those of the dimensions `dim` that have size 1. Raises RuntimeError when one
    is named twice.
    """
    return make(self._storage, _squeezed(self._geometry, tuple(dim)), self._offset)


@lru_cache(maxsize=1 << 12)
def _squeezed(g: Geometry, dim: tuple[int, ...]) -> Geometry:
    """`g` without those of the dimensions `dim` that have size 1."""
    dims = [wrap_dim(d, len(g.sizes)) for d in dim]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    kept = [d for d, n in enumerate(g.sizes) if n != 1 or d not in dims]
    return geometry(
        [g.sizes[d] for d in kept], [g.strides[d] for d in kept], g.dtype, g.device, g.keys
    )


def unsqueeze(self: Tensor, dim: int) -> Any:
    """A view with a new dimension of size 1 at `dim`."""
    return make(self._storage, _unsqueezed(self._geometry, dim), self._offset)


@lru_cache(maxsize=1 << 12)
def _unsqueezed(g: Geometry, dim: int) -> Geometry:
    """`g` with a new dimension of size 1. Its stride is never used, but has PyTorch's value."""
    sizes, strides = tuple(g.sizes), g.strides
    d = wrap_dim(dim, len(sizes) + 1)
    stride = sizes[d] * strides[d] if d < len(sizes) else 1
    sizes, strides = (*sizes[:d], 1, *sizes[d:]), (*strides[:d], stride, *strides[d:])
    return geometry(sizes, strides, g.dtype, g.device, g.keys)


def select(self: Tensor, dim: int, index: int) -> Any:
    """A view of position `index` of dimension `dim`, which disappears. Raises IndexError when there
    is no such position.
    """
    geometry, n, stride = _selected(self._geometry, dim)
    if not -n <= index < n:
        d = wrap_dim(dim, self.dim())
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {d}"
        )
    return make(
        self._storage, geometry, self._offset + (index + n if index < 0 else index) * stride
    )


def slice(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A view of every `step`-th position of dimension `dim` from `start` up to `end`; both count
    from the end if negative, and are clamped. Raises RuntimeError unless step > 0.
    """
    g = self._geometry
    if not g.strides:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(g.strides))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    n = g.sizes[d]
    first = 0 if start is None else min(max(start + n if start < 0 else start, 0), n)
    last = n if end is None else min(max(end + n if end < 0 else end, first), n)
    # the number of steps is rounded up
    return make(
        self._storage,
        _sliced(g, d, (last - first + step - 1) // step, step),
        self._offset + first * g.strides[d],
    )


def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A view of the diagonal of dimensions `dim1` and `dim2` as a new last dimension: its stride is
    the sum of theirs. A positive `offset` moves it along `dim2`, a negative one along `dim1`.
    """
    (sizes, strides), ndim = _layout(self), self.dim()
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length, skip = max(min(sizes[a], sizes[b] - offset), 0), offset * strides[b]
    else:
        length, skip = max(min(sizes[a] + offset, sizes[b]), 0), -offset * strides[a]
    rest = [d for d in range(ndim) if d not in (a, b)]
    return _alias(
        self,
        [*(sizes[d] for d in rest), length],
        [*(strides[d] for d in rest), strides[a] + strides[b]],
        self._offset + (skip if length else 0),
    )


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Any:
    """A view of all windows of `size` positions of a dimension, `step` apart, in a new last
    dimension: the windows overlap in memory.

    `arange(5).unfold(0, 3, 1)` is `[[0, 1, 2], [1, 2, 3], [2, 3, 4]]`, with strides (1, 1).
    """
    sizes, strides = _layout(self)
    d = wrap_dim(dimension, len(sizes))
    n, stride = (sizes[d], strides[d]) if sizes else (1, 1)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not sizes:
        return _alias(self, (size,), (1,), self._offset)
    return _alias(
        self,
        (*sizes[:d], (n - size) // step + 1, *sizes[d + 1 :], size),
        (*strides[:d], step * stride, *strides[d + 1 :], stride),
        self._offset,
    )


def split_Tensor(self: Tensor, split_size: int, dim: int = 0) -> Any:
    """Consecutive slices of `split_size` positions; the last may be shorter."""
    n = _size_to_split(self, dim, "split")
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if split_size == 0 and n:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    count = max(-(-n // split_size), 1) if split_size else 1
    return tuple(slice(self, dim, i * split_size, (i + 1) * split_size) for i in range(count))


def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """Consecutive slices of the given sizes. Raises RuntimeError unless they sum up to the
    dimension.
    """
    n = _size_to_split(self, dim, "split")
    if min(split_sizes, default=0) < 0:
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    ends = accumulate(split_sizes)
    return tuple(slice(self, dim, end - length, end) for end, length in zip(ends, split_sizes))


def unbind(self: Tensor, dim: int = 0) -> Any:
    """Every position of dimension `dim` as a tensor of its own."""
    d = wrap_dim(dim, self.dim())
    return tuple(select(self, d, i) for i in range(self.size(d)))


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view: of one storage, with the same offset, sizes and strides."""
    same = self._storage is tensor._storage and self._offset == tensor._offset
    return same and tuple(self.shape) == tuple(tensor.shape) and self.stride() == tensor.stride()


def _layout(t: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides as plain tuples, to be cut and joined."""
    return tuple(t._geometry.sizes), t._geometry.strides


@lru_cache(maxsize=1 << 12)
def _selected(g: Geometry, dim: int) -> tuple[Geometry, int, int]:
    """`g` without a dimension, and that dimension's size and stride: the same for all indices, so a
    loop over them finds it in the cache.
    """
    sizes, strides = tuple(g.sizes), g.strides
    if not sizes:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(sizes))
    rest = geometry(
        sizes[:d] + sizes[d + 1 :], strides[:d] + strides[d + 1 :], g.dtype, g.device, g.keys
    )
    return rest, sizes[d], strides[d]


@lru_cache(maxsize=1 << 12)
def _sliced(g: Geometry, d: int, length: int, step: int) -> Geometry:
    """`g` with another length and `step` times the stride in dimension `d`."""
    sizes, strides = list(g.sizes), list(g.strides)
    sizes[d], strides[d] = length, strides[d] * step
    return geometry(sizes, strides, g.dtype, g.device, g.keys)


def _size_to_split(self: Tensor, dim: int, op: str) -> int:
    """The size of dimension `dim`. Raises RuntimeError, naming `op`, for a 0-d tensor."""
    if not self.shape:
        raise RuntimeError(f"{op} expects at least a 1-dimensional tensor")
    return int(self.size(dim))


def _divisible(ratio: int, what: str, values: dict[str, int]) -> None:
    """Raises RuntimeError unless `ratio` divides all `values`, which have names."""
    for name, value in values.items():
        if value % ratio:
            raise RuntimeError(f"self.{name} must be divisible by {ratio} {what}, but got {value}")


def _type_and_sizes(g: Geometry) -> str:
    """`internals.FloatTensor{[2, 3]}`: the tensor's kind, as PyTorch's error messages print it."""
    return f"internals.{SCALAR_TYPE_NAME[g.dtype]}Tensor{{{list(g.sizes)}}}"
