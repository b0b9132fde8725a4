"""The walk of a kernel over memory: sizes and strides after merging dimensions
(`TensorIteratorBase::coalesce_dimensions`).

Outputs decide the order: their fastest dimension is the innermost loop. Two dimensions are merged
if they are one run of elements with a single stride in every operand; most groups have one
dimension left. For example, for contiguous x and y of (8, 100), `x + y` walks over (800,).

How the real one differs: PyTorch 1.0.1 merges the dimensions of each operand separately
(`TensorDesc::contiguity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from internals.aten.broadcasting import broadcast_strides, coalesce, memory_order
from internals.core.dtype import dtype

from .steps import NotFusable, Rows

Strides = tuple[int, ...]


class LoopNest(NamedTuple):
    """The sizes of the dimensions that are left, the outermost first, and for each array its
    strides in elements and its dtype. Arrays that are read come first.
    """

    shape: tuple[int, ...]
    strides: tuple[Strides, ...]
    dtypes: tuple[dtype, ...]

    @property
    def numel(self) -> int:
        """The number of elements."""
        n = 1
        for size in self.shape:
            n *= size
        return n

    def modes(self) -> list[str]:
        """The way each array advances in the innermost dimension: "dense" by 1, "same" not at all,
        "strided" by more.
        """
        return [{1: "dense", 0: "same"}.get(s[-1], "strided") for s in self.strides]

    def numbers(self) -> tuple[int, ...]:
        """The sizes and strides that are arguments of the kernel, in order. The size of the first
        dimension follows from the range of the loop, innermost strides 0 and 1 from the text.
        """
        last = len(self.shape) - 1
        found = list(self.shape[1:])
        for s, mode in zip(self.strides, self.modes()):
            found += s if mode == "strided" else s[:last]
        return tuple(found)


def loop_nest_of_rows(
    rows: Rows, reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]
) -> LoopNest:
    """The walk over `rows`: the last of at least two dimensions lies within a row. Raises
    NotFusable.
    """
    shape, k = rows.sizes, len(rows.outer)
    if any(not _fits(a.sizes, shape) for a in (*reads, *writes)):
        raise NotFusable("tensors of other sizes than the rows")
    strides = [broadcast_strides(a.sizes, a.strides, shape) for a in (*reads, *writes)]
    # dimensions within a row and those of the rows are merged separately, in index order
    inner, of_rows = coalesce(shape[k:], [s[k:] for s in strides], range(rows.dims))
    if len(inner) > 1:
        raise NotFusable("rows of several dimensions, which do not lie in memory as one")
    outer, others = coalesce(shape[:k], [s[:k] for s in strides], range(k))
    if not outer:
        outer, others = (1,), [(0,)] * len(strides)
    return LoopNest((*outer, *inner), tuple(s + r for s, r in zip(others, of_rows)), tuple(dtypes))


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether tensors of these sizes can be broadcast to `shape`."""
    return len(sizes) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(sizes), reversed(shape))
    )


def loop_nest(
    shape: Sequence[int], reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]
) -> LoopNest:
    """The walk over arrays that are read or written, each with `sizes` and `strides`, broadcast to
    `shape`.
    """
    # outputs first: their memory decides the order of the dimensions
    rows = [broadcast_strides(a.sizes, a.strides, shape) for a in (*writes, *reads)]
    merged, strides = coalesce(shape, rows, memory_order(shape, rows))
    if not merged:
        merged, strides = (1,), [(1,)] * len(rows)
    if merged == (1,):  # a single element: no stride matters
        strides = [(1,)] * len(rows)
    found = tuple(tuple(s) for s in strides)
    return LoopNest(tuple(merged), (*found[len(writes) :], *found[: len(writes)]), tuple(dtypes))
