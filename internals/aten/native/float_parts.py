"""The parts of a floating-point number: sign, exponent, infinities, NaN; its neighbours
(`aten/src/ATen/native/UnaryOps.cpp`).

How the real one differs: `frexp` of half precision is computed bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt, return_types
from internals.core.dtype import COMPLEX, FLOATING, SCALAR_TYPE_NAME
from internals.core.tensor_impl import Array, Tensor

from . import pointwise
from .real import run_floating


def signbit(self: Tensor, out: Tensor | None = None) -> Any:
    """Whether the sign is a minus, also for -0.0 and for NaN with a sign.

    Raises NotImplementedError for complex, and RuntimeError for an `out` that is not bool.
    """
    if self.dtype.category == COMPLEX:
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return _to_bool(
        "signbit", np.signbit if self.dtype.category == FLOATING else negative, self, out
    )


# |self| with the sign of `other`, -0.0 included. Raises NotImplementedError for complex.
copysign = partial(run_floating, "copysign_cpu", np.copysign)


# The next floating-point number after self in the direction of `other`. Raises NotImplementedError
# unless floating.
nextafter = partial(run_floating, "nextafter_cpu", np.nextafter, promote="common")


def frexp(self: Tensor, out: Sequence[Tensor] | None = None) -> Any:
    """(mantissa, exponent): self = mantissa · 2**exponent with 0.5 <= |mantissa| < 1; the exponent
    is int32.

    For 0, infinities and NaN the mantissa is the number itself. Raises RuntimeError unless
    floating, and for an `out` of other dtypes.
    """
    if self.dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = out or (None, None)
    if mantissa is not None and mantissa.dtype is not self.dtype:
        names = TYPE_META_NAME[self.dtype], TYPE_META_NAME[mantissa.dtype]
        raise RuntimeError(
            f"torch.frexp() expects mantissa to have dtype {names[0]} but got {names[1]}"
        )
    if exponent is not None and exponent.dtype is not dt.int32:
        raise RuntimeError(
            "torch.frexp() expects exponent to have int dtype but got "
            f"{TYPE_META_NAME[exponent.dtype]}"
        )
    exponent = TensorIterator((self,), exponent, result=dt.int32).run(exponent_of)
    mantissa = TensorIterator((self,), mantissa).run(mantissa_of)
    return (return_types.frexp if out is None else return_types.frexp_out)(mantissa, exponent)


def ldexp(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """self · 2**other, the inverse of `frexp`. It is exact if self is floating and `other` holds
    integers; for all other dtypes it is computed as a product and a power.

    Raises NotImplementedError for a floating self and a bool `other`.
    """
    if self.dtype.category != FLOATING or other.dtype.category >= FLOATING:
        return pointwise.mul(self, pointwise.pow_Scalar(2.0, other), out)
    check_dtype("ldexp_cpu_exp", other.dtype, dt.INTEGRAL, dt.FLOATING, dt.COMPLEX)
    return TensorIterator((other, self), out, promote=None, result=self.dtype).run(scaled)


def nan_to_num(
    self: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    out: Tensor | None = None,
) -> Any:
    """self with numbers in place of NaN (0) and of the infinities (the largest and the smallest
    numbers of the dtype).

    Integers are copied. Real and imaginary part of complex numbers are replaced separately. Raises
    RuntimeError for an `out` of another dtype.
    """
    if out is not None and out.dtype is not self.dtype:
        names = SCALAR_TYPE_NAME[out.dtype], SCALAR_TYPE_NAME[self.dtype]
        raise RuntimeError(
            f"nan_to_num: dtype of out: {names[0]} should be same as input: {names[1]}"
        )
    return TensorIterator((self,), out, "same").run(
        partial(to_num, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
    )


def negative(a: Array, out: Array) -> None:
    """Whether integers are below 0; bools never are."""
    if a.dtype.kind == "b":
        out[...] = False
    else:
        np.less(a, 0, out=out)


def scaled(exponent: Array, a: Array, out: Array) -> None:
    """a · 2**exponent: numpy's operands in the order of the iterator."""
    np.ldexp(a, exponent, out=out)


def mantissa_of(a: Array, out: Array) -> None:
    """The first result of `frexp`."""
    out[...] = np.frexp(a)[0]


def exponent_of(a: Array, out: Array) -> None:
    """The second result of `frexp`, int32."""
    out[...] = np.frexp(a)[1]


def equal_to(a: Array, out: Array, value: float) -> None:
    """a == value, as bools."""
    np.equal(a, value, out=out)


def to_num(a: Array, out: Array, nan: float, posinf: float | None, neginf: float | None) -> None:
    """`nan_to_num` of an array; None means the largest or the smallest number of its dtype."""
    out[...] = np.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf)


def _is_infinite(name: str, value: float, self: Tensor, out: Tensor | None = None) -> Any:
    """Whether elements are equal to `value`, an infinity."""
    if self.dtype.category == COMPLEX:
        raise RuntimeError(f"{name} does not support complex inputs.")
    return _to_bool(name, partial(equal_to, value=value), self, out)


# Whether infinite and positive. Raises RuntimeError for complex, and for an `out` that is not bool.
isposinf = partial(_is_infinite, "isposinf", np.inf)
# Whether infinite and negative. Raises RuntimeError for complex, and for an `out` that is not bool.
isneginf = partial(_is_infinite, "isneginf", -np.inf)


def _to_bool(name: str, loop: Callable[..., Any], self: Tensor, out: Tensor | None) -> Any:
    """The bool result of `loop`. Raises RuntimeError for an `out` that is not bool."""
    if out is not None and out.dtype is not dt.bool_:
        raise RuntimeError(f"{name} does not support non-boolean outputs.")
    return TensorIterator((self,), out, result=dt.bool_).run(loop)
