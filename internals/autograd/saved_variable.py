"""`SavedVariable`: what a node keeps of the forward computation, with its version
(`torch/csrc/autograd/saved_variable.cpp`).

Backward formulas need values from forward: `mul` needs its operands, `exp` its result. A node keeps
them, and together with each the version it had. If somebody has written to the tensor since, the
version differs, and `unpack` refuses to compute a gradient from a value that is no longer there.
After backward the saved tensors are released, and `unpack` says so.

A node that saved its own *result* as it is would keep itself alive: result → grad_fn → saved
result. `SavedOutput` keeps the memory without the history, and ties it to the node again when asked
for.

`saved_tensors_hooks` let the user keep something else in place of the tensor: `pack` is called when
it is saved, `unpack` when it is wanted. What `unpack` returns is only memory: it gets the history
the tensor had, so that it can be differentiated again.

How the real one differs: one class with flags instead of two; hooks may also be set one by one
(`_raw_saved_self.register_hooks`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.core.dispatch_key import ADINPLACEORVIEW
from internals.core.geometry import requiring_grad
from internals.core.grad_mode import is_grad_enabled, set_grad_mode
from internals.core.tensor_impl import AutogradMeta, TensorImpl, make

if TYPE_CHECKING:
    from internals._tensor import Tensor

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
    """A tensor the node did not make. `data` is the tensor itself, or what the pack hook made of
    it; None once released.
    """

    __slots__ = ("data", "saved_version", "hooks")

    is_output = False

    data: Any
    saved_version: int
    hooks: Packed | None

    def unpack(self, node: object = None) -> Any:
        """The tensor. Raises RuntimeError when it was released, or written to since it was
        saved.
        """
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
        """The version of the saved tensor now; None where nobody can tell (released, or packed by a
        hook).
        """
        return (
            self.data._version if isinstance(self.data, TensorImpl) and self.hooks is None else None
        )

    def __repr__(self) -> str:
        state = "released" if self.data is None else f"version {self.saved_version}"
        return f"<SavedTensor: {state}>"


class SavedOutput(SavedVariable):
    """The `output_nr`-th result of the node itself, kept without its history."""

    __slots__ = ("output_nr",)

    is_output = True

    output_nr: int

    def unpack(self, node: object = None) -> Any:
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
    """Keep an argument for backward. None stays None."""
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
    """Keep a result for backward, without what it would drag along: the node it belongs to. None
    stays None.
    """
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
    """Keep each tensor of a list."""
    return [save(t) for t in tensors]


def release(*saved: Any) -> None:
    """Let go of what was kept; None where nothing was."""
    for s in saved:
        if s is not None:
            s.data = None


def unpack_optional(saved: SavedVariable | None, node: object) -> Any:
    """What was kept of an argument that may be None."""
    return None if saved is None else saved.unpack(node)


def unpack_list(saved: Any, node: object) -> list[Any]:
    return [None if s is None else s.unpack(node) for s in saved]


class _HookStack(threading.local):
    """The `saved_tensors_hooks` in force in this thread; the innermost counts."""

    def __init__(self) -> None:
        self.hooks: list[Hooks] = []


class _Depth:
    """How many `saved_tensors_hooks` are open in all threads: while none is, nobody asks the
    thread-local.
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
    """What the pack hook of this thread makes of `t`; `otherwise` where there is none."""
    stack = hook_stack.local.hooks
    if not stack:
        return otherwise
    from .history import gradient_edge

    pack, unpack = stack[-1]
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
    """`t` once more, as the tensor whose gradient goes along `edge`."""
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
    """PyTorch's words for it."""
    from internals.construction.conversions import type_name

    from .anomaly import anomaly

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
    """`AddBackward0` as messages call it: `Add`; `ProdBackward1` is `Prod1`. Nodes written by hand
    go by their C++ names.
    """
    name = str(node.name())
    if name in ("CopySlices", "CopyBackwards"):
        return f"torch::autograd::{name}"
    head, _, number = name.rpartition("Backward")
    return head + number.removesuffix("0") if number.isdigit() or not number else name
