"""Computes the strides of a new tensor (`c10/core/MemoryFormat.h`,
`aten/src/ATen/native/TensorFactories.cpp`).

A *memory format* names a rule for strides: `contiguous_format` (row-major), `channels_last` (NHWC,
with the channel innermost) or `preserve_format` (like the tensor it is made from: its strides if
they fill memory without gaps, else strides without gaps in the same order).

    >>> dense_strides((2, 3), (8, 2))  # every other element of (2, 8)
    (3, 1)
    >>> dense_strides((2, 3), (1, 4))  # the column is innermost, and stays so
    (1, 2)
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.aten.broadcasting import memory_order
from internals.aten.overlap import is_non_overlapping_and_dense
from internals.core.formats import contiguous_format, memory_format, preserve_format
from internals.core.geometry import channels_last_strides, contiguous_strides
from internals.core.tensor_impl import TensorImpl

RANK = {"channels_last": 4, "channels_last_3d": 5}


def strides_for(
    sizes: Sequence[int], memory_format: memory_format | None = None
) -> tuple[int, ...]:
    """The strides of a new tensor of these sizes; None means `contiguous_format`. Raises
    RuntimeError for a format of another number of dimensions, and for `preserve_format`.
    """
    if memory_format is None or memory_format is contiguous_format:
        return contiguous_strides(sizes)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    rank = RANK[memory_format.name]
    if len(sizes) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format")
    return channels_last_strides(sizes)


def strides_like(t: TensorImpl, memory_format: memory_format | None = None) -> tuple[int, ...]:
    """The strides of a new tensor of the sizes of `t`; None means `preserve_format`."""
    g = t._geometry
    if memory_format is not None and memory_format is not preserve_format:
        return strides_for(g.sizes, memory_format)
    if g.is_contiguous or is_non_overlapping_and_dense(g.sizes, g.strides):
        return g.strides
    return dense_strides(g.sizes, g.strides)


def dense_strides(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps or repeated elements, with the same order of dimensions in memory as
    `strides` (`infer_dense_strides`).
    """
    result, step = [0] * len(sizes), 1
    for d in reversed(memory_order(sizes, [tuple(strides)])):
        result[d] = step
        step *= max(sizes[d], 1)
    return tuple(result)
