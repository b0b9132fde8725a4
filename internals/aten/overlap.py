"""Do two tensors, or two elements of one, share memory? Asked before anything is written (`aten/src/ATen/MemoryOverlap.cpp`).

Writing through a tensor whose elements share memory (an expanded dimension), or reading an operand whose bytes are written a
moment earlier, would give results that depend on the order of the loop. Exact answers are expensive in general, so only the
cheap ones are given: where it is "too hard to say", the operation goes ahead.

How the real one differs: the same three answers; PyTorch also has an exact test, used by `index_put_` and its kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.core.tensor_impl import TensorImpl

_SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def check_no_internal_overlap(t: TensorImpl) -> None:
    """Raises RuntimeError when several elements of `t` are the same memory (an expanded dimension)."""
    g = t._geometry
    if not g.is_contiguous and any(stride == 0 and size > 1 for size, stride in zip(g.sizes, g.strides)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def check_no_partial_overlap(written: TensorImpl, read: TensorImpl) -> None:
    """Raises RuntimeError when writing to `written` would change elements of `read` other than those in the same place."""
    if overlaps_partially(written, read):
        raise RuntimeError(_SHARED)


def check_no_overlap(written: TensorImpl, read: TensorImpl) -> None:
    """Raises RuntimeError when the two share memory, be it element by element: for ops that write in an order of their own."""
    same = written._storage is read._storage and written._geometry is read._geometry and written._offset == read._offset
    g = written._geometry
    if overlaps_partially(written, read) or (same and g.numel and is_non_overlapping_and_dense(g.sizes, g.strides)):
        raise RuntimeError(_SHARED)


def overlaps_partially(a: TensorImpl, b: TensorImpl) -> bool:
    """Whether two dense tensors share some memory without being the very same elements in the same places."""
    if a is b or a._storage is not b._storage:
        return False
    g, h = a._geometry, b._geometry
    if not (g.numel and h.numel):
        return False
    if not (is_non_overlapping_and_dense(g.sizes, g.strides) and is_non_overlapping_and_dense(h.sizes, h.strides)):
        return False
    begin_a, begin_b = a._offset * g.dtype.itemsize, b._offset * h.dtype.itemsize
    end_a, end_b = begin_a + g.nbytes, begin_b + h.nbytes
    if begin_a == begin_b and end_a == end_b:
        return g.strides != h.strides
    return begin_a < end_b and begin_b < end_a


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
