"""Activation functions, element by element (`aten/src/ATen/native/Activation.cpp`,
`cpu/Activation.cpp`).

Each kernel is one loop for `TensorIterator`: a numpy expression that takes an array and writes to
another. Half precision is computed in single and rounded once. The result for NaN is NaN.

How the real one differs: the loops are vectorised C++; `gelu` also has an oneDNN version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals._generated.fast_lane import unary
from internals.aten.dtype_checks import not_implemented
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.scalar import Scalar, checked, real
from internals.core.tensor_impl import Tensor, empty_contiguous


def relu(self: Tensor, out: Tensor | None = None) -> Any:
    """max(self, 0). Raises RuntimeError for bool, NotImplementedError for complex."""
    dtype = self._geometry.dtype
    if dtype is dt.bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    if dtype.category == dt.COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types")
    return unary(relu_loop, self, out, "common")


def hardtanh(self: Tensor, min_val: Any = -1, max_val: Any = 1, out: Any = None) -> Any:
    """`self` clamped to [min_val, max_val].

    Raises RuntimeError for bool, and for a negative limit with an unsigned dtype.
    """
    min_val, max_val = real(min_val, self.dtype), real(max_val, self.dtype)
    if self.dtype is dt.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if not self.dtype.is_signed and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    _check_out(self, out)
    return _clamp(self, min_val, max_val, out)


def relu6(self: Tensor) -> Any:
    """min(max(self, 0), 6)."""
    return ops.hardtanh(self, 0, 6)


def relu6_(self: Tensor) -> Any:
    """`relu6` in place."""
    return ops.hardtanh_(self, 0, 6)


def gelu(self: Tensor, approximate: str = "none", out: Tensor | None = None) -> Any:
    """self * P(X <= self) for a standard normal X; `approximate="tanh"` is the approximation that
    GPT-2 was trained with. Raises RuntimeError for another `approximate`.
    """
    formulas = {"none": scalar.gelu, "tanh": scalar.gelu_tanh}
    if approximate not in formulas:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return floating(self, "GeluKernelImpl", formulas[approximate].loop, out)


def silu(self: Tensor, out: Tensor | None = None) -> Any:
    """self * sigmoid(self)."""

    return floating(self, "silu_cpu", scalar.silu.loop, out, complex_too=True)


def leaky_relu(self: Tensor, negative_slope: Scalar = 0.01, out: Tensor | None = None) -> Any:
    """`self` where it is positive, else negative_slope * self."""
    loop = partial(scalar.leaky_relu.loop, slope=real(negative_slope, self.dtype))
    return floating(self, "leaky_relu_cpu", loop, out)


def elu(
    self: Tensor,
    alpha: Scalar = 1,
    scale: Scalar = 1,
    input_scale: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """scale * self where it is positive, else scale * alpha * (exp(input_scale * self) - 1)."""
    alpha, scale, input_scale = (real(n, self.dtype) for n in (alpha, scale, input_scale))
    loop = partial(scalar.elu.loop, bottom=alpha * scale, top=scale, rate=input_scale)
    return floating(self, "elu_cpu", loop, out)


def softplus(
    self: Tensor, beta: Scalar = 1, threshold: Scalar = 20, out: Tensor | None = None
) -> Any:
    """log(1 + exp(beta * self)) / beta, a smooth relu; beyond `threshold`, where the two meet,
    `self` itself.
    """
    numbers = {"beta": real(beta, self.dtype), "threshold": real(threshold, self.dtype)}
    return floating(self, "softplus_cpu", partial(scalar.softplus.loop, **numbers), out)


def log_sigmoid_forward(self: Tensor) -> tuple[Any, Any]:
    """log(sigmoid(self)), and exp(-|self|), which the derivative needs again."""
    if not self.dtype.is_floating_point:
        raise not_implemented("log_sigmoid_cpu", self.dtype)
    output, buffer = (empty_contiguous(self.shape, self.dtype, self.device) for _ in range(2))
    TensorIterator([self], buffer).run(scalar.decay.loop)  # exp(-|x|) cannot overflow
    return TensorIterator([self], output).run(scalar.log_sigmoid.loop), buffer


def log_sigmoid(self: Tensor) -> Any:
    """log(sigmoid(self))."""
    return ops.log_sigmoid_forward(self)[0]


@scalar.relu.made_by
def relu_loop(x: Any, out: Any) -> None:
    """max(x, 0). numpy compares two arrays three times as fast as an array and a number: small ones
    get an array of zeros.
    """
    np.maximum(x, _zeros(x.shape, x.dtype) if x.size <= 1 << 14 else 0, out=out)


@lru_cache(maxsize=64)
def _zeros(shape: tuple[int, ...], dtype: object) -> Any:
    """An array of zeros, made once for each shape and dtype. It must not be written to."""
    return np.zeros(shape, dtype)


def _clamp(self: Tensor, low: Any, high: object, out: Tensor | None) -> Any:
    """min(max(self, low), high). Raises NotImplementedError for complex, RuntimeError for numbers
    that do not fit the dtype.
    """
    if self.dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    low, high = checked(low, self.dtype), checked(high, self.dtype)
    return unary(partial(scalar.clamp.loop, low=low, high=high), self, out, "common")


def floating(
    self: Tensor,
    kernel: str,
    loop: Callable[..., None],
    out: Tensor | None,
    complex_too: bool = False,
) -> Any:
    """The result of `loop`, which computes half precision in single, over a floating tensor.

    Raises NotImplementedError for other dtypes, where `kernel` stands in the message.
    """
    if not (self.dtype.is_floating_point or (complex_too and self.dtype.is_complex)):
        raise not_implemented(kernel, self.dtype)
    _check_out(self, out)
    return unary(loop, self, out, "common")


def _check_out(self: Tensor, out: Tensor | None) -> None:
    """Raises RuntimeError unless `out` has the dtype of `self`."""
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(
            f"Found dtype {SCALAR_TYPE_NAME[out.dtype]} but expected {SCALAR_TYPE_NAME[self.dtype]}"
        )
