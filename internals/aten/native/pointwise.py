"""Arithmetic on two operands, element by element (`aten/src/ATen/native/BinaryOps.cpp`, `Pow.cpp`).

Each kernel names the loop to run and the dtype to compute in; `TensorIterator` broadcasts, promotes
and allocates. `self` and `other` may be tensors or Python numbers, `out` the tensor to write to, or
None. The calls that are made most often go by `fast_lane`, which skips `TensorIterator` where
nothing has to be broadcast or promoted.

How the real one differs: the loops are C++ templates vectorised per instruction set
(`cpu/BinaryOpsKernel.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals._generated.fast_lane import binary, scaled, unary
from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator, number
from internals.core import dtype as dt
from internals.core.dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from internals.core.promotion import result_type
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Tensor, empty_contiguous

from . import loops
from .real import run_floating


def add(self: Tensor, other: Scalar | Tensor, alpha: Scalar = 1, out: Tensor | None = None) -> Any:
    """self + alpha * other. For bool, `or`. Raises RuntimeError for an alpha that the dtype cannot
    hold.
    """
    if alpha.__class__ is int and alpha == 1:
        return binary(np.add, self, other, out)
    return _scaled(loops.add_scaled, np.add, self, other, alpha, out)


def sub(self: Any, other: Scalar | Tensor, alpha: Scalar = 1, out: Tensor | None = None) -> Any:
    """self - alpha * other. Raises RuntimeError for bool, where minus has no meaning."""
    _check_no_bool(self, other)
    if alpha.__class__ is int and alpha == 1:
        return binary(np.subtract, self, other, out)
    return _scaled(loops.subtract_scaled, np.subtract, self, other, alpha, out)


def mul(self: Tensor, other: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """self * other. For bool, `and`."""
    return binary(np.multiply, self, other, out)


def div(self: Tensor, other: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """True division: integers give the default floating dtype."""
    return binary(np.divide, self, other, out, "float")


def div_mode(
    self: Tensor, other: Scalar | Tensor, rounding_mode: str | None, out: Tensor | None = None
) -> Any:
    """Division, then rounding: None, "trunc" (towards zero, as C) or "floor" (down, as Python's
    //).

    Raises RuntimeError for another mode, and for an integer divided by zero.
    """
    if rounding_mode is None:
        return div(self, other, out)
    if rounding_mode == "floor":
        return floor_divide(self, other, out)
    if rounding_mode != "trunc":
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    return _divided("div_trunc_cpu", loops.trunc_divide, self, other, out)


def pow(self: Any, exponent: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """self ** exponent. Integers stay integers; an integer to the power of a negative element is 0,
    unless it is 1 or -1.

    Raises RuntimeError for integers to the power of a negative Python integer.
    """
    if not hasattr(exponent, "_geometry"):
        return _pow_number(self, exponent, out)
    it = TensorIterator((self, exponent), out)
    if it.common_dtype.category == BOOL:
        raise not_implemented("pow", it.common_dtype)
    return it.run(loops.integer_power if it.common_dtype.category == INTEGRAL else np.power)


def pow_Scalar(self: Scalar, exponent: Tensor, out: Tensor | None = None) -> Any:
    """A number to the power of each element. Without `out` the result is contiguous."""
    promoted = result_type((self, exponent))
    if out is None:
        out = empty_contiguous(exponent.shape, promoted, exponent.device)
    # 1 to any power is 1; bool goes on to `pow`, which refuses it
    if self == 1 and promoted.category != BOOL:
        return TensorIterator((exponent,), out, promoted).run(loops.ones)
    return pow(self, exponent, out)


def atan2(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """The angle of the point (other, self), in -pi...pi. Raises NotImplementedError for complex."""
    it = TensorIterator((self, other), out, "float")
    if it.common_dtype.category == COMPLEX:
        raise not_implemented("atan2_cpu", it.common_dtype)
    return it.run(np.arctan2)


def hypot(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """sqrt(self² + other²), where the squares do not overflow. Raises NotImplementedError unless
    floating.
    """
    return run_floating("hypot_cpu", np.hypot, self, other, out=out, promote="common")


def heaviside(self: Tensor, values: Tensor, out: Tensor | None = None) -> Any:
    """0 where self is below 0, 1 above, `values` at 0. Raises RuntimeError for complex, and when
    the dtypes differ.
    """
    if COMPLEX in (self.dtype.category, values.dtype.category):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if values.dtype is not self.dtype or (out is not None and out.dtype is not self.dtype):
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return TensorIterator((self, values), out).run(loops.heaviside)


def rsub(self: Tensor, other: Scalar | Tensor, alpha: Scalar = 1) -> Any:
    """other - alpha * self. Raises RuntimeError for bool."""
    return sub(other, self, alpha)


def factor(alpha: Scalar, common: dtype, name: str = "alpha") -> Any:
    """alpha as a number of the dtype, after PyTorch's checks (`alpha_check`)."""
    if isinstance(alpha, bool) and common.category != BOOL:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if common.category < FLOATING and not isinstance(alpha, (int, np.integer)):
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )
    if common.category < COMPLEX and isinstance(alpha, complex):
        raise RuntimeError(
            f"For non-complex input tensors, argument {name} must not be a complex number."
        )
    return checked(alpha, common)


def _scaled(
    loop: Callable[..., Any],
    ufunc: Callable[..., Any],
    self: int | Tensor,
    other: object,
    alpha: Scalar,
    out: Tensor | None,
) -> Any:
    """`loop` with `alpha` as a number of the common dtype; `ufunc` is the same without alpha."""
    # the fast path for two tensors alike, as in the update of an optimizer
    done = scaled(ufunc, self, other, alpha, out)
    if done is not None:
        return done
    it = TensorIterator((self, other), out, "common", None, True)
    return it.run(partial(loop, alpha=factor(alpha, it.common_dtype)))


def _pow_number(self: Tensor, exponent: Any, out: Tensor | None) -> Any:
    """self ** exponent for a number. Common exponents have loops of their own, which are faster and
    more exact than the general one.
    """
    if (
        self.dtype.category <= INTEGRAL
        and not isinstance(exponent, (float, complex))
        and exponent < 0
    ):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    common = result_type((self, exponent))
    # exact shortcuts first, then integers, then exponents with a loop of their own
    loop: Any
    if exponent == 0:
        loop = loops.ones
    elif exponent == 1:
        loop = loops.copy
    elif common.category <= INTEGRAL:
        loop = partial(loops.integer_power, exponent=checked(exponent, common))
    elif exponent in _POWERS:
        loop = (
            loops.complex_reciprocal if exponent == -1 and common.is_complex else _POWERS[exponent]
        )
        # half precision rounds once, at the end, rather than after each step
        loop = loop if common is not dt.float16 else loops.in_single(loop)
    else:
        loop = partial(loops.power, exponent=number(exponent, common))
    if common is self.dtype:
        return unary(loop, self, out, "common")
    return TensorIterator((self,), out, common).run(loop)


_POWERS: dict[Any, Any] = {
    0.5: np.sqrt,
    2: np.square,
    3: loops.cube,
    -0.5: loops.inverse_root,
    -1: np.reciprocal,
    -2: loops.inverse_square,
}


def _extremum(
    name: str, loop: Callable[..., Any], self: Tensor, other: Tensor, out: Tensor | None = None
) -> Any:
    """`loop` for each pair; RuntimeError for complex numbers, which have no order."""
    if COMPLEX in (self.dtype.category, other.dtype.category):
        raise RuntimeError(f"{name} not implemented for complex tensors.")
    return binary(loop, self, other, out)


# The larger of each pair; NaN if either is. Raises RuntimeError for complex.
maximum = partial(_extremum, "maximum", np.maximum)
# The smaller of each pair; NaN if either is. Raises RuntimeError for complex.
minimum = partial(_extremum, "minimum", np.minimum)
# The larger of each pair; the other one if one is NaN. Raises RuntimeError for complex.
fmax = partial(_extremum, "fmax", np.fmax)
# The smaller of each pair; the other one if one is NaN. Raises RuntimeError for complex.
fmin = partial(_extremum, "fmin", np.fmin)


def _divided(
    kernel: str,
    loop: Callable[..., Any],
    self: Tensor,
    other: Scalar | Tensor,
    out: Tensor | None = None,
) -> Any:
    """`loop` for each pair; NotImplementedError, naming `kernel`, for bool and complex."""
    it = TensorIterator((self, other), out)
    if it.common_dtype.category not in (INTEGRAL, FLOATING):
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)


# Division rounded down. Raises RuntimeError for an integer divided by zero.
floor_divide = partial(_divided, "div_floor_cpu", loops.floor_divide)
# self - other * floor(self / other), as Python's %. Raises RuntimeError for an integer modulo zero.
remainder = partial(_divided, "remainder_cpu", loops.remainder)
# self - other * trunc(self / other), as C's %. Raises RuntimeError for an integer modulo zero.
fmod = partial(_divided, "fmod_cpu", loops.fmod)


def _check_no_bool(a: Tensor, b: Scalar | Tensor) -> None:
    """Raises RuntimeError if either operand is bool; the text is another one if both are."""
    bools = _is_bool(a), _is_bool(b)
    if bools == (False, False):
        return
    if bools == (True, True):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead."
    )


def _is_bool(x: object) -> bool:
    """Whether a tensor's dtype is bool, or a number is True or False."""
    return x._geometry.dtype is dt.bool_ if hasattr(x, "_geometry") else x.__class__ is bool
