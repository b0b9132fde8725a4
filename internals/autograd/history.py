"""Tying tensors to the graph (`torch/csrc/autograd/VariableTypeUtils.h`, `variable.cpp`).

The kernels of the Autograd key do the same few things around every operator (`kernel.py`):

    next_edges = (gradient_edge(self), gradient_edge(other))  where the gradients will have to go
    set_history(result, node)                                 the result came from here
    check_inplace(self); ...; rebase_history(self, node)      when `self` itself was written to

Writing to a *view* changes the history of its base: the gradient of the base now has to go through
the operation on that part. `CopySlices` is the node for it. The view itself, and all other views of
this base, get a new history when they are next used: that of an `as_strided` of the base.

How the real one differs: each use of a view asks the base whether it requires a gradient; here a
base that begins to require one changes its existing views (`_update_views`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any

from internals.core.dispatch_key import RECORDS
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.dtype import FLOATING
from internals.core.geometry import requiring_grad
from internals.core.tensor_impl import AutogradMeta, Tensor, TensorImpl, autograd_meta

from .accumulate_grad import AccumulateGrad
from .node import NO_EDGE, Edge, Node

_new = object.__new__


def gradient_edge(t: Any) -> Edge:
    """The edge along which the gradient of `t` goes: to the node that made it, or to the
    `AccumulateGrad` of a leaf. `NO_EDGE` if `t` is None or requires no gradient.
    """
    if t is None or not t._geometry.keys & RECORDS:
        return NO_EDGE
    meta = t._autograd_meta
    if meta is None:
        meta = autograd_meta(t)
    elif meta.base is not None:
        _refresh_view(t, meta)
    return meta.edge or (meta.accumulator or grad_accumulator(t, meta), 0)


def gradient_edges(tensors: Any) -> tuple[Edge, ...]:
    """One edge for each tensor of a list."""
    return tuple([gradient_edge(t) for t in tensors])


def grad_accumulator(t: Any, meta: AutogradMeta | None = None) -> AccumulateGrad:
    """The `AccumulateGrad` of a leaf, made when it is first asked for."""
    if meta is None:
        meta = autograd_meta(t)
    if meta.accumulator is None:
        meta.accumulator = AccumulateGrad(t)
        meta.accumulator.extras = meta.hooks
    return meta.accumulator


def grad_fn(t: Any) -> Any:
    """The node that made `t`, or None for a leaf. A view's history is first brought up to date."""
    meta = t._autograd_meta
    if meta is None:
        return None
    if meta.base is not None and t._geometry.keys & RECORDS:
        _refresh_view(t, meta)
    return None if meta.edge is None else meta.edge[0]


def set_history(t: Any, node: Node, output_nr: int = 0) -> Any:
    """Makes `t` output `output_nr` of `node`, and returns `t`. Integers and None get no history,
    only an entry in the node's metadata.
    """
    if t is None:
        node.input_metadata += (None,)
        return t
    g = t._geometry
    if g.dtype.category < FLOATING:
        node.input_metadata += (None,)
        return t
    t._geometry = g.with_grad or requiring_grad(g)
    meta = t._autograd_meta
    # as `AutogradMeta()`, without the call of `__init__`: each recorded operator comes here
    if meta is None:
        meta = t._autograd_meta = _new(AutogradMeta)
        meta.grad = meta.accumulator = meta.hooks = None
        meta.retains_grad = False
    meta.edge = (node, output_nr)
    node.input_metadata += (g.without_grad,)
    return t


def below(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Runs `op` in the layers below autograd, through the dispatcher."""
    return dispatcher.redispatch(op, keys, *args)


def not_differentiable(op: str, argument: str) -> RuntimeError:
    """The error for a tensor that requires grad, given as an argument that has no derivative."""
    return RuntimeError(
        f"The function '{op}' is not differentiable with respect to argument '{argument}'. This "
        "input cannot have requires_grad True."
    )


def forget_history(t: Tensor) -> None:
    """Gives `t` a new history after an operation that no gradient passes, such as `eq_`."""
    node = Overwritten()
    node.next_edges = (gradient_edge(t),)
    rebase_history(t, node)


class Overwritten(Node):
    """The node of a tensor whose old values have no influence any more: their gradient is zero."""

    __slots__ = ()

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        return (None if grads[0] is None else grads[0].new_zeros(grads[0].shape),)


def check_inplace(t: Any) -> None:
    """Raises RuntimeError if a write to `t` cannot be recorded: if it is a leaf that requires a
    gradient, a view of one, or a view that may not be written to.
    """
    meta = t._autograd_meta
    if meta is not None and meta.base is not None:
        _check_view(meta)
    if t._geometry.keys & RECORDS:
        if grad_fn(t) is None:  # a leaf: its `.grad` would belong to values that are overwritten
            base = None if meta is None else meta.base
            what = (
                "a leaf Variable"
                if base is None or not base.requires_grad
                else "a view of a leaf Variable"
            )
            raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
        if meta.base is not None and meta.base.requires_grad and grad_fn(meta.base) is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )


def rebase_history(t: Tensor, node: Node) -> None:
    """Makes `node` the history of `t`, which its operation has written to. If `t` is a view, its
    base gets a `CopySlices` as its history, which contains `node`.
    """
    meta = autograd_meta(t)
    g = t._geometry
    node.input_metadata = (g.without_grad,)
    base = meta.base
    if base is None:
        _move_retain_grad(meta, node)
        begins = not g.keys & RECORDS
        t._geometry = requiring_grad(g)
        meta.edge = (node, 0)
        if begins:
            _update_views(t)
        return
    from .copy_slices import CopySlices

    begins = not base._geometry.keys & RECORDS
    slices = CopySlices(base, t, node, gradient_edge(base))
    base_meta = autograd_meta(base)
    _move_retain_grad(base_meta, slices)
    base_meta.edge = (slices, 0)
    base._geometry = requiring_grad(base._geometry)
    t._geometry = requiring_grad(t._geometry)
    if begins:
        _update_views(base)
    # the write raised the version, so the view is out of date: it gets its history from the base
    _refresh_view(t, meta)


def set_history_of_inplace_view(t: Any, node: Node) -> None:
    """Makes `node` the history of `t`, which became another view of its memory, for instance by
    `t.transpose_(0, 1)`. No element was written, so the history of its base stays.
    """
    set_history(t, node)
    if t._base is not None:
        t._autograd_meta.attr_version = t._version


def _check_view(meta: Any, event: str = "is being") -> None:
    """Raises RuntimeError for a write to a view that may not be written to, or, with another
    `event`, to the memory below it. `creation_meta` has the reason.
    """
    why = meta.creation_meta
    if not why:
        return
    if meta.edge is None:
        modes = (
            ("inference mode", "in normal mode")
            if why == "inference"
            else ("no_grad mode", "with grad mode enabled")
        )
        origin = f"A view was created in {modes[0]} and {event} modified inplace {modes[1]}."
    else:
        from .saved_variable import forward_name

        node, nr = meta.edge
        origin = f"Output {nr} of {forward_name(node)} is a view and {event} modified inplace."
    raise RuntimeError(f"{origin} {_REASONS[why]}")


def _refresh_view(t: Tensor, meta: Any) -> None:
    """Gives a view a new history if its memory was written to since it last got one: that of an
    `as_strided` of the base as it is now.
    """
    counter = t._version_counter
    version = 0 if counter is None else counter.value
    if meta.attr_version == version:
        return  # not written to since the history was made
    base = meta.base
    if base._geometry.keys & RECORDS:
        _check_view(meta, "its base or another view of its base has been")
        from . import complex_views

        edge = (
            _as_strided_edge(t, base)
            if t.dtype is base.dtype
            else complex_views.edge_through(base, t)
        )
        _move_retain_grad(meta, edge[0])
        meta.edge = edge
    meta.attr_version = version


def _as_strided_edge(t: Tensor, base: Tensor) -> Edge:
    """The edge from the view `t` back to its base: a node as `base.as_strided(...)` would make it,
    without a call of the operator.
    """
    from internals._generated.autograd_nodes import AsStridedBackward0

    g, below = t._geometry, base._geometry
    node = AsStridedBackward0()
    node.next_edges, node.input_metadata = (gradient_edge(base),), (g.without_grad,)
    node._saved_self_shape, node._saved_self_stride = below.sizes, below.strides
    node._saved_self_storage_offset = base._offset
    node._saved_size, node._saved_stride, node._saved_storage_offset = g.sizes, g.strides, t._offset
    return node, 0


def _move_retain_grad(meta: AutogradMeta, node: Node) -> None:
    """Moves the hook of `retain_grad()` to `node`, the new history of a tensor that was written to:
    it retains the gradient of its new values.
    """
    if meta.retains_grad and meta.edge is not None:
        old, nr = meta.edge
        if old.extras is not None and nr in old.extras.retain_grad_hooks:
            node._extras().retain_grad_hooks[0] = old.extras.retain_grad_hooks.pop(nr)


def _update_views(base: Tensor) -> None:
    """Makes the views of `base` require a gradient, as `base` does from now on. There is no list of
    views, but all of them refer to the version counter of `base`: the garbage collector finds them.
    """
    counter = base._version_counter
    if counter is None or sys.getrefcount(counter) <= 3:
        # the references of `base`, of this variable and of the call: there are no views
        return
    from . import complex_views

    for t in gc.get_referrers(counter):
        if (
            isinstance(t, TensorImpl)
            and t is not base
            and t._base is base
            and complex_views.share_parts(t.dtype, base.dtype)
        ):
            t._geometry = requiring_grad(t._geometry)


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_REASONS = {
    "no_grad": _AMBIGUOUS.format("no_grad"),
    "inference": _AMBIGUOUS.format("inference_mode"),
    "multi_output": (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    "custom_function": (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}
