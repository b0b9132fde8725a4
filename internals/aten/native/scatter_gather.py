"""Indexing along one dimension: `gather`, `scatter`, `index_select`, `index_add`
(`TensorAdvancedIndexing.cpp`).

`gather` and `scatter` have an index for every element they read or write; `index_select` and
`index_add` have one for each whole slice. In two dimensions, along dim 1:

    gather        out[i][j]          = self[i][index[i][j]]
    scatter       out[i][index[i][j]] = src[i][j]
    index_select  out[i][j]          = self[i][index[j]]

`scatter_add` and `index_add` add to the elements instead of replacing them. Unlike advanced
indexing, none of these functions takes negative indices.

How the real one differs: the result of `scatter` with repeated indices is undefined there (threads
race); here the last value stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import wrap_dim
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Array, Tensor, TensorImpl, array, snapshot
from internals.core.warn import warn_once
from internals.machine_code.settings import settings

from .adding_rows import add_at
from .copying import clone

REDUCTIONS = {"add": np.add, "multiply": np.multiply}
REDUCE_WARNING = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
    "future PyTorch release. Use torch.scatter_reduce instead for more reduction options."
)


def gather(
    self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False, out: Tensor | None = None
) -> Any:
    """An element of `self` for every element of `index`, which is its position along `dim`. The
    result has the shape of `index`. Raises RuntimeError for shapes that do not fit and positions
    out of range.
    """
    d = wrap_dim(dim, self.dim())
    if index.numel():
        _check_index_dtype("gather", index)
        if max(self.dim(), 1) != max(index.dim(), 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as input tensor"
            )
        for i, (n, m) in enumerate(zip(sizes_of(self), sizes_of(index))):
            if i != d and m > n:
                raise RuntimeError(
                    f"Size does not match at dimension {i} expected index {list(index.shape)} to "
                    f"be no larger than self {list(self.shape)} apart from dimension {d}"
                )
    out = set_output(index.shape, self.dtype, out, device=self.device)
    if index._geometry.stored >= settings.least and compiled().gather(out, self, d, index):
        return out
    if index._geometry.stored:
        positions = np.atleast_1d(snapshot(index))
        check_positions(positions, d, sizes_of(self)[d])
        # `index` may be smaller than `self` in other dimensions; numpy wants them alike
        source = cropped(np.atleast_1d(array(self)), positions.shape, d)
        array(out)[...] = np.take_along_axis(source, positions, d).reshape(out.shape)
        return out
    return on_device("scatter_gather.gather", out, self, d, index)


def scatter_src(
    self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor | None = None
) -> Any:
    """A copy of `self` where the elements of `src` are written to the positions `index` along
    `dim`.
    """
    return _scatter(self, dim, index, src, out)


def scatter_value(
    self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor | None = None
) -> Any:
    """A copy of `self` where a number is written to the positions `index` along `dim`."""
    return _scatter(self, dim, index, value, out)


def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, out: Tensor | None = None
) -> Any:
    """`scatter_src` that adds to ("add") or multiplies ("multiply") the elements of `self`. Warns:
    it is deprecated.
    """
    warn_once(REDUCE_WARNING)
    return _scatter(self, dim, index, src, out, reduce)


def scatter_value_reduce(
    self: Tensor, dim: int, index: Tensor, value: Scalar, reduce: str, out: Tensor | None = None
) -> Any:
    """`scatter_value` that adds ("add") the number to the elements of `self`, or multiplies them
    ("multiply").
    """
    return _scatter(self, dim, index, value, out, reduce)


def scatter_add(
    self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor | None = None
) -> Any:
    """A copy of `self` where the elements of `src` are added at the positions `index` along `dim`;
    repeats add up.
    """
    return _scatter(self, dim, index, src, out, "add")


def index_select(self: Tensor, dim: int, index: Tensor, out: Tensor | None = None) -> Any:
    """The slices of `self` at the positions `index` (0-d or 1-d) along `dim`, whose size becomes
    that of `index`. Raises IndexError or RuntimeError for positions out of range, as PyTorch does.
    """
    d = wrap_dim(dim, self.dim())
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not self.dim() and index.numel() != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)"
        )
    if index.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError("index_select(): self and result must have the same scalar type")
    if index.numel() and sizes_of(self)[d] == 0:
        if self.dim() == 1:
            raise IndexError("index out of range in self")
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if self.device is not CPU:
        sizes = (*self.shape[:d], *sizes_of(index), *self.shape[d + 1 :])
        out = set_output(sizes if self.dim() else (), self.dtype, out, device=self.device)
        return on_device("scatter_gather.index_select", out, self, d, index)
    source = np.atleast_1d(array(self))
    # the index's size in the place of the dimension's
    sizes = source.shape[:d] + (index.shape or (1,)) + source.shape[d + 1 :]
    if prod(sizes) >= settings.least and source.size:
        out = set_output(sizes if self.dim() else (), self.dtype, out)
        if compiled().index_select(out, self, d, index):
            return out
    positions, n = np.atleast_1d(snapshot(index)), source.shape[d]
    wrong = positions[(positions < 0) | (positions >= n)]
    if wrong.size:
        if d == 0 and self.numel():
            raise IndexError("index out of range in self")
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={n}")
    out = set_output(sizes if self.dim() else (), self.dtype, out)
    if out.numel():
        array(out)[...] = source.take(positions, d).reshape(out.shape)
    return out


def index_add(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    alpha: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """A copy of `self` with `alpha` times the slices of `source` added at the positions `index`
    along `dim`.
    """
    d = check_index_add(self, dim, index, source)
    # machine code answers True (done), False (not for it), or None: an index is out of range
    target, done = copy_of(self, out), False
    factor = checked(alpha, self.dtype)
    if target.device is not CPU:
        return on_device("scatter_gather.index_add", target, d, index, source, factor)
    if source.numel() >= settings.least:
        done = compiled().index_add(target, d, index, source, factor)
    if done:
        return target
    positions = np.atleast_1d(snapshot(index))
    if (
        done is None
        or positions.size
        and (positions.min() < 0 or positions.max() >= sizes_of(self)[d])
    ):
        raise IndexError("index out of range in self")
    if not source.numel():
        return target
    addend = np.atleast_1d(array(source))
    if alpha != 1:
        addend = np.multiply(addend, factor)
    memory = np.atleast_1d(array(target))
    # with `dim` in front, an index names a row of `memory`
    with np.errstate(all="ignore"):
        add_at(np.moveaxis(memory, d, 0), positions, np.moveaxis(addend, d, 0))
    return target


def _scatter(
    self: Tensor, dim: int, index: Tensor, src: object, out: Tensor | None, reduce: str = ""
) -> Any:
    """All scatter functions: `src` is a tensor or a number, `reduce` "add", "multiply" or "" to
    replace elements.
    """
    d = check_scatter(self, dim, index, src, reduce)
    values: Any = None if isinstance(src, TensorImpl) else checked(src, self.dtype)
    target = copy_of(self, out)
    number_or_tensor = src if isinstance(src, TensorImpl) else values
    if not index._geometry.stored:
        return on_device("scatter_gather.scatter", target, d, index, number_or_tensor, reduce)
    done = index.numel() >= settings.least and compiled().scatter(
        target, d, index, number_or_tensor, reduce
    )
    if done:
        return target
    positions = np.atleast_1d(snapshot(index))
    check_positions(positions, d, sizes_of(self)[d])
    # machine code saw a wrong index (None), but now all are right: another thread wrote to them
    if done is None:
        raise RuntimeError(
            f"an index was out of bounds for dimension {d}, and was then written to by another "
            "thread"
        )
    if isinstance(src, TensorImpl):
        # `src` may be larger than `index`: its beginning is used
        values = np.atleast_1d(array(src))[tuple(slice(n) for n in positions.shape)]
    memory = np.atleast_1d(array(target))
    view = cropped(memory, positions.shape, d)
    if reduce:
        with np.errstate(all="ignore"):
            # `at` handles repeated positions, which `view[...] += values` would count once
            REDUCTIONS[reduce].at(view, along(positions, d), values)
    else:
        view[along(positions, d)] = values
    return target


def compiled() -> Any:
    """The module of machine code for large tensors, imported when it is first needed."""
    from internals.aten.compiled import gathering

    return gathering


def copy_of(self: Tensor, out: Tensor | None, keep_layout: bool = False) -> Any:
    """A tensor to write into that holds the values of `self`: new, or `out`, which may be `self`
    itself.

    A new one is contiguous, or with `keep_layout` laid out in memory as `self` is.
    """
    if out is None and keep_layout:
        return clone(self, None)
    target = set_output(self.shape, self.dtype, out, out is self, self.device)
    if target is not self and target._geometry.stored:
        array(target)[...] = array(self)
    elif target is not self:
        on_device("copy.copy_", target, self)
    return target


def sizes_of(t: TensorImpl) -> Sequence[int]:
    """The sizes; a 0-d tensor counts as a vector of one element."""
    return t.shape or (1,)


def cropped(a: Array, shape: Sequence[int], dim: int) -> Any:
    """The part of `a` that an index of this shape can reach: all of `dim`, the beginning of every
    other dimension.
    """
    return a[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(shape))]


def along(positions: Array, dim: int) -> tuple[Any, ...]:
    """The numpy index that has `positions` along `dim`, and in every other dimension the index of
    the element itself: in two dimensions, along dim 1, ([[0], [1], ...], positions).
    """
    grid = np.ogrid[tuple(slice(n) for n in positions.shape)]
    return tuple(positions if d == dim else g for d, g in enumerate(grid))


def _check_index_dtype(op: str, index: Tensor) -> None:
    """Raises RuntimeError unless `index` is int32 or int64."""
    if index.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index")


def check_positions(positions: Array, dim: int, n: int) -> None:
    """Raises RuntimeError, which names the first wrong position, unless all are in 0 .. n - 1."""
    wrong = positions[(positions < 0) | (positions >= n)]
    if wrong.size:
        raise RuntimeError(f"index {wrong[0]} is out of bounds for dimension {dim} with size {n}")


def check_scatter(self: Tensor, dim: int, index: Tensor, src: object, reduce: str) -> int:
    """`dim`, counted from the front. `src` is a tensor or a number. Raises RuntimeError for shapes
    or dtypes that do not fit, and for an unknown `reduce`.
    """
    d = wrap_dim(dim, self.dim())
    _check_scatter_shapes(self, d, index, src)
    if reduce and reduce not in REDUCTIONS:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return d


def _check_scatter_shapes(self: Tensor, d: int, index: Tensor, src: object) -> None:
    """Raises RuntimeError unless `index` is no larger than `self`, except in dimension `d`, and no
    larger than `src`. An empty index passes.
    """
    if not index.numel():
        return
    _check_index_dtype("scatter", index)
    if isinstance(src, TensorImpl) and src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if max(self.dim(), 1) != max(index.dim(), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    sizes = sizes_of(index)
    too_large = any(m > n for i, (n, m) in enumerate(zip(sizes_of(self), sizes)) if i != d)
    if not isinstance(src, TensorImpl):
        if too_large:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
                f"apart from dimension {d}"
            )
        return
    if max(src.dim(), 1) != max(index.dim(), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if too_large or any(m > n for n, m in zip(sizes_of(src), sizes)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
            f"apart from dimension {d} and to be no larger size than src {list(src.shape)}"
        )


def check_index_add(
    self: Tensor, dim: int, index: Tensor, source: Tensor, op: str = "index_add_"
) -> int:
    """`dim`, counted from the front. Raises IndexError or RuntimeError unless `index` is a vector
    (n) and `source` has the shape of `self`, but n in dimension `dim`.
    """
    d = wrap_dim(dim, self.dim())
    if index.dim() > 1:
        raise IndexError(
            f"{op}(): Index is supposed to be a vector, but got dim: {index.dim()} with type: "
            f"{SCALAR_TYPE_NAME[index.dtype]} and size: {list(index.shape)}"
        )
    if index.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            f"{op}(): Expected dtype int32/int64 for index but got: {SCALAR_TYPE_NAME[index.dtype]}"
        )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"{op}(): self ({SCALAR_TYPE_NAME[self.dtype]}) and source "
            f"({SCALAR_TYPE_NAME[source.dtype]}) must have the same scalar type"
        )
    if not source.dim() and index.numel() != 1:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if d and d >= source.dim():
        raise RuntimeError(
            f"{op}(): Indexing dim {d} is out of bounds of the source tensor with dim "
            f"{source.dim()}"
        )
    if index.numel() != (source.shape[d] if source.dim() else 1):
        raise RuntimeError(
            f"{op}(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[d] if source.dim() else 1}), for dim: {d}"
        )
    own, theirs = list(self.shape), list(source.shape)
    if own[:d] + own[d + 1 :] != theirs[:d] + theirs[d + 1 :] or len(own) != len(theirs):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {own} source.shape = {theirs}"
        )
    return d
