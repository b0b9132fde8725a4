"""The layer between autograd and the backend that keeps track of writes and views
(`torch/csrc/autograd/ADInplaceOrViewType*.cpp`).

When an op writes to an argument, the argument's version counter is increased: autograd later
compares it to notice that a saved value has changed. When an op returns a view, the view is tied to
its base: they share the counter, and `_base` is the tensor that the memory belongs to.

How the real one differs: these kernels are generated, one for each op; here a few serve all, and
read from the schema which arguments are written.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from internals.core.dispatch_key import ADINPLACEORVIEW, DispatchKey, below
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.grad_mode import grad_mode, is_grad_enabled, is_inference_mode_enabled
from internals.core.hot import hot
from internals.core.tensor_impl import DifferentiableViewMeta, Tensor, TensorImpl, version_counter


def inplace(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run the op, then count a write to every argument the schema marks with `!`."""
    result = dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)
    for i in _written(op):
        if args[i] is not None:
            count_write(args[i])
    return result


def write_uncounted(op: OperatorHandle, *args: Any) -> Any:
    """Run an op on behalf of another one, without counting its writes: they go to a new tensor, or
    the other op counts them (`AutoDispatchBelowADInplaceOrView`).
    """
    keys = op.keys_of(args) & below(DispatchKey.ADInplaceOrView)
    return dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)


def view(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run the op, then tie the views it returns to the base of its first argument."""
    result = dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)
    base = args[0]
    # how the view was made, if that makes a later write through it an error
    unrecorded = ""
    if grad_mode.off and not is_grad_enabled():
        unrecorded = "inference" if is_inference_mode_enabled() else "no_grad"
    if isinstance(result, TensorImpl):
        if result is not base and result._storage is base._storage:
            as_view(base, result, unrecorded)
        return result
    for t in result:
        if t is not base and t._storage is base._storage:
            as_view(base, t, unrecorded or "multi_output")
    return result


def detached_view(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run `detach` or `view.dtype`, through which no gradient flows: such a view has no `_base`,
    but shares the version counter, so a write through it is counted.
    """
    result = dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)
    result._version_counter = version_counter(args[0])
    return result


def detach_(op: OperatorHandle, keys: int, self: Tensor) -> Any:
    """Run `detach_`, which writes no elements. Raises RuntimeError for a view, whose history
    belongs to its base.
    """
    if self._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    return dispatcher.redispatch(op, keys, self) if hot.off else op.table[keys](self)


def as_view(base: TensorImpl, t: TensorImpl, creation_meta: str = "") -> None:
    """Make `t` a view of `base`, or, if `base` is a view itself, of its base. See
    `DifferentiableViewMeta`.

    A view of an inference tensor is an inference tensor: neither is ever recorded, so nothing has
    to be remembered.
    """
    if not base._geometry.keys & ADINPLACEORVIEW:
        return
    meta = base._autograd_meta
    if meta is not None and meta.base is not None:
        base, creation_meta = (
            meta.base,
            meta.creation_meta or creation_meta,  # type: ignore[attr-defined]
        )
    counter = t._version_counter = base._version_counter or version_counter(base)
    t._autograd_meta = DifferentiableViewMeta(base, counter.value, creation_meta)


def count_write(t: Tensor) -> None:
    """Count a write to `t`. Raises RuntimeError for an inference tensor outside inference mode,
    which has no counter.
    """
    if t._geometry.keys & ADINPLACEORVIEW:
        (t._version_counter or version_counter(t)).value += 1
    elif not is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details."
        )


@cache
def _written(op: OperatorHandle) -> tuple[int, ...]:
    """The positions of the arguments that the op writes to."""
    return tuple(i for i, argument in enumerate(op.schema.arguments) if argument.is_write)
