"""The bits of integers and bools: & | ^, and shifts (`aten/src/ATen/native/BinaryOps.cpp`).

For bool & | ^ are the logical connectives, and shifts are refused. Other dtypes raise NotImplementedError. Shifting by more
places than there are, or by fewer than none, shifts every bit out: what is left is 0, or -1 of a negative number shifted right.

How the real one differs: C++ leaves such shifts undefined, so its loops ask first; numpy's do that too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import FLOATING

from .real import integral


def bitwise_and(self: Any, other: Any, out: Any = None) -> Any:
    """The bits that are 1 in both."""
    return _bits("bitwise_and_cpu", np.bitwise_and, self, other, out)


def bitwise_or(self: Any, other: Any, out: Any = None) -> Any:
    """The bits that are 1 in either."""
    return _bits("bitwise_or_cpu", np.bitwise_or, self, other, out)


def bitwise_xor(self: Any, other: Any, out: Any = None) -> Any:
    """The bits that differ."""
    return _bits("bitwise_xor_cpu", np.bitwise_xor, self, other, out)


def bitwise_left_shift(self: Any, other: Any, out: Any = None) -> Any:
    """self · 2**other, what does not fit cut off."""
    return integral("lshift_cpu", np.left_shift, self, other, out=out)


def bitwise_right_shift(self: Any, other: Any, out: Any = None) -> Any:
    """self / 2**other rounded down: the sign is shifted in."""
    return integral("rshift_cpu", np.right_shift, self, other, out=out)


def _bits(kernel: str, loop: Any, self: Any, other: Any, out: Any) -> Any:
    it = TensorIterator((self, other), out)
    if it.common_dtype.category >= FLOATING:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)
