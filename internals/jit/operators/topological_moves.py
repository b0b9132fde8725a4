"""Moving a node without changing what the program does (`AliasDb::tryMove`,
`torch/csrc/jit/ir/alias_analysis.cpp`).

To move a node next to a target, walk from it towards the target and collect the nodes that must
move along. A node depends on those collected if one uses an output of the other, if one writes to
memory that the other reads, or if both print or draw random numbers. In the end all collected nodes
must go past the target, which is possible unless it depends on them:

    node, a, dep, b, target   →   a, b, target, node, dep       (after the target)
    node, a, dep, b, target   →   a, b, node, target, dep       (before the target)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.jit.ir import Node

from .memory_dag import Locations

BEFORE, AFTER = "before", "after"


class TopologicalMoves:
    """The moves of nodes, mixed into `AliasDb`, which knows what each node reads and writes."""

    if TYPE_CHECKING:

        def reads(self, node: Node) -> Locations: ...
        def writes(self, node: Node) -> Locations: ...
        def ordered_by(self, node: Node) -> frozenset[str]: ...

    def moveBeforeTopologicallyValid(self, node: Node, target: Node) -> bool:
        """Move `node` before `target`, with its dependencies, if that is safe. Otherwise nothing is
        moved, and the result is False.
        """
        return self._try_move(node, target, BEFORE, dry_run=False)

    def moveAfterTopologicallyValid(self, node: Node, target: Node) -> bool:
        """Move `node` after `target`, as `moveBeforeTopologicallyValid` does before it."""
        return self._try_move(node, target, AFTER, dry_run=False)

    def couldMoveBeforeTopologically(self, node: Node, target: Node) -> bool:
        """Whether `moveBeforeTopologicallyValid` would succeed."""
        return self._try_move(node, target, BEFORE, dry_run=True)

    def couldMoveAfterTopologically(self, node: Node, target: Node) -> bool:
        return self._try_move(node, target, AFTER, dry_run=True)

    def _try_move(self, node: Node, target: Node, side: str, dry_run: bool) -> bool:
        """Move `node` to that side of `target` if it is safe, and unless it is a dry run. Returns
        whether it is safe. Raises RuntimeError for nodes of different blocks.
        """
        if node.owningBlock() is not target.owningBlock():
            raise RuntimeError(f"{node.kind()} and {target.kind()} are in different blocks")
        if node is target:
            return True
        forward = node.isBefore(target)
        dragged = _WorkingSet(self, node, forward)
        current = node.next() if forward else node.prev()
        while current is not target:
            if dragged.depends_on(current):
                dragged.add(current)
            current = current.next() if forward else current.prev()
        # Forward and before (or backward and after): `node` stays on its side of the target, and
        # only the nodes that depend on it go past it:
        #     node, deps, target  →  node, target, deps
        split = (side == BEFORE) == forward
        others = dragged.nodes[1:]
        if split:
            dragged = _WorkingSet.of(self, others, forward)
        if dragged.depends_on(target):
            return False
        if dry_run:
            return True
        _move(node, target, side)
        other_side = AFTER if side == BEFORE else BEFORE
        # The others follow in their order: past the target if split, else next to the node.
        at, where = (target, other_side) if split else (node, AFTER if forward else BEFORE)
        for n in others:
            _move(n, at, where)
            at = n
        return True


class _WorkingSet:
    """The nodes to be moved together, in the order of the walk, with all that they read and write.
    `forward`: the walk goes from earlier to later nodes.
    """

    def __init__(self, db: TopologicalMoves, node: Node | None, forward: bool) -> None:
        self.db, self.forward = db, forward
        self.nodes: list[Node] = []
        self.reads: set[object] = set()
        self.writes: set[object] = set()
        self.ordered_by: set[str] = set()
        if node is not None:
            self.add(node)

    @classmethod
    def of(cls, db: TopologicalMoves, nodes: list[Node], forward: bool) -> _WorkingSet:
        found = cls(db, None, forward)
        for n in nodes:
            found.add(n)
        return found

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.reads |= self.db.reads(node)
        self.writes |= self.db.writes(node)
        self.ordered_by |= self.db.ordered_by(node)

    def depends_on(self, node: Node) -> bool:
        """Whether `node` must keep its order with the nodes of the set."""
        if not self.nodes:
            return False
        if not self.ordered_by.isdisjoint(self.db.ordered_by(node)):
            return True
        if any(_uses(node, n) if self.forward else _uses(n, node) for n in self.nodes):
            return True
        # Two reads may change places; a write may not change places with a read or another write.
        writes = self.db.writes(node)
        return not (self.reads | self.writes).isdisjoint(writes) or not self.writes.isdisjoint(
            self.db.reads(node)
        )


def _uses(user: Node, maker: Node) -> bool:
    """Whether `user`, or a node inside it, uses an output of `maker`; both are in one block."""
    block = user.owningBlock()
    for value in maker.outputs():
        for use in value.uses():
            n: Node | None = use.user
            while n is not None and n.owningBlock() is not block:
                n = n.owningBlock().owningNode()
            if n is user:
                return True
    return False


def _move(node: Node, at: Node, side: str) -> None:
    if side == BEFORE:
        node.moveBefore(at)
    else:
        node.moveAfter(at)
