"""Loop unrolling: a small loop runs eight iterations in one
(`torch/csrc/jit/passes/loop_unrolling.cpp`).

    for i in range(n):         q = n // 8
        x = x + i              for _ in range(q):         # the main loop: eight copies of the body
                                   x = x + i; i += 1; x = x + i; i += 1; ...
                               for _ in range(n - 8*q):   # the remainder
                                   x = x + i; i += 1

Later passes gain more than the jumps that are saved: they find longer blocks, and a group of fused
operations cannot extend past the end of a block. A loop that is known to have few iterations is
replaced by copies of its body altogether.

| loop                                                 | becomes                                |
| ---------------------------------------------------- | -------------------------------------- |
| has a condition (`while`)                            | itself                                 |
| body of more than 32 nodes, counting nested blocks   | itself                                 |
| runs zero times                                      | its initial values                     |
| runs a constant number of times, less than 64        | so many copies of the body             |
| else                                                 | a main loop of 8 copies and a remainder |

If the body uses the counter, the counter becomes a carried value: the remainder continues counting
where the main loop has stopped.

How the real one differs: 1.0.1 ran the body of `for i in range(0)` once when it optimised.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, Value, all_nodes
from internals.jit.ir.types import IntType
from internals.jit.passes.dce import dce
from internals.jit.passes.overloads import constant
from internals.jit.passes.registry import graph_pass

UNROLL_FACTOR = 8  # the limits are PyTorch's
MAX_BODY_SIZE = 32
MAX_BODY_REPEATS = 64


@graph_pass("unroll loops")
def loop_unrolling(graph: Graph) -> bool:
    """Unroll every for loop with a small body, the inner ones first. True if there was one."""
    changed = _unroll_block(graph.block())
    if changed:
        dce(graph)
    return changed


def _unroll_block(block: Block) -> bool:
    changed = False
    for node in list(all_nodes(block, inner_first=True)):
        if is_for_loop(node) and body_size(node.blocks()[0]) <= MAX_BODY_SIZE:
            changed = unroll(node) or changed
    return changed


def is_for_loop(node: Node) -> bool:
    """Whether the loop ends by its trip count only: its conditions are the constant True."""
    return node.kind() == "prim::Loop" and all(
        constant(v) is True for v in (node.input(1), node.blocks()[0].outputs()[0])
    )


def body_size(block: Block) -> int:
    return sum(1 for _ in all_nodes(block))


def unroll(loop: Node) -> bool:
    """Unroll one loop, as in the table above. Always returns True."""
    body, trip_count = loop.blocks()[0], constant(loop.input(0))
    if isinstance(trip_count, int) and trip_count <= 0:
        for result, start in zip(loop.outputs(), loop.inputs()[2:]):
            result.replaceAllUsesWith(start)
        loop.destroy()
        return True
    if body.inputs()[0].hasUses():
        _carry_counter(loop)
    if isinstance(trip_count, int) and trip_count < MAX_BODY_REPEATS:
        _repeat_body(body, trip_count)
        _inline_body(loop)
    else:
        _split(loop)
    return True


def _split(loop: Node) -> None:
    """Split a loop into a main loop, with a repeated body, and a remainder, a copy of the loop."""
    graph = loop.owningGraph()
    remainder = graph.createClone(loop, lambda v: v).insertAfter(loop)
    for i, (result, rest) in enumerate(zip(loop.outputs(), remainder.outputs())):
        # first the uses, then the input: else the remainder's input would be replaced, too
        result.replaceAllUsesWith(rest)
        remainder.replaceInput(i + 2, result)
    _repeat_body(loop.blocks()[0], UNROLL_FACTOR)
    with graph.insert_point_guard(loop):
        n, factor = loop.input(0), graph.insertConstant(UNROLL_FACTOR)
        main = _int_op(graph, "aten::__round_to_zero_floordiv", n, factor)
        done = _int_op(graph, "aten::mul", main, factor)
        left = _int_op(graph, "aten::sub", n, done)
    loop.replaceInput(0, main)
    remainder.replaceInput(0, left)


def _carry_counter(loop: Node) -> None:
    """Replace the loop's own counter by a carried value, the first, which starts from 0 and is
    increased at the end of the body.
    """
    graph, body = loop.owningGraph(), loop.blocks()[0]
    with graph.insert_point_guard(loop):
        loop.insertInput(2, graph.insertConstant(0))
    loop.insertOutput(0).setType(IntType.get())
    counter = body.insertInput(1).setType(IntType.get())
    body.inputs()[0].replaceAllUsesWith(counter)
    with graph.insert_point_guard(body):
        body.insertOutput(1, _int_op(graph, "aten::add", counter, graph.insertConstant(1)))


def _repeat_body(body: Block, times: int) -> None:
    """Append `times - 1` copies of the body to itself, each with the values that the one before
    carries on.
    """
    graph, original = body.owningGraph(), list(body.nodes())
    carried = body.inputs()[1:]
    here: dict[Value, Value] = {}  # value of the original body → that of the latest copy
    results = body.outputs()
    for _ in range(times - 1):
        here.update(zip(carried, [here.get(v, v) for v in results[1:]]))
        for n in original:
            clone = body.appendNode(graph.createClone(n, lambda v: here.get(v, v)))
            here.update(zip(n.outputs(), clone.outputs()))
    for i, v in enumerate(results):
        body.replaceOutput(i, here.get(v, v))


def _inline_body(loop: Node) -> None:
    """Replace the loop by its body, which is to run exactly once."""
    graph, body = loop.owningGraph(), loop.blocks()[0]
    here = dict(zip(body.inputs()[1:], loop.inputs()[2:]))
    for n in body.nodes():
        clone = graph.createClone(n, lambda v: here.get(v, v)).insertBefore(loop)
        here.update(zip(n.outputs(), clone.outputs()))
    for v, result in zip(loop.outputs(), body.outputs()[1:]):
        v.replaceAllUsesWith(here.get(result, result))
    loop.destroy()


def _int_op(graph: Graph, kind: str, a: Value, b: Value) -> Value:
    node = graph.insertNode(graph.create(kind, (a, b)))
    return node.output().setType(IntType.get())
