"""Keeping values between bounds (`aten/src/ATen/native/TensorCompare.cpp`: `clamp`).

A bound may be a number, a tensor or absent, and takes part in type promotion. Where the value or a
bound is NaN, the result is NaN. Where the lower bound is above the upper one, the result is the
upper one.

How the real one differs: each combination has a loop of its own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from internals._generated.fast_lane import unary
from internals.aten.dtype_checks import TYPE_META_NAME, not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import BOOL, COMPLEX, SCALAR_TYPE_NAME
from internals.core.promotion import can_cast, result_type
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Tensor


def clamp(
    self: Tensor, min: Scalar | None = None, max: Scalar | None = None, out: Tensor | None = None
) -> Any:
    """min(max(self, min), max); either bound may be None, a number or a tensor.

    Raises RuntimeError when both are None or a number does not fit the dtype, NotImplementedError
    for complex and bool.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [b for b in (min, max) if b is not None]
    numbers = [b for b in bounds if not hasattr(b, "_geometry")]
    promoted = result_type((self, *bounds))
    if self.dtype.category == COMPLEX or (numbers and promoted.category == COMPLEX):
        raise NotImplementedError("clamp is not supported for complex types")
    if out is self and numbers and not can_cast(promoted, self.dtype):
        names = SCALAR_TYPE_NAME[promoted], TYPE_META_NAME[self.dtype]
        raise RuntimeError(
            f"result type {names[0]} can't be cast to the desired output type {names[1]}"
        )
    if out is not None and out is not self and numbers and out.dtype is not promoted:
        raise RuntimeError(
            f"Found dtype {SCALAR_TYPE_NAME[out.dtype]} but expected {SCALAR_TYPE_NAME[promoted]}"
        )
    # the error for an unsupported dtype names the kernel that PyTorch would have called
    promote = "common" if promoted is self.dtype else promoted
    if promoted.category == COMPLEX or (
        promoted.category == BOOL and (numbers or len(bounds) == 2)
    ):
        raise not_implemented(_kernel_name(min, max, bool(numbers)), promoted)
    if not numbers:
        loop = (
            scalar.clamp_tensors.loop
            if len(bounds) == 2
            else np.maximum
            if max is None
            else np.minimum
        )
        return TensorIterator((self, *bounds), out, promote).run(loop)
    low, high = (None if b is None else checked(b, promoted) for b in (min, max))
    if low is None:
        return unary(partial(scalar.at_most.loop, high=high), self, out, promote)
    if high is None:
        return unary(partial(scalar.at_least.loop, low=low), self, out, promote)
    return unary(partial(scalar.clamp.loop, low=low, high=high), self, out, promote)


clamp_Tensor = clamp


def clamp_min(self: Tensor, min: Scalar, out: Tensor | None = None) -> Any:
    """max(self, min)."""
    return clamp(self, min, None, out)


def clamp_max(self: Tensor, max: Scalar, out: Tensor | None = None) -> Any:
    """min(self, max)."""
    return clamp(self, None, max, out)


clamp_min_Tensor = clamp_min
clamp_max_Tensor = clamp_max


def _kernel_name(min: Any, max: Any, is_number: bool) -> str:
    """The name of PyTorch's kernel for these bounds, as it stands in its messages."""
    name = (
        "clamp"
        if min is not None and max is not None
        else "clamp_min"
        if max is None
        else "clamp_max"
    )
    if is_number:
        return f"{name}_scalar_cpu"
    return {"clamp": "clamp_cpu", "clamp_min": "maximum_cpu", "clamp_max": "minimum_cpu"}[name]
