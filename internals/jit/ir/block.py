"""A block: nodes in the order they run, with inputs and outputs (`torch/csrc/jit/ir/ir.h`, `struct
Block`).

A graph is a block; so are the arms of an If and the body of a Loop. Its inputs are the outputs of a
`prim::Param` node, its outputs the inputs of a `prim::Return` node, and those two close the doubly
linked ring of nodes between them. A node in a block may use the values of the blocks around it; the
values of the block are visible outside of it only through its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .node import Node
from .value import Value

if TYPE_CHECKING:
    from .graph import Graph

ValueMap = Callable[[Value], Value]
# The distance between the positions of two numbered nodes: room to halve it 32 times, for nodes
# that are inserted later, before all must be numbered again.
GAP = 1 << 32


class Block:
    """A list of nodes with inputs and outputs, made by `Node.addBlock`, or once by every graph."""

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
        """The nodes in order. While walking, the node just yielded may be destroyed or moved, and
        others inserted.
        """
        node = self._return.prev() if reverse else self._param.next()
        end = self._param if reverse else self._return
        while node is not end:
            ahead = node.prev() if reverse else node.next()
            yield node
            if node._block is self:  # still here: nodes inserted behind it are walked, too
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
        """Fill this block with copies of the nodes of `source`; `value_map` maps a value from
        outside of `source` to the one to use here. Returns the copies by their originals.
        """
        # A clone of a nested block passes `local.__getitem__`: its copies join the same dict.
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
        """Remove all nodes and outputs, as part of destroying the node around the block."""
        self._return.removeAllInputs()
        for n in self.nodes(reverse=True):  # users before what they use
            n.destroy()
        for v in self._param._outputs:
            v.setDebugName("")

    def _number_nodes(self) -> None:
        """Number the nodes, so that comparing `_position` tells which of two runs first. A node
        that is inserted later takes a number from the gap between its neighbours.
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
    """Maps a value to its copy, also in nested blocks; others are mapped by `outside`."""

    def __init__(self, outside: ValueMap) -> None:
        self.outside = outside

    def __missing__(self, value: Value) -> Value:
        return self.outside(value)


def all_nodes(block: Block, inner_first: bool = False) -> Iterator[Node]:
    """The nodes of a block and of the blocks inside, in order: a node before the nodes in its
    blocks, or after them if `inner_first`.

    The node just yielded may be destroyed or moved, as in `Block.nodes`.
    """
    for node in block.nodes():
        if not inner_first:
            yield node
        for inner in node.blocks():
            yield from all_nodes(inner, inner_first)
        if inner_first:
            yield node


def all_values(block: Block) -> Iterator[Value]:
    """The inputs of a block, then for each node its outputs, then the values of its blocks."""
    yield from block.inputs()
    for node in block.nodes():
        yield from node.outputs()
        for inner in node.blocks():
            yield from all_values(inner)
