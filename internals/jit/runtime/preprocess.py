"""Preparation of a graph for the compiler: nodes that end the life of a value, and nodes that are
evaluated in place (`torch/csrc/jit/runtime/interpreter/preprocess_graph.h`).

Registers are cleared by the last reader of their value, so every value needs one reader that is
certainly the last. Two kinds of values have none: those that are not used, and those whose last
reader is inside a block, which may run many times or not at all. Both are given a `prim::Drop` node
as a reader: after their definition, or after the node around the block.

`InlineNodes` finds the nodes whose result need not go through a register, because the next
instruction pops it off the stack: in `a * x + b * y`, the two products stay on the stack.

A constant that is used last inside a block is given a Drop as well, although its register need not
be cleared. It keeps the node around that use from being evaluated in place, as in PyTorch, so that
the instructions are the same.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, Value

# These are not evaluated in place.
NEVER_INLINE = ("prim::Param", "prim::FusionGroup", "prim::ConvolutionGroup")


def preprocess(graph: Graph) -> tuple[Graph, set[Node]]:
    """A copy of the graph with `prim::Drop` nodes, and the set of its nodes that are evaluated in
    place, where they are used.
    """
    graph = graph.copy()
    drop_unused(graph.block())
    LastUses().scan_block(graph.block())
    return graph, InlineNodes(graph).found


def drop_unused(block: Block) -> None:
    """Insert a Drop for every unused value, after its definition."""
    if unused := [v for v in block.inputs() if not v.uses()]:
        block.prependNode(block.owningGraph().create("prim::Drop", unused, 0))
    for node in list(block.nodes()):
        for inner in node.blocks():
            drop_unused(inner)
        unused = [v for v in node.outputs() if not v.uses()]
        if unused and node.kind() != "prim::Constant":
            block.owningGraph().create("prim::Drop", unused, 0).insertAfter(node)


class LastUses:
    """Walks backwards, so the first reader met is the last to run. If it is in a deeper block than
    the definition, a Drop is inserted behind the node around that block.
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
        """The first use met of a value is its last. One in a deeper block gets a Drop behind
        that.
        """
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
    """The node of `block` that contains `node`, or `node` itself. Raises RuntimeError if it is
    outside of the block.
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
    """Finds the nodes that can be evaluated in place, where their only result is used.

    That must not change the order in which nodes run. So from every node the inputs are followed
    backwards, the last one first, and at the same time the list of nodes: as long as the input is
    made by the node just before (`point`), the order stays the same.
    """

    def __init__(self, graph: Graph) -> None:
        self.found: set[Node] = set()
        self.scan_block(graph.block())

    def scan_block(self, block: Block) -> None:
        self.scan_node(block.returnNode())
        for node in block.nodes(reverse=True):
            self.scan_node(node)

    def scan_node(self, root: Node) -> Node | None:
        """Find the nodes that are evaluated in place for `root`; returns the node before them.
        There is no recursion along inputs, as a chain may be thousands of nodes long.
        """
        if root in self.found:
            return None
        point: Node | None = None
        waiting: list[Value | Node] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Value):
                # Only the node just before may be evaluated in place.
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
            waiting.extend(item.inputs())  # the last input is popped first
        return point


def may_inline(value: Value) -> bool:
    """Whether the value is the only output of its node, used once, and its kind may be in place."""
    node = value.node()
    return node.kind() not in NEVER_INLINE and len(value.uses()) == 1 and node.outputsSize() == 1


def previous_non_constant(node: Node) -> Node | None:
    before = node.prev()
    while before is not None and before.kind() == "prim::Constant":
        before = before.prev()
    return before
