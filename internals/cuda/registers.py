"""`cuda` as a kernel sees it while the interpreter runs it: who am I, and what do I share with my
block.

A GPU keeps the indices of a thread and of its block in special registers; here they are attributes
that the interpreter sets before it lets a thread run. Shared memory is one array a block for each
place in the source that asks for it.

How the real one differs: shared memory is on the chip and holds what the last block left there;
here it holds NaN (or 113), so that reading what was never written is seen."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .observer import Observer
from .warp import SHUFFLES, Request

if TYPE_CHECKING:
    from internals.core.scalar import Scalar
    from internals.cuda.interpreter import CheckedArray


class Dim3(NamedTuple):
    """A position or an extent in up to three dimensions."""

    x: int
    y: int
    z: int


class Registers:
    """The names under `cuda.` that kernels use."""

    warpsize = 32

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = Dim3(0, 0, 0)
        self.blockDim = self.gridDim = Dim3(1, 1, 1)
        self.observer: Observer | None = None
        self.shared = _Shared(self)
        self.local = _Local()
        self.atomic = _Atomic(self)
        for kind in SHUFFLES:
            setattr(self, kind, partial(self._shuffle, kind))

    def begin_launch(
        self, grid: Sequence[int], block: Sequence[int], observer: Observer | None
    ) -> None:
        self.gridDim, self.blockDim, self.observer = Dim3(*grid), Dim3(*block), observer

    def begin_block(self, index: Dim3) -> None:
        self.blockIdx = index
        self.shared.arrays = {}

    def grid(self, ndim: int) -> Any:
        """The position of the thread in the whole grid: an int for 1, tuples for 2 and 3."""
        at = [b * n + t for b, n, t in zip(self.blockIdx, self.blockDim, self.threadIdx)]
        return at[0] if ndim == 1 else tuple(at[:ndim])

    def gridsize(self, ndim: int) -> Any:
        """How many threads the grid has, in each dimension."""
        n = [g * b for g, b in zip(self.gridDim, self.blockDim)]
        return n[0] if ndim == 1 else tuple(n[:ndim])

    @property
    def laneid(self) -> int:
        """The place of the thread in its warp."""
        t, n = self.threadIdx, self.blockDim
        return (t.x + n.x * (t.y + n.y * t.z)) % self.warpsize

    def _shuffle(
        self, kind: str, line: int, mask: int, value: Any, operand: int
    ) -> Iterator[Request]:
        """`cuda.shfl_down_sync(mask, value, distance)` and its kin, in line `line`: to `yield
        from`, for the value.
        """
        request = Request(kind, line, self.laneid, mask, value, operand)
        yield request
        return request.answer

    def syncthreads(self) -> None:
        raise RuntimeError(
            "cuda.syncthreads() has to be written as such, with the module called `cuda`"
        )

    def threadfence(self) -> None:
        """Nothing to do: memory is seen by all at once."""


class _Shared:
    """`cuda.shared.array`: the same array for all threads of a block that ask at the same place of
    the source.
    """

    def __init__(self, registers: Registers) -> None:
        self.registers = registers
        self.arrays: dict[Any, Any] = {}

    def array(self, shape: int, dtype: Any, alignment: int | None = None) -> Any:
        frame = sys._getframe(1)
        place = (frame.f_code, frame.f_lasti)
        found = self.arrays.get(place)
        if found is None:
            data = _unwritten(shape, dtype)
            observer = self.registers.observer
            name = f"shared{len(self.arrays)}"
            found = self.arrays[place] = (
                data if observer is None else observer.shared_array(name, data)
            )
        return found


class _Local:
    """`cuda.local.array`: an array of one thread."""

    def array(self, shape: int, dtype: Any) -> Any:
        return _unwritten(shape, dtype)


class _Atomic:
    """Read, change and write as one step; each returns the old value."""

    def __init__(self, registers: Registers) -> None:
        self.registers = registers

    def add(self, array: CheckedArray, index: int, value: Scalar) -> Any:
        return self._change(array, index, lambda old: old + value)

    def max(self, array: CheckedArray, index: int, value: Scalar) -> Any:
        return self._change(array, index, lambda old: max(old, value))

    def min(self, array: CheckedArray, index: int, value: Scalar) -> Any:
        return self._change(array, index, lambda old: min(old, value))

    def exch(self, array: CheckedArray, index: int, value: Scalar) -> Any:
        return self._change(array, index, lambda old: value)

    def cas(self, array: CheckedArray, index: int, old: Scalar, value: Scalar) -> Any:
        return self._change(array, index, lambda found: value if found == old else found)

    def _change(self, array: CheckedArray, index: int, change: Callable[[Any], Any]) -> Any:
        observer = self.registers.observer
        if observer is not None:
            observer.in_atomic = True
        old = array[index]
        array[index] = change(old)
        if observer is not None:
            observer.in_atomic = False
        return old


class DeviceMath:
    """`math` as kernels see it: the precision of the argument, and inf or NaN where Python's `math`
    would raise.
    """

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan

    def __init__(self) -> None:
        same = (
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
            "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fabs", "hypot", "copysign", "fmod",
            "isnan", "isinf", "isfinite", "ldexp",
        )  # fmt: skip
        for name in same:
            setattr(self, name, getattr(np, name))
        other = {
            "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
            "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power",
        }  # fmt: skip
        for name, numpy_name in other.items():
            setattr(self, name, getattr(np, numpy_name))

    def erf(self, x: float) -> Any:
        return type(x)(math.erf(x))

    def erfc(self, x: float) -> Any:
        return type(x)(math.erfc(x))

    def lgamma(self, x: float) -> Any:
        try:
            return type(x)(math.lgamma(x))
        except (ValueError, OverflowError):  # at a pole, or too large
            return type(x)(math.inf)


def _unwritten(shape: int, dtype: Any) -> Any:
    """Memory nobody wrote to yet, filled with what is noticed."""
    kind = np.dtype(
        dtype if isinstance(dtype, (type, np.dtype)) else str(dtype)
    )  # numba's types are called as numpy's are
    data = np.empty(shape if isinstance(shape, tuple) else (shape,), kind)
    if prod(data.shape):
        data.fill(np.nan if kind.kind in "fc" else kind.type(113 if kind.kind in "iu" else 1))
    return data
