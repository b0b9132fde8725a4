"""Functions of three operands, element by element: interpolation, products that are added, choices
by a condition (`aten/src/ATen/native/PointwiseOps.cpp`, `Lerp.cpp`, `TensorCompare.cpp`).

`TensorIterator` broadcasts and promotes the operands; the loops are those of
`scalar_functions/table.py`.

How the real one differs: each is one fused loop; here some take two or three passes of numpy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals._generated.fast_lane import binary
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import TYPE_META_NAME, not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import BOOL, FLOATING, SCALAR_TYPE_NAME
from internals.core.promotion import result_type
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Tensor, array, empty_contiguous, from_array


def lerp_Scalar(self: Tensor, end: Tensor, weight: Scalar, out: Tensor | None = None) -> Any:
    """self + weight * (end - self), with a number for `weight`. Raises RuntimeError when the dtypes
    differ.
    """
    _check_same_dtype(self, end, "end")
    if self.dtype.category < FLOATING:
        raise not_implemented("lerp_kernel_scalar", self.dtype)
    # half precision is computed in single, so the weight is not rounded to half
    w = checked(weight, dt.float32 if self.dtype is dt.float16 else self.dtype)
    return binary(partial(scalar.lerp.loop, weight=w), self, end, out)


def lerp_Tensor(self: Tensor, end: Tensor, weight: Tensor, out: Tensor | None = None) -> Any:
    """self + weight * (end - self), with a tensor for `weight`. Raises RuntimeError when the dtypes
    differ.
    """
    _check_same_dtype(self, end, "end")
    if weight.shape:  # a 0-d weight is promoted with the others instead
        _check_same_dtype(self, weight, "weight")
    it = TensorIterator((self, end, weight), out)
    if it.common_dtype.category < FLOATING:
        raise not_implemented("lerp_kernel_tensor", it.common_dtype)
    return it.run(scalar.lerp.loop)


def addcmul(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar = 1, out: Tensor | None = None
) -> Any:
    """self + value * tensor1 * tensor2."""
    it = TensorIterator((self, tensor1, tensor2), out)
    if it.common_dtype.category == BOOL:
        raise not_implemented("addcmul_cpu_out", it.common_dtype)
    return it.run(partial(scalar.addcmul.loop, value=checked(value, it.common_dtype)))


def addcdiv(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar = 1, out: Tensor | None = None
) -> Any:
    """self + value * tensor1 / tensor2. Raises RuntimeError when tensor1 and tensor2 are both
    integers.
    """
    if tensor1.dtype.category < FLOATING and tensor2.dtype.category < FLOATING:
        raise RuntimeError(_ADDCDIV_INTEGERS)
    it = TensorIterator((self, tensor1, tensor2), out)
    return it.run(partial(scalar.addcdiv.loop, value=checked(value, it.common_dtype)))


def where_self(condition: Tensor, self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """self where `condition` holds, other elsewhere. Raises RuntimeError when `condition` is not a
    boolean tensor.
    """
    if condition.dtype not in (dt.bool_, dt.uint8):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{SCALAR_TYPE_NAME[condition.dtype]}"
        )
    result = result_type((self, other))
    if out is not None and out.dtype is not result:
        raise RuntimeError(
            f"Expected out type to be {SCALAR_TYPE_NAME[result]} but got "
            f"{SCALAR_TYPE_NAME[out.dtype]}"
        )
    return TensorIterator((condition, self, other), out, promote=None, result=result).run(select)


where_Scalar = where_self


def where_ScalarSelf(condition: Tensor, self: Scalar, other: Tensor) -> Any:
    """`where` with a number, which becomes a 0-d tensor of the dtype that the two promote to."""
    return ops.where_self(
        condition,
        ops.scalar_tensor(self, result_type((self, other)), None, other.device, None),
        other,
    )


def where_ScalarOther(condition: Tensor, self: Tensor, other: Scalar) -> Any:
    """`where_ScalarSelf` with the number on the other side."""
    return ops.where_self(
        condition,
        self,
        ops.scalar_tensor(other, result_type((self, other)), None, self.device, None),
    )


def where(condition: Tensor) -> tuple[Any, ...]:
    """The indices of the elements that are not zero: a vector of int64 for each dimension. A 0-d
    tensor counts as (1).
    """
    a = array(condition)
    return tuple(from_array(np.ascontiguousarray(i)) for i in np.nonzero(a if a.ndim else a[None]))


def masked_fill_Scalar(self: Tensor, mask: Tensor, value: object, out: Tensor | None = None) -> Any:
    """A copy of self with `value` wherever `mask` holds; self itself if it is `out`, and then
    `mask` has to broadcast to it.

    Raises RuntimeError for a mask that is not bool, and for a value that the dtype cannot hold.
    """
    shape = (
        broadcast_shapes(mask.shape, self.shape)
        if out is None
        else broadcast_shapes(self.shape, mask.shape)
    )
    if out is None:
        out = empty_contiguous(shape, self.dtype, self.device)
    elif out.shape != shape:
        raise RuntimeError(
            f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if mask.dtype is not dt.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{TYPE_META_NAME[mask.dtype]}"
        )
    filler = value if hasattr(value, "_geometry") else checked(value, self.dtype)
    return TensorIterator((mask, self, filler), out, promote=None, result=self.dtype).run(mask_over)


def masked_fill_Tensor(self: Tensor, mask: Tensor, value: Tensor, out: Tensor | None = None) -> Any:
    """`masked_fill` with a 0-d tensor for `value`."""
    if value.shape:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value.shape)} dimension(s)."
        )
    return masked_fill_Scalar(self, mask, value.item() if value.device is CPU else value, out)


@scalar.where.made_by
def select(condition: Any, a: Any, b: Any, out: Any) -> None:
    """`a` where the condition holds, `b` elsewhere."""
    out[...] = np.where(condition, a, b)


@scalar.masked.made_by
def mask_over(mask: Any, a: Any, value: Any, out: Any) -> None:
    """`value` where the mask holds, `a` elsewhere."""
    if out is not a:
        np.copyto(out, a)
    np.copyto(out, value, where=mask)


def _check_same_dtype(self: Tensor, other: Tensor, name: str) -> None:
    """Raises RuntimeError, naming the argument `name`, unless both have one dtype."""
    if other.dtype is not self.dtype:
        raise RuntimeError(
            f"expected dtype {TYPE_META_NAME[self.dtype]} for `{name}` but got dtype "
            f"{TYPE_META_NAME[other.dtype]}"
        )


_ADDCDIV_INTEGERS = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)
