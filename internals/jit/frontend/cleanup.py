"""What is done to every compiled graph before anybody sees it (`runCleanupPasses` of
`ir_emitter.cpp`).

Names of operators that are only other names for others are replaced (`normalize_ops.cpp`); tuples
that are taken apart again are removed; what is constant is computed, as far as nothing mutable is
involved; constants are pooled at the top; and the outputs of ifs and loops are put in the order in
which they are used, so that graphs do not depend on the names in the source.

How the real one differs: closures and forks are lifted out of the graph here, and each `aten::warn`
is given a number.
"""

from __future__ import annotations

from internals.jit.ir import Block, BoolType, Graph, Node, TensorType, Value, all_nodes
from internals.jit.operators.second_names import first_name
from internals.jit.passes.constant_pooling import constant_pooling
from internals.jit.passes.dce import dce
from internals.jit.passes.lower_tuples import lower_simple_tuples

from .immutable_constants import propagate_immutable_constants

IS_OF_BOOLS = {"aten::__is__": "aten::eq", "aten::__isnot__": "aten::ne"}


def clean_up(graph: Graph) -> None:
    """Run the passes on a graph in SSA form."""
    make_empty_lists(graph)
    normalize_names(graph.block())
    lower_simple_tuples(graph)
    if propagate_immutable_constants(graph):
        dce(graph)
    constant_pooling(graph)
    order_outputs(graph.block())


def make_empty_lists(graph: Graph) -> None:
    """A `[]` that did not become a list of anything is a list of tensors."""
    for node in graph.findAllNodes("prim::EmptyListLiteral"):
        made = (
            graph.create("prim::ListConstruct")
            .insertBefore(node)
            .output()
            .setType(node.output().type())
        )
        node.output().replaceAllUsesWith(made)
        node.destroy()


def normalize_names(block: Block) -> None:
    """`aten::absolute` is `aten::abs`: one name for one thing, so that later passes need know only
    one.
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
    """The first name of a tensor operator that has several, and of the comparison of two bools: for
    them, `is` is `==`.
    """
    kind = node.kind()
    if kind in IS_OF_BOOLS and all(isinstance(v.type(), BoolType) for v in node.inputs()):
        return IS_OF_BOOLS[kind]
    return (
        first_name(kind) if any(isinstance(v.type(), TensorType) for v in node.inputs()) else kind
    )


def order_outputs(block: Block) -> None:
    """Outputs of ifs and loops in the order of their first use; those not used last, as they were
    (`CanonicalizeOutputs`).
    """
    for node in list(block.nodes(reverse=True)):
        if node.kind() == "prim::If":
            _permute(node, _order(node.outputs()), 0, 0)
        elif node.kind() == "prim::Loop":
            order = _order(node.outputs())
            _permute(node, order, 2, 1)
        for inner in node.blocks():
            order_outputs(inner)


def _order(outputs: list[Value]) -> list[int]:
    last = (1,)
    return sorted(
        range(len(outputs)),
        key=lambda i: min((_place(u.user, u.offset) for u in outputs[i].uses()), default=last),
    )


def _place(node: Node, offset: int) -> tuple[int, ...]:
    """A key that orders uses as they stand in the text of the graph. It starts with 0; what is not
    used comes after with 1.
    """
    path: list[int] = [offset]
    at: Node | None = node
    while at is not None:
        block = at.owningBlock()
        position = _position(block, at)
        owner = block.owningNode()
        index = 0 if owner is None else next(i for i, b in enumerate(owner.blocks()) if b is block)
        path = [index, position, *path]
        at = owner
    return (0, *path)


def _position(block: Block, node: Node) -> int:
    if node is block.returnNode():
        return 1 << 60
    return next(i for i, n in enumerate(block.nodes()) if n is node)


def _permute(node: Node, order: list[int], inputs_from: int, block_from: int) -> None:
    """Put the outputs of `node` in this order, and with them its blocks' outputs and, of a loop,
    what is carried.
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
