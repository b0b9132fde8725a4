"""The passes that every compiled graph goes through before it is returned (`runCleanupPasses` of
`ir_emitter.cpp`).

In this order: aliases of operators are replaced by their first name (`normalize_ops.cpp`); tuples
that are unpacked again are removed; constant subexpressions are computed, unless something mutable
is involved; constants are pooled at the top; and the outputs of ifs and loops are sorted by their
first use, so that graphs do not depend on the names in the source.

How the real one differs: it also lifts closures and forks out of the graph here, and numbers each
`aten::warn`.
"""

from __future__ import annotations

from internals.jit.ir import Block, BoolType, Graph, Node, TensorType, Value, all_nodes
from internals.jit.operators.second_names import first_name
from internals.jit.passes.constant_pooling import constant_pooling
from internals.jit.passes.dce import dce
from internals.jit.passes.lower_tuples import lower_simple_tuples

from .immutable_constants import propagate_immutable_constants

# of two bools, `is` compares like `==`
IS_OF_BOOLS = {"aten::__is__": "aten::eq", "aten::__isnot__": "aten::ne"}


def clean_up(graph: Graph) -> None:
    """Run the passes, in place, on a graph in SSA form."""
    make_empty_lists(graph)
    normalize_names(graph.block())
    lower_simple_tuples(graph)
    if propagate_immutable_constants(graph):
        dce(graph)
    constant_pooling(graph)
    order_outputs(graph.block())


def make_empty_lists(graph: Graph) -> None:
    """Make a list of tensors of each `[]` for which no other element type has been found."""
    for node in graph.findAllNodes("prim::EmptyListLiteral"):
        empty = (
            graph.create("prim::ListConstruct")
            .insertBefore(node)
            .output()
            .setType(node.output().type())
        )
        node.output().replaceAllUsesWith(empty)
        node.destroy()


def normalize_names(block: Block) -> None:
    """Replace `aten::absolute` by `aten::abs`, and so on: later passes need to know only one name
    of each operator.
    """
    for node in list(all_nodes(block, inner_first=True)):
        kind = normal_name(node)
        if kind == node.kind():
            continue
        new = node.owningGraph().create(kind, node.inputs(), 0).insertBefore(node)
        new.copyMetadata(node)
        for out in node.outputs():
            out.replaceAllUsesWith(new.addOutput().copyMetadata(out))
        node.destroy()


def normal_name(node: Node) -> str:
    """The name that a node gets: the first name of a tensor operator that has several, `aten::eq`
    for an `is` of two bools, else the name it has.
    """
    kind = node.kind()
    if kind in IS_OF_BOOLS and all(isinstance(v.type(), BoolType) for v in node.inputs()):
        return IS_OF_BOOLS[kind]
    return (
        first_name(kind) if any(isinstance(v.type(), TensorType) for v in node.inputs()) else kind
    )


def order_outputs(block: Block) -> None:
    """Sort the outputs of ifs and loops by their first use; unused ones come last, in the order
    they had (`CanonicalizeOutputs`).
    """
    # From the back: the order within a node depends on the uses after it, which must be final.
    for node in list(block.nodes(reverse=True)):
        if node.kind() == "prim::If":
            _permute(node, _order(node.outputs()), 0, 0)
        elif node.kind() == "prim::Loop":
            # before the carried values, a loop's inputs are the trip count and the condition; its
            # body's outputs begin with the next condition, its body's inputs with the counter
            order = _order(node.outputs())
            _permute(node, order, 2, 1)
        for inner in node.blocks():
            order_outputs(inner)


def _order(outputs: list[Value]) -> list[int]:
    """The indices of the outputs, sorted by first use."""
    last = (1,)  # for an unused output: more than any `_place`, which starts with 0
    return sorted(
        range(len(outputs)),
        key=lambda i: min((_place(u.user, u.offset) for u in outputs[i].uses()), default=last),
    )


def _place(node: Node, offset: int) -> tuple[int, ...]:
    """A sort key for the use of a value as input `offset` of `node`: keys are ordered as the uses
    are in the printed graph. From the outermost block inwards, it has the index of the block in its
    node and the position of the node in that block, after a leading 0.
    """
    path: list[int] = [offset]
    at: Node | None = node  # from the inside out: the node, the node around its block, ...
    while at is not None:
        block = at.owningBlock()
        position = _position(block, at)
        owner = block.owningNode()
        index = 0 if owner is None else next(i for i, b in enumerate(owner.blocks()) if b is block)
        path = [index, position, *path]
        at = owner
    return (0, *path)


def _position(block: Block, node: Node) -> int:
    """The index of `node` in its block. The return node comes after all others."""
    if node is block.returnNode():
        return 1 << 60
    return next(i for i, n in enumerate(block.nodes()) if n is node)


def _permute(node: Node, order: list[int], inputs_from: int, block_from: int) -> None:
    """Put the outputs of `node` into this order, with the outputs of its blocks and, for a loop,
    the carried values.

    The first `inputs_from` inputs of the node and the first `block_from` outputs and inputs of its
    blocks stay where they are.
    """
    if order == list(range(len(order))):
        return
    for block in node.blocks():
        outputs = block.outputs()
        for to, i in enumerate(order):
            block.replaceOutput(block_from + to, outputs[block_from + i])
    node.permuteOutputs(order)
    if node.kind() == "prim::Loop":
        inputs = node.inputs()
        for to, i in enumerate(order):
            node.replaceInput(inputs_from + to, inputs[inputs_from + i])
        node.blocks()[0].paramNode().permuteOutputs(
            [*range(block_from), *(block_from + i for i in order)]
        )
