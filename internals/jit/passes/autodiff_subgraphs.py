"""Groups of nodes that get a backward of their own
(`torch/csrc/jit/passes/create_autodiff_subgraphs.cpp` and `inline_autodiff_subgraphs.cpp`).

Autograd differentiates every operator, with one node of its graph for each call. But where the
derivatives are known symbolically (`symbolic_gradients.py`), many operators can be put into one
`prim::DifferentiableGraph`, with one node of autograd's graph for all of them, and a backward that
is itself an optimised graph.

- `create_autodiff_subgraphs` walks from the last node to the first: a differentiable node begins a
  group, which takes in the differentiable producers of its inputs, the latest first, where the
  order of effects allows it. It repeats this until nothing changes. A group that is left with fewer
  than 2 nodes when its common subexpressions are merged is dissolved.
- `differentiate_subgraphs` gives each group its `ReverseSubgraph`.
- `inline_autodiff_subgraphs` dissolves the groups that are smaller than 5 nodes after that: they
  are not worth a node of their own. A group with fused nodes stays, as autograd cannot
  differentiate those.

How the real one differs: 1.0.1 also took in nodes whose memory is written to; here they stay
outside, because a group passes on its inputs without their history. Today it is profiled whether a
gradient is required, and nodes that require none stay outside.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, all_nodes
from internals.jit.operators.properties import changes_grad_mode
from internals.jit.passes.cse import cse
from internals.jit.passes.dce import dce
from internals.jit.passes.differentiate import Gradient, differentiate
from internals.jit.passes.graph_fuser import graph_fuser
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.subgraph_utils import (
    Reorder,
    create_singleton,
    merge_into,
    reverse_topological,
    subgraph_of,
    unmerge,
)
from internals.jit.passes.symbolic_gradients import is_differentiable

GROUP = "prim::DifferentiableGraph"
CREATE_THRESHOLD = 2  # nodes; the two thresholds are PyTorch's
INLINE_THRESHOLD = 5


@graph_pass("gather what can be differentiated symbolically")
def create_autodiff_subgraphs(graph: Graph) -> bool:
    """Put differentiable nodes into `prim::DifferentiableGraph` groups of at least
    `CREATE_THRESHOLD` nodes.
    """
    changed = not changes_grad_mode(graph) and _slice(graph.block(), Reorder(graph))
    return changed and (cse(graph) or changed)  # cse runs for its effect


@graph_pass("differentiate the groups")
def differentiate_subgraphs(graph: Graph) -> bool:
    """Give every group its `ReverseSubgraph`, and fuse what can be fused in its forward graph."""
    groups = graph.findAllNodes(GROUP)
    for node in groups:
        gradient = differentiate(subgraph_of(node))
        graph_fuser(gradient.f)
        pack_gradient(gradient, node)
    return bool(groups)


def pack_gradient(gradient: Gradient, node: Node) -> None:
    """Write a gradient into the attributes of a group node."""
    node.g_("Subgraph", gradient.f).g_("ReverseSubgraph", gradient.df)
    node.i_("f_real_outputs", gradient.f_real_outputs)
    for name in POSITIONS:
        node.ints_(name, getattr(gradient, name))


def unpack_gradient(node: Node) -> Gradient:
    """The gradient that `pack_gradient` wrote into a group node."""
    positions = {name: node.ints(name) for name in POSITIONS}
    return Gradient(
        node.g("Subgraph"), node.g("ReverseSubgraph"), node.i("f_real_outputs"), **positions
    )


# The fields of `Gradient` that are lists of positions, stored as attributes of their names.
POSITIONS = (
    "df_input_vjps",
    "df_input_captured_inputs",
    "df_input_captured_outputs",
    "df_output_vjps",
)


@graph_pass("put small differentiable groups back")
def inline_autodiff_subgraphs(graph: Graph) -> bool:
    """Put the nodes of groups with fewer than `INLINE_THRESHOLD` nodes back into the graph."""
    changed = False
    for node in graph.findAllNodes(GROUP):
        inner = subgraph_of(node)
        if _size(inner.block()) < INLINE_THRESHOLD and all(
            autograd_knows(n) for n in inner.nodes()
        ):
            _forget_requires_grad(inner)
            unmerge(node)
            changed = True
    if changed:
        dce(graph)
    return changed


def autograd_knows(node: Node) -> bool:
    """Whether autograd records this node when it runs: true of operators, false of fused groups."""
    if not node.kind().startswith(("aten::", "prim::")) or node.kind() == "prim::FusionGroup":
        return False
    return all(autograd_knows(n) for b in node.blocks() for n in b.nodes())


def _slice(block: Block, reorder: Reorder) -> bool:
    """Make the groups of a block and of the blocks inside. True if there were any."""
    changed = False
    while _scan(block, reorder):
        changed = True
    for node in list(block.nodes()):
        for b in node.blocks():
            changed = _slice(b, reorder) or changed
    for node in block.nodes(reverse=True):
        if node.kind() == GROUP:
            cse(subgraph_of(node))
            if sum(1 for _ in subgraph_of(node).nodes()) < CREATE_THRESHOLD:
                unmerge(node)
                reorder.changed()
    return changed


def _scan(block: Block, reorder: Reorder) -> bool:
    """One walk from the last node to the first. True if a group has taken in a node: then nodes
    have moved, and another walk may find more.
    """
    changed, node = False, block.return_node().prev()
    while node is not block.param_node():
        while (
            _belongs(node, reorder)
            and (producer := _move_producer(node, block, reorder)) is not None
        ):
            if node.kind() != GROUP:
                node = create_singleton(node, GROUP)
            merge_into(producer, node)
            reorder.changed()
            changed = True
        node = node.prev()
    return changed


def _move_producer(node: Node, block: Block, reorder: Reorder) -> Node | None:
    """The latest producer of an input that can be in one group with `node`; it is moved to just
    before it. None if there is no such producer.
    """
    for v in reverse_topological(node.inputs(), block):
        producer = v.node()
        if _belongs(producer, reorder) and reorder.move_before(producer, node):
            return producer
    return None


def _belongs(node: Node, reorder: Reorder) -> bool:
    """Whether the node may be part of a group: differentiable, and its memory not written to."""
    if node.kind() == GROUP:
        return True
    return (
        node.kind() != "prim::Constant"
        and is_differentiable(node)
        and not reorder.has_writers(node)
    )


def _forget_requires_grad(graph: Graph) -> None:
    """Erase "requires no gradient" from the types. It was true in the group, whose inputs were
    detached; back in the graph the values may require one.
    """
    for v in (v for n in graph.nodes() for v in n.outputs()):
        t = v.type()
        if t.kind() == "TensorType" and t.requires_grad() is False:  # type: ignore[attr-defined]
            v.setType(t.with_(requires_grad=None))  # type: ignore[attr-defined]


def _size(block: Block) -> int:
    return sum(1 for _ in all_nodes(block))
