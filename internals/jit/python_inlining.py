"""Choosing the nodes that are written inside the expression that uses them (`scanBlock` in
`python_print.cpp`).

`torch.add(torch.mm(x, w), b)` is two nodes. The first one may be written inside the second if its
value is used once and has no name, and if that does not change the order of the calls: Python
evaluates arguments from left to right. So a walk through the operands of a node, from right to
left, must meet the inlined nodes in exactly the reverse order of the graph. Otherwise two calls
would be swapped, which matters if one of them writes to memory or prints.
"""

from __future__ import annotations

from internals.jit.ir import Block, Node, Value


def is_constant(node: Node) -> bool:
    """Whether a node is a constant, which can be written anywhere, whatever the order."""
    return node.kind() == "prim::Constant"


def inlined_nodes(block: Block) -> set[Node]:
    """The nodes of a block, and of the blocks inside it, that are written inside another node's
    expression.
    """
    found: set[Node] = set()
    _scan_block(block, found)
    return found


def constants_in_order(block: Block, seen: set[Node]) -> list[Node]:
    """The constants that a block uses, in the order of first use, without those in `seen`. They are
    added to `seen`.
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
    """Add the nodes to inline in `block` to `found`, last node first: a node that is inlined itself
    has been scanned with its user.
    """
    _scan_node(block.returnNode(), found)
    for node in block.nodes(reverse=True):
        if node not in found:
            for inner in node.blocks():
                _scan_block(inner, found)
            _scan_node(node, found)


def _scan_node(root: Node, found: set[Node]) -> None:
    """Add the nodes that can be written inside `root` to `found`, by a depth-first walk through its
    operands, last operand first. The stack is explicit, because expressions may be deep.
    """
    expected = _previous(root)  # the only node that keeps the order, if it comes next
    stack = [(root, iter(reversed(root.inputs())))]
    while stack:
        node, operands = stack[-1]
        for value in operands:
            producer = value.node()
            if producer is expected and _can_inline(value):
                expected = _previous(producer)
                stack.append((producer, iter(reversed(producer.inputs()))))
                break
            if is_constant(producer):
                found.add(producer)
        else:  # all operands done
            stack.pop()
            if node is not root:
                found.add(node)


def _previous(node: Node) -> Node:
    """The last node before `node` that is not a constant."""
    node = node.prev()
    while is_constant(node):
        node = node.prev()
    return node


def _can_inline(value: Value) -> bool:
    """Whether a value may be written where it is used, as far as the order allows it."""
    node, uses = value.node(), value.uses()
    if node.outputsSize() != 1 or len(uses) != 1 or node.blocks() or node.kind() == "prim::Param":
        return False
    user, offset = uses[0]
    if value.hasDebugName() and user.kind() != "prim::Return":
        return False  # it was a variable in the source, which a `return` right after does not need
    if node.kind() == "prim::isinstance":
        return False  # as the condition of an `if`, it would refine a type when it is read back
    # inputs of a loop from 2 on are the initial values of the carried variables, which are assigned
    is_carried = user.kind() == "prim::Loop" and offset >= 2
    return not is_carried and user.kind() != "prim::fork"
