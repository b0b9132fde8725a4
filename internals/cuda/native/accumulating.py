"""Atomic additions to a tensor of any dtype (`aten/src/ATen/cuda/Atomic.cuh`).

The hardware has atomic additions for numbers of 32 and 64 bits. Smaller ones are added in a wider
copy of the target, which is converted back once at the end: int8 and other small integers wrap
around as they should, and float16 loses less than by rounding after each addition.

How the real one differs: `gpuAtomicAdd` replaces the 32-bit word that contains a small number by
compare-and-swap, again and again until no other thread has changed the word in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

ATOMIC = (dt.int32, dt.int64, dt.float32, dt.float64)


def add_atomically(target: Tensor, add: Callable[[Any, Any], None]) -> None:
    """Calls `add(target, T)`, which adds numbers of the numpy scalar type T to `target`. For a
    small dtype, `add` gets a wide copy and its type instead, and the copy is copied back.
    """
    if target.dtype in ATOMIC:
        add(target, target.dtype.np.type)
        return
    wide = dt.float32 if target.dtype is dt.float16 else dt.int32
    copy = ops._to_copy(target, wide, None, None, None, False, None)
    add(copy, wide.np.type)
    ops.copy_(target, copy, False)


def compute_type(kind: dt.dtype) -> type[np.generic]:
    """The numpy type that numbers of the dtype `kind` are computed in: the one of the wide copy, if
    there is one.
    """
    if kind is dt.float16:
        return np.float32
    return kind.np.type if kind in ATOMIC else np.int32
