"""Names of Python variables for the values of a graph.

In a graph every value has one definition; in Python a variable may be assigned again and again. A
loop shows the difference:

    %y : Tensor = prim::Loop(%n, %true, %x)             y = x
      block0(%i : int, %y.9 : Tensor):                  for i in range(n):
        %y.5 : Tensor = aten::add(%y.9, %x, %1)             y = y + x
        -> (%true, %y.5)

The three values %y, %y.9 and %y.5 can share one variable, because none of them is needed any more
when the next one is made. So every value gets an interval, from where it is made to where it is
last needed, counted in nodes; a variable may hold several values whose intervals don't overlap.
A value that is handed on, such as a block's output to the output of its node, tries the variable
of the receiver first: then no assignment has to be written.

How the real one differs: names matter only to `.code` there; in the bytecode every value has a
register of its own (`code_impl.h`).
"""

from __future__ import annotations

import itertools
import keyword
import re
from bisect import bisect_right, insort

from internals.jit.ir import Block, Graph, Node, Value, base_name


class Naming:
    """`self[value]` is the variable's name. `within[node]` is the node in whose statement `node` is
    evaluated.
    """

    def __init__(self, graph: Graph, within: dict[Node, Node], reserved: set[str]) -> None:
        self.within, self.reserved = within, reserved
        self.position: dict[Node, int] = {}
        self.ends: dict[Node, int] = {}
        self.number(graph.block(), 0)
        self.begins: dict[str, list[int]] = {}  # ascending positions where a variable is assigned
        self.alive: dict[str, list[tuple[int, Value]]] = {}  # (last use, value)
        # value → values whose variable it should have, best first
        self.wishes: dict[Value, list[Value]] = {}
        self.names: dict[Value, str] = {}
        self.name_block(graph.block())

    def __getitem__(self, value: Value) -> str:
        return self.names[value]

    # Positions

    def number(self, block: Block, at: int) -> int:
        """Number the nodes of a block and of the blocks inside; returns the next number.

        Each node takes three numbers. One with blocks needs them all: it begins, gets ready (a
        loop's range is computed after its variables are set), and ends, after its blocks.
        """
        for node in block.nodes():
            self.position[node] = at
            at += 2
            for inner in node.blocks():
                at = self.number(inner, at)
            self.ends[node] = at if node.blocks() else self.position[node]
            at += 1
        self.position[block.returnNode()] = at
        return at + 1

    def root(self, node: Node) -> Node:
        """The node in whose Python statement `node` is evaluated; `node` if it has its own."""
        while node in self.within:
            node = self.within[node]
        return node

    def made_at(self, value: Value) -> int:
        """The position where the variable is assigned; -1 for an argument of the graph."""
        node = value.node()
        # Carried values are set before `for`, the loop's index (offset 0) by it: hence + 1.
        if node.kind() == "prim::Param":
            owner = node.owningBlock().owningNode()
            return (
                -1
                if owner is None
                else self.position[owner] + (owner.kind() == "prim::Loop" and value.offset() == 0)
            )
        return self.ends[node]

    def needed_until(self, value: Value) -> int:
        """The position of the last use; at least one after `made_at`, as an assignment writes even
        if the value is never read.
        """
        block = value.node().owningBlock()
        owner = block.owningNode()
        if owner is not None and owner.kind() == "prim::Loop" and value in block.inputs()[:1]:
            return self.ends[owner]  # the index: `for` writes it again before each turn
        uses = [u for u in value.uses() if u.user.kind() != "prim::Drop"]
        return max(
            [
                self.made_at(value) + 1,
                *(self.used_at(self.root(u.user), u.offset, block) for u in uses),
            ]
        )

    def used_at(self, user: Node, offset: int, home: Block) -> int:
        """The position at which a use of a value made in block `home` ends.

        A use in a loop, of a value from outside of it, ends with the loop: the next turn reads it
        again.
        """
        at = self.position[user]
        # a trip count and start condition (inputs 0, 1) are read after the carried values are set
        if user.kind() == "prim::Loop" and offset < 2:
            at += 1
        block = user.owningBlock()
        while block is not home:
            owner = block.owningNode()
            assert owner is not None
            if owner.kind() == "prim::Loop":
                at = max(at, self.ends[owner])
            block = owner.owningBlock()
        return at

    # Names

    def name_block(self, block: Block) -> None:
        """Name the values of a block, and of the blocks inside, in the order they are made."""
        for value in block.inputs():
            self.give(value)
        for node in block.nodes():
            if node.kind() == "prim::Loop":
                (body,) = node.blocks()
                # One variable for the four: value before the loop, in it, after a turn, after all.
                for start, inside, end, output in zip(
                    node.inputs()[2:], body.inputs()[1:], body.outputs()[1:], node.outputs()
                ):
                    self.wishes.setdefault(inside, []).append(start)
                    self.wish(end, [inside])
                    self.wish(output, [inside])
            elif node.kind() == "prim::If":
                # The outputs first, as both arms assign to their variables.
                for output in node.outputs():
                    self.give(output)
                for arm in node.blocks():
                    for inside, output in zip(arm.outputs(), node.outputs()):
                        self.wish(inside, [output])
            for inner in node.blocks():
                self.name_block(inner)
            for value in node.outputs():
                if value not in self.names and node not in self.within and not value.isConstant():
                    self.give(value)

    def wish(self, value: Value, others: list[Value]) -> None:
        """Prefer for `value` the variables of `others`."""
        self.wishes.setdefault(value, []).extend(others)

    def give(self, value: Value) -> None:
        """Name a value: after one that it is handed to or comes from if that variable is free,
        else like its name in the graph, with a number behind it if need be.
        """
        base, own = identifier(base_name(value.debugName())), identifier(value.debugName())
        wished = [self.names[v] for v in self.wishes.get(value, ()) if v in self.names]
        begin, end = self.made_at(value), self.needed_until(value)
        candidates = itertools.chain(
            wished, [base, own], (f"{own}_{n}" for n in itertools.count(2))
        )
        name = next(
            c for c in candidates if c not in self.reserved and self.is_free(c, value, begin, end)
        )
        insort(self.begins.setdefault(name, []), begin)
        self.alive.setdefault(name, []).append((end, value))
        self.names[value] = name

    def is_free(self, name: str, value: Value, begin: int, end: int) -> bool:
        """Whether no other value in the variable `name` is needed while `value` is: the interval
        from `begin` to `end`.
        """
        others = self.alive.get(name, [])
        for e, other in others:
            # Two intervals overlap if each begins before the other ends.
            if e > begin and end > self.made_at(other) and not self.is_done(other, value, begin):
                return False
        here = self.position.get(value.node(), begin)
        # Nodes are named in order, so an interval that ended before this node is forgotten.
        self.alive[name] = [(e, other) for e, other in others if e > here]
        return True

    def is_done(self, other: Value, value: Value, at: int) -> bool:
        """Whether all uses of `other` that come after `value` are in the other arm of an If, which
        does not run.
        """
        if self.made_at(other) >= at:
            return False
        home = other.node().owningBlock()
        remaining = [
            u
            for u in other.uses()
            if self.used_at(self.root(u.user), u.offset, home) > at
            and u.user.kind() != "prim::Drop"
        ]
        return all(
            in_other_arm(self.root(u.user), value.node().owningBlock(), home) for u in remaining
        )

    def holds(self, value: Value, at: int) -> bool:
        """Whether the variable still has this value at position `at`: it was not assigned since."""
        begins = self.begins[self.names[value]]
        return bisect_right(begins, at) <= bisect_right(begins, self.made_at(value))


def in_other_arm(user: Node, block: Block, home: Block) -> bool:
    """Whether `user` is in the second arm of an If whose first arm `block` is, or is in.

    Not if there is a loop between the If and `home`, where the value was made: the next turn may
    take the other arm.
    """
    arms: list[Block] = []
    while block is not home and (owner := block.owningNode()) is not None:
        if owner.kind() == "prim::Loop":
            arms.clear()  # arms inside of this loop: the next turn may enter them
        elif owner.kind() == "prim::If" and owner.blocks()[0] is block:
            arms.append(owner.blocks()[1])
        block = owner.owningBlock()
    block = user.owningBlock()
    while arms and block not in arms:
        outer = block.owningNode()
        if outer is None:
            return False
        block = outer.owningBlock()
    return bool(arms)


def identifier(name: str) -> str:
    """A name that Python accepts: `v7` for the number 7, `_` for any other character that is
    neither a letter nor a digit.
    """
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    if name[0].isdigit():
        name = "v" + name
    return name + "_" if keyword.iskeyword(name) or name in PYTHON_NAMES else name


PYTHON_NAMES = ("range", "wrap", "_")  # the emitted code uses these itself
