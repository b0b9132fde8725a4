"""How a kernel walks over memory: sizes and strides after merging dimensions (`TensorIteratorBase::coalesce_dimensions`).

Outputs decide the order: their fastest dimension is the innermost loop. Dimensions that all operands could as well see as one are
merged; most groups have one left.

How the real one differs: 1.0.1 merges dimensions of each operand by itself (`TensorDesc::contiguity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from internals.aten.broadcasting import broadcast_strides, coalesce, memory_order
from internals.core.dtype import dtype

Strides = tuple[int, ...]


class Walk(NamedTuple):
    """`shape`, the outermost dimension first; for each array its strides in elements, and its dtype."""

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


def walk_over_rows(shape: Sequence[int], reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]) -> Walk:
    """The same, with the last dimension left by itself: two dimensions at least."""
    rows = [broadcast_strides(a.sizes, a.strides, shape) for a in (*reads, *writes)]
    outer, strides = coalesce(shape[:-1], [r[:-1] for r in rows], range(len(shape) - 1))
    if not outer:
        outer, strides = (1,), [(0,)] * len(rows)
    return Walk((*outer, shape[-1]), tuple((*s, r[-1]) for s, r in zip(strides, rows)), tuple(dtypes))


def walk_over(shape: Sequence[int], reads: Sequence[Any], writes: Sequence[Any], dtypes: Sequence[dtype]) -> Walk:
    """The walk over arrays with `sizes` and `strides`, that are read or written, broadcast to `shape`."""
    rows = [broadcast_strides(a.sizes, a.strides, shape) for a in (*writes, *reads)]
    merged, strides = coalesce(shape, rows, memory_order(shape, rows))
    if not merged:
        merged, strides = (1,), [(1,)] * len(rows)
    if merged == (1,):
        strides = [(1,)] * len(rows)
    found = tuple(tuple(s) for s in strides)
    return Walk(tuple(merged), (*found[len(writes) :], *found[: len(writes)]), tuple(dtypes))
