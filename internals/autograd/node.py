"""`Node`: one operation of the backward graph (`torch/csrc/autograd/function.h`; before 1.2 it was
called Function).

A node turns the gradients of an operation's outputs into the gradients of its inputs. Its
`next_edges` point to the nodes that made those inputs: each edge is a pair (node, number of its
forward output), and `(None, 0)` where no gradient is wanted. So the graph is complete as soon as
the forward computation has run, and points backwards.

The subclasses in `internals._generated.autograd_nodes` are generated from the entries of
`derivatives/`.

How the real one differs: nodes are C++ objects, shared by reference count. Freeing a long chain of
them must not recurse (`deleteNode`); CPython takes care of that for us.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ClassVar

from internals.core.geometry import Geometry
from internals.core.side_streams import side_streams

from . import streams
from .anomaly import anomaly, remember_traceback
from .node_hooks import RemovableHandle
from .saved_variable import SavedVariable

Edge = tuple[Any, int]
Hooks = OrderedDict[int, Callable[..., Any]]
NO_EDGE: Edge = (None, 0)
next_sequence_nr = count().__next__
_new = object.__new__


class NodeExtras:
    """The attributes that few nodes need.

    - `tensor_pre_hooks`: hook number → (output number, hook), from `Tensor.register_hook`.
    - `retain_grad_hooks`: output number → the function that stores the final gradient in `.grad`.
    - `pre_hooks`, `post_hooks`: hooks that see all gradients of the node.
    - `post_accumulate`: hooks of an `AccumulateGrad`, called with the leaf.
    - `metadata`: anomaly mode keeps the forward traceback here.
    - `streams`: the streams it was made on, except default ones.
    """

    __slots__ = (
        "tensor_pre_hooks",
        "retain_grad_hooks",
        "pre_hooks",
        "post_hooks",
        "post_accumulate",
        "metadata",
        "streams",
    )

    def __init__(self) -> None:
        self.tensor_pre_hooks: OrderedDict[int, tuple[int, Callable[..., Any]]] = OrderedDict()
        self.retain_grad_hooks: dict[int, Callable[..., Any]] = {}
        self.pre_hooks: Hooks = OrderedDict()
        self.post_hooks: Hooks = OrderedDict()
        self.post_accumulate: Hooks = OrderedDict()
        self.metadata: dict[str, Any] = {}
        self.streams: dict[int, int] = {}


class Node:
    """A node of the graph: subclasses define `apply(grads)`, which computes the gradients.

    `sequence_nr` grows with every node made: the engine runs the latest first. `input_metadata` has
    the `Geometry` of each forward output, since their gradients are the *inputs* of the node; None
    where an output can have no gradient.
    """

    __slots__ = ("sequence_nr", "next_edges", "input_metadata", "extras", "__weakref__")

    saved_names: ClassVar[tuple[str, ...]] = ()
    saves: ClassVar[bool] = False  # whether there is anything to release
    record: ClassVar[Any] = None  # of a generated node: see kernel.py

    sequence_nr: float
    next_edges: tuple[Edge, ...]
    input_metadata: tuple[Geometry | None, ...]
    extras: NodeExtras | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        node = _new(cls)
        node.sequence_nr, node.next_edges, node.input_metadata, node.extras = (
            next_sequence_nr(),
            (),
            (),
            None,
        )
        if anomaly.enabled:
            remember_traceback(node)
        if side_streams.in_use:
            streams.remember(node)
        return node

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients with respect to the forward inputs, one for each edge; None where there is
        none, or none is needed. `grads` has one for each forward output, or None for zeros.
        """
        raise NotImplementedError(f"{self.name()} has no apply")

    def release_variables(self) -> None:
        """Drops the saved tensors; from now on, asking for them is an error."""

    @property
    def released(self) -> bool:
        """Whether the saved tensors have been dropped."""
        saved = [getattr(self, f"_raw_saved_{name}") for name in self.saved_names]
        return any(isinstance(s, SavedVariable) and s.data is None for s in saved)

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`: the value of the slot `_raw_saved_self`, unpacked."""
        if name.startswith("_saved_") and name[7:] in self.saved_names:
            saved = getattr(self, f"_raw{name}")
            if isinstance(saved, list):
                return [None if s is None else s.unpack(self) for s in saved]
            return None if saved is None else saved.unpack(self)
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __call__(self, *grads: Any) -> Any:
        """Runs this node alone, with its hooks: `t.grad_fn(grad)`."""
        from .engine import call_node

        results = call_node(self, list(grads))
        return results[0] if len(results) == 1 else tuple(results)

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        return self.next_edges

    def _sequence_nr(self) -> int:
        return int(self.sequence_nr)

    @property
    def _input_metadata(self) -> tuple[Geometry | None, ...]:
        return self.input_metadata

    @property
    def metadata(self) -> dict[str, Any]:
        return self._extras().metadata

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Adds `hook(grad_inputs, grad_outputs)`, which runs after the node. A tuple that it
        returns replaces `grad_inputs`, the gradients that the node passes on.
        """
        return _add(self._extras().post_hooks, hook)

    def register_prehook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Adds `hook(grad_outputs)`, which runs before the node. A tuple that it returns replaces
        `grad_outputs`, the gradients that the node gets.
        """
        return _add(self._extras().pre_hooks, hook)

    def _extras(self) -> NodeExtras:
        """`extras`, made when first asked for."""
        if self.extras is None:
            self.extras = NodeExtras()
        return self.extras

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def _add(hooks: Hooks, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
