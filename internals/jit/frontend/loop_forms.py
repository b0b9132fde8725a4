"""The forms a loop has on its way from the compiler to the final graph
(`inline_loop_condition.cpp`, `canonicalize_modified_loop.cpp`).

The compiler emits a loop with two blocks, the body and the condition:

    prim::Loop(%max_trip_count)
      block0(%i : int): body
      block1(): condition -> (%c)

1. `break` and `continue` become `prim::LoopContinuation(condition, carried...)`, with the values
   that this iteration passes to the next one.
2. The condition is copied in front of the loop, for the first iteration, and moved to the end of
   the body, for the later ones.
3. After SSA conversion, a loop that has both a trip count and a condition (a `for` with a `break`)
   is rewritten as a `while` that counts by itself.
"""

from __future__ import annotations

from internals.jit.ir import Block, BoolType, Graph, IntType, Node, Value, all_nodes
from internals.jit.ir.constants import constant_of, is_constant

MAX_TRIP_COUNT = 2**63 - 1  # the trip count of a `while`, which has none


def set_loop_continuations(graph: Graph) -> None:
    """Step 1: every `prim::BreakStmt` and `prim::ContinueStmt` becomes a
    `prim::LoopContinuation`.
    """
    with graph.insert_point_guard(first_node(graph.block())):
        false = graph.insertConstant(False)
    _set_continuations(graph, graph.block(), None, false)


def _set_continuations(graph: Graph, block: Block, loop: Node | None, false: Value) -> None:
    """Step 1 for a block inside `loop` (None outside loops); `false` is a constant of the graph,
    the condition after a `break`.
    """
    for node in list(block.nodes()):
        kind = node.kind()
        if kind == "prim::If":
            for arm in node.blocks():
                _set_continuations(graph, arm, loop, false)
        elif kind == "prim::Loop":
            _set_continuations(graph, node.blocks()[0], node, false)
        elif kind == "prim::Closure":
            _set_continuations(graph, node.blocks()[0], None, false)
        elif kind in ("prim::ContinueStmt", "prim::BreakStmt"):
            assert loop is not None
            exit = graph.create("prim::LoopContinuation", [], 0).insertAfter(node)
            exit.addInput(_condition_before(node, loop) if kind == "prim::ContinueStmt" else false)
            _add_carried(exit, loop)
            node.destroy()


def inline_loop_conditions(block: Block) -> None:
    """Step 2, innermost loops first. Loops with a single block are skipped: they come from
    functions that were compiled before and inserted here (`builtin_calls.py`).
    """
    for node in list(all_nodes(block, inner_first=True)):
        if node.kind() != "prim::Loop" or len(node.blocks()) == 1:
            continue
        body, condition = node.blocks()
        # blocks 0, 1, 2: the body, the condition, and a copy of it for the first iteration
        first = node.addBlock()
        first.cloneFrom(condition, lambda v: v)
        _move_nodes_before(node, first)
        node.insertInput(1, first.outputs()[0])
        node.eraseBlock(2)
        _move_nodes_before(body.returnNode(), condition)
        body.insertOutput(0, condition.outputs()[0])
        node.eraseBlock(1)


def canonicalize_modified_loops(block: Block) -> None:
    """Step 3: rewrite loops that have both a trip count and a condition, innermost first."""
    for node in list(all_nodes(block, inner_first=True)):
        if node.kind() == "prim::Loop" and _has_count_and_condition(node):
            _count_by_hand(node)


def first_node(block: Block) -> Node:
    """The first node of a block; its return node if it is empty."""
    return next(iter(block.nodes()), block.returnNode())


def _condition_before(node: Node, loop: Node) -> Value:
    """Insert a copy of the loop's condition in front of `node`, a `continue`, and return its
    value.
    """
    copy = node.addBlock()
    copy.cloneFrom(loop.blocks()[1], lambda v: v)
    _move_nodes_before(node, copy)
    out = copy.outputs()[0]
    node.eraseBlock(0)
    return out


def _add_carried(exit: Node, loop: Node) -> None:
    """Add the current values of the carried variables to an exit, as the end of the body has
    them.
    """
    graph = exit.owningGraph()
    for out in loop.blocks()[0].outputs():
        load = out.node()
        assert load.kind() == "prim::Load"  # a copy of it, in front of `exit`, has the value there
        exit.addInput(graph.createClone(load, lambda v: v).insertBefore(exit).output())


def _move_nodes_before(node: Node, block: Block) -> None:
    for each in list(block.nodes()):
        each.moveBefore(node)


def _has_count_and_condition(loop: Node) -> bool:
    """Whether the trip count is limited or the counter is used (a `for`), and the condition is not
    always True (it is a `while`, or has a `break`).
    """
    count, start = loop.inputs()[:2]
    unlimited = (
        is_constant(count)
        and constant_of(count) == MAX_TRIP_COUNT
        and not loop.blocks()[0].inputs()[0].uses()
    )
    always = all(
        is_constant(c) and constant_of(c) is True for c in (start, loop.blocks()[0].outputs()[0])
    )
    return not unlimited and not always


def _count_by_hand(loop: Node) -> None:
    """Make the counter a carried value, i, and its limit part of the condition: the loop runs while
    `i < count and condition`, with the largest trip count.
    """
    graph = loop.owningGraph()
    body = loop.blocks()[0]
    count, start = loop.inputs()[:2]
    with graph.insert_point_guard(loop):
        zero, one = graph.insertConstant(0), graph.insertConstant(1)
        condition = graph.insert("aten::gt", [count, zero]).setType(BoolType.get())
        loop.replaceInput(0, graph.insertConstant(MAX_TRIP_COUNT))
        # before the first iteration i is 0, so `i < count` is `count > 0`
        if not (is_constant(start) and constant_of(start) is True):
            condition = graph.insert("aten::__and__", [condition, start]).setType(BoolType.get())
        loop.replaceInput(1, condition)
    loop.addOutput().setType(IntType.get())
    loop.addInput(zero)
    counter = body.addInput().setType(IntType.get())
    old = body.inputs()[0]
    old.setDebugName("")
    old.replaceAllUsesWith(counter)
    with graph.insert_point_guard(body):
        following = graph.insert("aten::add", [counter, one]).setType(IntType.get())
        body.registerOutput(following)
        more = graph.insert("aten::lt", [following, count]).setType(BoolType.get())
        body.replaceOutput(
            0, graph.insert("aten::__and__", [more, body.outputs()[0]]).setType(BoolType.get())
        )
