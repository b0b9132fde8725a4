"""The part common to all pointwise operators (`aten/src/ATen/TensorIterator.cpp`).

Before a loop can run, several decisions are needed: the dtype to compute in, the shape that the
operands broadcast to, the output (given, or new, and then in which memory order), and the fewest
dimensions that the walk over memory needs. A `TensorIterator` makes these decisions in its
constructor, where you can look at them, and `run` calls numpy's loop with exactly these operands.
For large tensors machine code is used instead (`compiled/elementwise.py`).

    it = TensorIterator([a, b])
    it.common_dtype, it.shape, it.permutation, it.coalesced_shape
    result = it.run(np.add)

The decisions depend on the operands' geometries alone, so they are kept (`Decisions`) and serve the
next call with the same ones.

On another device the decisions are the same, and its backend runs the loop
(`BackendHooks.run_loop`; PyTorch has a `DispatchStub`).

How the real one differs: it decides anew in every call, splits the walk over threads and casts in
small buffers inside the loop; here an operand of another dtype is converted as a whole, and numpy
does the walk. PyTorch marks Python scalars by a flag on a 0-d tensor ("wrapped numbers").
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.allocator import LARGEST
from internals.core.backend_hooks import hooks
from internals.core.device import CPU, META
from internals.core.dtype import dtype
from internals.core.float_errors import quiet, restore
from internals.core.hot import hot
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, TensorImpl, array, empty
from internals.machine_code.settings import settings

from .decisions import Decisions, decide
from .overlap import check_no_internal_overlap, check_no_partial_overlap
from .writing import resize_output

_decided: dict[tuple[Any, ...], Decisions] = {}
REMEMBERED = 1 << 12  # decisions that are kept; then all are forgotten


class Watch(threading.local):
    """The listener to the loops that this thread's operators would run on tensors without memory:
    the JIT's fuser, or None.
    """

    loop: Callable[[TensorIterator, Decisions, Any], None] | None = None


watch = Watch()


class TensorIterator:
    """The decisions for one pointwise call.

    inputs: tensors and Python numbers.
    out: the tensor to write to, or None for a new one.
    promote: the dtype to compute in: "common" (the promoted dtype), "float" (the same, but integers
        become the default dtype), a dtype, "same" (nothing is converted: `out` has to have the one
        input's dtype), or None (the first operand is a condition and stays as it is, the others
        become `result`).
    result: the dtype of a new output; None for that of the computation.
    wide_scalars: keep numbers and 0-d operands after the first in single precision if the
        computation is in half.

    Attributes: `common_dtype`, `result_dtype`, `shape`, `output`, `fast_setup` ("contiguous",
    "channels_last" or "non_overlapping_dense" if all operands lie in memory in the same way, so
    that one run over it is enough; else None), `permutation` (dimensions from the outermost to the
    innermost in memory), `coalesced_shape` and `coalesced_strides` (in bytes; a tuple for each
    operand, the output first).

    Raises RuntimeError for shapes that do not broadcast, devices that differ, overlapping memory,
    and an `out` of the wrong shape (in place) or dtype.
    """

    __slots__ = ("inputs", "_output", "_decisions")

    def __init__(
        self,
        inputs: Sequence[Any],
        out: Any = None,
        promote: str | dtype | None = "common",
        result: dtype | None = None,
        wide_scalars: bool = False,
    ) -> None:
        self.inputs, self._output = inputs, out
        if out is not None:
            check_no_internal_overlap(out)
            for x in inputs:
                if isinstance(x, TensorImpl) and x is not out:
                    check_no_partial_overlap(out, x)
        # all that the decisions depend on: of a number only whether it is an int, a float, ...
        about = [getattr(x, "_geometry", x.__class__) for x in inputs]
        if out is not None:
            about += [out._geometry, any(x is out for x in inputs)]
        key = (promote, result, wide_scalars, dt.get_default_dtype(), *about)
        decisions = _decided.get(key)
        if decisions is None:
            if len(_decided) >= REMEMBERED:
                _decided.clear()
            decisions = _decided[key] = decide(inputs, out, promote, result, wide_scalars)
        self._decisions = decisions
        if decisions.resizes:
            resize_output(out, decisions.geometry.sizes)
            out._geometry, out._array = decisions.geometry, None

    def run(self, loop: Callable[..., Any]) -> Any:
        """Call `loop(*operands, out=...)`, a numpy ufunc or a function like one, on the coalesced
        operands. Returns the output.
        """
        output, decisions = self._output, self._decisions
        g, result_dtype = decisions.geometry, decisions.result_dtype
        if output is None:
            output = self._output = empty(g)
        if not g.numel:
            return output
        if g.device is not CPU:
            if g.device is not META:
                hooks(g.device.type).run_loop(self, decisions, loop)
            elif watch.loop is not None:
                watch.loop(self, decisions, loop)
            return output
        if (
            g.numel >= settings.least
            and not hot.readers
            and compiled().run_loop(self, decisions, loop, output)
        ):
            return output
        operands: list[Any] = (
            list(map(array, self.inputs)) if decisions.as_they_are else self._converted()
        )
        target = array(output)
        if decisions.fast_setup is None:
            # fewer dimensions mean longer inner loops in numpy
            shape, strides = decisions.walk([target, *operands])
            if shape != target.shape:
                target = _view(target, output, shape, strides[0])
                operands = [
                    _view(a, x, shape, s) for a, x, s in zip(operands, self.inputs, strides[1:])
                ]
        # numpy writes in the result's dtype; an `out` of another one gets a converted copy
        result = (
            target
            if output._geometry.dtype is result_dtype
            else np.empty(target.shape, result_dtype.np)
        )
        token = quiet()
        try:
            loop(*operands, out=result)
            if result is not target:
                target[...] = result
        finally:
            restore(token)
        return output

    @property
    def common_dtype(self) -> dtype:
        return self._decisions.common_dtype

    @property
    def result_dtype(self) -> dtype:
        return self._decisions.result_dtype

    @property
    def output(self) -> Any:
        if self._output is None:
            self._output = empty(self._decisions.geometry)
        return self._output

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._decisions.geometry.sizes)

    @property
    def fast_setup(self) -> str | None:
        return self._decisions.fast_setup

    @property
    def permutation(self) -> tuple[int, ...]:
        return self._decisions.permutation

    @property
    def coalesced_shape(self) -> tuple[int, ...]:
        return self._walk()[0]

    @property
    def coalesced_strides(self) -> list[tuple[int, ...]]:
        return self._walk()[1]

    def _walk(self) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        return self._decisions.walk([array(self.output), *self._converted()])

    def _converted(self) -> list[Any]:
        """The inputs as numpy arrays and scalars of the dtypes that were decided."""
        operands = []
        for x, target in zip(self.inputs, self._decisions.targets):
            if not isinstance(x, TensorImpl):
                operands.append(number(x, target))
            else:
                operands.append(
                    array(x) if x._geometry.dtype is target else array(x).astype(target.np)
                )
        return operands


@cache
def compiled() -> Any:
    """The module that runs loops as machine code, imported for the first large tensor."""
    from .compiled import elementwise

    return elementwise


def number(value: Any, target: dtype) -> Any:
    """A Python number as a numpy scalar of `target`. Integers that are too large wrap around, and
    floats become inf, as in a C cast.

    Raises OverflowError for an integer that does not fit into 64 bits, which C could not hold.
    """
    if target.category == dt.INTEGRAL and not isinstance(value, bool):
        if not ~LARGEST <= value <= 2 * LARGEST + 1:
            raise OverflowError(f"int too big to convert: {value}")
        bits = target.itemsize * 8
        wrapped = int(value) & ((1 << bits) - 1)
        return np.array(wrapped, dtype=f"u{target.itemsize}").view(target.np)[()]
    if target.category < dt.FLOATING or -6e4 < abs(value) < 6e4:  # float16 reaches 65504
        return target.np.type(value)
    with np.errstate(over="ignore"):
        return target.np.type(value)


def _view(
    a: Scalar | Array, x: float | Tensor, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    """Operand `a`, which has the elements of `x`, as an array of the coalesced shape."""
    if isinstance(a, np.generic):
        return a
    if isinstance(x, TensorImpl) and a is x._array:
        return np.ndarray(shape, a.dtype, x._storage.memory(), x._offset * a.itemsize, strides)
    return np.lib.stride_tricks.as_strided(a, shape, strides)
