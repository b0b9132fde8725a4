"""Tools that reductions share: the dimensions that are reduced, the sizes that are left, the tensor
that takes the result, and sums that keep their digits (`ReduceOpsUtils.h`, `cpu/SumKernel.cpp`).

Adding n numbers one after the other can lose up to n units in the last place. Adding them in blocks
of 128, then the blocks' sums in blocks, loses only a few.

How the real one differs: a reduction is a `TensorIterator` whose output has stride 0 in the reduced
dimensions, and `cascade_sum` does the blocks of the sum inside its vectorised loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import dtype
from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry, contiguous_geometry, wrap_dims
from internals.core.tensor_impl import Array, Tensor, array, backed_ptr, empty, empty_contiguous
from internals.machine_code.settings import settings, use_compiled

BLOCK = 128  # as many numbers as are added one after the other


def reduced_dims(self: Tensor, dim: Sequence[int] | int | None) -> tuple[int, ...]:
    """The dimensions to reduce, each 0 .. ndim - 1; None and [] mean all. A 0-d tensor has none."""
    ndim = len(self._geometry.sizes)
    return (
        (tuple(range(ndim)) if dim is None else wrap_dims(dim, ndim))
        if ndim
        else wrap_dims(dim, 0)[:0]
    )


def reduced_sizes(sizes: Sequence[int], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """`sizes` without those of `dims`, or with 1 in their place if `keepdim`."""
    if len(dims) == len(sizes):
        return (1,) * len(sizes) if keepdim else ()
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(sizes))
    return tuple(n for d, n in enumerate(sizes) if d not in dims)


def store(
    self: Tensor,
    loop: Callable[[], Any],
    dims: Sequence[int],
    keepdim: bool,
    d: dtype,
    out: Tensor | None = None,
    name: str = "",
    *args: Any,
) -> Any:
    """A tensor of dtype `d` with the result of `loop`, a numpy array without the reduced
    dimensions.

    On another device `loop` is not run: there the kernel `name` fills the tensor (`on_device`); it
    is called with `dims` and `args`.
    """
    g = self._geometry
    # computed before `out` is resized: it may be `self`
    result: Any = loop() if g.device is CPU else None
    sizes = reduced_sizes(g.sizes, dims, keepdim)
    target = (
        empty_contiguous(sizes, d, g.device)
        if out is None
        else set_output(sizes, d, out, device=g.device)
    )
    g = target._geometry
    if g.stored:
        array(target)[...] = result if not keepdim or not dims else result.reshape(g.sizes)
        return target
    return on_device(name, target, self, dims, *args) if name else target


def cast(self: Tensor, d: dtype) -> Any:
    """The elements of `self` as an array of dtype `d`."""
    a = array(self)
    return a if self.dtype is d else a.astype(d.np)


def total(a: Any, axes: tuple[int, ...]) -> Any:
    """The sum of an array over `axes`, which disappear; half precision is added up in single.
    Integers wrap around.
    """
    accumulate = np.dtype(np.float32) if a.dtype == np.float16 else a.dtype
    # n numbers for each result
    n = a.size if len(axes) == a.ndim else prod([a.shape[i] for i in axes])
    if a.dtype.kind in "iu" or n <= BLOCK:
        return np.add.reduce(a, axis=axes, dtype=accumulate)
    a = a.astype(accumulate, copy=False)
    # numpy adds neighbours in memory pairwise, which is as exact as blocks
    if len(axes) == a.ndim and a.flags.forc:
        return np.add.reduce(a.ravel(order="K"))
    if axes == (a.ndim - 1,) and a.strides[-1] == a.itemsize:
        return np.add.reduce(a, axis=-1)
    kept = [i for i in range(a.ndim) if i not in axes]
    # (n, *kept): the reduced dimensions become one, in front
    return _cascade(a.transpose(*axes, *kept).reshape(n, *[a.shape[i] for i in kept]))


def quick_sum(self: Tensor, dim: Sequence[int] | None, keepdim: bool, mean: bool = False) -> Any:
    """The sum, or mean, of contiguous floats where one numpy call adds up well enough; None for
    everything else.
    """
    geometry = self._geometry
    if geometry.stored >= settings.least:
        found = compiled_sum(self, dim, keepdim, geometry.dtype, None, mean)
        if found is not None:
            return found
    plan = _quick_plan(geometry, None if dim is None else tuple(dim), keepdim)
    if plan is None:
        return None
    g, axes, ones, n = plan
    result = empty(g)
    a, target = array(self), array(result)
    token = quiet()
    try:
        if ones is not None:  # (n) @ (n, rest): BLAS adds up rows faster, as a product with ones
            np.dot(
                ones,
                a if a.ndim == 2 else a.reshape(n, -1),
                target if target.ndim == 1 else target.reshape(-1),
            )
        elif axes is None:
            np.add.reduce(a.reshape(-1), 0, None, target)
        else:
            np.add.reduce(a, axes, out=target, keepdims=keepdim)
        if mean:
            np.divide(target, n, target)
    finally:
        restore(token)
    return result


def compiled_sum(
    self: Tensor, dim: Sequence[int] | None, keepdim: bool, d: dtype, out: Tensor | None, mean: bool
) -> Any:
    """The sum or mean in dtype `d` by machine code; None where numpy does it."""
    from internals.aten.compiled import reductions

    g = self._geometry
    if not g.numel or not use_compiled(g.numel, reductions.THRESHOLD) or shares_memory(self, out):
        return None
    plan = _compiled_plan(g, None if dim is None else tuple(dim), keepdim, d, mean)
    if plan is None:
        return None
    dims, target, rows, n = plan
    if rows is not None and out is None:
        result = empty(target)
        rows.run(backed_ptr(self), backed_ptr(result), float(n))
        return result
    result = set_output(target.sizes, d, out)
    return result if reductions.sums(self, dims, result, n if mean else 0) else None


def shares_memory(self: Tensor, out: Tensor | None) -> bool:
    """Whether writing to `out` may change elements of `self` that machine code has yet to read.
    numpy's path is safe: it computes everything before it stores.
    """
    return out is not None and out._storage is self._storage


@lru_cache(maxsize=1 << 10)
def _compiled_plan(
    g: Geometry, dim: tuple[int, ...] | None, keepdim: bool, d: dtype, mean: bool
) -> Any:
    """For `compiled_sum`: the dimensions, the result's geometry, the kernel for simple rows or
    None, and the number of elements that each sum adds; None where there is no kernel.
    """
    from internals.aten.compiled.reductions import adds_up, plan_of_sums

    if not adds_up(g.dtype, d) or mean > d.is_floating_point:
        return None
    dims = wrap_dims(dim, len(g.sizes)) if g.sizes else wrap_dims(dim, 0)[:0]
    target = contiguous_geometry(reduced_sizes(g.sizes, dims, keepdim), d)
    return dims, target, plan_of_sums(g, dims, d, mean), prod([g.sizes[i] for i in dims])


@lru_cache(maxsize=1 << 12)
def _quick_plan(
    g: Geometry, dim: tuple[int, ...] | None, keepdim: bool
) -> tuple[Geometry, Any, Any, int] | None:
    """For `quick_sum`: the result's geometry, the axes (None: all, in one run of memory), ones to
    multiply with where BLAS adds up rows, and the number of elements that each sum adds.
    """
    g = g.without_grad
    if not (g.fast and g.takes_floats):
        return None
    ndim = len(g.sizes)
    dims = tuple(sorted(wrap_dims(dim, ndim)))[:ndim]
    n = prod([g.sizes[d] for d in dims])
    target = contiguous_geometry(reduced_sizes(g.sizes, dims, keepdim), g.dtype)
    if len(dims) == ndim and not keepdim:
        return target, None, None, n
    # many rows added one after the other lose digits; only the last dimension is added pairwise
    if n > BLOCK and dims != (ndim - 1,):
        return None
    rows = len(dims) < ndim and dims == tuple(range(len(dims)))
    return target, dims, np.ones(n, g.dtype.np) if rows else None, n


def is_floating(d: dtype) -> bool:
    """Whether a dtype is floating or complex."""
    return d.category >= dt.FLOATING


def _cascade(a: Array) -> Any:
    """The sum over the first dimension, (n, ...) to (...), in blocks, and the blocks' sums in
    blocks.
    """
    n = a.shape[0]
    if n <= BLOCK:
        return np.add.reduce(a, axis=0)
    whole = n // BLOCK * BLOCK  # the rest, less than a block, is added last
    blocks = np.add.reduce(a[:whole].reshape(-1, BLOCK, *a.shape[1:]), axis=1)
    return _cascade(blocks) + np.add.reduce(a[whole:], axis=0)


def sum_of_products(a: Array, b: Array, dims: tuple[int, ...]) -> Any:
    """(a * b).sum(dims, keepdims=True), without the product in between."""
    subscripts, kept = _subscripts(a.ndim, dims)
    return np.einsum(subscripts, a, b)[kept]


@cache
def _subscripts(ndim: int, dims: tuple[int, ...]) -> tuple[str, tuple[Any, ...]]:
    """Einsum's subscripts, and the index that puts the reduced dimensions back with size 1."""
    letters = "abcdefghijklmnopqrstuvwxyz"[:ndim]
    kept = "".join([c for d, c in enumerate(letters) if d not in dims])
    return f"{letters},{letters}->{kept}", tuple(
        None if d in dims else slice(None) for d in range(ndim)
    )
