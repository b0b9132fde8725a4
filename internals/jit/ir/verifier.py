"""The rules that every graph must keep, and their check (`Graph::lint` in
`torch/csrc/jit/ir/ir.cpp`, and more).

A pass with a bug mostly leaves a graph that still prints, and that fails much later and elsewhere.
`verify(graph)`, also called `graph.lint()`, finds the fault at once. It raises `VerificationError`,
which names the broken rule and the node. The rules:

    links       the nodes of a block form a ring; each knows its block, its graph and its neighbours
    values      an output knows its node and its number there
    uses        a node that reads a value is among the value's users, and the other way round
    order       a value is made before it is used, in the same block or in one around it
    numbers     no two values have the same number
    names       a name belongs to one value, and can be read back from the text
    blocks      If and Loop have the blocks they need, and these the right inputs and outputs
    schema      a call of an operator has the inputs and outputs that one overload declares
    structure   nodes that are not calls, like prim::TupleUnpack, fit their own rules
    types       a value has a type, which fits where the value passes from block to block
    attributes  a node has the attributes that its kind needs, and a constant's value is of its type

`verifier_rules.py` has the rules that depend on the kind of a node.

How the real one differs: its lint checks links, uses, order and numbers, and fails with an internal
assert that asks you to report a bug; types and schemas are not checked again once a graph is made.
"""

from __future__ import annotations

from collections import Counter

from .block import Block
from .graph import Graph
from .node import Node
from .types import Type
from .value import Use, Value, is_valid_name
from .verifier_rules import Broken, check_kind


class VerificationError(RuntimeError):
    """A graph breaks the rule `rule`, one of those above, at `node`; None if the graph as a whole
    breaks it.
    """

    def __init__(self, rule: str, message: str, node: Node | None = None) -> None:
        super().__init__(f"verification failed, rule '{rule}': {message}{_shown(node)}")
        self.rule, self.node = rule, node


def verify(graph: Graph) -> None:
    """Raises VerificationError when the graph breaks a rule."""
    checker = _Checker(graph)
    checker.block(graph.block(), set())
    checker.whole_graph()


class _Checker:
    """Walks a graph once, and collects what `whole_graph` needs at the end."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: set[Node] = set()
        self.values: dict[int, Value] = {}  # by number
        self.taken: dict[Value, list[Use]] = {}  # the uses met, to compare with `value.uses()`

    # Block by block, in order

    def block(self, block: Block, visible: set[Value]) -> None:
        """Check a block whose nodes may use the values `visible`."""
        visible = set(visible)  # a copy: what the block defines is not visible outside
        self._node(block.paramNode(), block, visible)
        for node in self._ring(block):
            self._node(node, block, visible)
        self._node(block.returnNode(), block, visible)

    def _ring(self, block: Block) -> list[Node]:
        """The nodes of a block, after checking that they are linked to each other."""
        nodes, before, node = [], block.paramNode(), block.paramNode()._next
        while node is not block.returnNode():
            # a node met before closes a smaller ring, which would be walked for ever
            if node is None or node._prev is not before or node in self.nodes:
                raise VerificationError(
                    "links", f"what follows {before.kind()} is not linked back to it", before
                )
            self.nodes.add(node)
            nodes.append(node)
            before, node = node, node._next
        if node._prev is not before:
            raise VerificationError(
                "links", f"the block does not end with {before.kind()}, its last node", before
            )
        return nodes

    def _node(self, node: Node, block: Block, visible: set[Value]) -> None:
        """Check a node in the order of its execution: its inputs, its blocks, then its outputs,
        which become visible to the nodes after it.
        """
        self.nodes.add(node)
        if node._block is not block or node.graph is not self.graph:
            raise VerificationError("links", "the node is not where it says it is", node)
        for i, value in enumerate(node.inputs()):
            if value not in visible:
                raise VerificationError(
                    "order", f"%{value.debugName()} is not defined before it is used", node
                )
            self.taken.setdefault(value, []).append(Use(node, i))
        for inner in node.blocks():
            if inner.owningNode() is not node or inner.graph is not self.graph:
                raise VerificationError(
                    "links", "a block of the node belongs to another node", node
                )
            self.block(inner, visible)
        for i, value in enumerate(node.outputs()):
            self._define(value, node, i)
            visible.add(value)
        try:
            check_kind(node, is_border=node in (block.paramNode(), block.returnNode()))
        except Broken as why:
            raise VerificationError(why.rule, str(why), node) from None

    def _define(self, value: Value, node: Node, i: int) -> None:
        """Check output number `i` of a node: its node, type, number and name."""
        if value.node() is not node or value.offset() != i:
            raise VerificationError(
                "values", f"%{value.debugName()} does not know that it is output {i}", node
            )
        if not isinstance(value.type(), Type):
            raise VerificationError(
                "types", f"the type of %{value.debugName()} is {value.type()!r}, no type", node
            )
        other = self.values.setdefault(value.unique(), value)  # an earlier owner of the number
        if other is not value or value.unique() >= self.graph._uniques:
            raise VerificationError(
                "numbers",
                f"the number {value.unique()} of %{value.debugName()} is not its own",
                node,
            )
        if value.hasDebugName():
            name = value.debugName()
            if self.graph._names.get(name) is not value:
                raise VerificationError(
                    "names", f"the graph does not know %{name} by its name", node
                )
            if not is_valid_name(name):
                raise VerificationError("names", f"'{name}' cannot be the name of a value", node)

    # The graph as a whole

    def whole_graph(self) -> None:
        """Check what depends on all nodes: uses, names, the insert point."""
        for value in self.values.values():
            self._uses(value)
        for name, value in self.graph._names.items():
            if self.values.get(value.unique()) is not value or value._name != name:
                raise VerificationError(
                    "names", f"the name '{name}' belongs to a value that is not in the graph"
                )
        if self.graph.insertPoint() not in self.nodes:
            raise VerificationError(
                "links", "new nodes would be put at a node that is not in the graph"
            )

    def _uses(self, value: Value) -> None:
        """Compare the uses that the value lists with those that were met, each as often."""
        listed, met = Counter(value.uses()), Counter(self.taken.get(value, ()))
        for user, offset in met - listed:
            message = (
                f"%{value.debugName()} does not list input {offset} of {user.kind()} among its uses"
            )
            raise VerificationError("uses", message, user)
        for user, offset in listed - met:
            message = (
                f"%{value.debugName()} lists input {offset} of {user.kind()} among its uses, which "
                "is not so"
            )
            raise VerificationError("uses", message, value.node())


def _shown(node: Node | None) -> str:
    if node is None:
        return ""
    try:
        return f"\n  in: {str(node).strip()}"
    except Exception:  # a broken node may not be printable
        return f"\n  in: {node.kind()}"
