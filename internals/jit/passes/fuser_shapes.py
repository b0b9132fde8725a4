"""The sizes of a fused group's outputs, without computing them (part of `graph_fuser.cpp`).

Backward graphs ask for the size of nearly every value, to undo broadcasting (`prim::SumToSize`). If
a value inside a group is an output only because its size is asked for, it need not be written to
memory: the size of a pointwise operation's result is the size that its arguments broadcast to.

    prim::BroadcastSizes(a, b, ...)                      the size that tensors of these sizes
                                                         broadcast to
    prim::ChunkSizes[dim=, chunks=](size) -> s, last     the size of each chunk, and of the last
                                                         chunk, which may be smaller
"""

from __future__ import annotations

from internals.jit.ir import Block, Node, Value
from internals.jit.ir.types import IntType, ListType
from internals.jit.passes.fuser_chunks import CASTS, broadcast_sizes
from internals.jit.passes.fuser_rows import LAYER_NORM, REDUCTIONS
from internals.jit.passes.overloads import overload_of
from internals.jit.passes.subgraph_utils import is_tensor, subgraph_of


def drop_outputs_used_only_in_size(group: Node) -> None:
    """Erase the outputs of which only the size is read, and compute that size from the inputs'."""
    graph = subgraph_of(group)
    outputs = group.outputs()
    if not any(used_only_in_size(v) for v in outputs):
        return
    sizes = _size_expressions(group)
    for i in reversed(range(len(outputs))):  # erasing one changes the numbers of those after it
        inner = graph.outputs()[i]
        if not used_only_in_size(outputs[i]) or inner not in sizes:
            continue
        for use in outputs[i].uses():
            use.user.output().replaceAllUsesWith(sizes[inner])
            use.user.destroy()
        group.eraseOutput(i)
        graph.eraseOutput(i)


def used_only_in_size(v: Value) -> bool:
    """Whether every use of `v` is `size(v)`, of all dimensions; True if there is no use."""
    return all(use.user.kind() == "aten::size" and use.user.inputsSize() == 1 for use in v.uses())


def _size_expressions(group: Node) -> dict[Value, Value]:
    """For each tensor inside the group, the value of its size, computed by nodes after the group.
    Dead code elimination removes the unused ones.

    The size of a tensor that is an output anyway is read from the output.
    """
    outer, inner = group.owningGraph(), subgraph_of(group)
    sizes: dict[Value, Value] = {}
    outside_of = dict(zip(inner.inputs(), group.inputs()))
    with outer.insert_point_guard(group.next()):
        for outside, inside in zip(group.inputs(), inner.inputs()):
            if is_tensor(outside):
                sizes[inside] = outer.insert("aten::size", [outside])
        for outside, inside in zip(group.outputs(), inner.outputs()):
            if not used_only_in_size(outside):
                sizes[inside] = outer.insert("aten::size", [outside])
        for node in inner.nodes():
            if node.kind() in ("prim::FusedConcat", "prim::Constant"):
                continue
            if node.kind() == "prim::ConstantChunk":
                regular, last = _chunk_sizes(node, sizes[node.input()])
                for v in node.outputs()[:-1]:
                    sizes.setdefault(v, regular)
                sizes.setdefault(node.outputs()[-1], last)
                continue
            if node.kind() == "prim::SumToSize":  # the size of its result is its second input
                if node.inputsAt(1) in outside_of:
                    sizes[node.output()] = outside_of[node.inputsAt(1)]
                continue
            if overload_of(node) in REDUCTIONS or any(
                is_tensor(v) and v not in sizes for v in node.inputs()
            ):
                continue
            # pointwise: its size is that of its tensors, broadcast; a cast has that of the first
            arguments = [sizes[v] for v in node.inputs() if is_tensor(v)]
            if node.kind() in CASTS or overload_of(node) == LAYER_NORM:
                arguments = arguments[:1]
            if node.output() not in sizes:
                sizes[node.output()] = (
                    arguments[0] if len(arguments) == 1 else broadcast_sizes(arguments)
                )
    return sizes


def _chunk_sizes(chunk: Node, size: Value) -> tuple[Value, Value]:
    """The sizes of the chunks of a tensor of this size: of all but the last, and of the last."""
    graph = size.node().owningGraph()
    node = graph.insertNode(graph.create("prim::ChunkSizes", (size,), 2))
    node.i_("dim", chunk.i("dim")).i_("chunks", chunk.i("chunks"))
    regular, last = (v.setType(ListType(IntType.get())) for v in node.outputs())
    return regular, last


def simplify_shape_expressions(block: Block) -> bool:
    """Simplify each `prim::BroadcastSizes`: a broadcast of one size is that size, equal sizes count
    once, and a broadcast within another becomes part of it. True if there was one.
    """
    changed = False
    node = block.param_node().next()
    while node is not block.return_node():
        ahead = node.next()
        for b in node.blocks():
            changed = simplify_shape_expressions(b) or changed
        if node.kind() == "prim::BroadcastSizes":
            again = _simplify(node)
            changed = changed or again is not node
            # A new broadcast is simplified again; otherwise go on behind `again`.
            ahead = (
                again
                if again is not node and again.kind() == "prim::BroadcastSizes"
                else again.next()
            )
        node = ahead
    return changed


def _simplify(node: Node) -> Node:
    """Simplify one node. Returns the node itself, or if it was replaced, the one to go on from."""
    before, graph = node.prev(), node.owningGraph()
    distinct = sorted(set(node.inputs()), key=lambda v: v.unique())
    if len(distinct) == 1:
        node.output().replaceAllUsesWith(distinct[0])
        node.destroy()
        return before
    if len(distinct) < node.inputsSize():
        with graph.insert_point_guard(node):
            new = broadcast_sizes(distinct)
        node.output().replaceAllUsesWith(new)
        node.destroy()
        return new.node()
    uses = node.output().uses()
    if len(uses) == 1 and uses[0].user.kind() == "prim::BroadcastSizes":
        uses[0].user.removeInput(uses[0].offset)
        for v in node.inputs():
            uses[0].user.addInput(v)
        node.destroy()
        return before
    return node
