"""Dead code elimination: what nobody needs is removed
(`torch/csrc/jit/passes/dead_code_elimination.cpp`).

Mark and sweep, as a garbage collector does it. A node is live when it

| rule                                              | why                                          |
|---------------------------------------------------|----------------------------------------------|
| defines an output of the graph                    | the caller gets it                           |
| defines an input of a live node                   | that one needs it                            |
| has side effects: print, raise, call, setattr     | somebody sees it                             |
| may write to memory of a graph input, or anywhere | the caller sees it                           |
| may write to memory of a live value               | `y = x[0]; y.add_(1)`: without it, x would   |
|                                                   | be another value                             |
| contains a live node in one of its blocks         | the inner one runs only if the outer one     |
|                                                   | does                                         |

An output of an If is live by itself: if nobody uses it, it is taken away together with what both
arms return for it. So is a value carried through a Loop. What the body returns for it is live only
if it is read after the loop or in the next round, and the next round may be what reads another
carried value; so a Loop is marked again until nothing changes.

How the real one differs: the same marking, but its sweep keeps a carried value whose only reader is
its own update (`for i in range(n): a = a + 1` with a unused afterwards), which here goes. It can
also be run without alias information, and then keeps every operator that writes.
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
    def __init__(self, aliases: AliasDb) -> None:
        self.aliases = aliases
        self.marked: set[Node] = set()
        self.live: set[Value] = set()
        self.live_memory: set[Element] = set()  # what they, and what is inside them, may be

    # Mark

    def mark_block(self, block: Block) -> bool:
        """Mark what is live in a block, from its end to its start. True if anything new was
        marked.
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
            if node.kind() == "prim::Loop":
                while self.mark_block(node.blocks()[0]):
                    changed = True
            else:
                for b in node.blocks():
                    changed |= self.mark_block(b)
        return changed

    def mark(self, node: Node) -> bool:
        """Mark a node, its inputs, and the nodes it is inside of. True if it was not marked
        before.
        """
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
        """A block's outputs are live as far as somebody reads them; those of the graph always
        are.
        """
        before = len(self.live)
        owner = block.owningNode()
        if owner is None or owner.kind() not in ("prim::If", "prim::Loop", "prim::GradOf"):
            self._now_live(block.outputs())
        elif owner.kind() == "prim::Loop":
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
        """Destroy the nodes that were not marked, the last one first, so that each has lost its
        users by then.
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
            for i in carried:
                node.blocks()[0].eraseInput(i + 1)
            changed |= bool(carried)
        return changed

    def _stop_carrying(self, loop: Node) -> list[int]:
        """Take the dead values out of a Loop, all but the body's inputs, which dead nodes may still
        use. Returns their numbers, the last one first."""
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
