"""Comparisons, and logical operators (`aten/src/ATen/native/BinaryOps.cpp`).

The operands are promoted to a common dtype and compared in it. The result is bool; in place, or
with `out=` of another dtype, it is written as 0 and 1.

How the real one differs: its loops are vectorised C++.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals._generated.fast_lane import comparison
from internals.aten.dtype_checks import not_implemented
from internals.aten.one_geometry import NUMBERS
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import COMPLEX, bool_
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

# `comparison(np.equal, a, b, out)` gives the same as the line of the logical operators below,
# `TensorIterator((a, b), out, result=bool_).run(np.equal)`, on a shorter path for small operands
# that lie in memory alike (`_generated/fast_lane.py`).


def eq(self: Tensor, other: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """self == other, elementwise; False where either is NaN."""
    return comparison(np.equal, self, other, out)


def ne(self: Tensor, other: Scalar | Tensor, out: Tensor | None = None) -> Any:
    """self != other, elementwise; True where either is NaN."""
    return comparison(np.not_equal, self, other, out)


def logical_and(self: Tensor, other: Any, out: Tensor | None = None) -> Any:
    """Whether both are different from zero, elementwise."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_and)


def logical_or(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """Whether at least one is different from zero, elementwise."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_or)


def logical_xor(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """Whether exactly one is different from zero, elementwise."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_xor)


def _ordered(
    kernel: str,
    loop: Callable[..., Any],
    self: Tensor,
    other: float | Tensor,
    out: Tensor | None = None,
) -> Any:
    """The result of `loop`. Raises NotImplementedError for complex numbers, which have no order."""
    if _is_complex(self) or _is_complex(other):
        raise not_implemented(kernel, TensorIterator((self, other), out, result=bool_).common_dtype)
    return comparison(loop, self, other, out)


# self < other. Raises NotImplementedError for complex.
lt = partial(_ordered, "lt_cpu", np.less)
# self <= other. Raises NotImplementedError for complex.
le = partial(_ordered, "le_cpu", np.less_equal)
# self > other. Raises NotImplementedError for complex.
gt = partial(_ordered, "gt_cpu", np.greater)
# self >= other. Raises NotImplementedError for complex.
ge = partial(_ordered, "ge_cpu", np.greater_equal)


def _is_complex(x: Any) -> bool:
    """Whether a number or a tensor is complex."""
    return (
        isinstance(x, complex) if x.__class__ in NUMBERS else x._geometry.dtype.category == COMPLEX
    )
