"""Dead code elimination: nodes that nothing observable depends on are removed
(`torch/csrc/jit/passes/dead_code_elimination.cpp`).

The pass marks and sweeps, like a garbage collector. A node is live if it

| rule                                              | why                                          |
|---------------------------------------------------|----------------------------------------------|
| defines an output of the graph                    | the caller gets it                           |
| defines an input of a live node                   | that node reads it                           |
| has side effects: print, raise, call, setattr     | they are seen outside of the graph           |
| may write to memory of a graph input, or anywhere | the caller sees the write                    |
| may write to memory of a live value               | `y = x[0]; y.add_(1)`: without it, x would   |
|                                                   | have another value                           |
| contains a live node in one of its blocks         | the inner node runs only if the outer one    |
|                                                   | does                                         |

Each output of an If is live or dead by itself: a dead one is erased, together with the outputs of
both arms for it. So is a value that a Loop carries. The output of the body for it is live only if
it is read after the loop or in the next turn, and the next turn may read it to compute another
carried value; so a Loop is marked again until nothing changes.

How the real one differs: its sweep keeps a carried value whose only reader is its own update
(`for i in range(n): a = a + 1` with a unused afterwards), which is removed here. It can also run
without alias information, and then keeps every operator that writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.operators.memory_dag import Element
from internals.jit.passes.control_flow import erase_carried, erase_if_output
from internals.jit.passes.registry import graph_pass


@graph_pass("dead code")
def dce(graph: Graph) -> bool:
    """Remove the nodes, If outputs and Loop values that nothing observable depends on."""
    eliminator = _Eliminator(AliasDb(graph))
    eliminator.mark_block(graph.block())
    return eliminator.sweep(graph.block())


class _Eliminator:
    """Mark and sweep of one graph: `marked` are the live nodes, `live` the live values."""

    def __init__(self, aliases: AliasDb) -> None:
        self.aliases = aliases
        self.marked: set[Node] = set()
        self.live: set[Value] = set()
        self.live_memory: set[Element] = set()  # locations of live values and of their elements

    # Mark

    def mark_block(self, block: Block) -> bool:
        """Mark the live nodes of a block, from its end to its start, so that the users of a value
        are decided before the node that makes it. True if anything new was marked.
        """
        changed = False
        for node in block.nodes():
            if self._is_root(node):
                changed |= self.mark(node)
        changed |= self._mark_return(block)
        for node in block.nodes(reverse=True):
            if not self.live.isdisjoint(node.outputs()) or not self.live_memory.isdisjoint(
                self.aliases.writes(node)
            ):
                changed |= self.mark(node)
            # In a Loop, a value live at the start of the body makes an output of the body live.
            if node.kind() == "prim::Loop":
                while self.mark_block(node.blocks()[0]):
                    changed = True
            else:
                for b in node.blocks():
                    changed |= self.mark_block(b)
        return changed

    def mark(self, node: Node) -> bool:
        """Mark a node, its inputs, and the nodes around it. True if it was not marked before."""
        if node in self.marked:
            return False
        self.marked.add(node)
        self._now_live(node.inputs())
        owner = node.owningBlock().owningNode()
        if owner is not None:
            self.mark(owner)
        return True

    def _is_root(self, node: Node) -> bool:
        return node.hasSideEffects() or self.aliases.has_untracked_effects(node)

    def _mark_return(self, block: Block) -> bool:
        """Mark the live outputs of a block: those that are read after it, or in the next turn of a
        Loop. Those of the graph are all live. True if anything new was marked.
        """
        before = len(self.live)
        owner = block.owningNode()
        if owner is None or owner.kind() not in ("prim::If", "prim::Loop", "prim::GradOf"):
            self._now_live(block.outputs())
        elif owner.kind() == "prim::Loop":
            # A carried value is live if the body reads it in the next turn, or it is read after.
            again, *results = block.outputs()
            if owner in self.marked:
                self._now_live([again])
            for result, carried, after in zip(results, block.inputs()[1:], owner.outputs()):
                if carried in self.live or after in self.live:
                    self._now_live([result])
        else:
            self._now_live([r for r, o in zip(block.outputs(), owner.outputs()) if o in self.live])
        return len(self.live) > before

    def _now_live(self, values: Sequence[Value]) -> None:
        new = [v for v in values if v not in self.live]
        self.live.update(new)
        self.live_memory |= self.aliases.reachable(new)

    # Sweep

    def sweep(self, block: Block) -> bool:
        """Destroy the nodes that are not marked, the last one first, so that a node has no users
        left when its turn comes. True if there were any.
        """
        changed = False
        for node in block.nodes(reverse=True):
            if node not in self.marked and not node.hasUses():
                node.destroy()
                changed = True
                continue
            if node.kind() in ("prim::If", "prim::GradOf"):
                changed |= _erase_unused_outputs(node)
            carried = self._stop_carrying(node) if node.kind() == "prim::Loop" else []
            for b in node.blocks():
                changed |= self.sweep(b)
            # only now, as dead nodes of the body used these inputs
            for i in carried:
                node.blocks()[0].eraseInput(i + 1)
            changed |= bool(carried)
        return changed

    def _stop_carrying(self, loop: Node) -> list[int]:
        """Erase the dead values that a Loop carries, except for the inputs of its body, which dead
        nodes may still use. Returns their numbers, the last one first.
        """
        body = loop.blocks()[0]
        inputs, outputs = body.inputs()[1:], loop.outputs()
        dead = [
            i
            for i, (v, after) in enumerate(zip(inputs, outputs))
            if not after.hasUses() and v not in self.live
        ]
        for i in reversed(dead):
            erase_carried(loop, i, body_input=False)
        return dead[::-1]


def _erase_unused_outputs(node: Node) -> bool:
    unused = [i for i, v in enumerate(node.outputs()) if not v.hasUses()]
    for i in reversed(unused):
        erase_if_output(node, i)
    return bool(unused)
