"""A graph: a function as data (`torch/csrc/jit/ir/ir.h`, `struct Graph`).

Its body is a block. Besides, a graph keeps what is common to all its nodes: the numbers and names
of values, the place where new nodes go (the insert point), and the scope and source range that new
nodes are given.

    g = Graph()
    x = g.addInput("x")
    y = g.insert("aten::mul", [x, 2])
    g.registerOutput(y)

`str(g)` is PyTorch's text; `parse_ir` reads it back; `dump(style="1.0.1")` is the text of 2019.

How the real one differs: the graph owns its nodes, in C++, and frees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from internals.core.corrected import corrected
from internals.core.source_range import SourceRange, StackRange

from .block import Block, ValueMap
from .constants import insert_constant
from .node import Node
from .printer import graph_text
from .types import Type
from .value import Value


class Graph:
    """A function as data. The methods have the names of those of `torch._C.Graph`."""

    def __init__(self) -> None:
        self._uniques = 0  # the number that the next value gets
        self._names: dict[str, Value] = {}
        self._suffixes: dict[str, int] = {}  # stem → the last suffix given: `x` → 3 for `x.3`
        self.current_scope = ""
        self.current_source_range: Any = None
        self._block = Block(self, None)
        self._insert_before = self._block.returnNode()

    # Its parts

    def block(self) -> Block:
        return self._block

    def inputs(self) -> list[Value]:
        return self._block.inputs()

    def outputs(self) -> list[Value]:
        return self._block.outputs()

    def nodes(self, reverse: bool = False) -> Iterator[Node]:
        return self._block.nodes(reverse)

    def param_node(self) -> Node:
        return self._block.paramNode()

    def return_node(self) -> Node:
        return self._block.returnNode()

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        return self._block.findNode(kind, recurse)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        return self._block.findAllNodes(kind, recurse)

    def addInput(self, name: str = "") -> Value:
        return self._block.addInput(name)

    def insertInput(self, i: int, name: str = "") -> Value:
        return self._block.insertInput(i, name)

    def eraseInput(self, i: int) -> None:
        self._block.eraseInput(i)

    def registerOutput(self, value: Value) -> int:
        return self._block.registerOutput(value)

    def eraseOutput(self, i: int) -> None:
        self._block.eraseOutput(i)

    # Making nodes

    def create(self, kind: str, inputs: Sequence[Value] | int = (), num_outputs: int = 1) -> Node:
        """A node in no block yet, its outputs of type Tensor. `create(kind, 2)` has two outputs and
        no inputs. Raises TypeError for an input that is not a Value.
        """
        if isinstance(inputs, int):
            return self.create(kind, (), inputs)
        node = Node(self, kind)
        for v in inputs:
            if not isinstance(v, Value):
                raise TypeError(
                    corrected(
                        f"the inputs of a node are Values, not {type(v).__name__}",
                        f"graph.create('{kind}', [{v!r:.40}])",
                        f"graph.create('{kind}', [graph.insertConstant({v!r:.40})])",
                    )
                )
            node.addInput(v)
        for _ in range(num_outputs):
            node.addOutput()
        return node

    def createClone(self, node: Node, value_map: ValueMap, copy_blocks: bool = True) -> Node:
        """A copy of a node of this or another graph, in no block yet; `value_map` maps each input
        of the original to the value that the copy uses.
        """
        copy = Node(self, node.kind())
        copy.copyAttributes(node).copyMetadata(node)
        if not node.scopeName():
            copy.setScope(self.current_scope)
        copy.pyobj = node.pyobj
        for v in node._outputs:
            copy.addOutput().copyMetadata(v)
        for v in node._inputs:
            copy.addInput(value_map(v))
        if copy_blocks:
            for b in node._blocks:
                copy.addBlock().cloneFrom(b, value_map)
        return copy

    def appendNode(self, node: Node) -> Node:
        return self._block.appendNode(node)

    def prependNode(self, node: Node) -> Node:
        return self._block.prependNode(node)

    def insertNode(self, node: Node) -> Node:
        """Insert a node at the insert point; returns it."""
        return node.insertBefore(self._insert_before)

    def insert(self, kind: str, inputs: Sequence[Any] = (), **attributes: Any) -> Value:
        """Create a node with one output at the insert point and return the output. Python numbers
        become constants.

        If the kind is an operator's, the output has the type that its schema returns.
        """
        values = [v if isinstance(v, Value) else self.insertConstant(v) for v in inputs]
        node = self.create(kind, values)
        for name, value in attributes.items():
            _set_by_type(node, name, value)
        self.insertNode(node)
        schema = node.schema()
        if schema is not None and len(schema.returns) == 1:
            node.output().setType(schema.returns[0].type)
        return node.output()

    def insertConstant(self, value: object, type: Type | None = None) -> Value:
        """The output of a new `prim::Constant` at the insert point. Raises TypeError for a value
        that cannot be one.
        """
        return insert_constant(self, value, type)

    def insertGraph(self, callee: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Insert copies of the nodes of `callee` with `inputs` for its inputs; returns the values
        that correspond to its outputs.
        """
        here = dict(zip(callee.inputs(), inputs, strict=True))
        for n in callee.nodes():
            copy = self.insertNode(self.createClone(n, here.__getitem__))
            here.update(zip(n._outputs, copy._outputs))
        return [here[v] for v in callee.outputs()]

    def copy(self) -> Graph:
        """A deep copy; its values are numbered anew in order, their names are kept."""
        new = Graph()
        new.current_scope = self.current_scope
        new._block.cloneFrom(self._block, _no_outside)
        return new

    # Where new nodes go, and what they are given

    def insertPoint(self) -> Node:
        """The node before which new nodes are put."""
        return self._insert_before

    def setInsertPoint(self, place: Node | Block) -> None:
        """Put new nodes before a node, or at the end of a block."""
        self._insert_before = place.returnNode() if isinstance(place, Block) else place

    @contextmanager
    def insert_point_guard(self, place: Node | Block) -> Iterator[None]:
        """Put new nodes at `place` inside the `with` block."""
        outer = self._insert_before
        self.setInsertPoint(place)
        try:
            yield
        finally:
            self._insert_before = outer

    @contextmanager
    def source_range_guard(self, range: SourceRange | StackRange) -> Iterator[None]:
        """Give new nodes this source range inside the `with` block."""
        outer, self.current_source_range = self.current_source_range, range
        try:
            yield
        finally:
            self.current_source_range = outer

    @contextmanager
    def scope_guard(self, name: str) -> Iterator[None]:
        """Nodes made in the block are in scope `name` inside the current one."""
        outer = self.current_scope
        self.current_scope = f"{outer}/{name}" if outer else name
        try:
            yield
        finally:
            self.current_scope = outer

    # Checking and showing

    def lint(self) -> None:
        """Raises `VerificationError` if the graph breaks one of the rules in `verifier.py`."""
        from .verifier import verify

        verify(self)

    def str(self, print_source_ranges: bool = True) -> Text:
        """PyTorch's text, with or without `# file:line:column` after each node."""
        return graph_text(self, print_source_ranges)

    def dump(self, style: Text = "today") -> Text:
        """The text in today's dialect, or in that of PyTorch 1.0.1, which the talk shows
        (`style="1.0.1"`).
        """
        if style == "1.0.1":
            from .dialect_101 import graph_text_101

            return graph_text_101(self)
        if style != "today":
            raise ValueError(f"style is 'today' or '1.0.1', not {style!r}")
        return self.str()

    def alias_db(self) -> Any:
        """The analysis of which values may share memory, and of which nodes write to it
        (`internals.jit.operators.alias_analysis`).
        """
        from internals.jit.operators.alias_analysis import AliasDb

        return AliasDb(self)

    def __str__(self) -> Text:
        return self.str()

    __repr__ = __str__

    @property
    def created_values(self) -> int:
        """The number of values made in the graph so far, including those removed since."""
        return self._uniques

    def _next_unique(self) -> int:
        self._uniques += 1
        return self._uniques - 1


Text = str  # inside the class, `str` is a method


def _no_outside(value: Value) -> Value:
    raise RuntimeError(f"%{value.debugName()} is used in the graph but not defined there")


def _set_by_type(node: Node, name: str, value: Any) -> None:
    """Set an attribute of the kind that fits the value's Python type: `i` for an int, `is` for a
    list of ints, `ival` if no other does.
    """
    kinds = {bool: "i", int: "i", float: "f", str: "s", complex: "c", Graph: "g"}
    kind = "ty" if isinstance(value, Type) else kinds.get(type(value))
    if kind is None and isinstance(value, (list, tuple)) and value and type(value[0]) in kinds:
        kind = kinds[type(value[0])] + "s"
    node.setAttribute(name, kind or "ival", value)
