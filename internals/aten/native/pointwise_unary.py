"""Functions of one operand, element by element: signs, rounding, tests, and others that check
something or treat dtypes differently; the simple ones are in `scalar.py`
(`aten/src/ATen/native/UnaryOps.cpp`).

Each kernel names the loop and the dtype to compute in ("same", or "float": integers become the
default dtype first); `TensorIterator` does the rest. `out` is the tensor to write to, or None.

How the real one differs: its loops come from SLEEF or MKL's vector library, here from numpy, which
agrees with them to a unit or two in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals._generated.fast_lane import unary
from internals.aten.dtype_checks import not_implemented
from internals.aten.layout import strides_like
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.dtype import BOOL, COMPLEX, FLOATING
from internals.core.geometry import geometry
from internals.core.tensor_impl import Tensor, empty

from . import comparison, loops, pointwise


def abs(self: Tensor, out: Tensor | None = None) -> Any:
    """|self|; the modulus, a real number, for complex. Raises NotImplementedError for bool."""
    d = self.dtype
    if d.category == COMPLEX and out is self:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    if d.category == COMPLEX and (out is None or out.dtype.category != COMPLEX):
        return TensorIterator((self,), out, result=d.to_real()).run(np.absolute)
    if d.category == BOOL:
        raise not_implemented("abs_cpu", d)
    return unary(np.absolute, self, out, "same")


def neg(self: Tensor, out: Tensor | None = None) -> Any:
    """-self; uint8 wraps around. Raises RuntimeError for bool."""
    if self.dtype is dt.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return unary(loops.negative, self, out, "same")


def sign(self: Tensor, out: Tensor | None = None) -> Any:
    """-1, 0 or 1; 0 for NaN. Raises NotImplementedError for complex, whose sign is `sgn`."""
    d = self.dtype
    if d.category == COMPLEX:
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead."
        )
    return TensorIterator((self,), out, "same").run(
        loops.copy if d.category == BOOL else loops.sign
    )


def exp2(self: Tensor, out: Tensor | None = None) -> Any:
    """2 to the power of self."""
    return unary(loops.exp2 if self.dtype.category == COMPLEX else np.exp2, self, out)


def reciprocal(self: Tensor, out: Tensor | None = None) -> Any:
    """1 / self."""
    return unary(loops.complex_reciprocal if self.is_complex() else np.reciprocal, self, out)


def sinc(self: Tensor, out: Tensor | None = None) -> Any:
    """sin(pi self) / (pi self); 1 at 0."""
    return unary(loops.sinc, self, out)


def erf(self: Any, out: Tensor | None = None) -> Any:
    """The error function. Raises NotImplementedError for complex."""
    it = TensorIterator((self,), out, "float")
    if it.common_dtype.category == COMPLEX:
        raise not_implemented("erf_vml_cpu", it.common_dtype)
    return it.run(loops.erf)


def round_decimals(self: Tensor, decimals: int, out: Tensor | None = None) -> Any:
    """Round to `decimals` digits after the point (before it when negative), ties to even.

    Raises NotImplementedError for integers and complex.
    """
    it = TensorIterator((self,), out, "same")
    if self.dtype.category != FLOATING:
        raise not_implemented("round_cpu" if decimals else "round_vml_cpu", self.dtype)
    return it.run(loops.round_to(decimals) if decimals else np.rint)


def frac(self: Tensor, out: Tensor | None = None) -> Any:
    """self - trunc(self). Raises NotImplementedError unless floating."""
    it = TensorIterator((self,), out, "same")
    if self.dtype.category != FLOATING:
        raise not_implemented("frac_cpu", self.dtype)
    return it.run(loops.frac)


def logical_not(self: Tensor, out: Tensor | None = None) -> Any:
    """Whether self is zero."""
    return TensorIterator((self,), out, result=dt.bool_).run(np.logical_not)


def bitwise_not(self: Tensor, out: Tensor | None = None) -> Any:
    """All bits flipped; for bool, `not`. Raises NotImplementedError for floating and complex."""
    it = TensorIterator((self,), out, "same")
    if self.dtype.category >= FLOATING:
        raise not_implemented("bitwise_not_cpu", self.dtype)
    return it.run(np.invert)


def isnan(self: Any) -> Any:
    """Whether NaN; for complex numbers, in either part."""
    return TensorIterator((self,), result=dt.bool_).run(np.isnan)


def isinf(self: Tensor) -> Any:
    """Whether infinite, of either sign."""
    if self.dtype.category < FLOATING:
        return _constant_like(self, False)
    if self._geometry.without_grad.fast:
        return TensorIterator((self,), result=dt.bool_).run(np.isinf)
    return comparison.eq(abs(self), math.inf)  # PyTorch's composition, for the same strides


def isfinite(self: Any) -> Any:
    """Whether neither infinite nor NaN."""
    if self.dtype.category < FLOATING:
        return _constant_like(self, True)
    if self._geometry.without_grad.fast:
        return TensorIterator((self,), result=dt.bool_).run(np.isfinite)
    return pointwise.mul(comparison.eq(self, self), comparison.ne(abs(self), math.inf))


def positive(self: Tensor) -> Any:
    """self, as it is. Raises RuntimeError for bool."""
    if self.dtype.category == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def square(self: Tensor) -> Any:
    """self²: composite, so autograd sees `pow`."""
    return self.pow(2)


def square_(self: Tensor) -> Any:
    """`square` in place."""
    return self.pow_(2)


def _converted(name: str, factor: float, self: Tensor, out: Tensor | None = None) -> Any:
    """self * factor, a change of unit; RuntimeError, naming `name`, for complex."""
    if self.dtype.category == COMPLEX:
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return pointwise.mul(self, factor, out)


# Degrees as radians. Raises RuntimeError for complex.
deg2rad = partial(_converted, "deg2rad", math.pi / 180)
# Radians as degrees. Raises RuntimeError for complex.
rad2deg = partial(_converted, "rad2deg", 180 / math.pi)


def _constant_like(self: Tensor, value: bool) -> Any:
    """A bool tensor of `value`: the answer for integers, which PyTorch gives by `zeros_like` or
    `ones_like`, so it has the strides that those would have.
    """
    return ops.fill__Scalar(
        empty(geometry(self.shape, strides_like(self), dt.bool_, self.device)), value
    )


def _to_integer(
    loop: Callable[..., Any], name: str, self: Tensor, out: Tensor | None = None
) -> Any:
    """Rounding by `loop`. Integers are copied; complex and bool raise NotImplementedError."""
    category = self.dtype.category
    if category == COMPLEX and name != "round":
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    it = TensorIterator((self,), out, "same")
    if category in (BOOL, COMPLEX):
        raise not_implemented(f"{name}_vml_cpu", self.dtype)
    return it.run(loop if category == FLOATING else loops.copy)


# The largest integer not above self; integers are copied.
floor = partial(_to_integer, np.floor, "floor")
# The smallest integer not below self; integers are copied.
ceil = partial(_to_integer, np.ceil, "ceil")
# self without its fraction; integers are copied.
trunc = partial(_to_integer, np.trunc, "trunc")
# The nearest integer, at a tie the even one; integers are copied.
round = partial(_to_integer, np.rint, "round")
