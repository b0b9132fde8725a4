"""Walking a backward graph and writing down what is there.

The walk is the engine's: it counts the edges that lead to each node, then takes the nodes whose
count is used up, the latest made first. So a node's number is its place in the order in which
`backward` would run them. Only numbers and names are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from viz.rooms.autograd import Autograd, GraphEdge, GraphNode, GraphTensor, Saved
from viz.text import corrected


def record(
    tensors: Sequence[Any], params: Any, names: Mapping[str, Any], saved: bool = True
) -> Autograd:
    """The scene of the graph behind `tensors`; see `viz.autograd`."""
    return Walk(tensors, params, names, saved).scene


def tensors_of(params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
    """Named tensors from a dict, from (name, tensor) pairs, or none at all."""
    return {} if params is None else dict(params)


def edge_of(t: Any, who: str) -> tuple[Any, int]:
    """Where the gradient of a tensor goes: (node, output number). A node stands for its own output
    0.
    """
    from internals import Tensor
    from internals.autograd.graph import Node, get_gradient_edge

    if isinstance(t, Node):
        return t, 0
    if not isinstance(t, Tensor):
        kind = f"{type(t).__module__}.{type(t).__name__}".removeprefix("builtins.")
        raise TypeError(
            corrected(
                f"{who} must be a tensor of internals or a node of its graph, got {kind}",
                f"viz.autograd({t!r:.40})",
                "viz.autograd(loss)",
            )
        )
    if not t.requires_grad:
        raise ValueError(
            corrected(
                f"{who} does not require a gradient, so there is no graph behind it",
                "x = torch.ones(3)",
                "x = torch.ones(3, requires_grad=True)",
            )
        )
    return get_gradient_edge(t)


def execution_order(roots: Iterable[Any]) -> list[Any]:
    """The nodes that can be reached, in the order in which the engine would run them."""
    roots = list(dict.fromkeys(roots))
    waiting: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = list(roots)
    while stack:
        for after, _ in stack.pop().next_functions:
            if after is not None:
                if after not in waiting:
                    waiting[after] = 0
                    stack.append(after)
                waiting[after] += 1
    ready: list[tuple[int, int, Any]] = []
    for root in roots:
        if not waiting[root]:
            heappush(ready, (-root._sequence_nr(), len(ready), root))
    order: list[Any] = []
    ties = len(ready)
    while ready:
        node = heappop(ready)[2]
        order.append(node)
        for after, _ in node.next_functions:
            if after is not None:
                waiting[after] -= 1
                if not waiting[after]:
                    ties += 1
                    heappush(ready, (-after._sequence_nr(), ties, after))
    return order


def is_leaf(node: Any) -> bool:
    """Whether the node is an AccumulateGrad: the only kind that has a variable."""
    return hasattr(node, "variable")


def inner_node(node: Any) -> Any:
    """The node that a CopySlices runs on its slice; None for any other node, and after it was
    released.
    """
    inner = getattr(node, "fn", None)
    return inner if hasattr(inner, "next_functions") else None


class Walk:
    """One recording. `number` maps nodes to their places in the scene."""

    def __init__(
        self, tensors: Sequence[Any], params: Any, names: Mapping[str, Any], saved: bool = True
    ) -> None:
        self.given = {**tensors_of(params), **names}
        self.called = {id(t): name for name, t in reversed(list(self.given.items()))}
        starts = list(tensors) or self.computed(names)
        if not starts:
            raise ValueError(
                corrected(
                    "viz.autograd needs a tensor to start from",
                    "viz.autograd()",
                    "viz.autograd(loss)",
                )
            )
        edges = [edge_of(t, self._who(t, i)) for i, t in enumerate(starts)]
        self.order = execution_order(node for node, _ in edges)
        self.number = {node: n for n, node in enumerate(self.order)}
        inner = [node.fn for node in self.order if inner_node(node) is not None]
        made = sorted(node._sequence_nr() for node in self.order + inner if not is_leaf(node))
        self.rank = {number: place for place, number in enumerate(made)}
        self.boxes: dict[tuple[Any, ...], int] = {}
        self.storages: dict[int, int] = {}
        self.scene = Autograd("", show_saved=saved)
        self._roots(starts, edges)
        for node in self.order:
            self.scene.nodes.append(self._node(node))
        for node in self.order:
            self._edges(node)
        if saved:
            for node in self.order:
                self._inside(node)
                self.scene.nodes[self.number[node]].saved = self._saved(node)
        leaves = {id(node.variable.untyped_storage()) for node in self.order if is_leaf(node)}
        self.scene.kept = len(
            {s.tensor for node in self.scene.nodes for s in node.saved if s.tensor is not None}
        )
        self.scene.kept_bytes = sum(
            nbytes for storage, nbytes in self.storages.items() if storage not in leaves
        )
        self._origins()

    def computed(self, names: Mapping[str, Any]) -> list[Any]:
        """Of the named tensors, those that come at the end of a computation."""
        made = [t for t in names.values() if getattr(t, "grad_fn", None) is not None]
        inner: set[Any] = set()
        for t in made:
            inner.update(
                after for node in execution_order([t.grad_fn]) for after, _ in node.next_functions
            )
        return [t for t in made if t.grad_fn not in inner]

    def _who(self, t: Any, i: int) -> str:
        return (
            f"viz.autograd: {self.called[id(t)]!r}"
            if id(t) in self.called
            else f"viz.autograd: argument {i}"
        )

    def _roots(self, starts: Sequence[Any], edges: Sequence[tuple[Any, int]]) -> None:
        scene, several = self.scene, len(starts) > 1
        for i, (t, (node, nr)) in enumerate(zip(starts, edges)):
            if not hasattr(t, "requires_grad"):
                continue
            box = self._box(t)
            tensor = scene.tensors[box]
            if not tensor.name:
                tensor.name = f"root {i}" if several else "root"
            if not is_leaf(node):
                tensor.role = "root"
                scene.roots.append((box, self.number[node], nr))
        scene.name = (
            ", ".join(dict.fromkeys(scene.tensors[b].name for b, _, _ in scene.roots)) or "a leaf"
        )
        if not scene.tensors:
            scene.name = ", ".join(node.name() for node, _ in edges)

    def _node(self, node: Any) -> GraphNode:
        shapes = [None if g is None else tuple(g.sizes) for g in node._input_metadata]
        made = GraphNode(node.name(), shapes=shapes, hooks=hooks_of(node))
        if is_leaf(node):
            made.kind, made.variable = "leaf", self._box(node.variable)
            tensor = self.scene.tensors[made.variable]
            tensor.role = "leaf"
            grad = node.variable.grad
            tensor.grad = None if grad is None else str(tuple(grad.shape))
            return made
        made.sequence_nr = node._sequence_nr()
        made.order = self.rank[made.sequence_nr]
        made.values, made.released = plain_values(node), node.released
        return made

    def _edges(self, node: Any) -> None:
        for after, nr in node.next_functions:
            if after is not None:
                g = after._input_metadata[nr]
                shape = None if g is None else tuple(g.sizes)
                self.scene.edges.append(GraphEdge(self.number[node], self.number[after], nr, shape))

    def _inside(self, node: Any) -> None:
        """The node that a CopySlices runs on its slice: part of it, with saved tensors of its
        own.
        """
        inner = inner_node(node)
        if inner is None:
            return
        made = GraphNode(
            inner.name(),
            "inner",
            values=plain_values(inner),
            shapes=self.shapes_of(inner),
            released=inner.released,
        )
        made.sequence_nr = inner._sequence_nr()
        made.order = self.rank[made.sequence_nr]
        made.saved = self._saved(inner)
        self.scene.nodes.append(made)
        self.scene.edges.append(
            GraphEdge(
                self.number[node], len(self.scene.nodes) - 1, 0, next(iter(made.shapes), None)
            )
        )

    @staticmethod
    def shapes_of(node: Any) -> list[tuple[int, ...] | None]:
        return [None if g is None else tuple(g.sizes) for g in node._input_metadata]

    def _saved(self, node: Any) -> list[Saved]:
        found = []
        for name, kept in saved_variables(node):
            t = kept.data
            if t is None:
                found.append(
                    Saved(name, None, kept.saved_version, None, "released", kept.is_output)
                )
            elif kept.hooks is not None:
                found.append(Saved(name, None, kept.saved_version, None, "packed", kept.is_output))
            else:
                state = "kept" if t._version == kept.saved_version else "modified"
                box = self._box(t)
                storage = t.untyped_storage()
                self.storages[id(storage)] = storage.nbytes()
                found.append(
                    Saved(name, box, kept.saved_version, t._version, state, kept.is_output)
                )
        return found

    def _box(self, t: Any) -> int:
        """The box of a tensor: the same for all that look at the same elements in the same way."""
        key = (
            id(t.untyped_storage()),
            t.storage_offset(),
            tuple(t.shape),
            tuple(t.stride()),
            str(t.dtype),
        )
        name = self.called.get(id(t), "")
        if key in self.boxes:
            tensor = self.scene.tensors[self.boxes[key]]
            tensor.name = tensor.name or name
            return self.boxes[key]
        dtype = str(t.dtype).split(".")[-1]
        name = name or self._alias(key)
        self.scene.tensors.append(
            GraphTensor(name, dtype, tuple(t.shape), t._version, origin=self._origin(t))
        )
        self.boxes[key] = len(self.scene.tensors) - 1
        return self.boxes[key]

    def _alias(self, key: tuple[Any, ...]) -> str:
        """The name the reader gave to a tensor on the same elements, such as the result that a node
        keeps detached.
        """
        for name, t in self.given.items():
            if key == (
                id(t.untyped_storage()),
                t.storage_offset(),
                tuple(t.shape),
                tuple(t.stride()),
                str(t.dtype),
            ):
                return name
        return ""

    def _origin(self, t: Any) -> str:
        base = t._base
        if base is not None and id(base) in self.called:
            return f"view of {self.called[id(base)]}"
        node = t.grad_fn
        if node in self.number:
            return f"output of {node.name()} #{self.rank[node._sequence_nr()]}"
        return "" if base is None else "a view"

    def _origins(self) -> None:
        """Name the tensors that nobody named: T0, T1, ...; say of which node they are the
        result.
        """
        scene, unnamed = self.scene, 0
        for node in scene.nodes:
            for saved in node.saved:
                if (
                    saved.own_output
                    and saved.tensor is not None
                    and not scene.tensors[saved.tensor].origin
                ):
                    scene.tensors[saved.tensor].origin = f"output of {node.title}"
        for tensor in scene.tensors:
            if not tensor.name:
                tensor.name = f"T{unnamed}"
                unnamed += 1


def saved_variables(node: Any) -> list[tuple[str, Any]]:
    """(name, SavedVariable) for each tensor the node keeps."""
    found = []
    for name in node.saved_names:
        kept = getattr(node, f"_raw_saved_{name}", None)
        if isinstance(kept, (list, tuple)):
            found += [(f"{name}[{i}]", s) for i, s in enumerate(kept) if s is not None]
        elif kept is not None:
            found.append((name, kept))
    kept = getattr(node, "_raw_saved_tensors", None)  # of an autograd.Function
    found += [(f"saved_tensors[{i}]", s) for i, s in enumerate(kept or ()) if s is not None]
    return found


def plain_values(node: Any) -> list[tuple[str, str]]:
    """What the node keeps besides tensors: numbers, dims, shapes; as text."""
    found = []
    inner = inner_node(node)
    if inner is not None and hasattr(node, "view_geometry"):
        v = node.view_geometry
        found.append(
            (
                "slice",
                f"{tuple(v.sizes)}, strides {tuple(v.strides)}, offset "
                f"{node.view_offset - node.base_offset}",
            )
        )
    for attribute in dir(type(node)):
        if (
            attribute.startswith("_saved_")
            and attribute[7:] not in node.saved_names
            and hasattr(node, attribute)
        ):
            found.append((attribute[7:], value_text(getattr(node, attribute))))
    return found


def value_text(value: Any) -> str:
    """A saved number, shape or list, written briefly."""
    if isinstance(value, tuple):
        return str(tuple(value))
    if isinstance(value, list) and all(isinstance(v, tuple) for v in value):
        return "[" + ", ".join(str(tuple(v)) for v in value) + "]"
    text = str(value) if not isinstance(value, str) else repr(value)
    return text.removeprefix("internals.")


def hooks_of(node: Any) -> int:
    """How many hooks the reader put on the node or on a tensor it made."""
    extras = getattr(node, "extras", None)
    if extras is None:
        return 0
    kinds = ("tensor_pre_hooks", "retain_grad_hooks", "pre_hooks", "post_hooks", "post_accumulate")
    return sum(len(getattr(extras, kind)) for kind in kinds)
