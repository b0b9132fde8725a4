"""Functions that move elements: flip, roll, repeat, triangles
(`aten/src/ATen/native/TensorTransformations.cpp`, `TensorShape.cpp`).

All results are copies. numpy does the moving, by slices and broadcasting; other devices have
kernels of their own.

How the real one differs: `repeat` unfolds a view of the result and copies into it; `tril` and
`triu` run in threads, by rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import not_implemented
from internals.aten.layout import strides_like
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.geometry import geometry, wrap_dim
from internals.core.tensor_impl import Tensor, array, empty, empty_contiguous, snapshot
from internals.machine_code.settings import settings


def flip(self: Tensor, dims: Sequence[int]) -> Any:
    """A copy with the order of the elements reversed along `dims`. Raises RuntimeError for a
    repeated dimension.
    """
    wrapped = [wrap_dim(d, self.dim()) for d in dims]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    g = self._geometry
    out = empty(geometry(g.sizes, strides_like(self), g.dtype, g.device))
    if not g.stored:
        return on_device("moving.flip", out, self, wrapped)
    if g.stored >= settings.least and _flipped_by_machine_code(out, self, wrapped):
        return out
    array(out)[...] = np.flip(array(self), tuple(wrapped)) if g.sizes else array(self)
    return out


def _flipped_by_machine_code(out: Tensor, self: Tensor, dims: Sequence[int]) -> bool:
    """Fill `out` by machine code; False where numpy has to do it."""
    from internals.aten.compiled.copying import copy_reversed

    return copy_reversed(out, self, dims)


def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """A copy shifted along `dims`; elements that leave at one end enter at the other. Without
    `dims` the flattened elements roll.

    Raises RuntimeError unless there is a shift for each of `dims`.
    """
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and not (not dims and len(shifts) == 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    if dims and not self.dim() and self.numel():
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    wrapped = [wrap_dim(d, self.dim()) for d in dims] if self.numel() else []
    out = empty_contiguous(self.shape, self.dtype, self.device)
    if not out._geometry.stored:
        return on_device("moving.roll", out, self, shifts, wrapped)
    a, target = array(self), array(out)
    if not dims:
        a, target, wrapped = a.reshape(-1), target.reshape(-1), [0]
    by = [0] * a.ndim
    for d, shift in zip(wrapped, shifts):
        by[d] += shift
    # each dimension is moved in one or two pieces; their combinations are blocks, each copied by
    # one slice
    halves = [_rolled(n, k % n) for n, k in zip(a.shape, by)]
    for pieces in product(*halves):
        target[tuple(to for to, _ in pieces)] = a[tuple(origin for _, origin in pieces)]
    return out


def _rolled(n: int, shift: int) -> list[tuple[slice, slice]]:
    """(target, source) slices of a dimension of size n that is shifted by 0 <= shift < n: one pair,
    or two if some elements enter at the other end.
    """
    whole = [(slice(shift, n), slice(n - shift))]
    return [*whole, (slice(shift), slice(n - shift, n))] if shift else whole


def repeat(self: Tensor, repeats: Sequence[int]) -> Any:
    """Copies of the tensor side by side: `repeats[d]` of them along dimension d; there may be more
    dimensions than before.
    """
    if len(repeats) < self.dim():
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    padded = (1,) * (len(repeats) - self.dim()) + tuple(self.shape)
    sizes = [n * r for n, r in zip(padded, repeats)]
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {sizes}")
    out = empty_contiguous(sizes, self.dtype, self.device)
    if not out._geometry.stored:
        return on_device("moving.repeat", out, self, padded, repeats)
    # the result as (r0, n0, r1, n1, ...), to which (1, n0, 1, n1, ...) broadcasts
    split = [x for n, r in zip(padded, repeats) for x in (r, n)]
    array(out).reshape(split)[...] = array(self).reshape([x for n in padded for x in (1, n)])
    return out


def tile(self: Tensor, dims: Sequence[int]) -> Any:
    """`repeat`, where missing leading entries of `dims` count as 1 instead of being an error."""
    return self.repeat([1] * (self.dim() - len(dims)) + list(dims))


def repeat_interleave_Tensor(repeats: Tensor, output_size: int | None = None) -> Any:
    """Each index i repeated `repeats[i]` times: `[1, 2, 0]` gives `[0, 1, 1]`. Raises RuntimeError
    unless `repeats` is 1-d and not negative.
    """
    check_repeats(repeats, "repeat_interleave_cpu")
    counts = snapshot(repeats)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    # in double: int64 would wrap around
    if counts.sum(dtype=np.float64) >= 2.0**63:
        raise RuntimeError("repeat_interleave: the sum of repeats overflows int64")
    total = int(counts.sum())
    if output_size is not None and output_size != total:
        raise RuntimeError("allocated size does not match required size")
    out = empty_contiguous((total,), repeats.dtype, repeats.device)
    array(out)[...] = np.repeat(np.arange(counts.size), counts)
    return out


def repeat_interleave_self_Tensor(
    self: Tensor, repeats: Tensor, dim: int | None = None, output_size: int | None = None
) -> Any:
    """Slice i along `dim` repeated `repeats[i]` times; without `dim`, element i of the flattened
    tensor. A single number in `repeats` is for all.
    """
    x = ops.flatten_using_ints(self, 0, -1) if dim is None else self
    d = wrap_dim(0 if dim is None else dim, x.dim())
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.numel() == 1):
        repeats = ops.expand(ops.reshape(repeats, [1]), [x.size(d)], False)
    elif repeats.dim() == 1:
        if repeats.numel() != x.size(d):
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats.numel()} and input.size({d}) = {x.size(d)}"
            )
    else:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    return ops.index_select(x, d, ops.repeat_interleave_Tensor(repeats, output_size))


def repeat_interleave_self_int(
    self: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Any:
    """Every slice along `dim`, or every element of the flattened tensor, repeated `repeats` times.
    No indices are needed: a new dimension is expanded, copied, and joined with `dim`.
    """
    x = ops.flatten_using_ints(self, 0, -1) if dim is None else self
    d = wrap_dim(0 if dim is None else dim, x.dim())
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    # (..., n, ...) to (..., n, 1, ...) to (..., n, repeats, ...) to (..., n * repeats, ...)
    lifted, sizes = ops.unsqueeze(x, d + 1), x.shape
    n = sizes[d]
    if output_size is not None and output_size != n * repeats:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {n * repeats} but got {output_size}"
        )
    spread = ops.expand(lifted, [*sizes[: d + 1], repeats, *sizes[d + 1 :]], False)
    return ops.flatten_using_ints(ops.clone(spread, contiguous_format), d, d + 1)


def broadcast_tensors(tensors: Sequence[Any]) -> Any:
    """All tensors expanded to the shape that they broadcast to; those that have it are returned
    themselves.
    """
    shape = broadcast_shapes(*[t.shape for t in tensors])
    return tuple(t if t.shape == shape else ops.expand(t, shape, False) for t in tensors)


def _triangle(
    name: str, loop: Any, self: Tensor, diagonal: int = 0, out: Tensor | None = None
) -> Any:
    """`loop`, np.tril or np.triu, of each matrix in the last two dimensions."""
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    out = set_output(self.shape, self.dtype, out, out is self, self.device)
    if not out._geometry.stored:
        return on_device("moving.triangle", out, self, diagonal, loop is np.tril)
    rows, columns = self.shape[-2:]
    # clamped: beyond the matrix all diagonals are alike, and numpy would overflow for huge ones
    array(out)[...] = loop(array(self), max(-rows, min(diagonal, columns)))
    return out


# The lower triangle of a matrix or a batch of them; zeros above the `diagonal`-th diagonal.
tril = partial(_triangle, "tril", np.tril)
# The upper triangle of a matrix or a batch of them; zeros below the `diagonal`-th diagonal.
triu = partial(_triangle, "triu", np.triu)


# A check that the CUDA kernel of repeat_interleave makes, too.


def check_repeats(repeats: Tensor, kernel: str) -> None:
    """Raises NotImplementedError, naming `kernel`, unless `repeats` is int32 or int64, RuntimeError
    unless it is 1-d.
    """
    if repeats.dtype not in (dt.int64, dt.int32):
        raise not_implemented(kernel, repeats.dtype)
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
