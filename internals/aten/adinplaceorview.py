"""The layer between autograd and the backend that keeps books on memory (`torch/csrc/autograd/ADInplaceOrViewType*.cpp`).

An op that writes to an argument has its version counter increased: that is how autograd later notices that a value it saved
has changed. An op that returns a view has the view tied to its base: they share the counter, and `_base` names the tensor
the memory belongs to.

How the real one differs: these kernels are generated, one per op; here two serve all, told by the schema what to look at.
"""

from __future__ import annotations

from typing import Any

from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.hot import hot
from internals.core.tensor_impl import TensorImpl, autograd_meta, version_counter


def inplace(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run the op, then count a write to every argument the schema marks with `!`."""
    result = _below(op, keys, args)
    for argument, value in zip(op.schema.arguments, args):
        if argument.is_write:
            version_counter(value).value += 1
    return result


def view(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run the op, then tie the views it returns to the base of its first argument."""
    result = _below(op, keys, args)
    base = args[0]
    for t in result if isinstance(result, (tuple, list)) else (result,):
        if t is not base and t._storage is base._storage:
            as_view(base, t)
    return result


def detached_view(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run `detach` or `view.dtype`, which no gradient passes: such a view has no `_base`, but a write through it is counted."""
    result = _below(op, keys, args)
    result._version_counter = version_counter(args[0])
    return result


def as_view(base: TensorImpl, t: TensorImpl) -> None:
    """Make `t` a view of `base`, or of the tensor `base` is itself a view of."""
    autograd_meta(t).base = base if base._base is None else base._base
    t._version_counter = version_counter(base)


def _below(op: OperatorHandle, keys: int, args: tuple[Any, ...]) -> Any:
    return dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)
