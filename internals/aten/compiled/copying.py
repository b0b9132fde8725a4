"""Copies of large tensors, to another order in memory or another dtype
(`aten/src/ATen/native/cpu/CopyKernel.cpp`).

A copy is the elementwise operation that returns its operand, so it walks as the others do: along
rows where it can, in tiles where rows of one tensor are columns of the other. Without a conversion
the bits need no meaning: floats are copied as integers of their size.

`join` concatenates tensors (`CatKernel.cpp`): each is copied into its part of the result.

How the real one differs: one dtype to itself is `memcpy` or a vectorised loop, and a transposed
matrix of 60 by 60 or more goes through a buffer, block by block (`copy_transpose_valid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from internals.aten.broadcasting import Strides, broadcast_strides, coalesce, memory_order
from internals.core.dtype import BOOL, FLOATING, dtype
from internals.core.geometry import Geometry
from internals.core.tensor_impl import Tensor, backed_ptr
from internals.machine_code.language import inline, template
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.settings import settings, use_compiled

from .elementwise import (
    WORDS,
    WORTH_COMPILING,
    WORTH_THREADS,
    Operand,
    Plan,
    are_disjoint,
    plan_for_operands,
    spans_overlap,
)

T = template("T")


@inline
def as_it_is(a: float) -> Any:
    """The element itself: the walk converts it, if at all, on reading and on writing."""
    return a


@inline
def truth(a: float) -> Any:
    """A number as a bool: whether it differs from zero, which NaN does."""
    return a != T(0)


def copy(target: Tensor, source: Tensor) -> bool:
    """Write the elements of `source`, broadcast and cast, to `target`. False if numpy has to."""
    if target._storage is source._storage and spans_overlap(target, source):
        return False
    plan = _plan(target._geometry, source._geometry)
    if plan is None or not _pays(plan, target._geometry, source.dtype):
        return False
    plan.run(backed_ptr(target), backed_ptr(source))
    return True


def copy_reversed(target: Tensor, source: Tensor, dims: Sequence[int]) -> bool:
    """`copy` with dimensions `dims` of `source` reversed. False if numpy has to do it."""
    g, sizes, strides = target._geometry, source.shape, list(source.stride())
    if not sizes:
        return False
    first = 0  # the offset of the element that is read first: the last one along `dims`
    for d in dims:
        first += (sizes[d] - 1) * strides[d]
        strides[d] = -strides[d]
    plan = plan_copy(g.dtype, source.dtype, tuple(sizes), g.strides, tuple(strides))
    if (
        plan is None
        or not use_compiled(g.numel, WORTH_COMPILING)
        or not are_disjoint(target, source)
    ):
        return False
    plan.run(backed_ptr(target), backed_ptr(source) + first * source.itemsize)
    return True


def join(out: Tensor, tensors: Sequence[Tensor], dim: int) -> bool:
    """Write `tensors` to `out`, one after the other along `dim`. False, with nothing written, if
    numpy has to do it."""
    g = out._geometry
    if not use_compiled(g.numel, WORTH_COMPILING) or not are_disjoint(out, *tensors):
        return False
    parts: list[tuple[Plan, int, int]] = []  # all planned before the first is written
    address = backed_ptr(out)
    for t in tensors:
        if t.numel():
            plan = plan_copy(g.dtype, t.dtype, tuple(t.shape), g.strides, t.stride())
            if plan is None:
                return False
            parts.append((plan, address, backed_ptr(t)))
        address += t.shape[dim] * g.strides[dim] * g.dtype.itemsize
    for plan, target, source in parts:
        plan.run(target, source)
    return True


@lru_cache(maxsize=1 << 12)
def _plan(target: Geometry, source: Geometry) -> Plan | None:
    """`plan_copy` with `source` broadcast to the shape of `target`."""
    shape = tuple(target.sizes)
    strides = broadcast_strides(source.sizes, source.strides, shape)
    return plan_copy(target.dtype, source.dtype, shape, target.strides, strides)


@lru_cache(maxsize=1 << 12)
def plan_copy(
    to: dtype, of: dtype, shape: tuple[int, ...], target: Strides, source: Strides
) -> Plan | None:
    """The plan of a copy of elements (*shape) between memory of these strides, to dtype `to` from
    dtype `of`; None if there is no kernel."""
    kernel = _conversion(to, of)
    if kernel is None or 0 in shape:
        return None
    function, (word, converted), (read_word, read_as) = kernel
    order = memory_order(shape, [target, source])
    sizes, (written, read) = coalesce(shape, [target, source], order)
    operands = Operand(word, converted, written), Operand(read_word, read_as, read)
    return plan_for_operands(function, sizes, operands)


def _conversion(to: dtype, of: dtype) -> tuple[Any, _Side, _Side] | None:
    """The function of one element; then, for the written and the read side, the name of the dtype
    in memory and the type that numbers have in registers. None where numpy has to convert.
    """
    if to is of:
        bits = BITS.get(to.itemsize)
        return None if bits is None else (as_it_is, bits, bits)
    if to not in WORDS or of not in WORDS:
        return None
    if of.category == FLOATING != to.category and to.category != BOOL and to.itemsize < 4:
        # a float out of range is undefined in C; for small integers compilers differ
        return None
    read = WORDS[of], np.uint8 if of.category == BOOL else of.np.type
    if to.category == BOOL:
        return truth.bind(T=read[1]), ("u1", np.uint8), read
    return as_it_is, (WORDS[to], to.np.type), read


_Side = tuple[str, type]
BITS: dict[int, _Side] = {
    1: ("u1", np.uint8),
    2: ("i2", np.int16),
    4: ("i4", np.int32),
    8: ("i8", np.int64),
}


def _pays(plan: Plan, g: Geometry, source: dtype) -> bool:
    """Whether the copy is large enough to be quicker than numpy's."""
    quick = plan.is_flat and g.dtype is source  # numpy does it by memcpy, at full speed
    if quick and get_num_threads() == 1 and settings.threshold is None:
        return False
    return use_compiled(g.numel, WORTH_THREADS if quick else WORTH_COMPILING)
