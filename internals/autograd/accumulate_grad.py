"""`AccumulateGrad`: where a gradient arrives at a leaf
(`torch/csrc/autograd/functions/accumulate_grad.h`).

The first gradient becomes `.grad`: as it is, if nothing else refers to it and it has the layout of
the leaf, else as a copy. Later ones are added: in place, so that `.grad` stays the same tensor, or,
while the graph of the gradient itself is being recorded (`create_graph`), as a new tensor.

How the real one differs: the variable holds the node weakly and the graph keeps both alive, so it
is made anew for every graph; it also knows sparse gradients, and locks the variable against other
threads.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any

from internals.aten.overlap import is_non_overlapping_and_dense
from internals.core.formats import contiguous_format
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor, autograd_meta, make

from .node import Node

# The number of references to a gradient that was made for the leaf alone: from the list of
# arguments, the local variable, and getrefcount's argument.
_UNSHARED = 3
# that to a tensor of which only a view is left: from the view's meta, and getrefcount's argument
_HELD_BY_ITS_VIEW = 2


class AccumulateGrad(Node):
    """Adds the gradient it gets to `variable.grad`. Its sequence number is infinite: it runs as
    soon as it is ready.

    A leaf has one, made when it is first needed (`internals.autograd.history.grad_accumulator`).
    The leaf refers to the node, so the node must not refer to the leaf: in a cycle, neither would
    be freed at once. If the leaf is gone while a graph still leads here, `variable` is made again
    on the same memory.
    """

    __slots__ = ("_leaf", "_storage", "_geometry", "_offset", "_remade", "_grad")

    def __new__(cls, variable: Tensor) -> Any:
        node = object.__new__(cls)  # it uses up no sequence number
        node.sequence_nr, node.next_edges, node.extras = float("inf"), (), None
        node.look_at(variable)
        return node

    def look_at(self, variable: Tensor) -> None:
        """Accumulate in `variable` from now on."""
        self._leaf = weakref.ref(variable)
        self._storage, self._geometry, self._offset = (
            variable._storage,
            variable._geometry,
            variable._offset,
        )
        self._remade, self._grad = False, None
        self.input_metadata = (variable._geometry.without_grad,)

    @property
    def variable(self) -> Any:
        """The leaf, or, if it is gone, a new tensor on its memory with its hooks and `.grad`."""
        leaf = self._leaf()
        if leaf is None:
            leaf = make(self._storage, self._geometry, self._offset)
            meta = autograd_meta(leaf)
            meta.accumulator, meta.hooks, meta.grad = self, self.extras, self._grad
            self._leaf, self._remade = weakref.ref(leaf), True
        return leaf

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """Sets `.grad` of the leaf, or adds to it, and runs its post-accumulate hooks."""
        grad = grads[0]
        if grad is None:
            return ()
        variable = self.variable
        meta: Any = variable._autograd_meta
        if meta.edge is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        if not variable.requires_grad:
            return ()
        old = meta.grad
        if old is None:
            kept = _kept(grad, variable) if sys.getrefcount(grad) <= _UNSHARED else None
            meta.grad = _copy(grad, variable) if kept is None else kept
        elif is_grad_enabled():
            meta.grad = old + grad
        else:
            old.add_(grad)
        if self._remade:  # hooks may let go of the new tensor: the next one needs its gradient
            self._grad = meta.grad
        extras = self.extras
        if extras is not None and extras.post_accumulate:
            for hook in list(extras.post_accumulate.values()):
                hook(variable)
        return ()

    def _sequence_nr(self) -> int:
        return (1 << 64) - 1


def _kept(grad: Tensor, variable: Tensor) -> Any:
    """The gradient itself, if it has the layout of the variable and no other tensor uses its
    memory; None if it has to be copied.

    A view whose base has no other reference counts too: a new tensor takes over its memory.
    """
    if grad._geometry is not variable._geometry.without_grad or is_grad_enabled():
        return None
    meta = grad._autograd_meta
    if meta is None:
        return grad
    if meta.base is not None and sys.getrefcount(meta.base) <= _HELD_BY_ITS_VIEW:
        return make(grad._storage, grad._geometry, grad._offset, grad._array)
    return None


def _copy(grad: Any, variable: Tensor) -> Any:
    """A copy in the layout of the variable, or contiguous if that has gaps or overlaps."""
    g = variable._geometry
    if grad.stride() == g.strides:
        return grad.clone() if is_grad_enabled() else grad.detach().clone()
    if not is_non_overlapping_and_dense(g.sizes, g.strides):
        return grad.clone(memory_format=contiguous_format)
    fresh = grad.new_empty_strided(g.sizes, g.strides)
    return fresh.copy_(grad)
