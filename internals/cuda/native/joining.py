"""Putting tensors together: `cat`, and `stack` with it (`aten/src/ATen/native/cuda/Shape.cu`).

Each input is copied into its part of the result, with a launch for each, which converts and
reorders as copies do.

How the real one differs: the pointers, sizes and offsets of up to 128 inputs travel to the device
together, and one launch copies all of them (`CatArrayBatchedCopy`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.aten.native import views
from internals.core.tensor_impl import Tensor

from .copy import copy_


def cat(out: Tensor, tensors: Sequence[Any], dim: int) -> None:
    start = 0
    for t in tensors:
        end = start + t.shape[dim]
        if t.numel():
            copy_(views.slice(out, dim, start, end, 1), t)
        start = end
