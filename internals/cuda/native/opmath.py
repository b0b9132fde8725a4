"""The types in which a kernel computes: `opmath_type` and `acc_type` (`aten/src/ATen/OpMathType.h`,
`AccumulateType.h`).

A kernel names a type by numpy's scalar type, for example `np.float32`, which converts its argument
when it is called. Numbers of half precision are computed in single precision and rounded once, when
they are stored: that costs no time, because the kernel waits for memory anyway. Integers are added
in 64 bits.

How the real one differs: it adds integers of up to 32 bits in 32 bits if the result is no wider;
bfloat16 has the same rule as half precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import BY_NUMPY, dtype


def opmath_type(d: dtype) -> Any:
    """The numpy scalar type in which elements of `d` are computed: float32 for float16, else that
    of `d`.
    """
    return opmath_dtype(d).np.type


def opmath_dtype(d: dtype) -> dtype:
    """`opmath_type` as a dtype."""
    return dt.float32 if d is dt.float16 else d


def acc_type(d: dtype) -> Any:
    """The numpy scalar type in which elements of `d` are added up: float32 for float16, int64 for
    integers and bools.
    """
    return opmath_type(d) if d.is_floating_point else np.int64


def scalar_type(d: dtype) -> Any:
    """The numpy scalar type of `d` itself, for reading and storing."""
    return d.np.type


def dtype_of(T: Any) -> dtype:
    """The dtype whose numpy scalar type is `T`."""
    return BY_NUMPY[np.dtype(T)]
