"""Two operands, one result an element: arithmetic, comparison, bits and logic (`aten/src/ATen/native/BinaryOps.cpp`).

Each kernel says which loop to run and what to compute in; `TensorIterator` does the rest. `other` may be a tensor or a
Python number, `out` the tensor to write to.

How the real one differs: the loops are C++ templates vectorised per instruction set (`cpu/BinaryOpsKernel.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from internals.aten.tensor_iterator import TensorIterator, number
from internals.core import dtype as dt
from internals.core.promotion import result_type


def add(self: Any, other: Any, alpha: Any = 1, out: Any = None) -> Any:
    """self + alpha * other. For bool, `or`."""
    it = TensorIterator([self, other], out)
    return it.run(np.add if alpha == 1 else _scaled(np.add, it, alpha))


def sub(self: Any, other: Any, alpha: Any = 1, out: Any = None) -> Any:
    """self - alpha * other. Raises RuntimeError for bool, where minus has no meaning."""
    it = TensorIterator([self, other], out)
    if it.common_dtype is dt.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if dt.bool_ in (getattr(self, "dtype", None), getattr(other, "dtype", None)) or isinstance(other, bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )
    return it.run(np.subtract if alpha == 1 else _scaled(np.subtract, it, alpha))


def mul(self: Any, other: Any, out: Any = None) -> Any:
    """self * other. For bool, `and`."""
    return TensorIterator([self, other], out).run(np.multiply)


def div(self: Any, other: Any, out: Any = None) -> Any:
    """True division: integers give the default floating dtype."""
    return TensorIterator([self, other], out, promote="float").run(np.divide)


def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """other - alpha * self."""
    return other.sub(self, alpha=alpha) if hasattr(other, "_geometry") else (self * -alpha).add(other)


def true_divide(self: Any, other: Any) -> Any:
    return self.div(other)


def _scaled(loop: Callable[..., Any], it: TensorIterator, alpha: Any) -> Callable[..., Any]:
    """`loop(a, alpha * b)`, after PyTorch's checks of alpha against the dtype."""
    if it.common_dtype.category == dt.INTEGRAL and not isinstance(alpha, (int, bool)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if it.common_dtype.category == dt.BOOL and not isinstance(alpha, bool):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    scale = number(alpha, it.common_dtype)

    def run(a: Any, b: Any, out: Any) -> None:
        loop(a, np.multiply(b, scale), out=out)

    return run


__all__ = ["add", "sub", "mul", "div", "rsub", "true_divide", "result_type"]
