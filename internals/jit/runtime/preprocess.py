"""What a graph is made ready with before it is compiled
(`torch/csrc/jit/runtime/interpreter/preprocess_graph.h`).

Registers are cleared by the last reader of their value, so every value needs one reader that is
surely the last. Two kinds of values have none: those nobody reads, and those whose last reader is
inside a block, which may run many times or not at all. Both are given a `prim::Drop` node to read
them: after their definition, or after the node around the block.

And `inline_nodes` finds the nodes whose result need not go through a register, because the next
thing anybody does is to take it from the stack: `a * x + b * y` needs two of its three results only
in passing.

A constant, which nobody drops, is given a Drop as well; all it does is to keep the node around its
last use from being evaluated in place. PyTorch's instructions are so, and ours are the same.

How the real one differs: the same, on a copy of the graph as here.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, Value

# These are not run in the middle of an expression.
NEVER_INLINE = ("prim::Param", "prim::FusionGroup", "prim::ConvolutionGroup")


def preprocess(graph: Graph) -> tuple[Graph, set[Node]]:
    """A copy of the graph with `prim::Drop` nodes, and those of its nodes that are evaluated where
    they are used.
    """
    graph = graph.copy()
    drop_unused(graph.block())
    LastUses().scan_block(graph.block())
    return graph, InlineNodes(graph).found


def drop_unused(block: Block) -> None:
    """A Drop for every value that nobody reads."""
    if unused := [v for v in block.inputs() if not v.uses()]:
        block.prependNode(block.owningGraph().create("prim::Drop", unused, 0))
    for node in list(block.nodes()):
        for inner in node.blocks():
            drop_unused(inner)
        unused = [v for v in node.outputs() if not v.uses()]
        if unused and node.kind() != "prim::Constant":
            block.owningGraph().create("prim::Drop", unused, 0).insertAfter(node)


class LastUses:
    """Walks backwards: the first reader met is the last one. If it is deeper than the definition, a
    Drop is put behind it.
    """

    def __init__(self) -> None:
        self.seen: set[Value] = set()
        self.drops: dict[Node, Node] = {}

    def scan_block(self, block: Block) -> None:
        self.scan_node(block.returnNode())
        for node in block.nodes(reverse=True):
            self.scan_node(node)

    def scan_node(self, node: Node) -> None:
        for block in node.blocks():
            self.scan_block(block)
        for value in reversed(node.inputs()):
            self.scan_use(node, value)

    def scan_use(self, user: Node, value: Value) -> None:
        if value in self.seen:
            return
        self.seen.add(value)
        owner = owner_in_block(user, value.node().owningBlock())
        if owner is user:
            return
        drop = self.drops.get(owner)
        if drop is None:
            drop = self.drops[owner] = (
                owner.owningGraph().create("prim::Drop", (), 0).insertAfter(owner)
            )
        drop.addInput(value)


def owner_in_block(node: Node, block: Block) -> Node:
    """The node of `block` that `node` is, or is inside of. Raises RuntimeError when it is
    outside.
    """
    while node.owningBlock() is not block:
        outer = node.owningBlock().owningNode()
        if outer is None:
            raise RuntimeError(
                "a value is used outside the block that defines it; the graph is not well formed "
                "(Graph.lint)"
            )
        node = outer
    return node


class InlineNodes:
    """Finds the nodes that can be evaluated right where their one result is used.

    Evaluating them there must not change the order in which anything runs. So from every node the
    inputs are followed backwards, last one first, and at the same time the list of nodes: as long
    as the two agree, the order is the same.
    """

    def __init__(self, graph: Graph) -> None:
        self.found: set[Node] = set()
        self.scan_block(graph.block())

    def scan_block(self, block: Block) -> None:
        self.scan_node(block.returnNode())
        for node in block.nodes(reverse=True):
            self.scan_node(node)

    def scan_node(self, root: Node) -> Node | None:
        """The node before all that is evaluated for `root`. A chain may be thousands of nodes long:
        no recursion along inputs.
        """
        if root in self.found:
            return None
        point: Node | None = None
        waiting: list[Value | Node] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Value):
                if item.node() is not point or not may_inline(item):
                    continue
                item = item.node()
                if item in self.found:
                    point = None
                    continue
                self.found.add(item)
            for block in item.blocks():
                self.scan_block(block)
            point = previous_non_constant(item)
            waiting.extend(item.inputs())
        return point


def may_inline(value: Value) -> bool:
    node = value.node()
    return node.kind() not in NEVER_INLINE and len(value.uses()) == 1 and node.outputsSize() == 1


def previous_non_constant(node: Node) -> Node | None:
    before = node.prev()
    while before is not None and before.kind() == "prim::Constant":
        before = before.prev()
    return before
