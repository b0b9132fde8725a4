"""Python operators with the tensor on the right: `2 - t`, `2 / t`, `2 ** t`, `5 // t`, `1 << t`
(`torch/_tensor.py`).

Python calls `t.__rsub__(2)` for `2 - t`, because int does not know tensors. Commutative operators
(`2 + t`, `2 * t`, `2 & t`) are generated with the methods.

How the real one differs: it passes the number on as a 0-dim tensor with a flag for "was a number".
Here it becomes a 0-dim tensor only for operators that need one, with the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import functions, ops
from internals.aten.tensor_iterator import number
from internals.core.dtype import INTEGRAL, dtype
from internals.core.promotion import result_type
from internals.core.scalar import Scalar
from internals.core.tensor_impl import TensorImpl, from_array
from internals.functional import linalg as functional_linalg, signal as functional_signal

_OPERANDS = (TensorImpl, int, float, complex, np.number, np.bool_)


class Operators:
    """A base class of `Tensor`, before the generated methods, some of which it overrides. A method
    returns NotImplemented for an operand that is not a number or tensor.
    """

    __slots__ = ()

    def __rsub__(self, other: Scalar) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return (
            ops.rsub_Tensor(self, other, 1)
            if isinstance(other, TensorImpl)
            else ops.rsub_Scalar(self, _number(other), 1)
        )

    def __rtruediv__(self: Any, other: Scalar) -> Any:
        return self.reciprocal() * other if isinstance(other, _OPERANDS) else NotImplemented

    def __rpow__(self, other: Scalar) -> Any:
        return (
            ops.pow_Scalar(_number(other), self) if isinstance(other, _OPERANDS) else NotImplemented
        )

    def __rfloordiv__(self, other: Scalar) -> Any:
        return (
            ops.floor_divide(_wrapped(other, self), self)
            if isinstance(other, _OPERANDS)
            else NotImplemented
        )

    def __rmod__(self, other: Scalar) -> Any:
        return (
            ops.remainder_Scalar_Tensor(_number(other), self)
            if isinstance(other, _OPERANDS)
            else NotImplemented
        )

    def __rlshift__(self: Any, other: Scalar) -> Any:
        return (
            functions.bitwise_left_shift(_number(other), self)
            if isinstance(other, _OPERANDS)
            else NotImplemented
        )

    def __rrshift__(self: Any, other: Any) -> Any:
        return (
            functions.bitwise_right_shift(_number(other), self)
            if isinstance(other, _OPERANDS)
            else NotImplemented
        )

    def __invert__(self: Any) -> Any:
        if self.dtype.category > INTEGRAL:
            raise TypeError(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            )
        return ops.bitwise_not(self)

    # Any: in a script, `x.stft` is the operator, which has other arguments
    stft: Any = functional_signal.stft

    def norm(
        self,
        p: float | str | None = "fro",
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: dtype | None = None,
    ) -> Any:
        """See `internals.norm`."""
        return functional_linalg.norm(self, p, dim, keepdim, dtype=dtype)


def _number(x: object) -> Any:
    """A number of numpy as a Python number; others as they are."""
    return x.item() if isinstance(x, np.generic) else x


def _wrapped(x: Scalar, other: Any) -> Any:
    """A number as a 0-dim tensor, with the dtype to which it and `other` are promoted."""
    if isinstance(x, TensorImpl):
        return x
    return from_array(np.asarray(number(_number(x), result_type((_number(x), other)))))
