"""Groups: nodes of a graph gathered into the `Subgraph` of one node
(`torch/csrc/jit/passes/utils/subgraph_utils.cpp`).

`prim::DifferentiableGraph` and `prim::FusionGroup` are such nodes. A group begins with one node and
swallows the producers of its inputs, one at a time and backwards:

    a = f(x)                               a = f(x)
    b = g(a)            group of h         z = Group(a)                group of g, h
    z = h(b)            ───────────▶         with b -> g(a), h(b)      ...

What the swallowed node read becomes an input of the group, what others still read of it becomes an
output; a constant is copied inside. Before a producer can be swallowed it has to stand right before
the group, and whatever stands between and depends on it has to move behind the group. `Reorder`
does that.

How the real one differs: it tells its alias analysis about every step; here the analysis is made
anew after a step, and only for graphs that write to something at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from internals.jit.ir import Block, Graph, Node, TensorType, Value, all_nodes
from internals.jit.operators.alias_analysis import AliasDb

CALLS = frozenset(
    ("prim::PythonOp", "prim::CallFunction", "prim::CallMethod", "prim::SetAttr", "prim::fork")
)


def subgraph_of(group: Node) -> Graph:
    graph: Graph = group.g("Subgraph")
    return graph


def create_singleton(node: Node, kind: str) -> Node:
    """A group of `kind` in the place of `node`, with nothing else in it. `node` is destroyed."""
    group = node.owningGraph().create(kind, (), 0).g_("Subgraph", Graph())
    group.insertBefore(node)
    merge_into(node, group)
    return group


def is_computed(v: Value) -> bool:
    return v.node().kind() != "prim::Constant"


def merge_into(node: Node, group: Node, is_input: Callable[[Value], bool] = is_computed) -> None:
    """Move `node`, a producer of `group` standing before it, inside; if it is a group, all it
    contains. Destroys `node`.

    What others still read of it becomes an output. `is_input` is as for `clone_into`.
    """
    if node.hasAttribute("Subgraph"):
        for inner in reversed(unmerge(node)):
            merge_into(inner, group, is_input)
        return
    clone = clone_into(group, node, is_input)
    for old, new in zip(node.outputs(), clone.outputs()):
        if old.hasUses():
            subgraph_of(group).registerOutput(new)
            old.replaceAllUsesWith(group.addOutput().copyMetadata(old))
    node.destroy()


def clone_into(group: Node, node: Node, is_input: Callable[[Value], bool]) -> Node:
    """Copy `node` to the beginning of the group's graph, which reads it there from now on; returns
    the copy.

    What `node` reads becomes an input of the group where `is_input` says so; the rest, constants,
    is copied.
    """
    graph = subgraph_of(group)
    inside = dict(zip(group.inputs(), graph.inputs()))
    with graph.insert_point_guard(graph.block().param_node().next()):
        for v in node.inputs():
            if v in inside:
                continue
            if is_input(v):
                group.addInput(v)
                inside[v] = graph.addInput().setType(v.type())
            else:
                inside[v] = copy_constant(v, graph)
        clone = graph.insertNode(graph.createClone(node, inside.__getitem__))
    for old, new in zip(node.outputs(), clone.outputs()):
        replace_input(group, old, new)
    return clone


def replace_input(group: Node, outside: Value, inside: Value) -> None:
    """If `outside` is an input of the group, it no longer is: the group makes it itself now, as
    `inside`.
    """
    for i, v in enumerate(group.inputs()):
        if v is outside:
            graph = subgraph_of(group)
            graph.inputs()[i].replaceAllUsesWith(inside)
            graph.eraseInput(i)
            group.removeInput(i)
            return


def unmerge(group: Node) -> list[Node]:
    """Put the nodes of a group back where it stands and destroy it; returns them."""
    graph, inner = group.owningGraph(), subgraph_of(group)
    here = dict(zip(inner.inputs(), group.inputs()))
    nodes = []
    for n in inner.nodes():
        clone = graph.createClone(n, here.__getitem__).insertBefore(group)
        here.update(zip(n.outputs(), clone.outputs()))
        nodes.append(clone)
    for v, inner_output in zip(group.outputs(), inner.outputs()):
        v.replaceAllUsesWith(here[inner_output])
    group.destroy()
    return nodes


def copy_constant(v: Value, graph: Graph) -> Value:
    """The constant `v` of another graph once more, at the insert point of `graph`, without its
    name.
    """
    node = graph.insertNode(graph.createClone(v.node(), lambda v: v))
    return node.output().setDebugName("")


def reverse_topological(values: Iterable[Value], block: Block) -> list[Value]:
    """Those made by nodes of `block`, the latest first."""
    block._number_nodes()
    made_here = [
        v for v in values if v.node()._block is block and v.node() is not block.param_node()
    ]
    return sorted(made_here, key=lambda v: v.node()._position, reverse=True)


def is_tensor(v: Value) -> bool:
    return isinstance(v.type(), TensorType)


class Reorder:
    """Moves nodes within their block as far as the meaning of the graph stays the same."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.writes = any(_may_write(n) for n in all_nodes(graph.block()))
        self._db: AliasDb | None = None

    @property
    def db(self) -> AliasDb:
        """What may share memory; made anew when the graph has changed."""
        if self._db is None:
            self._db = AliasDb(self.graph)
        return self._db

    def changed(self) -> None:
        """To be called after every change to the graph."""
        self._db = None

    def has_writers(self, node: Node) -> bool:
        """Whether somebody writes to what `node` takes or makes."""
        return self.writes and bool(self.db.has_writers(node))

    def value_has_writers(self, v: Value) -> bool:
        return self.writes and bool(self.db.has_writers(v))

    def move_before(self, node: Node, target: Node) -> bool:
        """Put `node` right before `target`, a later node; what depends on it moves behind. False if
        that cannot be.
        """
        if self.writes:
            return bool(self.db.moveBeforeTopologicallyValid(node, target))
        dependents = self._dependents(node, target)
        if dependents is None:
            return False
        node.moveBefore(target)
        place = target
        for n in dependents:
            n.moveAfter(place)
            place = n
        return True

    def could_move_before(self, node: Node, target: Node) -> bool:
        if self.writes:
            return bool(self.db.couldMoveBeforeTopologically(node, target))
        if node.isBefore(target):
            return self._dependents(node, target) is not None
        return not _reads_any(node, self._between(target, node))

    def _between(self, first: Node, last: Node) -> set[Node]:
        """`first` and what depends on it, up to `last`."""
        found, n = {first}, first.next()
        while n is not last:
            if _reads_any(n, found):
                found.add(n)
            n = n.next()
        return found

    def _dependents(self, node: Node, target: Node) -> list[Node] | None:
        """What stands between the two and has to stay behind `node`, in order; None if `target`
        depends on any of it.
        """
        behind: list[Node] = []
        n, moving, effects = node.next(), {node}, False
        while n is not target:
            if _reads_any(n, moving) or (effects and n.hasSideEffects()):
                behind.append(n)
                moving.add(n)
                effects = effects or n.hasSideEffects()
            n = n.next()
        moving.discard(node)
        return None if _reads_any(target, moving) else behind


def _reads_any(node: Node, makers: set[Node]) -> bool:
    """Whether `node`, or a node in its blocks, reads a value made by one of `makers`."""
    if any(v.node() in makers for v in node.inputs()):
        return True
    return any(_reads_any(n, makers) for b in node.blocks() for n in (*b.nodes(), b.return_node()))


def _may_write(node: Node) -> bool:
    if node.kind() in CALLS:
        return True
    schema = node.schema()
    if schema is None:
        return not node.kind().startswith("prim::")
    return bool(schema.is_mutable)
