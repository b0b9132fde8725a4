"""Sizes under a trace: numbers that know the node they were computed by (`getSizeOf`,
`ArgumentStash` in `tracer.cpp`).

    y.view(x.size(0), -1)

If `x.size(0)` were the int 2, the trace would record `view(%y, [2, -1])` and be wrong for every
other x. So under a trace it is a 0-dim tensor, computed by `aten::size` and `prim::NumToTensor`,
and arithmetic with it is recorded like any other. When such a tensor is passed to an operator that
expects an int, the argument parser calls `as_int`: an `aten::Int` is inserted right after the node
of the tensor, and the operator gets a `TracedInt`, an int that carries the output of that node.

How the real one differs: see `internals.core.tracer` on the ArgumentStash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.device import CPU
from internals.core.dtype import int64
from internals.core.geometry import wrap_dim
from internals.core.size import Size
from internals.core.tensor_impl import Tensor, TensorImpl, from_array, host_array
from internals.core.tracer import TracedFloat, TracedInt
from internals.jit.ir import FloatType, Graph, IntType, NumberType, TensorType, Value

from .frames import asked_by_python, source_location

if TYPE_CHECKING:
    from .state import TracingState


class Sizes:
    """The part of `TracingState` for sizes. When an operator of the library asks, and not the
    user's code, the answers are plain ints.
    """

    graph: Graph

    def shape_of(self: TracingState, t: Tensor) -> Size:  # type: ignore[misc]
        """The result of `t.shape`: a Size of 0-dim tensors."""
        sizes = t._geometry.sizes
        if not asked_by_python():
            return sizes
        return tuple.__new__(Size, [self._size(t, d) for d in range(len(sizes))])

    def size_of(self: TracingState, t: Tensor, dim: int | None) -> Any:  # type: ignore[misc]
        """The result of `t.size()` or `t.size(dim)`: a Size, or one 0-dim tensor."""
        sizes = t._geometry.sizes
        if not asked_by_python():
            return sizes if dim is None else sizes[wrap_dim(dim, len(sizes))]
        if dim is None:
            return tuple.__new__(Size, [self._size(t, d) for d in range(len(sizes))])
        wrap_dim(dim, len(sizes))  # raises IndexError
        return self._size(t, dim)

    def numel_of(self: TracingState, t: Tensor) -> Any:  # type: ignore[misc]
        """The result of `t.numel()`: a 0-dim tensor."""
        n = t._geometry.numel
        if not asked_by_python():
            return n
        node = self.add(self.graph.create("aten::numel", [self.value_of(t)]))
        return self._number_as_tensor(n, node.output())

    def _size(self: TracingState, t: Tensor, dim: int) -> Any:  # type: ignore[misc]
        """The size of one dimension, as a 0-dim tensor; records `aten::size`."""
        value, at = self.value_of(t), self.constant(dim)
        node = self.add(self.graph.create("aten::size", [value, at]))
        return self._number_as_tensor(t._geometry.sizes[dim], node.output())

    def _number_as_tensor(self: TracingState, n: int, value: Value) -> Any:  # type: ignore[misc]
        """The int n, which `value` computes, as a 0-dim tensor that the trace knows."""
        value.setType(IntType.get())
        node = self.graph.insertNode(self.graph.create("prim::NumToTensor", [value]))
        node.output().setType(TensorType(int64, CPU, (), ()))
        with self.paused():
            t = from_array(np.asarray(n, dtype=np.int64))
        self._values[id(t)] = t, node.output()
        return t

    # And back

    def is_traced_number(self, t: object) -> bool:
        """Whether `t` is a tensor that may be passed as an int: one without dimensions."""
        return isinstance(t, TensorImpl) and not t._geometry.sizes

    def as_int(self: TracingState, t: Tensor) -> int:  # type: ignore[misc]
        """The int for a 0-dim tensor, with the value that an `aten::Int` computes from it."""
        return TracedInt(int(host_array(t)), self._back(t, "aten::Int"))

    def as_number(self: TracingState, t: Tensor) -> Any:  # type: ignore[misc]
        """The number for a 0-dim tensor that is passed as a `Scalar`. A bool or a complex becomes a
        constant.
        """
        number = host_array(t).item()
        if isinstance(number, (bool, complex)):
            return number
        kind = TracedInt if isinstance(number, int) else TracedFloat
        return kind(number, self._back(t, "aten::ScalarImplicit"))

    def _back(self: TracingState, t: Tensor, kind: str) -> Value:  # type: ignore[misc]
        """A new node of this kind that turns the tensor's value back into a number."""
        tensor = self.value_of(t)
        node = self.graph.create(kind, [tensor]).insertAfter(tensor.node())
        node.setSourceRange(source_location())
        node.output().setType(
            {"aten::Int": IntType, "aten::Float": FloatType}.get(kind, NumberType).get()
        )
        return node.output()
