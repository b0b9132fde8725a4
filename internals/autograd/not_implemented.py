"""The kernel of the Autograd key for operators that have none
(`torch/csrc/autograd/autograd_not_implemented_fallback.cpp`).

Each operator of ours has an entry in `derivatives/`: a formula, or that there is no gradient. For
an operator that a user declares (`internals.library`) there may be neither; then this kernel is
used. It ties the results to a node that passes no gradient on, and warns when one arrives.

How the real one differs: a switch, `torch._C._set_autograd_fallback_mode`, makes the warning an
error or turns it off.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.dtype import FLOATING
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import TensorImpl

from .history import gradient_edges, set_history
from .node import Node


class WarnNotImplemented(Node):
    """The node of the results of `op`, an operator without a formula for its gradient."""

    __slots__ = ("op",)

    op: str

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        _warn(self.op)
        return (None,) * len(self.next_edges)


def warn_in_backward(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Runs `op` in the layers below. If an argument requires a gradient, the results get a
    `WarnNotImplemented` as their history.

    A result that already has a history, because its kernel called other operators or returned an
    argument, keeps it, and gets a hook that warns.
    """
    edges = gradient_edges(_tensors(args)) if is_grad_enabled() else ()
    result = dispatcher.redispatch(op, keys, *args)
    if any(target is not None for target, _ in edges):
        node = WarnNotImplemented()
        node.op, node.next_edges = op.name, edges
        number = 0
        for returned, value in zip(
            op.schema.returns, [result] if len(op.schema.returns) == 1 else result or ()
        ):
            for t in _tensors([value]):
                if t._geometry.dtype.category >= FLOATING and t.requires_grad:
                    t.register_hook(lambda grad: _warn(op.name))  # type: ignore[attr-defined]
                elif not returned.alias.endswith("!"):  # "(a!)" is an argument written in place
                    set_history(t, node, number)
                    number += 1
    return result


def _tensors(values: Sequence[Any]) -> Iterator[TensorImpl]:
    """The tensors among `values`, and those in lists and tuples among them."""
    for value in values:
        if isinstance(value, TensorImpl):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (t for t in value if isinstance(t, TensorImpl))


def _warn(op: str) -> None:
    """Gives PyTorch's warning that a gradient has reached `op`, which has no formula."""
    warnings.warn(
        f"{op}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
        "backprop through it. This may lead to silently incorrect behavior. This behavior is "
        "deprecated and will be removed in a future version of PyTorch. If your operator is "
        "differentiable, please ensure you have registered an autograd kernel to the correct "
        "Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If "
        "your operator is not differentiable, or to squash this warning and use the previous "
        "behavior, please register torch::CppFunction::makeFallthrough() to "
        "DispatchKey::Autograd.",
        stacklevel=2,
    )
