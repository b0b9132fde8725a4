"""The bits of integers and bools: & | ^ (`aten/src/ATen/native/BinaryOps.cpp`).

For bool they are the logical connectives. Other dtypes raise NotImplementedError.

How the real one differs: shifts (`<<`, `>>`) are there too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import FLOATING


def bitwise_and(self: Any, other: Any, out: Any = None) -> Any:
    return _bits("bitwise_and_cpu", np.bitwise_and, self, other, out)


def bitwise_or(self: Any, other: Any, out: Any = None) -> Any:
    return _bits("bitwise_or_cpu", np.bitwise_or, self, other, out)


def bitwise_xor(self: Any, other: Any, out: Any = None) -> Any:
    return _bits("bitwise_xor_cpu", np.bitwise_xor, self, other, out)


def __and__(self: Any, other: Any) -> Any:
    return self.bitwise_and(other)


def __or__(self: Any, other: Any) -> Any:
    return self.bitwise_or(other)


def __xor__(self: Any, other: Any) -> Any:
    return self.bitwise_xor(other)


def _bits(kernel: str, loop: Any, self: Any, other: Any, out: Any) -> Any:
    it = TensorIterator((self, other), out)
    if it.common_dtype.category >= FLOATING:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)
