"""Adding with atomics to a tensor of any dtype.

The hardware adds numbers of 32 and 64 bits in one piece. Smaller ones are added in a copy of the
target that is wide enough, and converted once at the end: int8 and its kind wrap around all the
same, and float16 loses less than with an addition at a time.

How the real one differs: `gpuAtomicAdd` compares and swaps the whole word around a small number
until nobody got in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt

if TYPE_CHECKING:
    from internals._tensor import Tensor

ATOMIC = (dt.int32, dt.int64, dt.float32, dt.float64)


def add_atomically(target: Tensor, add: Callable[[Any, Any], None]) -> None:
    """Call `add(target, T)`, which adds numbers of the numpy scalar type T; or with a wide copy,
    which is copied back.
    """
    if target.dtype in ATOMIC:
        add(target, target.dtype.np.type)
        return
    wide = dt.float32 if target.dtype is dt.float16 else dt.int32
    copy = ops._to_copy(target, wide, None, None, None, False, None)
    add(copy, wide.np.type)
    ops.copy_(target, copy, False)


def compute_type(kind: dt.dtype) -> type[np.generic]:
    """What numbers of `kind` are computed in."""
    if kind is dt.float16:
        return np.float32
    return kind.np.type if kind in ATOMIC else np.int32
