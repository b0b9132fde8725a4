"""Tensors that count, made where they are wanted (`aten/src/ATen/native/cuda/RangeFactories.cu`).

Floats are computed in their own precision here (float16 in float32), while the CPU has vectors to do it in double: the last digit
may differ between the two, as it does in PyTorch.

How the real one differs: it is the same there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt

from ..device_array import flat
from ..kernels import ranges as kernels
from ..launch import launch_1d
from .opmath import opmath_type


def fill_arange(out: Any, start: Any, step: Any) -> Any:
    """start, start + step, ... in a contiguous tensor of integers or floats."""
    kind, n = out.dtype, out.numel()
    C = np.int64 if kind.category == dt.INTEGRAL else opmath_type(kind)
    number = int if C is np.int64 else float
    launch_1d(kernels.arange.bind(T=kind.np.type, C=C), n, flat(out), n, C(number(start)), C(number(step)))
    return out


def fill_linspace(out: Any, start: Any, end: Any) -> Any:
    """Evenly spaced values from `start` to `end` in a contiguous tensor; both are numbers that its dtype holds."""
    kind, n = out.dtype, out.numel()
    C = np.float32 if kind.category == dt.INTEGRAL else opmath_type(kind)
    low, high = C(start), C(end)
    with np.errstate(all="ignore"):
        step = C((high - low) / C(max(n - 1, 1)))
    launch_1d(kernels.linspace.bind(T=kind.np.type, C=C), n, flat(out), n, low, high if n > 1 else low, step)
    return out


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for kind in (dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64):
        array, T = f"{kind.name}[:]", kind.np.type
        whole = kind.category == dt.INTEGRAL
        C, D = (np.int64, np.float32) if whole else (opmath_type(kind), opmath_type(kind))
        found.append((kernels.arange.bind(T=T, C=C), (array, int, C, C)))
        found.append((kernels.linspace.bind(T=T, C=D), (array, int, D, D, D)))
    return found
