"""Joining tensors: `cat` and `stack` (`aten/src/ATen/native/TensorShape.cpp`).

The result has the dtype that all inputs promote to. That of `cat` is in channels_last memory order
if all inputs are.

How the real one differs: `cat` has a loop of its own for contiguous inputs of one dtype, and uses
threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap, check_no_overlap
from internals.aten.writing import resize_output
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import (
    channels_last_strides,
    contiguous_strides,
    geometry,
    is_channels_last_strides,
    wrap_dim,
)
from internals.core.promotion import can_cast, result_type
from internals.core.tensor_impl import Tensor, array, empty
from internals.machine_code.settings import settings

from .views import unsqueeze


def cat(tensors: Sequence[Tensor], dim: int = 0, out: Tensor | None = None) -> Any:
    """The tensors one after the other along `dim`. Tensors of shape (0,) are skipped, whatever the
    number of dimensions of the others.

    Raises ValueError for an empty list, RuntimeError when the other sizes differ, TypeError when
    `out` cannot hold the dtype.
    """
    out, used, d = prepare_cat(tensors, dim, out)
    if out._geometry.stored >= settings.least and _joined_by_machine_code(out, used, d):
        return out
    if out._geometry.stored:
        with np.errstate(all="ignore"):
            np.concatenate([array(t) for t in used], d, out=array(out), casting="unsafe")
        return out
    return on_device("joining.cat", out, used, d)


def stack(tensors: Sequence[Tensor], dim: int = 0, out: Tensor | None = None) -> Any:
    """Tensors of one shape along a new dimension. Raises RuntimeError for an empty list or
    different shapes.
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    sizes = tensors[0].shape
    d = wrap_dim(dim, len(sizes) + 1)
    on_gpu = out is not None and out.device.type == "cuda"
    for i, t in enumerate(tensors):
        if t.shape != sizes:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(sizes)} at entry 0 and "
                f"{list(t.shape)} at entry {i}"
            )
        if t._geometry.device is not CPU:
            on_gpu = True
    if on_gpu:  # there `cat` has a kernel, which also checks that all are on one device
        rows = [unsqueeze(t, d) for t in tensors]
        return ops.cat(rows, d) if out is None else ops.cat_out(rows, d, out)
    out = _output(tensors, (*sizes[:d], len(tensors), *sizes[d:]), out)
    if out._geometry.stored >= settings.least and _joined_by_machine_code(
        out, [unsqueeze(t, d) for t in tensors], d
    ):
        return out
    if out._geometry.stored:
        with np.errstate(all="ignore"):
            np.stack([array(t) for t in tensors], d, out=array(out), casting="unsafe")
    return out


def prepare_cat(
    tensors: Sequence[Tensor], dim: int, out: Tensor | None
) -> tuple[Any, list[Tensor], int]:
    """(the tensor to fill, the tensors to join, the dimension) of `cat`. Raises as `cat`."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not t.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    used = [(i, t) for i, t in enumerate(tensors) if t.shape != (0,)] or [(0, tensors[0])]
    first = used[0][1]
    d = wrap_dim(dim, first.dim())
    for i, t in used:
        _check_fits(first, t, d, i)
    sizes = list(first.shape)
    sizes[d] = sum(t.shape[d] for _, t in used)
    out = _output(
        tensors, sizes, out, all(is_channels_last_strides(t.shape, t.stride()) for t in tensors)
    )
    return out, [t for _, t in used], d


def _joined_by_machine_code(out: Tensor, tensors: Sequence[Tensor], dim: int) -> bool:
    """Join with a compiled loop, where there is one. Returns whether it did."""
    from internals.aten.compiled.copying import join

    return join(out, tensors, dim)


def _check_fits(first: Tensor, t: Tensor, dim: int, position: int) -> None:
    """Raises RuntimeError unless `t` has the sizes of `first` in all dimensions but `dim`."""
    if t.dim() != first.dim():
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {first.dim()} and {t.dim()}"
        )
    for d, (n, m) in enumerate(zip(first.shape, t.shape)):
        if d != dim and n != m:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got "
                f"size {m} for tensor number {position} in the list."
            )


def _output(
    tensors: Sequence[Tensor], sizes: Sequence[int], out: Tensor | None, channels_last: bool = False
) -> Any:
    """A new tensor of the common dtype, or `out` after its checks, resized. Raises TypeError if
    `out` cannot hold the common dtype, RuntimeError if it overlaps with an input.
    """
    common = result_type(tensors)
    if out is None:
        strides = channels_last_strides(sizes) if channels_last else contiguous_strides(sizes)
        return empty(geometry(sizes, strides, common, tensors[0].device))
    if not can_cast(common, out.dtype):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{SCALAR_TYPE_NAME[out.dtype]}"
        )
    resize_output(out, sizes)
    check_no_internal_overlap(out)
    for t in tensors:
        check_no_overlap(out, t)
    return out
