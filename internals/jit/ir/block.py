"""A block: nodes in the order they run, with inputs and outputs (`torch/csrc/jit/ir/ir.h`, `struct
Block`).

A graph is a block; so are the arms of an If and the body of a Loop. Its inputs are the outputs of a
`prim::Param` node, its outputs the inputs of a `prim::Return` node, and those two close the ring of
nodes between them. A block sees the values of the blocks around it; nobody outside sees its own,
except through its outputs.

How the real one differs: the same, in C++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .node import Node
from .value import Value

if TYPE_CHECKING:
    from .graph import Graph

ValueMap = Callable[[Value], Value]
GAP = 1 << 32  # between the positions of two nodes, when they are numbered


class Block:
    """Made by `Node.addBlock`, and once by every graph."""

    __slots__ = ("graph", "_owner", "_param", "_return", "_numbered", "__weakref__")

    def __init__(self, graph: Graph, owner: Node | None) -> None:
        self.graph, self._owner = graph, owner
        self._param, self._return = Node(graph, "prim::Param"), Node(graph, "prim::Return")
        for n in (self._param, self._return):
            n._block = self
        self._param._next = self._param._prev = self._return
        self._return._next = self._return._prev = self._param
        self._numbered = False

    def owningNode(self) -> Node | None:
        """The If or Loop this block belongs to; None for a graph's own block."""
        return self._owner

    def owningGraph(self) -> Graph:
        return self.graph

    def paramNode(self) -> Node:
        return self._param

    def returnNode(self) -> Node:
        return self._return

    param_node, return_node = paramNode, returnNode

    def inputs(self) -> list[Value]:
        return self._param.outputs()

    def outputs(self) -> list[Value]:
        return self._return.inputs()

    def nodes(self, reverse: bool = False) -> Iterator[Node]:
        """The nodes in order. The one just given may be destroyed or moved, and others inserted,
        while walking.
        """
        node = self._return.prev() if reverse else self._param.next()
        end = self._param if reverse else self._return
        while node is not end:
            ahead = node.prev() if reverse else node.next()
            yield node
            if node._block is self:
                ahead = node.prev() if reverse else node.next()
            node = ahead

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        return [n for n in (all_nodes(self) if recurse else self.nodes()) if n.kind() == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def addInput(self, name: str = "") -> Value:
        value = self._param.addOutput()
        return value.setDebugName(name) if name else value

    addInputToBlock = addInput

    def insertInput(self, i: int, name: str = "") -> Value:
        value = self._param.insertOutput(i)
        return value.setDebugName(name) if name else value

    def eraseInput(self, i: int) -> None:
        self._param.eraseOutput(i)

    def registerOutput(self, value: Value) -> int:
        """Add an output; returns its number."""
        self._return.addInput(value)
        return self._return.inputsSize() - 1

    def insertOutput(self, i: int, value: Value) -> None:
        self._return.insertInput(i, value)

    def eraseOutput(self, i: int) -> None:
        self._return.removeInput(i)

    def replaceOutput(self, i: int, value: Value) -> None:
        self._return.replaceInput(i, value)

    def appendNode(self, node: Node) -> Node:
        return node.insertBefore(self._return)

    def prependNode(self, node: Node) -> Node:
        return node.insertAfter(self._param)

    def addNode(self, kind: str, inputs: Sequence[Value] = ()) -> Node:
        """Create a node with one output and append it."""
        return self.appendNode(self.graph.create(kind, inputs))

    def cloneFrom(self, source: Block, value_map: ValueMap) -> dict[Value, Value]:
        """Fill this block with copies of the nodes of `source`; `value_map` says what its outside
        values are here.
        """
        around = getattr(value_map, "__self__", None)
        local = around if isinstance(around, _Copies) else _Copies(value_map)
        for v in source._param._outputs:
            local[v] = self.addInput().copyMetadata(v)
        for n in source.nodes():
            copy = self.appendNode(self.graph.createClone(n, local.__getitem__))
            local.update(zip(n._outputs, copy._outputs))
        for v in source._return._inputs:
            self.registerOutput(local[v])
        return local

    def destroy(self) -> None:
        """Take everything out; part of destroying the node around it."""
        self._return.removeAllInputs()
        for n in self.nodes(reverse=True):
            n.destroy()
        for v in self._param._outputs:
            v.setDebugName("")

    def _number_nodes(self) -> None:
        """Let `_position` tell the order of the nodes. There are gaps, for nodes that will be put
        in between.
        """
        if self._numbered:
            return
        self._param._position = position = 0
        for n in self.nodes():
            position += GAP
            n._position = position
        self._return._position = position + GAP
        self._numbered = True


class _Copies(dict[Value, Value]):
    """The copies of values, those in blocks inside too; `outside` says what others are."""

    def __init__(self, outside: ValueMap) -> None:
        self.outside = outside

    def __missing__(self, value: Value) -> Value:
        return self.outside(value)


def all_nodes(block: Block, inner_first: bool = False) -> Iterator[Node]:
    """The nodes of a block and of the blocks inside, in order: a node before what is in it, or
    after.

    The one just given may be destroyed or moved, as in `Block.nodes`.
    """
    for node in block.nodes():
        if not inner_first:
            yield node
        for inner in node.blocks():
            yield from all_nodes(inner, inner_first)
        if inner_first:
            yield node


def all_values(block: Block) -> Iterator[Value]:
    """The inputs of a block, then the outputs of each node, before those of what is in the node."""
    yield from block.inputs()
    for node in block.nodes():
        yield from node.outputs()
        for inner in node.blocks():
            yield from all_values(inner)
