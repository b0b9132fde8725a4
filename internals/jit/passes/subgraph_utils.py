"""Groups: nodes of a graph are moved into the `Subgraph` of one node
(`torch/csrc/jit/passes/utils/subgraph_utils.cpp`).

`prim::DifferentiableGraph` and `prim::FusionGroup` are such nodes. A group begins with one node and
takes in the producers of its inputs, one at a time and backwards:

    a = f(x)                               a = f(x)
    b = g(a)            group of h         z = Group(a)                group of g, h
    z = h(b)            ───────────▶         with b -> g(a), h(b)      ...

The inputs of a node that is taken in become inputs of the group, except for constants, which are
copied; its outputs that have other readers become outputs. Before that, the producer must be moved
to just before the group, and the nodes in between that depend on it behind the group. `Reorder`
does that.

How the real one differs: it updates its alias analysis at every step; here the analysis is made
anew after a step, and only for graphs that contain a write at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from internals.jit.ir import Block, Graph, Node, TensorType, Value, all_nodes
from internals.jit.operators.alias_analysis import AliasDb

CALLS = frozenset(
    ("prim::PythonOp", "prim::CallFunction", "prim::CallMethod", "prim::SetAttr", "prim::fork")
)


def subgraph_of(group: Node) -> Graph:
    """The graph inside a group."""
    graph: Graph = group.g("Subgraph")
    return graph


def create_singleton(node: Node, kind: str) -> Node:
    """Replace `node` by a group of `kind` that contains only it; returns the group."""
    group = node.owningGraph().create(kind, (), 0).g_("Subgraph", Graph())
    group.insertBefore(node)
    merge_into(node, group)
    return group


def is_computed(v: Value) -> bool:
    return v.node().kind() != "prim::Constant"


def merge_into(node: Node, group: Node, is_input: Callable[[Value], bool] = is_computed) -> None:
    """Move `node`, the producer just before `group`, into the group; if it is a group itself, all
    its nodes. The node itself is destroyed.

    An output of it that has other readers becomes an output of the group. `is_input` is as for
    `clone_into`.
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
    """Copy `node` to the beginning of the group's graph, whose nodes read the copy from now on;
    returns the copy.

    An input of `node` becomes an input of the group if `is_input` is true of it; the others, which
    are constants, are copied.
    """
    graph = subgraph_of(group)
    inside = dict(zip(group.inputs(), graph.inputs()))  # value outside → the one in the group
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
    # What the group read from `node` outside, it reads from the copy now.
    for old, new in zip(node.outputs(), clone.outputs()):
        replace_input(group, old, new)
    return clone


def replace_input(group: Node, outside: Value, inside: Value) -> None:
    """If `outside` is an input of the group, erase that input: the group now computes it itself, as
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
    """Replace a group by its nodes; returns these."""
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
    """A copy of the constant `v` of another graph, at the insert point of `graph`, without its
    name.
    """
    node = graph.insertNode(graph.createClone(v.node(), lambda v: v))
    return node.output().setDebugName("")


def reverse_topological(values: Iterable[Value], block: Block) -> list[Value]:
    """The values that are made by nodes of `block`, the latest first."""
    block._number_nodes()
    made_here = [
        v for v in values if v.node()._block is block and v.node() is not block.param_node()
    ]
    return sorted(made_here, key=lambda v: v.node()._position, reverse=True)


def is_tensor(v: Value) -> bool:
    return isinstance(v.type(), TensorType)


class Reorder:
    """Moves nodes within their block, if the result of the graph stays the same.

    A graph without writes needs no alias analysis: there the order depends only on values and side
    effects.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.writes = any(_may_write(n) for n in all_nodes(graph.block()))
        self._db: AliasDb | None = None

    @property
    def db(self) -> AliasDb:
        """The alias analysis, made anew when the graph has changed."""
        if self._db is None:
            self._db = AliasDb(self.graph)
        return self._db

    def changed(self) -> None:
        """To be called after every change to the graph."""
        self._db = None

    def has_writers(self, node: Node) -> bool:
        """Whether the inputs or outputs of `node` are written to."""
        return self.writes and bool(self.db.has_writers(node))

    def value_has_writers(self, v: Value) -> bool:
        return self.writes and bool(self.db.has_writers(v))

    def move_before(self, node: Node, target: Node) -> bool:
        """Move `node` to just before `target`, a later node, and the nodes that depend on it behind
        `target`. False if that is not possible.
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
        """Whether `move_before` would succeed; here `target` may be an earlier node, too."""
        if self.writes:
            return bool(self.db.couldMoveBeforeTopologically(node, target))
        if node.isBefore(target):
            return self._dependents(node, target) is not None
        return not _reads_any(node, self._between(target, node))

    def _between(self, first: Node, last: Node) -> set[Node]:
        """`first` and the nodes before `last` that depend on it."""
        found, n = {first}, first.next()
        while n is not last:
            if _reads_any(n, found):
                found.add(n)
            n = n.next()
        return found

    def _dependents(self, node: Node, target: Node) -> list[Node] | None:
        """The nodes between the two that must stay behind `node`, in order; None if `target`
        depends on one of them. It may depend on `node` itself, which goes before it.
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
    """Whether the node may write to memory, as far as its kind and schema tell."""
    if node.kind() in CALLS:
        return True
    schema = node.schema()
    if schema is None:
        return not node.kind().startswith("prim::")
    return bool(schema.is_mutable)
