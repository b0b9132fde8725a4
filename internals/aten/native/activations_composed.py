"""Piecewise linear activations, and those composed of other functions
(`aten/src/ATen/native/{Activation,GatedLinearUnit}.cpp`).

`hardsigmoid` and `hardswish` are cheap approximations of sigmoid and silu, without `exp`; the
shrinks move values towards 0; `mish` and `glu` multiply by a gate between 0 and 1. `celu`, `selu`
and `prelu` are `elu` and `leaky_relu` with other constants, or learned ones.

How the real one differs: the loops are vectorised C++; `prelu` has a kernel and a derivative of its
own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from internals._generated import functions as F, ops
from internals.aten.dtype_checks import check_dtype
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import FLOATING, INTEGRAL, SCALAR_TYPE_NAME, finfo
from internals.core.scalar import Scalar, real
from internals.core.tensor_impl import Tensor, empty_contiguous

from .activations import floating

# with these, normalised inputs give normalised outputs (Klambauer et al. 2017)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def hardsigmoid(self: Tensor, out: Tensor | None = None) -> Any:
    """0 up to -3, 1 from 3 on, a straight line between: a sigmoid without `exp`."""

    return floating(self, "hardsigmoid_cpu", scalar.hardsigmoid.loop, out)


def hardswish(self: Tensor, out: Tensor | None = None) -> Any:
    """self * hardsigmoid(self): silu without `exp` (MobileNetV3)."""

    return floating(self, "hardswish_cpu", scalar.hardswish.loop, out)


def mish(self: Tensor, out: Tensor | None = None) -> Any:
    """self * tanh(log(1 + exp(self)))."""

    return floating(self, "mish_cpu", scalar.mish.loop, out)


def hardshrink(self: Tensor, lambd: Scalar = 0.5, out: Tensor | None = None) -> Any:
    """`self`, with 0 in place of the elements from -lambd to lambd."""

    return floating(
        self, "hardshrink_cpu", partial(scalar.hardshrink.loop, lambd=real(lambd, self.dtype)), out
    )


def softshrink(self: Tensor, lambd: Any = 0.5, out: Any = None) -> Any:
    """`self` moved towards 0 by `lambd`, and 0 where it would cross it. Raises RuntimeError for a
    negative `lambd`.
    """
    check_dtype("softshrink_check", self.dtype, FLOATING)
    largest, lambd = finfo(self.dtype).max, real(lambd, self.dtype)
    if not 0 <= lambd <= largest:
        name = SCALAR_TYPE_NAME[self.dtype]
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {name}, but found {lambd:g}"
        )

    return floating(self, "softshrink_cpu", partial(scalar.softshrink.loop, lambd=lambd), out)


def threshold(self: Tensor, threshold: Scalar, value: Scalar) -> Any:
    """`self` where it is greater than `threshold`, `value` elsewhere. Raises NotImplementedError
    for complex and bool.
    """
    check_dtype("threshold_cpu", self.dtype, INTEGRAL, FLOATING)
    return TensorIterator([self]).run(
        partial(scalar.threshold.loop, threshold=threshold, value=value)
    )


def glu(self: Tensor, dim: int = -1) -> Any:
    """The first half of `self` along `dim`, times the sigmoid of the second half. Raises
    RuntimeError for an odd size.
    """
    half, gate = halves(self, dim)
    check_dtype("glu_cpu", self.dtype, FLOATING)
    return TensorIterator([half, gate], empty_contiguous(half.shape, self.dtype, self.device)).run(
        scalar.gated.loop
    )


def halves(self: Tensor, dim: int) -> tuple[Any, Any]:
    """Views of both halves of `self` along `dim`. Raises RuntimeError for an odd size and for a 0-d
    tensor, IndexError for a `dim` out of range.
    """
    if self.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if not -self.dim() <= dim < self.dim():
        reach = f"[{-self.dim()}, {self.dim() - 1}]"
        raise IndexError(
            f"Dimension out of range (expected to be in range of {reach}, but got {dim})"
        )
    dim %= self.dim()
    if self.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}"
        )
    n = self.shape[dim] // 2
    return ops.narrow(self, dim, 0, n), ops.narrow(self, dim, n, n)


def celu(self: Tensor, alpha: Scalar = 1.0) -> Any:
    """`self` where positive, alpha * (exp(self / alpha) - 1) elsewhere. Raises RuntimeError for an
    alpha of 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return ops.elu(self, alpha, 1.0, 1.0 / alpha)


def selu(self: Tensor) -> Any:
    """elu with the two constants that preserve mean 0 and variance 1 from layer to layer."""
    return ops.elu(self, _SELU_ALPHA, _SELU_SCALE, 1)


def selu_(self: Tensor) -> Any:
    """`selu` in place."""
    return ops.elu_(self, _SELU_ALPHA, _SELU_SCALE, 1)


def prelu(self: Tensor, weight: Tensor) -> Any:
    """leaky_relu whose slope is learned: `weight` has one element, or one for each channel
    (dimension 1) of `self`. Raises RuntimeError for other sizes, and for two dtypes.
    """
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {SCALAR_TYPE_NAME[self.dtype]} and "
            f"{SCALAR_TYPE_NAME[weight.dtype]}"
        )
    if weight.numel() != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() > 1 else 1
        if weight.dim() != 1 or weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    # (C,) as (1, C, 1, ...), so that it broadcasts along dimension 1
    if weight.dim() == 1 and self.dim() != 1:
        weight = weight.reshape([1, -1, *[1] * (self.dim() - 2)] if self.dim() else [])
    return F.where(self > 0, self, self * weight)
