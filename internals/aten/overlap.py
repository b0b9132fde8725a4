"""Checks, before anything is written, whether two tensors, or two elements of one, share memory
(`aten/src/ATen/MemoryOverlap.cpp`).

Writing through a tensor whose elements share memory (an expanded dimension), or reading an operand
whose bytes were written a moment earlier, would give results that depend on the order of the loop.
An exact answer is expensive in general, so only the cheap cases are decided: where it is "too hard
to say", the operation goes ahead.

How the real one differs: the same three answers; PyTorch also has an exact test, used by
`index_put_` and similar operators.
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
    """Raises RuntimeError if several elements of `t` are the same memory (an expanded
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
    """Raises RuntimeError if writing an element of `written` would change another element of
    `read` than the one in the same place.
    """
    for t in read:
        if t is not None and _overlap(written, t) == PARTIAL:
            raise RuntimeError(_SHARED)


def check_no_overlap(written: TensorImpl, *read: TensorImpl | None) -> None:
    """Raises RuntimeError if they share any memory, even the same elements in the same places: for
    ops that do not write in the order in which they read.
    """
    for t in read:
        if t is not None and _overlap(written, t):
            raise RuntimeError(_SHARED)


def _overlap(a: TensorImpl, b: TensorImpl) -> int:
    """FULL if two tensors are the same elements in the same places, PARTIAL if they share memory
    otherwise, 0 if they do not (`get_overlap_status`).

    0 also where it is too hard to say: for tensors with gaps.
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
    # both fill their ranges of the storage without gaps, so they overlap if the ranges do
    begin_a, begin_b = a._offset * g.dtype.itemsize, b._offset * h.dtype.itemsize
    end_a, end_b = begin_a + g.nbytes, begin_b + h.nbytes
    if begin_a == begin_b and end_a == end_b:
        return FULL if g.strides == h.strides else PARTIAL
    return PARTIAL if begin_a < end_b and begin_b < end_a else 0


def is_non_overlapping_and_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill one range of memory without gaps, in whatever order."""
    step = 1  # the stride that the next dimension, from the innermost on, must have
    for stride, size in sorted((s, n) for n, s in zip(sizes, strides) if n != 1):
        if size == 0:
            return True
        if stride != step:
            return False
        step *= size
    return True
