"""Gives a structured kernel the tensor that it writes to (`set_output` in `torchgen`'s RegisterCPU,
`aten/src/ATen/core/TensorBody.h`).

A structured operator is three functions in one: `op(...)` makes a new result, `op_(...)` writes
into `self`, and `op(..., out=t)` writes into `t`. The kernel works out the sizes and the dtype of
its result, asks `set_output` for the tensor to fill, and fills it. The checks of that tensor are
here, once for all operators.

How the real one differs: the sizes come from a separate "meta" function, which also runs without
any data; the three variants are C++ classes with different `set_output_strided` methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.device import CPU, device
from internals.core.dtype import dtype
from internals.core.tensor_impl import empty_contiguous

from .overlap import check_no_internal_overlap
from .writing import check_device, check_dtype, resize_output


def set_output(
    sizes: Sequence[int], dtype: dtype, out: Any = None, inplace: bool = False, device: device = CPU
) -> Any:
    """The tensor of `sizes` and `dtype` that a kernel has to fill: a new one on `device`, or `out`,
    resized if need be.

    `inplace` says that `out` is the op's `self`, which keeps its sizes. Raises RuntimeError for an
    `out` of another dtype, on another device, of other sizes (in place only), or with elements that
    share memory.
    """
    if out is None:
        return empty_contiguous(sizes, dtype, device)
    if inplace and tuple(out.shape) != tuple(sizes):
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(out.shape)} and output tensor size "
            f"{list(sizes)} should match"
        )
    check_dtype(dtype, out.dtype)
    check_device(device, out.device)
    resize_output(out, sizes)
    check_no_internal_overlap(out)  # after resizing, which makes it contiguous
    return out
