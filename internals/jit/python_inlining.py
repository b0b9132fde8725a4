"""Which nodes of a graph are written inside the expression that uses them (`scanBlock` in
`python_print.cpp`).

`torch.add(torch.mm(x, w), b)` is two nodes. The first may stand inside the second because its value
is used once, has no name, and because Python evaluates arguments from left to right: walking the
operands of a node from right to left, the inlined nodes must be met in exactly the opposite of the
order they run in. Otherwise two calls would change places, which matters when one of them writes to
memory or prints.

How the real one differs: the same.
"""

from __future__ import annotations

from internals.jit.ir import Block, Node, Value


def is_constant(node: Node) -> bool:
    """Constants may stand anywhere, whatever the order."""
    return node.kind() == "prim::Constant"


def inlined_nodes(block: Block) -> set[Node]:
    """The nodes of a block, and of blocks inside, that become part of another expression."""
    found: set[Node] = set()
    _scan_block(block, found)
    return found


def constants_in_order(block: Block, seen: set[Node]) -> list[Node]:
    """The constants that a block uses, in the order of first use, without those in `seen`, which
    grows.
    """
    found: list[Node] = []
    for node in (*block.nodes(), block.returnNode()):
        for value in node.inputs():
            if is_constant(value.node()) and value.node() not in seen:
                seen.add(value.node())
                found.append(value.node())
        for inner in node.blocks():
            found += constants_in_order(inner, seen)
    return found


def _scan_block(block: Block, found: set[Node]) -> None:
    _scan_node(block.returnNode(), found)
    for node in block.nodes(reverse=True):
        if node not in found:
            for inner in node.blocks():
                _scan_block(inner, found)
            _scan_node(node, found)


def _scan_node(root: Node, found: set[Node]) -> None:
    """Mark what can be written inside `root`, by a walk of the tree of its operands, last operand
    first.
    """
    expected = _previous(root)
    walk = [(root, iter(reversed(root.inputs())))]
    while walk:
        node, operands = walk[-1]
        for value in operands:
            maker = value.node()
            if maker is expected and _can_inline(value):
                expected = _previous(maker)
                walk.append((maker, iter(reversed(maker.inputs()))))
                break
            if is_constant(maker):
                found.add(maker)
        else:
            walk.pop()
            if node is not root:
                found.add(node)


def _previous(node: Node) -> Node:
    """The node before, constants aside."""
    node = node.prev()
    while is_constant(node):
        node = node.prev()
    return node


def _can_inline(value: Value) -> bool:
    node, uses = value.node(), value.uses()
    if node.outputsSize() != 1 or len(uses) != 1 or node.blocks() or node.kind() == "prim::Param":
        return False
    user, offset = uses[0]
    if value.hasDebugName() and user.kind() != "prim::Return":
        return False  # it was a variable; only what is returned at once needs none
    if node.kind() == "prim::isinstance":
        return False  # read back as the condition of an `if`, it would refine a type once more
    is_carried = user.kind() == "prim::Loop" and offset >= 2
    return not is_carried and user.kind() != "prim::fork"
