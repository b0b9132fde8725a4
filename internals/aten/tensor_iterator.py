"""What all pointwise operators have in common (`aten/src/ATen/TensorIterator.cpp`).

Before a loop can run, somebody has to decide: which dtype to compute in, what shape the operands broadcast to, what the output
is (given, or new: then in which memory order), and how few dimensions the walk over memory really needs. A `TensorIterator`
makes these decisions in its constructor, where they can be looked at, and `run` hands numpy's loop exactly the operands it
decided on. Large tensors are walked over by machine code instead (`compiled/elementwise.py`).

    it = TensorIterator([a, b])
    it.common_dtype, it.shape, it.permutation, it.coalesced_shape
    result = it.run(np.add)

Two things make it quick. Most calls need no decision, because their operands have one geometry, which identity tells. And what is
decided depends on nothing but the operands' geometries, so it is kept (`Decisions`) and serves the next call with the same
ones.

On another device the decisions are the same, and its backend runs the loop (`BackendHooks.run_loop`; PyTorch has a
`DispatchStub`).

How the real one differs: it decides anew in every call, splits the walk over threads and casts in small buffers inside the loop;
here an operand of another dtype is converted as a whole, and numpy walks. PyTorch tells wrapped numbers (Python scalars) by a
flag on a 0-d tensor.
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
from internals.core.geometry import Geometry, like
from internals.core.tensor_impl import TensorImpl, array, empty
from internals.machine_code.settings import settings

from .decisions import Decisions, decide
from .overlap import check_no_internal_overlap, check_no_partial_overlap
from .writing import resize_output

_REAL_NUMBERS = frozenset((float, int, bool))
_decided: dict[tuple[Any, ...], Decisions] = {}
REMEMBERED = 1 << 12


class Watch(threading.local):
    """Who hears of the loops that this thread's operators ask for on tensors without memory: the JIT's fuser, or nobody."""

    loop: Callable[[TensorIterator, Decisions, Any], None] | None = None


watch = Watch()


class TensorIterator:
    """The decisions for one pointwise call.

    `inputs` are tensors and Python numbers. `out` is the tensor to write to, or None for a new one. `promote` says what to
    compute in: "common" (the promoted dtype), "float" (the same, but integers become the default dtype), a dtype, "same"
    (nothing is converted: `out` has to have the one input's dtype), or None (the first operand is a condition and stays as it is,
    the others become `result`).
    `result` is the dtype of a new output; the computation's when None. `wide_scalars` keeps numbers and 0-d operands after the
    first in single precision when the computation is in half.

    Attributes: `common_dtype`, `result_dtype`, `shape`, `output`, `fast_setup` ("contiguous", "channels_last",
    "non_overlapping_dense": all operands lie in memory in the same way and one run over it does; else None), `permutation`
    (dimensions from the outermost to the innermost in memory), `coalesced_shape` and `coalesced_strides` (in bytes; one tuple
    an operand, the output first).

    Raises RuntimeError for shapes that do not broadcast, devices that differ, overlapping memory, and an `out` of the wrong
    shape (in place) or dtype.
    """

    __slots__ = ("inputs", "common_dtype", "result_dtype", "_geometry", "_output", "_decisions")

    def __init__(
        self,
        inputs: Sequence[Any],
        out: Any = None,
        promote: str | dtype | None = "common",
        result: dtype | None = None,
        wide_scalars: bool = False,
    ) -> None:
        self.inputs, self._output = inputs, out
        self._decisions: Decisions | None = None
        if promote.__class__ is str:
            g = shared_geometry(inputs)
            if g is not None and (out is None or (result is None and _may_write(out, g, inputs))):
                self.common_dtype = g.dtype
                self.result_dtype, self._geometry = (g.dtype, g) if result is None else (result, like(g, result))
                return
        if out is not None:
            check_no_internal_overlap(out)
            for x in inputs:
                if isinstance(x, TensorImpl):
                    check_no_partial_overlap(out, x)
        decisions = self._decisions = _decisions(inputs, out, promote, result, wide_scalars)
        self.common_dtype, self.result_dtype = decisions.common_dtype, decisions.result_dtype
        self._geometry = decisions.geometry
        if decisions.resizes:
            resize_output(out, decisions.geometry.sizes)
            out._geometry, out._array = decisions.geometry, None

    def run(self, loop: Callable[..., Any]) -> Any:
        """Call `loop(*operands, out=...)`, a numpy ufunc or anything with its signature, over the coalesced operands."""
        output = self._output
        if output is None:
            output = self._output = empty(self._geometry)
        decisions = self._decisions
        if self._geometry.numel >= settings.least and self._run_compiled(loop, output):
            return output
        if decisions is None:
            self._run_as_is(loop, array(output))
            return output
        if not self._geometry.numel:
            return output
        if (where := self._geometry.device) is not CPU:
            if where is not META:
                hooks(where.type).run_loop(self, decisions, loop)
            elif watch.loop is not None:
                watch.loop(self, decisions, loop)
            return output
        operands, target = self._operands(decisions), array(output)
        if decisions.fast_setup is None:
            shape, strides = decisions.walk([target, *operands])
            if shape != target.shape:
                target = _view(target, output, shape, strides[0])
                operands = [_view(a, x, shape, s) for a, x, s in zip(operands, self.inputs, strides[1:])]
        result = target if output._geometry.dtype is self.result_dtype else np.empty(target.shape, self.result_dtype.np)
        token = quiet()
        try:
            loop(*operands, out=result)
            if result is not target:
                target[...] = result
        finally:
            restore(token)
        return output

    def _run_compiled(self, loop: Callable[..., Any], output: Any) -> bool:
        """Have machine code do it, if that pays; False if it did not."""
        g = self._geometry
        if g.device is not CPU or not g.numel:
            return False
        return bool(compiled().run_loop(self, self._decisions, loop, output))

    def _run_as_is(self, loop: Callable[..., Any], target: Any) -> None:
        """One geometry: nothing to convert, nothing to coalesce. One and two operands, the usual cases, without a list."""
        common = (
            None if loop.__class__ is np.ufunc else self.common_dtype
        )  # ufuncs know what to do with a Python number
        inputs = self.inputs
        if len(inputs) == 1:
            a = array(inputs[0])
        elif len(inputs) == 2:
            a, b = inputs
            a = _as_it_is(a, common) if a.__class__ in _REAL_NUMBERS else array(a)
            b = _as_it_is(b, common) if b.__class__ in _REAL_NUMBERS else array(b)
        else:
            operands = [_as_it_is(x, common) if x.__class__ in _REAL_NUMBERS else array(x) for x in inputs]
        token = quiet()
        try:
            if len(inputs) == 1:
                loop(a, out=target)
            elif len(inputs) == 2:
                loop(a, b, out=target)
            else:
                loop(*operands, out=target)
        finally:
            restore(token)

    @property
    def output(self) -> Any:
        if self._output is None:
            self._output = empty(self._geometry)
        return self._output

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._geometry.sizes)

    @property
    def fast_setup(self) -> str | None:
        return "contiguous" if self._decisions is None else self._decisions.fast_setup

    @property
    def permutation(self) -> tuple[int, ...]:
        return self._full_decisions().permutation

    @property
    def coalesced_shape(self) -> tuple[int, ...]:
        return self._walk()[0]

    @property
    def coalesced_strides(self) -> list[tuple[int, ...]]:
        return self._walk()[1]

    def _walk(self) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        decisions = self._full_decisions()
        return decisions.walk([array(self.output), *self._operands(decisions)])

    def _full_decisions(self) -> Decisions:
        """What was decided, worked out now if the operands' one geometry had made it unnecessary."""
        if self._decisions is not None:
            return self._decisions
        return decide(self.inputs, self._output, self.common_dtype, self.result_dtype, False)

    def _operands(self, decisions: Decisions) -> list[Any]:
        """The inputs as numpy arrays and scalars of the dtypes decided on."""
        operands = []
        for x, target in zip(self.inputs, decisions.targets):
            if not isinstance(x, TensorImpl):
                operands.append(number(x, target))
            else:
                operands.append(array(x) if x._geometry.dtype is target else array(x).astype(target.np))
        return operands


@cache
def compiled() -> Any:
    """Machine code for loops: imported when the first large tensor comes."""
    from .compiled import elementwise

    return elementwise


def shared_geometry(inputs: Sequence[Any]) -> Geometry | None:
    """The one `Geometry` of all tensors among `inputs`, if it is a `fast` one and the numbers do not change the dtype."""
    shared = None
    for x in inputs:
        if x.__class__ in _REAL_NUMBERS:
            continue
        g = getattr(x, "_geometry", None)
        if g is None:
            return None
        g = g.without_grad
        if g is not shared:
            if shared is not None:
                return None
            shared = g
    if shared is None or not shared.fast or (shared.dtype is dt.float16 and len(inputs) > 1):
        return None
    return shared


def number(value: Any, target: dtype) -> Any:
    """A Python number as a numpy scalar of `target`; integers wrap around and floats become inf, as a C cast would do it.

    Raises OverflowError for an integer that does not fit into 64 bits and so could not have come from C.
    """
    if target.category == dt.INTEGRAL and not isinstance(value, bool):
        if not ~LARGEST <= value <= 2 * LARGEST + 1:
            raise OverflowError(f"int too big to convert: {value}")
        bits = target.itemsize * 8
        wrapped = int(value) & ((1 << bits) - 1)
        return np.array(wrapped, dtype=f"u{target.itemsize}").view(target.np)[()]
    if target.category < dt.FLOATING or -6e4 < abs(value) < 6e4:
        return target.np.type(value)
    with np.errstate(over="ignore"):
        return target.np.type(value)


def _as_it_is(value: Any, target: dtype | None) -> Any:
    return value if target is None else number(value, target)


def _may_write(out: TensorImpl, g: Geometry, inputs: Sequence[Any]) -> bool:
    """Whether `out` has the geometry of the inputs and each of them is either `out` itself or elsewhere in memory."""
    if out._geometry.without_grad is not g:
        return False
    storage = out._storage
    return all(x is out or x.__class__ in _REAL_NUMBERS or x._storage is not storage for x in inputs)


def _decisions(inputs: Sequence[Any], out: Any, promote: Any, result: Any, wide_scalars: bool) -> Decisions:
    """The decisions for operands of these geometries, made once."""
    about = [x._geometry if isinstance(x, TensorImpl) else x.__class__ for x in inputs]
    if out is not None:
        about += [out._geometry, any(x is out for x in inputs)]
    key = (promote, result, wide_scalars, dt.get_default_dtype(), out is None, *about)
    found = _decided.get(key)
    if found is None:
        if len(_decided) >= REMEMBERED:
            _decided.clear()
        found = _decided[key] = decide(inputs, out, promote, result, wide_scalars)
    return found


def _view(a: Any, x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Operand `a`, which holds the elements of `x`, as an array of the coalesced shape."""
    if isinstance(a, np.generic):
        return a
    if isinstance(x, TensorImpl) and a is x._array:
        return np.ndarray(shape, a.dtype, x._storage.memory(), x._offset * a.itemsize, strides)
    return np.lib.stride_tricks.as_strided(a, shape, strides)
