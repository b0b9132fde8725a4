"""`CopySlices`: the history of a tensor after an in-place operation on a part of it
(`torch/csrc/autograd/functions/tensor.cpp`).

`y[0:2].mul_(3)` gives `y` new values inside the slice only. The gradient of the old `y` is, outside
the slice, that of the new one; inside, it has to go back through the multiplication. So this node
holds the node `fn` of the in-place operation, cuts the slice out of the gradient, applies `fn` to
it and puts the result in its place.

Where the base is complex and the view real, or the other way round, the slice is cut out of their
real numbers (`complex_views.py`).

How the real one differs: views that strides cannot describe are replayed by functions (`view_fn`)
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.tensor_impl import Tensor

from . import complex_views
from .node import Edge, Node
from .saved_variable import ERR_BACKWARD_TWICE


class CopySlices(Node):
    """The new history of `base`, which was written to through `view` by the operation of `fn`;
    `base_edge` leads to the history it had before. The geometries and offsets of both are kept to
    find the slice in a gradient.
    """

    __slots__ = ("base_geometry", "base_offset", "view_geometry", "view_offset", "fn")

    saves = True

    def __new__(cls, base: Tensor, view: Tensor, fn: Node, base_edge: Edge) -> Any:
        node = super().__new__(cls)
        node.base_geometry, node.base_offset = base._geometry.without_grad, base._offset
        node.view_geometry, node.view_offset = view._geometry.without_grad, view._offset
        node.fn = fn
        node.next_edges = (base_edge, *fn.next_edges[1:])
        node.input_metadata = (node.base_geometry,)
        return node

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients of the old base and of the other operands of `fn`, from that of the
        base.
        """
        grad = grads[0]
        if grad is None:
            return (None,) * len(self.next_edges)
        if self.fn is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        g, v = self.base_geometry, self.view_geometry
        # a copy of the gradient with the strides of the base, so that the view's strides fit
        result = grad.new_empty_strided(g.sizes, g.strides)
        result.copy_(grad)
        same = v.dtype is g.dtype
        if same:
            piece = result.as_strided(v.sizes, v.strides, self.view_offset - self.base_offset)
            fn_grads = [piece.clone()]
        else:
            piece = complex_views.part(result, self.base_offset, v, self.view_offset)
            fn_grads = [complex_views.of_kind(piece.clone(), v.dtype)]
        # `fn` has an edge for each operand; its first led to the old slice. `first[0]`, the
        # gradient of the old slice, becomes part of that of the old base; the others are passed on.
        first = self.fn.apply(fn_grads)
        if self.next_edges[0][0] is None:
            return (None, *first[1:])
        if first[0] is None:
            piece.zero_()
        else:
            piece.copy_(first[0] if same else complex_views.numbers(first[0]))
        return (result, *first[1:])

    def release_variables(self) -> None:
        self.fn = None

    @property
    def released(self) -> bool:
        return self.fn is None
