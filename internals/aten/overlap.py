"""Do two tensors, or two elements of one, share memory? Asked before anything is written
(`aten/src/ATen/MemoryOverlap.cpp`).

Writing through a tensor whose elements share memory (an expanded dimension), or reading an operand
whose bytes are written a moment earlier, would give results that depend on the order of the loop.
Exact answers are expensive in general, so only the cheap ones are given: where it is "too hard to
say", the operation goes ahead.

How the real one differs: the same three answers; PyTorch also has an exact test, used by
`index_put_` and its kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.core.tensor_impl import TensorImpl

FULL, PARTIAL = 1, 2

_SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. "
    "Please clone() the tensor before performing the operation."
)


def check_no_internal_overlap(t: TensorImpl) -> None:
    """Raises RuntimeError when several elements of `t` are the same memory (an expanded
    dimension).
    """
    g = t._geometry
    if not g.is_contiguous and any(
        stride == 0 and size > 1 for size, stride in zip(g.sizes, g.strides)
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def check_no_partial_overlap(written: TensorImpl, *read: TensorImpl | None) -> None:
    """Raises RuntimeError when writing to `written` would change elements of `read` other than
    those in the same place.
    """
    for t in read:
        if t is not None and _overlap(written, t) == PARTIAL:
            raise RuntimeError(_SHARED)


def check_no_overlap(written: TensorImpl, *read: TensorImpl | None) -> None:
    """Raises RuntimeError when they share memory, be it element by element: for ops that write in
    an order of their own.
    """
    for t in read:
        if t is not None and _overlap(written, t):
            raise RuntimeError(_SHARED)


def _overlap(a: TensorImpl, b: TensorImpl) -> int:
    """Whether two tensors share some of their memory, or are the very same elements in the same
    places (`get_overlap_status`).

    0 also where that is too hard to say, which it is of tensors with gaps.
    """
    if a._storage is not b._storage:
        return 0
    g, h = a._geometry, b._geometry
    if not (g.numel and h.numel):
        return 0
    if a is b:
        return FULL
    if not (
        is_non_overlapping_and_dense(g.sizes, g.strides)
        and is_non_overlapping_and_dense(h.sizes, h.strides)
    ):
        return 0
    begin_a, begin_b = a._offset * g.dtype.itemsize, b._offset * h.dtype.itemsize
    end_a, end_b = begin_a + g.nbytes, begin_b + h.nbytes
    if begin_a == begin_b and end_a == end_b:
        return FULL if g.strides == h.strides else PARTIAL
    return PARTIAL if begin_a < end_b and begin_b < end_a else 0


def is_non_overlapping_and_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill one run of memory without gaps, in whatever order."""
    step = 1
    for stride, size in sorted((s, n) for n, s in zip(sizes, strides) if n != 1):
        if size == 0:
            return True
        if stride != step:
            return False
        step *= size
    return True
