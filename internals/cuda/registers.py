"""The object `cuda` that a kernel sees while the interpreter runs it: the thread's indices, shared
and local arrays, atomics.

A GPU keeps the indices of a thread and of its block in special registers; here they are attributes
that the interpreter sets before it lets a thread run. Each `cuda.shared.array` in the source gives
one array to each block.

How the real one differs: shared memory is on the chip, and still holds the values of an earlier
block; here it is filled with NaN (or 113), so that a read before any write is noticed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core.scalar import Scalar

from .observer import Observer
from .warp import SHUFFLES, Request

if TYPE_CHECKING:
    from internals.cuda.interpreter import CheckedArray


class Dim3(NamedTuple):
    """A position or an extent in up to three dimensions."""

    x: int
    y: int
    z: int


class Registers:
    """The attributes of `cuda` that kernels use, under numba's names."""

    warpsize = 32

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = Dim3(0, 0, 0)
        self.blockDim = self.gridDim = Dim3(1, 1, 1)
        self.observer: Observer | None = None
        self.shared = _Shared(self)
        self.local = _Local()
        self.atomic = _Atomic(self)
        for kind in SHUFFLES:  # cuda.shfl_down_sync and the others
            setattr(self, kind, partial(self._shuffle, kind))

    def begin_launch(
        self, grid: Sequence[int], block: Sequence[int], observer: Observer | None
    ) -> None:
        self.gridDim, self.blockDim, self.observer = Dim3(*grid), Dim3(*block), observer

    def begin_block(self, index: Dim3) -> None:
        """Set the block's index, and drop the shared arrays of the block before it."""
        self.blockIdx = index
        self.shared.arrays = {}

    def grid(self, ndim: int) -> Any:
        """The position of the thread in the whole grid: an int for `ndim` 1, a tuple for 2 or 3."""
        index = [b * n + t for b, n, t in zip(self.blockIdx, self.blockDim, self.threadIdx)]
        return index[0] if ndim == 1 else tuple(index[:ndim])

    def gridsize(self, ndim: int) -> Any:
        """The number of threads of the grid in each dimension: an int for `ndim` 1, else a
        tuple.
        """
        n = [g * b for g, b in zip(self.gridDim, self.blockDim)]
        return n[0] if ndim == 1 else tuple(n[:ndim])

    @property
    def laneid(self) -> int:
        """The number of the thread in its warp, 0 to 31."""
        t, n = self.threadIdx, self.blockDim
        # threads are counted with x fastest, and every 32 of them are a warp
        return (t.x + n.x * (t.y + n.y * t.z)) % self.warpsize

    def _shuffle(
        self, kind: str, line: int, mask: int, value: Any, operand: int
    ) -> Iterator[Request]:
        """A shuffle such as `cuda.shfl_down_sync(mask, value, distance)`, in line `line`. The
        interpreter rewrites the call to `yield from` this generator, whose value is the answer.
        """
        request = Request(kind, line, self.laneid, mask, value, operand)
        yield request
        return request.answer

    def syncthreads(self) -> None:
        raise RuntimeError(
            "cuda.syncthreads() has to be written as such, with the module called `cuda`"
        )

    def threadfence(self) -> None:
        """Does nothing: here every write is visible to all threads at once."""


class _Shared:
    """`cuda.shared`: its `array` returns the same array to all threads of a block that call it from
    the same place in the source.
    """

    def __init__(self, registers: Registers) -> None:
        self.registers = registers
        self.arrays: dict[Any, Any] = {}

    def array(self, shape: int, dtype: Any, alignment: int | None = None) -> Any:
        """The block's array of this place in the source, made when its first thread gets there."""
        frame = sys._getframe(1)
        place = (frame.f_code, frame.f_lasti)  # the calling instruction
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
    """`cuda.local`: its `array` returns a new array, which only the calling thread has."""

    def array(self, shape: int, dtype: Any) -> Any:
        return _unwritten(shape, dtype)


class _Atomic:
    """`cuda.atomic`: reads, changes and writes an element as one step, and returns its old value.

    Here nothing else has to be done for that: a thread runs alone up to its next barrier.
    """

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
        """Set `array[index]` to `change` of it. An observer sees one atomic access."""
        observer = self.registers.observer
        if observer is not None:
            observer.in_atomic = True
        old = array[index]
        array[index] = change(old)
        if observer is not None:
            observer.in_atomic = False
        return old


class DeviceMath:
    """`math` as kernels see it. It computes in the precision of the argument, and returns inf or
    NaN where Python's `math` would raise.
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
    """A new array, filled with a value that is noticed if it is read before it is written: NaN, or
    113 for integers, True for bool.
    """
    kind = np.dtype(
        dtype if isinstance(dtype, (type, np.dtype)) else str(dtype)
    )  # the name of a type of numba is that of numpy's
    data = np.empty(shape if isinstance(shape, tuple) else (shape,), kind)
    if prod(data.shape):
        data.fill(np.nan if kind.kind in "fc" else kind.type(113 if kind.kind in "iu" else 1))
    return data
