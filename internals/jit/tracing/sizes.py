"""Sizes under a trace: numbers that remember where they came from (`getSizeOf`, `ArgumentStash` in
`tracer.cpp`).

    y.view(x.size(0), -1)

If `x.size(0)` were the int 2, the trace would say `view(%y, [2, -1])` and be wrong for every other
x. So under a trace it is a 0-dim tensor, computed by `aten::size` and `prim::NumToTensor`. Python
does arithmetic with it, which is recorded like any other. When an operator that wants an int is
given one, the argument parser asks for `as_int`: an `aten::Int` is inserted right behind what made
the tensor, and the int handed to the operator is a `TracedInt` that carries its output.

How the real one differs: see `internals.core.tracer` on the ArgumentStash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.device import CPU
from internals.core.dtype import int64
from internals.core.geometry import wrap_dim
from internals.core.size import Size
from internals.core.tensor_impl import TensorImpl, from_array, host_array
from internals.core.tracer import TracedFloat, TracedInt
from internals.jit.ir import FloatType, Graph, IntType, NumberType, TensorType, Value

from .frames import asked_by_python, source_location

if TYPE_CHECKING:
    from internals._tensor import Tensor

    from .state import TracingState


class Sizes:
    """Part of `TracingState`."""

    graph: Graph

    def shape_of(self: TracingState, t: Tensor) -> Size:  # type: ignore[misc]
        """What `t.shape` is: a Size of 0-dim tensors; a plain one for our own operators."""
        sizes = t._geometry.sizes
        if not asked_by_python():
            return sizes
        return tuple.__new__(Size, [self._size(t, d) for d in range(len(sizes))])

    def size_of(self: TracingState, t: Tensor, dim: int | None) -> Any:  # type: ignore[misc]
        sizes = t._geometry.sizes
        if not asked_by_python():
            return sizes if dim is None else sizes[wrap_dim(dim, len(sizes))]
        if dim is None:
            return tuple.__new__(Size, [self._size(t, d) for d in range(len(sizes))])
        wrap_dim(dim, len(sizes))  # raises IndexError
        return self._size(t, dim)

    def numel_of(self: TracingState, t: Tensor) -> Any:  # type: ignore[misc]
        n = t._geometry.numel
        if not asked_by_python():
            return n
        node = self.add(self.graph.create("aten::numel", [self.value_of(t)]))
        return self._number_as_tensor(n, node.output())

    def _size(self: TracingState, t: Tensor, dim: int) -> Any:  # type: ignore[misc]
        value, at = self.value_of(t), self.constant(dim)
        node = self.add(self.graph.create("aten::size", [value, at]))
        return self._number_as_tensor(t._geometry.sizes[dim], node.output())

    def _number_as_tensor(self: TracingState, n: int, value: Value) -> Any:  # type: ignore[misc]
        value.setType(IntType.get())
        node = self.graph.insertNode(self.graph.create("prim::NumToTensor", [value]))
        node.output().setType(TensorType(int64, CPU, (), ()))
        with self.paused():
            t = from_array(np.asarray(n, dtype=np.int64))
        self._values[id(t)] = t, node.output()
        return t

    # And back

    def is_traced_number(self, t: object) -> bool:
        """Whether a size may be given as this tensor."""
        return isinstance(t, TensorImpl) and not t._geometry.sizes

    def as_int(self: TracingState, t: Tensor) -> int:  # type: ignore[misc]
        """A 0-dim tensor that is used as an int."""
        return TracedInt(int(host_array(t)), self._back(t, "aten::Int"))

    def as_number(self: TracingState, t: Tensor) -> Any:  # type: ignore[misc]
        """A 0-dim tensor that is used as a `Scalar`."""
        number = host_array(t).item()
        if isinstance(number, (bool, complex)):
            return number
        kind = TracedInt if isinstance(number, int) else TracedFloat
        return kind(number, self._back(t, "aten::ScalarImplicit"))

    def _back(self: TracingState, t: Tensor, kind: str) -> Value:  # type: ignore[misc]
        tensor = self.value_of(t)
        node = self.graph.create(kind, [tensor]).insertAfter(tensor.node())
        node.setSourceRange(source_location())
        node.output().setType(
            {"aten::Int": IntType, "aten::Float": FloatType}.get(kind, NumberType).get()
        )
        return node.output()
