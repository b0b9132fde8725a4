"""An operator without a kernel for the Autograd key
(`torch/csrc/autograd/autograd_not_implemented_fallback.cpp`).

Each operator of ours says in `derivatives/` what its gradient is, or that there is none. One that a
user declares (`internals.library`) may say nothing; then this is the kernel its Autograd key falls
back to. The results are tied to a node that passes no gradient on, and warns when one arrives.

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
    """The node of a result of `op`, of which nobody said how to differentiate it."""

    __slots__ = ("op",)

    op: str

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        _warn(self.op)
        return (None,) * len(self.next_edges)


def warn_in_backward(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run `op` below; what it returns leads to a `WarnNotImplemented` where a gradient is wanted of
    an argument.

    A result that has a history already, of operators its kernel called or because it is an
    argument, keeps it, and warns as well.
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
                elif not returned.alias.endswith("!"):
                    set_history(t, node, number)
                    number += 1
    return result


def _tensors(values: Sequence[Any]) -> Iterator[TensorImpl]:
    for value in values:
        if isinstance(value, TensorImpl):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (t for t in value if isinstance(t, TensorImpl))


def _warn(op: str) -> None:
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
