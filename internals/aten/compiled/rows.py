"""A tensor as rows: (outer, n, inner), of which n is reduced, and from which address on each of
them lies.

Whatever dimensions are summed over, in most layouts they are neighbours in memory, and so are the
ones that stay. Merged, three are left: `inner` elements side by side that belong to different
results, `n` that belong to the same, and `outer` repetitions of it.

    (2048, 1024).sum(1)   outer 2048, n 1024, inner 1   rows: one result after the other
    (2048, 1024).sum(0)   outer 1, n 2048, inner 1024   columns: neighbours to neighbouring results
    (8, 64, 32).sum()     outer 1, n 16384, inner 1

Dimensions are taken in the order of memory, not of their indices, so a transposed matrix needs no
copy. What does not fit (elements with gaps between them, or reduced and kept dimensions in turns)
is copied first.

How the real one differs: `TensorIterator` sorts and merges dimensions in the same way; its loops
take any strides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.tensor_impl import array
from internals.machine_code.parallel import get_num_threads

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.tensor_impl import Array

WORD = {
    "f": "*f4",
    "d": "*f8",
    "q": "*i8",
    "l": "*i8",
    "i": "*i4",
    "h": "*i2",
    "b": "*i1",
    "B": "*u1",
    "?": "*u1",
}
TILE = 2048


class Rows(NamedTuple):
    """Where the elements lie, in elements from the first: `outer * outer_stride + i * stride +
    inner`.

    `kept` are the sizes of the dimensions that stay, as they follow each other in memory, and
    `order` says for each of the tensor's kept dimensions which of those it is.
    """

    outer: int
    n: int
    inner: int
    outer_stride: int
    stride: int
    kept: tuple[int, ...]
    order: tuple[int, ...]
    straight: bool  # whether they follow each other in memory as the tensor has them

    def result(self, memory: Array) -> Any:
        """A row of results as an array with the dimensions that the tensor keeps."""
        return memory.reshape(self.kept).transpose(self.order)


@lru_cache(maxsize=1 << 12)
def rows_of(g: Geometry, dims: tuple[int, ...]) -> Rows | None:
    """The rows of a tensor that is reduced over `dims`; None if it has to be copied for that."""
    memory = sorted(
        (d for d in range(len(g.sizes)) if g.sizes[d] != 1), key=lambda d: -g.strides[d]
    )
    merged: list[list[Any]] = []  # [reduced, size, stride], the innermost last
    for d in memory:
        size, stride, reduced = g.sizes[d], g.strides[d], d in dims
        if stride <= 0:
            return None
        if merged and merged[-1][0] == reduced and merged[-1][2] == size * stride:
            merged[-1][1:] = merged[-1][1] * size, stride
        else:
            merged.append([reduced, size, stride])
    if merged and merged[-1][2] != 1 or 0 in g.sizes:
        return None
    ones = [d for d in range(len(g.sizes)) if g.sizes[d] == 1]
    kept_order = [d for d in (*ones, *memory) if d not in dims]
    kept = tuple(g.sizes[d] for d in kept_order)
    order = tuple(kept_order.index(d) for d in range(len(g.sizes)) if d not in dims)
    kinds = tuple(reduced for reduced, _, _ in merged)
    if kinds not in {(), (False,), (True,), (False, True), (True, False), (False, True, False)}:
        return None
    outer, outer_stride = merged[0][1:] if kinds and not kinds[0] else (1, 0)
    n, stride = merged[kinds.index(True)][1:] if True in kinds else (1, 1)
    inner = merged[-1][1] if kinds[-2:] == (True, False) else 1
    in_memory = [d for d in memory if d not in dims]
    straight = in_memory == sorted(in_memory)
    return Rows(outer, n, inner, outer_stride, stride, kept, order, straight)


def as_rows(t: Tensor, dims: tuple[int, ...]) -> tuple[Any, Rows]:
    """The elements of `t`, or a copy of them, as an array, and its rows. The array does not keep
    the memory of `t` alive.
    """
    rows = rows_of(t._geometry, dims)
    if rows is not None:
        return array(t), rows
    kept = [d for d in range(t.dim()) if d not in dims]
    copy = np.ascontiguousarray(array(t).transpose(*kept, *dims))
    rows = rows_of(contiguous_geometry(copy.shape, t.dtype), tuple(range(len(kept), t.dim())))
    assert rows is not None
    return copy, rows


@lru_cache(maxsize=1 << 12)
def lines_of(sizes: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """(outer, n, inner) of a contiguous tensor along one dimension."""
    outer = inner = 1
    for size in sizes[:dim]:
        outer *= size
    for size in sizes[dim + 1 :]:
        inner *= size
    return outer, sizes[dim] if sizes else 1, inner


def tiles_of(outer: int, inner: int) -> tuple[int, int]:
    """How many columns a thread takes at once, and how many times: all of them, to read memory from
    end to end, if cache and number of threads allow.

    The columns know nothing of each other, so their results do not depend on this.
    """
    parts = -(-get_num_threads() // outer)
    tile = min(TILE, max(-(-inner // parts), 64))
    return tile, -(-inner // tile)


def address(a: Array) -> int:
    """Where the first element of an array is. (`a.ctypes.data` builds three objects to say it.)"""
    found: int = a.__array_interface__["data"][0]
    return found
