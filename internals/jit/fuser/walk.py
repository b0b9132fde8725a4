"""How a kernel walks over memory: sizes and strides after merging dimensions
(`TensorIteratorBase::coalesce_dimensions`).

Outputs decide the order: their fastest dimension is the innermost loop. Dimensions that all
operands could as well see as one are merged; most groups have one left.

How the real one differs: 1.0.1 merges dimensions of each operand by itself
(`TensorDesc::contiguity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from internals.aten.broadcasting import broadcast_strides, coalesce, memory_order
from internals.core.dtype import dtype

from .steps import NotFusable, Rows

Strides = tuple[int, ...]


class Walk(NamedTuple):
    """`shape`, the outermost dimension first; for each array its strides in elements, and its
    dtype.
    """

    shape: tuple[int, ...]
    strides: tuple[Strides, ...]
    dtypes: tuple[dtype, ...]

    @property
    def numel(self) -> int:
        n = 1
        for size in self.shape:
            n *= size
        return n

    def modes(self) -> list[str]:
        """What each array does in the innermost dimension: "dense", "same" or "strided"."""
        return [{1: "dense", 0: "same"}.get(s[-1], "strided") for s in self.strides]

    def numbers(self) -> tuple[int, ...]:
        """The sizes and strides that are arguments of the kernel, in order."""
        last = len(self.shape) - 1
        found = list(self.shape[1:])
        for s, mode in zip(self.strides, self.modes()):
            found += s if mode == "strided" else s[:last]
        return tuple(found)


def walk_over_rows(
    rows: Rows, reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]
) -> Walk:
    """The same over `rows`, whose elements are the last of at least two dimensions. Raises
    NotFusable.
    """
    shape, k = rows.sizes, len(rows.outer)
    if any(not _fits(a.sizes, shape) for a in (*reads, *writes)):
        raise NotFusable("tensors of other sizes than the rows")
    strides = [broadcast_strides(a.sizes, a.strides, shape) for a in (*reads, *writes)]
    inner, of_rows = coalesce(shape[k:], [s[k:] for s in strides], range(rows.dims))
    if len(inner) > 1:
        raise NotFusable("rows of several dimensions, which do not lie in memory as one")
    outer, others = coalesce(shape[:k], [s[:k] for s in strides], range(k))
    if not outer:
        outer, others = (1,), [(0,)] * len(strides)
    return Walk((*outer, *inner), tuple(s + r for s, r in zip(others, of_rows)), tuple(dtypes))


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether tensors of these sizes can be broadcast to `shape`."""
    return len(sizes) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(sizes), reversed(shape))
    )


def walk_over(
    shape: Sequence[int], reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]
) -> Walk:
    """The walk over arrays with `sizes` and `strides`, that are read or written, broadcast to
    `shape`.
    """
    rows = [broadcast_strides(a.sizes, a.strides, shape) for a in (*writes, *reads)]
    merged, strides = coalesce(shape, rows, memory_order(shape, rows))
    if not merged:
        merged, strides = (1,), [(1,)] * len(rows)
    if merged == (1,):
        strides = [(1,)] * len(rows)
    found = tuple(tuple(s) for s in strides)
    return Walk(tuple(merged), (*found[len(writes) :], *found[: len(writes)]), tuple(dtypes))
