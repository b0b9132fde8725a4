"""Running what users hooked onto nodes and tensors (`torch/csrc/autograd/python_hook.cpp`, `engine.cpp: call_function`).

Before a node: the hooks of the tensors it made, each on its own gradient, in the order they were registered; then what retains
gradients, so that `.grad` is the final value; then the pre-hooks of the node. After it: its post-hooks, which see both sides.

How the real one differs: a hook may also be a C++ function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals.core.tensor_impl import TensorImpl


def run_pre_hooks(node: Any, grads: list[Any]) -> list[Any]:
    """`grads` as the hooks leave them."""
    grads = run_tensor_hooks(node, grads)
    for hook in list(node.extras.pre_hooks.values()):
        grads = _all_replaced(hook, tuple(grads), hook(tuple(grads)))
    return grads


def run_tensor_hooks(node: Any, grads: list[Any]) -> list[Any]:
    """`grads` as the hooks of the tensors leave them: all that runs at a node that is only asked for its gradient."""
    extras = node.extras
    grads = list(grads)
    for nr, hook in list(extras.tensor_pre_hooks.values()):
        grads[nr] = _replaced(hook, grads[nr], hook(grads[nr]))
    for nr, store in list(extras.retain_grad_hooks.items()):
        store(grads[nr])
    return grads


def run_post_hooks(node: Any, results: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
    """What the node passes on, as its post-hooks leave it: one entry for each edge, also for a number's."""
    results = (*results, *(None,) * (len(node.next_edges) - len(results)))
    for hook in list(node.extras.post_hooks.values()):
        results = _all_replaced(hook, tuple(results), hook(tuple(results), tuple(grads)))
    return results


def _all_replaced(hook: Callable[..., Any], before: tuple[Any, ...], after: Any) -> list[Any]:
    if after is None:
        return list(before)
    if not isinstance(after, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(after).__name__}'")
    if len(after) != len(before):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(after)}, but expected {len(before)})"
        )
    return [_replaced(hook, b, a) for b, a in zip(before, after)]


def _replaced(hook: Callable[..., Any], before: Any, after: Any) -> Any:
    """What the hook returned in place of `before`; `before` itself for None. Raises if it is no gradient for the tensor."""
    if after is None:
        return before
    if not isinstance(after, TensorImpl):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if after.dtype is not before.dtype:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {_type(before)} got {_type(after)})")
    if after.shape != before.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return after


def _type(t: Any) -> str:
    """What `t.type()` says: "internals.FloatTensor"."""
    return str(t.type())


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
