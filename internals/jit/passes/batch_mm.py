"""Batching of matrix products: several become one (`torch/csrc/jit/passes/batch_mm.cpp`).

Small matrix products cost more in calls than in arithmetic, and the backward of a recurrent network
is full of them. Two patterns:

1. *Trees*. A sum of at least 4 products is one product, of the left sides next to each other and
   the right sides below each other:

       L1 @ R1 + L2 @ R2 + ... = [L1 L2 ...] @ [R1]
                                               [R2]   prim::MMTreeReduce(L1, L2, ..., R1, R2, ...)
                                               ...

   The leaves are `mm`, or `t` of one ((A B)ᵀ = Bᵀ Aᵀ), the inner nodes `add`, and the values on the
   way have no other readers.

2. *Sides*. A matrix that is the same side of at least 8 independent products:

       A @ B1, A @ B2, ... = A @ [B1 B2 ...], cut up   prim::MMBatchSide[side=0](A, B1, B2, ...)

Whether the shapes fit, and whether the batch is faster, is decided at run time
(`internals/jit/runtime/batched_mm.py`).

How the real one differs: 1.0.1 skipped the pass for any graph that writes to a tensor; here, as
today, only products whose memory is written to are left alone. An `add` whose alpha is not 1 is not
a plain sum and ends a tree; PyTorch overlooks that.
"""

from __future__ import annotations

from dataclasses import dataclass

from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.operators.properties import changes_grad_mode
from internals.jit.passes.dce import dce
from internals.jit.passes.overloads import constant, overload_of
from internals.jit.passes.peephole import peephole
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.subgraph_utils import Reorder

MIN_LEAVES = 4  # products in a tree; both minimums are PyTorch's
MIN_PRODUCTS = 8
LEFT, RIGHT = 0, 1


@graph_pass("batch matrix products")
def batch_mm(graph: Graph) -> bool:
    """Join sums of products and products with a common side. True if there were any."""
    if graph.findNode("aten::mm") is None or changes_grad_mode(graph):
        return False
    reorder = Reorder(graph)
    changed = reduce_trees(graph.block(), reorder)
    reorder.changed()
    changed = batch_sides(graph.block(), reorder) or changed
    if changed:
        dce(graph)
        peephole(graph)  # transposing leaves may have made t(t(x))
    return changed


@dataclass
class Tree:
    """The sum of `leaves` products, which `node` computes. It is no longer a `root` when it has
    become part of a larger tree.
    """

    node: Node
    leaves: int = 1
    root: bool = True


def reduce_trees(block: Block, reorder: Reorder) -> bool:
    """Replace the trees of a block by `prim::MMTreeReduce`."""
    trees: dict[Node, Tree] = {}
    changed = False
    for node in list(block.nodes()):
        for b in node.blocks():
            changed = reduce_trees(b, reorder) or changed
        tree = _tree_of(node, trees)
        if tree is not None and not reorder.has_writers(node):
            trees[node] = tree
    for tree in trees.values():
        if tree.root and tree.leaves >= MIN_LEAVES:
            _reduce(tree.node)
            changed = True
    return changed


def _tree_of(node: Node, trees: dict[Node, Tree]) -> Tree | None:
    """The tree that ends in `node`: a product, a transposed product, or the sum of two trees."""
    key = overload_of(node)
    if key == "aten::mm":
        return Tree(node)
    below = [trees.get(v.node()) for v in node.inputs()[:2]]
    # A transposed product is a leaf, in place of the product itself.
    if key == "aten::t" and below[0] is not None and below[0].node.kind() == "aten::mm":
        if len(node.input().uses()) > 1:
            return None
        below[0].root = False
        return Tree(node)
    if key != "aten::add.Tensor" or constant(node.inputsAt(2)) != 1:
        return None
    left, right = below
    if left is None or right is None or left is right or not (left.root and right.root):
        return None
    if any(len(v.uses()) > 1 for v in node.inputs()[:2]):  # its value is needed by itself, too
        return None
    left.root = right.root = False
    return Tree(node, left.leaves + right.leaves)


def _reduce(root: Node) -> None:
    """Collect the products below `root`, and compute them by one `prim::MMTreeReduce`."""
    graph, waiting, products = root.owningGraph(), [root], []
    while waiting:
        node = waiting.pop()
        if node.kind() == "aten::mm":
            products.append((node.inputsAt(0), node.inputsAt(1)))
        elif node.kind() == "aten::t":
            a, b = node.input().node().inputs()  # (a @ b)ᵀ = bᵀ @ aᵀ
            with graph.insert_point_guard(node):
                products.append((graph.insert("aten::t", [b]), graph.insert("aten::t", [a])))
        else:
            waiting += [v.node() for v in node.inputs()[:2]]
    sides = [a for a, _ in products] + [b for _, b in products]
    reduced = graph.create("prim::MMTreeReduce", sides).insertBefore(root)
    reduced.output().setType(root.output().type())
    root.output().replaceAllUsesWith(reduced.output())


def batch_sides(block: Block, reorder: Reorder) -> bool:
    """Replace products that share a side by `prim::MMBatchSide`."""
    changed, considered = False, set()
    for node in list(block.nodes()):
        if node._block is None:  # destroyed as part of an earlier batch
            continue
        if node.kind() == "aten::mm" and not reorder.has_writers(node):
            for v in node.inputs():
                if v not in considered:
                    considered.add(v)
                    for side in (LEFT, RIGHT):
                        products = _independent(_products_with(v, block, side, reorder), reorder)
                        if len(products) >= MIN_PRODUCTS:
                            _batch(products, side, reorder)
                            changed = True
        for b in node.blocks():
            changed = batch_sides(b, reorder) or changed
    return changed


def _products_with(v: Value, block: Block, side: int, reorder: Reorder) -> list[Node]:
    """The products of the block that have `v` on this side and another value on the other, in
    the order they run.
    """
    found = [
        use.user
        for use in v.uses()
        if use.user.kind() == "aten::mm" and use.user._block is block and use.offset == side
        and use.user.inputsAt(1 - side) is not v and not reorder.has_writers(use.user)
    ]  # fmt: skip
    block._number_nodes()
    return sorted(found, key=lambda n: n._position)


def _independent(products: list[Node], reorder: Reorder) -> list[Node]:
    """The products without those that depend on an earlier one."""
    kept: list[Node] = []
    for node in products:
        if all(reorder.could_move_before(node, earlier) for earlier in kept):
            kept.append(node)
    return kept


def _batch(products: list[Node], side: int, reorder: Reorder) -> None:
    """Move the products together, to the position of the last one, and replace them."""
    place = products[-1]
    # From the last to the first, each is moved to just before the one after it.
    for node in reversed(products[:-1]):
        if not reorder.move_before(node, place):
            return
        reorder.changed()
        place = node
    graph = place.owningGraph()
    batch = graph.create("prim::MMBatchSide", (place.inputsAt(side),), len(products)).i_(
        "side", side
    )
    batch.insertBefore(place)
    for node, result in zip(products, batch.outputs()):
        batch.addInput(node.inputsAt(1 - side))
        result.setType(node.output().type())
        node.output().replaceAllUsesWith(result)
    for node in products:
        node.destroy()
    reorder.changed()
