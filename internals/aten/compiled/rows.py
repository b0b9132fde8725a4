"""A tensor as rows: (outer, n, inner), of which n is reduced, and where these lie in memory.

In most layouts the dimensions that are reduced are neighbours in memory, and so are those that
stay. Merged, three are left: `inner` elements side by side that belong to different results, `n`
that belong to the same, and `outer` repetitions of this.

    (2048, 1024).sum(1)   outer 2048, n 1024, inner 1   rows: one result after the other
    (2048, 1024).sum(0)   outer 1, n 2048, inner 1024   columns: neighbours to neighbouring results
    (8, 64, 32).sum()     outer 1, n 16384, inner 1

Dimensions are taken in the order of memory, not of their indices, so a transposed matrix needs no
copy. A tensor that does not fit (elements with gaps between them, or reduced and kept dimensions in
turns) is copied first.

How the real one differs: `TensorIterator` sorts and merges dimensions in the same way; its loops
take any strides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code.parallel import get_num_threads

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
TILE = 2048  # columns of a tile, whose sums stay in the first-level cache


class Rows(NamedTuple):
    """A tensor as rows: element (o, i, j) lies `o * outer_stride + i * stride + j` elements after
    the first.

    `kept` are the sizes of the dimensions that stay, in the order of memory, and `order` has, for
    each of the tensor's kept dimensions, its position in `kept`.
    """

    outer: int
    n: int
    inner: int
    outer_stride: int
    stride: int
    kept: tuple[int, ...]
    order: tuple[int, ...]
    straight: bool  # whether the kept dimensions have the same order in memory as in the tensor

    def result(self, memory: Array) -> Any:
        """The results (outer, inner) as an array with the dimensions that the tensor keeps."""
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
        if stride <= 0:  # broadcast
            return None
        # both reduced or both kept, and no gap between them: one dimension
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
    # whether each merged dimension is reduced: (outer, n, inner), of which any may be missing
    pattern = tuple(reduced for reduced, _, _ in merged)
    if pattern not in {(), (False,), (True,), (False, True), (True, False), (False, True, False)}:
        return None
    outer, outer_stride = merged[0][1:] if pattern and not pattern[0] else (1, 0)
    n, stride = merged[pattern.index(True)][1:] if True in pattern else (1, 1)
    inner = merged[-1][1] if pattern[-2:] == (True, False) else 1
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
    """(columns of a tile, number of tiles) for each of `outer` blocks. One tile, which reads memory
    from end to end, if the cache can hold it and enough threads have work.

    Columns are independent of each other, so the results do not depend on the tiles.
    """
    parts = -(-get_num_threads() // outer)
    tile = min(TILE, max(-(-inner // parts), 64))
    return tile, -(-inner // tile)


def address(a: Array) -> int:
    """The address of an array's first element. (`a.ctypes.data` builds three objects for it.)"""
    found: int = a.__array_interface__["data"][0]
    return found
