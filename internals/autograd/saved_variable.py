"""`SavedVariable`: a tensor that a node keeps from the forward computation, with its version
(`torch/csrc/autograd/saved_variable.cpp`).

Backward formulas need values from forward: `mul` needs its operands, `exp` its result. A node keeps
each of them together with the version it had. If the tensor was written to in the meantime, its
version is another, and `unpack` raises an error: the values of forward are gone. After backward the
saved tensors are released, and `unpack` raises another error.

A node that saved its own *result* as it is would keep itself alive: result → grad_fn → saved
result. `SavedOutput` keeps the memory without the history, and ties it to the node again when it is
unpacked.

With `saved_tensors_hooks` the user keeps something else in place of the tensor: `pack` is called
when it is saved, `unpack` when it is needed. The tensor that `unpack` returns gets the history of
the original one, so that it can be differentiated again.

How the real one differs: one class with flags instead of two; hooks may also be set one by one
(`_raw_saved_self.register_hooks`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from internals.core.dispatch_key import ADINPLACEORVIEW
from internals.core.geometry import requiring_grad
from internals.core.grad_mode import is_grad_enabled, set_grad_mode
from internals.core.tensor_impl import AutogradMeta, Tensor, TensorImpl, make

ERR_BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
Hooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]
# the unpack hook, and where the gradient of the tensor goes
Packed = tuple[Callable[[Any], Any], Any]
_new = object.__new__


class SavedVariable:
    """A saved tensor that is not a result of the node. `data` is the tensor, or the result of the
    pack hook; None once released.
    """

    __slots__ = ("data", "saved_version", "hooks")

    is_output = False

    data: Any
    saved_version: int
    hooks: Packed | None

    def unpack(self, node: object = None) -> Any:
        """The tensor. Raises RuntimeError if it was released, or written to after it was saved."""
        t = self.data
        if t is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        if self.hooks is not None:
            unpack, edge = self.hooks
            return _with_history(_unpacked(unpack, t), edge)
        counter = t._version_counter
        if counter is not None and counter.value != self.saved_version:
            from .history import grad_fn

            grad_fn(t)  # a view's history is brought up to date
            edge = t._autograd_meta and t._autograd_meta.edge
            raise RuntimeError(_modified(t, counter.value, self.saved_version, edge))
        return t

    @property
    def current_version(self) -> int | None:
        """The version that the tensor has now; None if it was released or packed by a hook."""
        return (
            self.data._version if isinstance(self.data, TensorImpl) and self.hooks is None else None
        )

    def __repr__(self) -> str:
        state = "released" if self.data is None else f"version {self.saved_version}"
        return f"<SavedTensor: {state}>"


class SavedOutput(SavedVariable):
    """Result number `output_nr` of the node itself, saved without its history."""

    __slots__ = ("output_nr",)

    is_output = True

    output_nr: int

    def unpack(self, node: object = None) -> Any:
        """The tensor, tied to `node`, which saved it, if gradients are being recorded. Raises as
        `SavedVariable.unpack`.
        """
        t = self.data
        if t is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        if self.hooks is not None:
            t = _unpacked(self.hooks[0], t)
        else:
            counter = t._version_counter
            if counter is not None and counter.value != self.saved_version:
                edge = (node, self.output_nr)
                raise RuntimeError(_modified(t, counter.value, self.saved_version, edge))
        if node is None or not is_grad_enabled():
            return t
        return _with_history(t, (node, self.output_nr))


def save(t: Any) -> Any:
    """An argument, saved for backward. None stays None."""
    if t is None:
        return None
    saved = _new(SavedVariable)
    saved.hooks = None
    if not t._geometry.keys & ADINPLACEORVIEW:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )
    counter = t._version_counter
    saved.saved_version = 0 if counter is None else counter.value
    saved.data = t if not hook_stack.depth else _packed(saved, t, t)
    return saved


def save_output(t: Any, output_nr: int = 0) -> Any:
    """A result, saved for backward without a reference to its node. None stays None."""
    if t is None:
        return None
    saved = _new(SavedOutput)
    saved.hooks, saved.output_nr = None, output_nr
    detached = make(t._storage, t._geometry.without_grad, t._offset, t._array)
    if t._version_counter is None:
        from internals.core.tensor_impl import version_counter

        version_counter(t)
    counter = detached._version_counter = t._version_counter
    saved.saved_version = counter.value
    saved.data = detached if not hook_stack.depth else _packed(saved, t, detached)
    return saved


def save_list(tensors: Sequence[Tensor | None]) -> list[Any]:
    """The tensors of a list, each saved."""
    return [save(t) for t in tensors]


def release(*saved: Any) -> None:
    """Drops saved tensors; those that are None were not saved."""
    for s in saved:
        if s is not None:
            s.data = None


def unpack_optional(saved: SavedVariable | None, node: object) -> Any:
    """A saved argument that may be None, unpacked."""
    return None if saved is None else saved.unpack(node)


def unpack_list(saved: Any, node: object) -> list[Any]:
    """The tensors that `save_list` saved, unpacked."""
    return [None if s is None else s.unpack(node) for s in saved]


class _HookStack(threading.local):
    """The `saved_tensors_hooks` that are open in this thread; the innermost one is used."""

    def __init__(self) -> None:
        self.hooks: list[Hooks] = []


class _Depth:
    """`depth`: the number of `saved_tensors_hooks` open in all threads. While it is 0, saving a
    tensor does not look at the thread's own stack, `local`, which would be slow.
    """

    __slots__ = ("depth", "local")

    def __init__(self) -> None:
        self.depth, self.local = 0, _HookStack()


hook_stack = _Depth()


def push_hooks(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    hook_stack.depth += 1
    hook_stack.local.hooks.append((pack, unpack))


def pop_hooks() -> None:
    hook_stack.depth -= 1
    hook_stack.local.hooks.pop()


def _packed(saved: SavedVariable, t: Tensor, otherwise: Tensor) -> Any:
    """The result of this thread's pack hook for `t`; `otherwise` if this thread has no hooks."""
    stack = hook_stack.local.hooks
    if not stack:
        return otherwise
    from .history import gradient_edge

    pack, unpack = stack[-1]
    # of an output the node is known when it is unpacked; an edge to it would keep it alive
    saved.hooks = unpack, None if saved.is_output else gradient_edge(t)
    version, was = t._version, set_grad_mode(False)
    try:
        packed = pack(t)
    finally:
        set_grad_mode(was)
    if t._version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook cannot be modified by in-place operations as this can lead to unexpected "
            "side-effects. Please open an issue if you need to perform in-place operations on the "
            "input to a pack hook."
        )
    return packed


def _with_history(t: Tensor, edge: Any) -> Any:
    """A new tensor on the memory of `t`, whose gradient goes along `edge`."""
    from .accumulate_grad import AccumulateGrad

    node = edge[0]
    if node is None:
        return t
    variable = make(t._storage, requiring_grad(t._geometry), t._offset, t._array)
    variable._version_counter = t._version_counter
    meta = variable._autograd_meta = AutogradMeta()
    if isinstance(node, AccumulateGrad):
        meta.accumulator = node
    else:
        meta.edge = edge
    return variable


def _unpacked(unpack: Callable[[Any], Any], packed: object) -> Any:
    """The result of the user's unpack hook. Raises TypeError for a non-tensor."""
    was = set_grad_mode(False)
    try:
        t = unpack(packed)
    finally:
        set_grad_mode(was)
    if not isinstance(t, TensorImpl):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(t).__name__}"
        )
    return t


def _modified(t: Tensor, version: int, expected: int, edge: Any) -> str:
    """PyTorch's error for a saved tensor that was written to."""
    from internals.construction.conversions import type_name

    from .anomaly import anomaly

    # the node that the tensor is a result of; a leaf has none
    origin = (
        ""
        if edge is None or edge[0] is None
        else f", which is output {edge[1]} of {forward_name(edge[0])},"
    )
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The "
        "variable in question was changed in there or anywhere later. Good luck!"
        if anomaly.enabled
        else (
            "enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: "
        f"[{type_name(t.dtype, t.device.type)} {list(t.shape)}]{origin} is at version {version}; "
        f"expected version {expected} instead. Hint: {hint}"
    )


def forward_name(node: Any) -> str:
    """The node's name in messages: `Add` for `AddBackward0`, `Prod1` for `ProdBackward1`. Nodes
    written by hand have their C++ names.
    """
    name = str(node.name())
    if name in ("CopySlices", "CopyBackwards"):
        return f"torch::autograd::{name}"
    head, _, number = name.rpartition("Backward")
    return head + number.removesuffix("0") if number.isdigit() or not number else name
