"""`arange` and `linspace` (`aten/src/ATen/native/cuda/RangeFactories.cu`): element i is computed
from i alone, so that no thread needs another's result and rounding errors do not add up.

A thread takes every element whose number is its own plus a multiple of the number of threads
(`cuda.gridsize(1)`), so one launch serves any n. Each intermediate result is cast to C: the
compiler's rules would widen a float32 times an int to float64, which PyTorch does not do.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import cuda, kernel, template

T = template("T")  # the dtype of the elements
C = template("C")  # the dtype to compute in


@kernel
def arange(out: Elements, n: int, start: Element, step: Element):
    """out[i] = start + step * i."""
    i = cuda.grid(1)
    while i < n:
        out[i] = T(C(start + C(step * C(i))))
        i += cuda.gridsize(1)


@kernel
def linspace(out: Elements, n: int, start: Element, end: Element, step: Element):
    """out[i] from `start` to `end`. The first half counts up from `start`, the second down from
    `end`, so that both ends are exact.
    """
    i = cuda.grid(1)
    while i < n:
        if i < n // 2:
            out[i] = T(C(start + C(step * C(i))))
        else:
            out[i] = T(C(end - C(step * C(n - i - 1))))
        i += cuda.gridsize(1)
