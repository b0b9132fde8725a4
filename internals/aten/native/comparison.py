"""Comparisons, and the logic of truth values (`aten/src/ATen/native/BinaryOps.cpp`).

The operands are promoted to a common dtype, compared in it, and the result is bool; written in place or to `out=`, it becomes
0 and 1 of that dtype.

How the real one differs: the same rules; the loops produce whole vectors of masks at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import COMPLEX, bool_


def eq(self: Any, other: Any, out: Any = None) -> Any:
    """Whether equal; NaN equals nothing."""
    return TensorIterator((self, other), out, result=bool_).run(np.equal)


def ne(self: Any, other: Any, out: Any = None) -> Any:
    """Whether different; NaN differs from everything."""
    return TensorIterator((self, other), out, result=bool_).run(np.not_equal)


def lt(self: Any, other: Any, out: Any = None) -> Any:
    """self < other. Raises NotImplementedError for complex."""
    return _ordered("lt_cpu", np.less, self, other, out)


def le(self: Any, other: Any, out: Any = None) -> Any:
    """self <= other. Raises NotImplementedError for complex."""
    return _ordered("le_cpu", np.less_equal, self, other, out)


def gt(self: Any, other: Any, out: Any = None) -> Any:
    """self > other. Raises NotImplementedError for complex."""
    return _ordered("gt_cpu", np.greater, self, other, out)


def ge(self: Any, other: Any, out: Any = None) -> Any:
    """self >= other. Raises NotImplementedError for complex."""
    return _ordered("ge_cpu", np.greater_equal, self, other, out)


def logical_and(self: Any, other: Any, out: Any = None) -> Any:
    """Whether both are different from zero."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_and)


def logical_or(self: Any, other: Any, out: Any = None) -> Any:
    """Whether at least one is different from zero."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_or)


def logical_xor(self: Any, other: Any, out: Any = None) -> Any:
    """Whether exactly one is different from zero."""
    return TensorIterator((self, other), out, result=bool_).run(np.logical_xor)


def _ordered(kernel: str, loop: Any, self: Any, other: Any, out: Any) -> Any:
    it = TensorIterator((self, other), out, result=bool_)
    if it.common_dtype.category == COMPLEX:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)
