"""Fusion: pointwise operations that follow one another become one group
(`torch/csrc/jit/passes/graph_fuser.cpp`).

`(x * y + z).sigmoid()` walks over memory three times, for three cheap operations on each element.
As one `prim::FusionGroup` it can be a single loop that reads x, y, z and writes the result. This
pass makes the groups; `internals/jit/fuser` runs them.

1. The pass walks from the last node to the first. A *simple map* whose inputs are made by simple
   maps becomes a group and takes them in, the latest first. If such a node has other readers, its
   result becomes one more output of the group. It repeats this until nothing changes.
2. A chunk between two of them is in the way: the operation is moved behind it, to the chunks
   (`fuser_chunks.py`).
3. `cat` may be the last operation of a group: `prim::FusedConcat`.
4. `prim::SumToSize`, which follows every operation of a backward graph, is taken in: without
   broadcasting it does nothing, and with it the fuser computes the sum, and all that depends on it,
   separately.
5. Functions of rows, such as softmax and sums over the last dimension, are taken in like others
   (`fuser_rows.py`).
6. An output of which only the size is read is not computed: the size follows from those of the
   inputs (`fuser_shapes.py`).

A simple map computes each element of its one result from the elements at the same place of its
(broadcast) tensor arguments: its entry has the tag `pointwise`, and its loop is in the fuser's
table. Its other arguments must be constants, which are copied into the group, or a number that was
passed to the graph.

How the real one differs: 1.0.1 did not run groups on the CPU unless told to
(`torch._C._jit_override_can_fuse_on_cpu`), though it made them; non-constant numbers and sums to a
size stayed outside (1.1 moved those to the end of a group); today the groups of NNC and nvFuser
know shapes beforehand and are guarded by type checks. Here nodes whose memory is written to stay
out of groups, and a chunk is not moved past an operation if broadcasting could change the promoted
dtype.
"""

from __future__ import annotations

from typing import Any

from internals._generated.op_facts import POINTWISE
from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.operators.properties import changes_grad_mode
from internals.jit.passes.cse import cse
from internals.jit.passes.dce import dce
from internals.jit.passes.fuser_chunks import (
    CASTS,
    fuse_chunk,
    move_chunk_up,
    split_broadcasting_chunks,
)
from internals.jit.passes.fuser_rows import is_of_rows
from internals.jit.passes.fuser_shapes import (
    drop_outputs_used_only_in_size,
    simplify_shape_expressions,
)
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.subgraph_utils import (
    Reorder,
    clone_into,
    is_tensor,
    merge_into,
    reverse_topological,
    subgraph_of,
)

GROUP = "prim::FusionGroup"
SUM_TO_SIZE = "prim::SumToSize"


@graph_pass("gather pointwise operations for fusion")
def graph_fuser(graph: Graph) -> bool:
    """Put the operations that can be one loop over memory into `prim::FusionGroup` nodes. True if
    one was made.
    """
    if changes_grad_mode(graph) or not GraphFuser(graph.block(), Reorder(graph)).run():
        return False
    cse(graph)
    dce(graph)
    simplify_shape_expressions(graph.block())
    return True


def is_simple_map(node: Node) -> bool:
    """Whether `node` is a simple map, or a function of rows, with arguments that a group can take:
    tensors, constants, and for some operators a number of the graph.
    """
    if node.kind() == SUM_TO_SIZE:
        return True
    name = overload_of(node)
    if node.kind() not in CASTS and name.removeprefix("aten::") not in POINTWISE:
        return is_of_rows(node)
    for i, v in enumerate(node.inputs()):
        if not (is_tensor(v) or v.node().kind() == "prim::Constant"):
            # In `x + 2` it does not matter for the loop what the number is; in `x ** 2` it does.
            if i != 1 or not name.endswith(".Scalar") or not _is_given_number(v):
                return False
    return node.outputsSize() == 1 and has_loop(node)


def has_loop(node: Node) -> bool:
    """Whether the operator's loop is in the fuser's table, for tensors of floats or of ints."""
    from internals.jit.fuser.loops import knows  # the fuser imports passes

    return knows(overload_of(node), tuple([_constant_or_kind(v) for v in node.inputs()]))


def _constant_or_kind(v: Value) -> Any:
    """A key for an argument: the value of a constant, which may decide the loop, else the type."""
    found = constant(v)
    return v.type().kind() if found is NOT_CONSTANT or is_tensor(v) else (found.__class__, found)


def _is_given_number(v: Value) -> bool:
    """Whether `v` is a number that was passed to the graph, rather than computed in it."""
    return (
        v.type().kind() in ("FloatType", "IntType")
        and v.node() is v.node().owningGraph().param_node()
    )


def is_argument(v: Value) -> bool:
    """Whether a group reads `v` from outside: all but constants, which are copied into it."""
    return is_tensor(v) or v.node().kind() != "prim::Constant"


class GraphFuser:
    """The fusion of one block."""

    def __init__(self, block: Block, reorder: Reorder) -> None:
        self.block, self.reorder = block, reorder
        self.changed = False

    def run(self) -> bool:
        """Make the groups of the block, and of the blocks inside. True if anything has changed."""
        while self.scan():
            pass
        self.changed = split_broadcasting_chunks(self.block) or self.changed
        for group in self.groups():
            while fuse_chunk(group, self.block):
                pass
        for group in self.groups():
            drop_outputs_used_only_in_size(group)
        for node in list(self.block.nodes()):
            for b in node.blocks():
                self.changed = GraphFuser(b, self.reorder).run() or self.changed
        return self.changed

    def groups(self) -> list[Node]:
        return [n for n in self.block.nodes(reverse=True) if n.kind() == GROUP]

    def is_fusable(self, node: Node) -> bool:
        """Whether `node` is in this block and can be part of a group: it is one, or a simple map
        whose inputs and outputs are not written to.
        """
        if node._block is not self.block:
            return False
        return node.kind() == GROUP or (is_simple_map(node) and not self.reorder.has_writers(node))

    def scan(self) -> bool:
        """One walk from the last node to the first. True if anything was fused: then nodes have
        moved.
        """
        changed, node = False, self.block.return_node().prev()
        while node is not self.block.param_node():
            again = (
                self.fuse_any_input(node)
                if self.is_fusable(node) or self.is_fusable_cat(node)
                else None
            )
            changed = changed or again is not None
            node = node.prev() if again is None else again
        self.changed = self.changed or changed
        return changed

    def fuse_any_input(self, consumer: Node) -> Node | None:
        """Fuse the latest producer that can be fused, and return the group; or move a chunk out of
        the way, and return the consumer. None if there is neither.
        """
        inputs = (consumer.input(0).node() if consumer.kind() == "aten::cat" else consumer).inputs()
        for v in reverse_topological(inputs, self.block):
            if move_chunk_up(consumer, v, self.is_fusable):
                self.reorder.changed()
                return consumer
            if (group := self.fuse(consumer, v)) is not None:
                return group
        return None

    def fuse(self, consumer: Node, v: Value) -> Node | None:
        """Fuse the producer of `v` with the consumer, if it is fusable and can be moved to just
        before it. Returns the group, None if that is not possible.
        """
        producer = v.node()
        # A cat stands behind the node that makes its list, so the producer goes before that.
        place = consumer.input(0).node() if consumer.kind() == "aten::cat" else consumer
        if (
            not self.is_fusable(producer)
            or _is_concat(v)
            or not self.reorder.move_before(producer, place)
        ):
            return None
        if consumer.kind() == "aten::cat":
            consumer = _fused_concat(consumer)
        group = consumer if consumer.kind() == GROUP else create_group(consumer)
        merge_into(producer, group, is_argument)
        self.reorder.changed()
        return group

    def is_fusable_cat(self, cat: Node) -> bool:
        """Whether this is a cat that can end a group: along a constant dimension, of a list that
        has no other reader.
        """
        if (
            cat.kind() != "aten::cat"
            or named_constant(cat, "dim") is NOT_CONSTANT
            or self.reorder.has_writers(cat)
        ):
            return False
        construct = cat.input(0).node()
        return (
            construct.kind() == "prim::ListConstruct"
            and construct._block is self.block
            and len(cat.input(0).uses()) == 1
        )


def create_group(node: Node) -> Node:
    """Replace `node` by a group that contains a copy of it; returns the group."""
    group = node.owningGraph().create(GROUP, (), 0).g_("Subgraph", Graph())
    group.insertBefore(node)
    inner = clone_into(group, node, is_argument)
    subgraph_of(group).registerOutput(inner.output())
    group.addOutput().copyMetadata(node.output())
    node.replaceAllUsesWith(group)
    node.destroy()
    return group


def _is_concat(v: Value) -> bool:
    """Whether `v` is the `prim::FusedConcat` of a group: it is the last operation of its group, so
    a consumer cannot join that.
    """
    if v.node().kind() != GROUP:
        return False
    return subgraph_of(v.node()).outputs()[v.offset()].node().kind() == "prim::FusedConcat"


def _fused_concat(cat: Node) -> Node:
    """A `prim::FusedConcat` in the place of a cat and of its list."""
    construct = cat.input(0).node()
    node = (
        cat.owningGraph()
        .create("prim::FusedConcat", construct.inputs())
        .i_("dim", named_constant(cat, "dim"))
    )
    node.insertBefore(construct)
    node.output().copyMetadata(cat.output())
    cat.replaceAllUsesWith(node)
    cat.destroy()
    construct.destroy()
    return node
