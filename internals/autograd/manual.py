"""Kernels of the Autograd key that no entry in `derivatives/` can express
(`torch/csrc/autograd/VariableTypeManual.cpp`).

`copy_` writes one tensor into another, perhaps of another dtype or on another device; `detach_`
cuts a tensor off its history; `resize_` and `set_` change its memory, after which its history would
be wrong; and `out=` overwrites a tensor without recording it.

How the real one differs: more of them (`requires_grad_`, `retain_grad`, `_backward`) are operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.dispatch_key import RECORDS
from internals.core.dispatcher import OperatorHandle
from internals.core.dtype import FLOATING
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor

from .history import check_inplace, gradient_edge, rebase_history
from .kernel import run_below
from .node import NO_EDGE, Node


class CopyBackwards(Node):
    """The node of `dst.copy_(src)`: the gradient of the old `dst` is zero, that of `src` is `grad`
    on its device. The engine brings it to the shape and dtype of `src`.
    """

    __slots__ = ("device",)

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients of the old `dst` and of `src`."""
        grad = grads[0]
        if grad is None:
            return None, None
        (old, _), _ = self.next_edges
        return (None if old is None else grad.new_zeros(grad.shape)), grad.to(self.device)


def copy_(
    op: OperatorHandle, keys: int, self: Tensor, src: Tensor, non_blocking: bool = False
) -> Any:
    """Copies `src` into `self`, recorded if either requires a gradient and `self` can have one."""
    records = is_grad_enabled() and (self.requires_grad or src.requires_grad)
    if not records or self._geometry.dtype.category < FLOATING:
        return run_below(op, keys, (self, src, non_blocking))
    check_inplace(self)
    node = CopyBackwards()
    node.device = src.device
    node.next_edges = (
        gradient_edge(self),
        gradient_edge(src) if src._geometry.dtype.category >= FLOATING else NO_EDGE,
    )
    run_below(op, keys, (self, src, non_blocking))
    rebase_history(self, node)
    return self


def detach_(op: OperatorHandle, keys: int, self: Tensor) -> Any:
    """Makes `self` a tensor without history that requires no gradient."""
    run_below(op, keys, (self,))  # first: the layer below refuses some views
    self._geometry = self._geometry.without_grad
    meta = self._autograd_meta
    if meta is not None:
        meta.edge, meta.retains_grad = None, False
    return self


def resize_(op: OperatorHandle, keys: int, self: Tensor, *args: Any) -> Any:
    """Resizes `self`. Raises RuntimeError if it requires a gradient, even if none are recorded."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    return run_below(op, keys, (self, *args))


def set_(op: OperatorHandle, keys: int, self: Tensor, *args: Any) -> Any:
    """Gives `self` another storage. Raises RuntimeError where writing to `self` would."""
    if is_grad_enabled() and self.requires_grad:
        check_inplace(self)
    return run_below(op, keys, (self, *args))


def out_variant(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Runs `op(..., out=t)`. Raises RuntimeError if it would have to be recorded."""
    if op.keys_of(args) & RECORDS and is_grad_enabled():
        raise RuntimeError(
            f"{op.schema.name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    return run_below(op, keys, args)
