"""Putting tensors together: `cat`, and `stack` with it (`aten/src/ATen/native/cuda/Shape.cu`).

Each input is copied into its part of the result, with a launch for each, which converts and reorders as copies do.

How the real one differs: the pointers, sizes and offsets of up to 128 inputs travel to the device together, and one launch copies
all of them (`CatArrayBatchedCopy`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.aten.native import views
from internals.aten.native.joining import prepare_cat
from internals.core.tensor_impl import TensorImpl

from .copy import copy_


def cat(tensors: Sequence[TensorImpl], dim: int = 0, out: Any = None) -> Any:
    """The tensors one after the other along `dim`. 1-d tensors without elements are skipped, whatever the others look like.

    Raises ValueError for an empty list, RuntimeError when the other sizes differ, TypeError when `out` cannot hold the dtype.
    """
    out, used, d = prepare_cat(tensors, dim, out)
    write_side_by_side(out, used, d)
    return out


def write_side_by_side(out: Any, tensors: Sequence[Any], dim: int) -> None:
    """Copy the tensors into `out`, one after the other along `dim`."""
    start = 0
    for t in tensors:
        end = start + t.shape[dim]
        if t.numel():
            copy_(views.slice(out, dim, start, end, 1), t)
        start = end
