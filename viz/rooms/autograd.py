"""`viz.autograd`: the backward graph of the reader's own tensors.

From the tensors at the top the gradients flow down: through the nodes that the forward computation
left behind, to the leaves. Beside each node stands what it keeps of the forward computation. Two
nodes that keep the same tensor point to one box; one that was written to since it was kept is
marked, for backward will refuse it. After `backward` the kept tensors are gone, and the same
picture says so.

Nodes are n0, n1, ... in the order in which the engine would run them; #0, #1, ... is the order in
which forward made them: their sequence numbers, of which there are many more, counted within this
graph.

How the real one differs: PyTorch draws nothing; torchviz draws the same graph without versions, and
merges a saved tensor with the node that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.dot import Graph
from viz.scene import Picture, write_atomically

NODES_AT_MOST = 24


@dataclass
class Saved:
    """One tensor that a node keeps. `state`: "kept", "modified" since, "released", or "packed" by a
    saved-tensors hook.
    """

    name: str
    tensor: int | None  # its box; None when it cannot be seen
    version: int  # when it was saved
    now: int | None  # the version today
    state: str
    own_output: bool = False

    @property
    def text(self) -> str:
        if self.state == "modified":
            return f"{self.name}: saved v{self.version}, now v{self.now}"
        return (
            f"{self.name} v{self.version}"
            if self.state == "kept"
            else f"{self.name} ({self.state})"
        )


@dataclass
class GraphTensor:
    """A tensor in the picture: one of the reader's, a leaf, or one that nodes keep."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    version: int
    role: str = "saved"  # or "leaf", "root"
    origin: str = ""  # "output 0 of n3", "view of w"
    grad: str | None = None  # the shape of `.grad`, of a leaf

    @property
    def facts(self) -> str:
        return f"{self.dtype} {shape_text(self.shape)}  v{self.version}"


@dataclass
class GraphNode:
    """A node. `kind`: "operation", "leaf" (an AccumulateGrad), "inner" (the node inside a
    CopySlices) or "hidden" (several).
    """

    name: str
    kind: str = "operation"
    order: int | None = None  # of creation, within the graph
    sequence_nr: int | None = None
    variable: int | None = None  # the tensor of a leaf
    saved: list[Saved] = field(default_factory=list)
    values: list[tuple[str, str]] = field(default_factory=list)
    shapes: list[tuple[int, ...] | None] = field(default_factory=list)  # of the gradients it gets
    released: bool = False
    hooks: int = 0
    hides: int = 0

    @property
    def title(self) -> str:
        return self.name if self.order is None else f"{self.name} #{self.order}"


@dataclass
class GraphEdge:
    """The gradient that `tail` passes on to `head`, for output `output_nr` of the operation that
    `head` differentiates.
    """

    tail: int
    head: int
    output_nr: int = 0
    shape: tuple[int, ...] | None = None
    count: int = 1  # more where edges into hidden nodes are drawn as one

    @property
    def label(self) -> str:
        shape = "" if self.shape is None else shape_text(self.shape)
        number = f"output {self.output_nr}: " if self.output_nr else ""
        return f"{number}{shape}" if self.count == 1 else f"{self.count} gradients"


@dataclass
class Autograd(Picture):
    """The scene. `roots` are (tensor, node, output number), the places where gradients begin.

    `kept` counts the tensors that nodes keep, `kept_bytes` their storages, those of leaves left
    out: what dies with the graph.
    """

    name: str
    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[GraphEdge] = field(default_factory=list)
    tensors: list[GraphTensor] = field(default_factory=list)
    roots: list[tuple[int, int, int]] = field(default_factory=list)
    kept: int = 0
    kept_bytes: int = 0
    show_saved: bool = True

    def find(self, name: str) -> GraphNode:
        """The first node of that name, "MulBackward0" or "MulBackward0 #3". Raises KeyError."""
        for node in self.nodes:
            if name in (node.name, node.title):
                return node
        raise KeyError(
            f"no node {name!r} in the graph of {self.name}; there are "
            f"{', '.join(n.title for n in self.nodes)}"
        )

    def text(self) -> str:
        from viz.rooms.autograd_text import autograd_text

        return autograd_text(self)

    def canvas(self) -> Canvas:
        from viz.rooms.autograd_canvas import autograd_canvas

        return autograd_canvas(self)

    @property
    def graph(self) -> Graph:
        """The same as a `viz.Graph`: boxes and arrows drawn by Graphviz."""
        from viz.rooms.autograd_text import autograd_graph

        return autograd_graph(self)

    @property
    def dot(self) -> str:
        """The graph in the DOT language."""
        return self.graph.dot

    def save(self, path: Any, theme: str | None = None) -> Any:
        """As `Picture.save`, and `.dot` (or `.gv`) for the DOT text."""
        from pathlib import Path

        path = Path(path)
        if path.suffix.lower() in (".dot", ".gv"):
            write_atomically(path, self.dot.encode())
            return path
        return super().save(path, theme)

    def title(self) -> str:
        return f"viz.autograd: {self.name}"


def autograd(
    *tensors: Any,
    params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    saved: bool = True,
    limit: int = NODES_AT_MOST,
    **names: Any,
) -> Autograd:
    """The graph behind `tensors`, tensors that require a gradient, or nodes (`t.grad_fn`).

    Tensors given by name, and those of `params` (`dict(model.named_parameters())`), are called by
    their names; where only names are given, the graph is that of those among them that were
    computed. `saved=False` leaves out what the nodes keep. Of a graph with more than `limit` nodes
    the middle is folded into boxes that say what they hide.

    Raises TypeError for what is neither tensor nor node, ValueError for a tensor that requires no
    gradient.

    >>> viz.autograd(loss, w=w, b=b)                                    # doctest: +SKIP
    >>> viz.autograd(loss, params=dict(model.named_parameters()))       # doctest: +SKIP
    """
    from viz.rooms.autograd_fold import folded
    from viz.rooms.autograd_record import record

    return folded(record(tensors, params, names, saved), limit)


def shape_text(shape: Iterable[int]) -> str:
    """`(2, 3)`, `(3,)`, `()`."""
    return str(tuple(shape))
