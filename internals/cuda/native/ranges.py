"""`arange` and `linspace` on the device (`aten/src/ATen/native/cuda/RangeFactories.cu`).

Floats are computed in their own precision (float16 in float32), on the CPU in double: the last
digit may differ between the two, as it does in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

from ..device_array import flat
from ..kernels import ranges as kernels
from ..launch import launch_1d
from .opmath import opmath_type


def arange(out: Tensor, start: int, step: float) -> None:
    """start, start + step, ... in a contiguous tensor of integers or floats."""
    kind, n = out.dtype, out.numel()
    C = np.int64 if kind.category == dt.INTEGRAL else opmath_type(kind)
    number = int if C is np.int64 else float
    launch_1d(
        kernels.arange.bind(T=kind.np.type, C=C), n, flat(out), n, C(number(start)), C(number(step))
    )


def linspace(out: Any, start: Any, end: Any) -> None:
    """Evenly spaced values from `start` to `end` in a contiguous tensor; both are numbers that its
    dtype can hold.
    """
    kind, n = out.dtype, out.numel()
    C = np.float32 if kind.category == dt.INTEGRAL else opmath_type(kind)
    low, high = C(start), C(end)
    with np.errstate(all="ignore"):  # infinite ends give NaN
        step = C((high - low) / C(max(n - 1, 1)))
    launch_1d(
        kernels.linspace.bind(T=kind.np.type, C=C),
        n,
        flat(out),
        n,
        low,
        high if n > 1 else low,
        step,
    )
