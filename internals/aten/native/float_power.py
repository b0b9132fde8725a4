"""Powers in double precision: `float_power` (`aten/src/ATen/native/Pow.cpp`).

Both operands are converted to float64, or to complex128, before `pow`: so integers do not overflow,
and single precision does not lose digits.

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import COMPLEX, SCALAR_TYPE_NAME, dtype
from internals.core.promotion import result_type
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, TensorImpl


def float_power(self: Scalar | Tensor, exponent: Scalar | Tensor) -> Any:
    """self ** exponent in float64; in complex128 if either is complex."""
    return _pow(*_widened(self, exponent))


def float_power_(self: Tensor, exponent: Scalar | Tensor) -> Any:
    """`float_power` in place. Raises RuntimeError unless self has the dtype of the result."""
    needed = _result_dtype(self, exponent)
    if self.dtype is not needed:
        names = SCALAR_TYPE_NAME[self.dtype], SCALAR_TYPE_NAME[needed]
        raise RuntimeError(
            f"the base given to float_power_ has dtype {names[0]} but the operation's result "
            f"requires dtype {names[1]}"
        )
    if isinstance(exponent, TensorImpl):
        return ops.pow__Tensor(self, _converted(exponent, needed))
    return ops.pow__Scalar(self, _converted(exponent, needed))


def _pow(self: Scalar | Tensor, exponent: float | Tensor) -> Any:
    """self ** exponent, by the overload of `pow` for tensors and numbers."""
    if not isinstance(self, TensorImpl):
        return ops.pow_Scalar(self, exponent)
    return (ops.pow_Tensor_Tensor if isinstance(exponent, TensorImpl) else ops.pow_Tensor_Scalar)(
        self, exponent
    )


def _widened(*operands: Any) -> list[Any]:
    """Both operands in the dtype of the result."""
    needed = _result_dtype(*operands)
    return [_converted(x, needed) for x in operands]


def _result_dtype(*operands: Any) -> dtype:
    """The dtype of the result: complex128 if an operand is complex, else float64."""
    return dt.complex128 if result_type(operands).category == COMPLEX else dt.float64


def _converted(x: Any, d: dtype) -> Any:
    """A tensor in the dtype `d`, or a number as a float or complex."""
    if isinstance(x, TensorImpl):
        return ops.to_dtype(x, d, False, False, None)
    return complex(x) if d.category == COMPLEX else float(x)
