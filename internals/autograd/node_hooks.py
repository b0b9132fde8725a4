"""Hooks of nodes and tensors: registering, removing and running them
(`torch/csrc/autograd/python_hook.cpp`, `torch/utils/hooks.py`).

Hooks are kept in ordered dictionaries, by number. Registering a hook returns a handle with the
number and a weak reference to the dictionary: `handle.remove()` removes the hook, and a handle that
is kept for long keeps nothing else alive. Used as a context manager, a handle removes the hook at
the end of the block.

Before a node, three kinds of hooks run: first those of the tensors it made, each on its own
gradient, in the order of their registration; then those of `retain_grad()`, so that `.grad` is the
final value; then the pre-hooks of the node. After it run its post-hooks, which see the gradients on
both sides.

How the real one differs: a hook may also be a C++ function.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from internals.core.tensor_impl import Tensor, TensorImpl


class RemovableHandle:
    """The handle of hook number `id` in `hooks_dict`; `extra_dict` are dictionaries with other
    entries for it, which `remove` removes too.

    The dictionaries must be `OrderedDict`s: Python keeps no weak references to plain ones.
    """

    next_id = 0
    __module__ = "internals.utils.hooks"  # where users find it

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or []
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Removes the hook, if it is still there."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: Any) -> None:
        hooks_dict, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks_dict is None else hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra if d is not None)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


def register(
    hooks: Any, hook: object, flags: Iterable[Any] = (), prepend: bool = False
) -> RemovableHandle:
    """Adds `hook` to `hooks`, at the front if `prepend`, and its number to each of the dictionaries
    `flags`. Returns its handle.
    """
    flags = list(flags)
    handle = RemovableHandle(hooks, extra_dict=flags)
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def run_pre_hooks(node: Any, grads: list[Any]) -> list[Any]:
    """`grads` as the hooks that run before the node leave them."""
    grads = run_tensor_hooks(node, grads)
    for hook in list(node.extras.pre_hooks.values()):
        grads = _all_replaced(hook, tuple(grads), hook(tuple(grads)))
    return grads


def run_tensor_hooks(node: Any, grads: list[Any]) -> list[Any]:
    """`grads` as the hooks of the tensors leave them. For a node whose gradients are results of
    `grad`, and which itself does not run, these are the only hooks.
    """
    extras = node.extras
    grads = list(grads)
    for nr, hook in list(extras.tensor_pre_hooks.values()):
        grads[nr] = _replaced(hook, grads[nr], hook(grads[nr]))
    for nr, store in list(extras.retain_grad_hooks.items()):
        store(grads[nr])
    return grads


def run_post_hooks(node: Any, results: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
    """The gradients that the node passes on, as its post-hooks leave them, one for each edge; the
    missing last ones are None.
    """
    results = (*results, *(None,) * (len(node.next_edges) - len(results)))
    for hook in list(node.extras.post_hooks.values()):
        results = _all_replaced(hook, tuple(results), hook(tuple(results), tuple(grads)))
    return results


def _all_replaced(
    hook: Callable[..., Any], before: tuple[Any, ...], after: Sequence[Tensor | None] | None
) -> list[Any]:
    """The gradients that a hook returned in place of `before`; these themselves for None. Raises
    unless they are a tuple of as many, each of which fits.
    """
    if after is None:
        return list(before)
    if not isinstance(after, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(after).__name__}'")
    if len(after) != len(before):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(after)}, "
            f"but expected {len(before)})"
        )
    return [_replaced(hook, b, a) for b, a in zip(before, after)]


def _replaced(hook: Callable[..., Any], before: Tensor, after: Tensor | None) -> Any:
    """The gradient that a hook returned in place of `before`; `before` itself for None. Raises
    unless it is a tensor with the same shape and dtype.
    """
    if after is None:
        return before
    if not isinstance(after, TensorImpl):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if after.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {_type(before)} got "
            f"{_type(after)})"
        )
    if after.shape != before.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return after


def _type(t: Any) -> str:
    """The name of the tensor's type, such as "internals.FloatTensor"."""
    return str(t.type())


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
