"""A node: one operation of a graph (`torch/csrc/jit/ir/ir.h`, `struct Node`).

A node has a kind (`aten::add`), inputs, outputs, attributes, and blocks if it is control flow: an
If has one for each arm, a Loop one for its body. The nodes of a block form a doubly linked list in
the order they run, so that inserting, moving and removing take constant time. Each has a position
number, which tells which of two nodes runs first; the numbers are spaced, so that most insertions
need no renumbering.

Which overload of an operator a node calls is not stored in it: it follows from the kind and the
types of the inputs. `operator()` looks it up and caches it until one of them changes.

How the real one differs: a block with no number left for a node is renumbered at once, here when
`isBefore` is asked next.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from internals.core.corrected import corrected
from internals.core.source_range import SourceRange, StackRange

from .attributes import HasAttributes
from .printer import node_text
from .value import Use, Value

if TYPE_CHECKING:
    from internals.jit.operators.registry import Operator
    from internals.jit.schema import FunctionSchema

    from .block import Block
    from .graph import Graph


class Node(HasAttributes):
    """One operation, made by `Graph.create` and inserted by `insertBefore`, `Graph.insertNode` or
    `Block.appendNode`.

    `pyobj` is the callable of a `^Name` node (PythonOp). `callstack` has the calls by which an
    inlined node came here, outermost first: the source range of each call, and the name of the
    function called. `debug_handle` is a number that a node shares with its copies and with the
    nodes that a pass puts in its place: by it a node can be followed through all phases.
    """

    __slots__ = (
        "graph", "_kind", "_inputs", "_outputs", "_blocks", "_attributes", "_block", "_prev",
        "_next", "_position", "_scope", "_range", "_operator", "pyobj", "callstack", "debug_handle",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, graph: Graph, kind: str) -> None:
        self.graph, self._kind = graph, kind
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._blocks: list[Block] = []
        self._attributes = {}
        self._block: Block | None = None
        self._prev: Node | None = None
        self._next: Node | None = None
        self._position = 0  # meaningful while the block is numbered (`Block._number_nodes`)
        self._scope = graph.current_scope
        self._range: Any = graph.current_source_range
        self._operator: Any = _UNKNOWN
        self.pyobj: Any = None
        self.callstack: tuple[tuple[Any, str], ...] = ()
        self.debug_handle = next(_handles)

    def kind(self) -> str:
        return self._kind

    def owningGraph(self) -> Graph:
        return self.graph

    def owningBlock(self) -> Block:
        """Raises RuntimeError for a node that is not in a block."""
        if self._block is None:
            raise RuntimeError(
                corrected(
                    f"this {self._kind} node is not in a block",
                    f"graph.create('{self._kind}')",
                    f"graph.insertNode(graph.create('{self._kind}'))",
                )
            )
        return self._block

    # Inputs

    def inputs(self) -> list[Value]:
        return list(self._inputs)

    def inputsSize(self) -> int:
        return len(self._inputs)

    def inputsAt(self, i: int) -> Value:
        return self._inputs[i]

    def input(self, i: int | None = None) -> Value:
        """Input number `i`; without a number the only one, and RuntimeError if there are others
        or none.
        """
        if i is None:
            if len(self._inputs) != 1:
                raise RuntimeError(
                    corrected(
                        f"{self._kind} has {len(self._inputs)} inputs, not one",
                        "node.input()",
                        "node.input(0)",
                    )
                )
            i = 0
        return self._inputs[i]

    def namedInput(self, name: str) -> Value:
        """The input for the schema's argument `name`. Raises RuntimeError when there is no such
        argument.
        """
        schema = self.schema()
        for argument, value in zip(schema.arguments if schema else (), self._inputs):
            if argument.name == name:
                return value
        raise RuntimeError(f"{self._kind} has no argument named '{name}'")

    def addInput(self, value: Value) -> Value:
        value._uses.append(Use(self, len(self._inputs)))
        self._inputs.append(value)
        self._forget_operator()
        return value

    def insertInput(self, i: int, value: Value) -> Value:
        self._renumber_uses(i, +1)
        self._inputs.insert(i, value)
        value._uses.append(Use(self, i))
        self._forget_operator()
        return value

    def replaceInput(self, i: int, value: Value) -> Value:
        """Use `value` as input number `i`; returns the value that was there."""
        old = self._inputs[i]
        old._uses.remove(Use(self, i))
        self._inputs[i] = value
        value._uses.append(Use(self, i))
        self._forget_operator()
        return old

    def replaceInputWith(self, old: Value, new: Value) -> None:
        for i, v in enumerate(self._inputs):
            if v is old:
                self.replaceInput(i, new)

    def removeInput(self, i: int) -> None:
        self._inputs[i]._uses.remove(Use(self, i))
        self._renumber_uses(i + 1, -1)
        del self._inputs[i]
        self._forget_operator()

    def removeAllInputs(self) -> None:
        for i, v in enumerate(self._inputs):
            v._uses.remove(Use(self, i))
        self._inputs = []
        self._forget_operator()

    def _renumber_uses(self, first: int, by: int) -> None:
        """Move the recorded uses of the inputs from number `first` on by `by`, +1 or -1."""
        # Two rounds: a value may be input 1 and 2, and renumbering use 1 to 2 at once would make
        # two uses with number 2. The first round marks them by negative numbers.
        for i in range(first, len(self._inputs)):
            uses = self._inputs[i]._uses
            uses[uses.index(Use(self, i))] = Use(self, -i - 1)
        for i in range(first, len(self._inputs)):
            uses = self._inputs[i]._uses
            uses[uses.index(Use(self, -i - 1))] = Use(self, i + by)

    # Outputs

    def outputs(self) -> list[Value]:
        return list(self._outputs)

    def outputsSize(self) -> int:
        return len(self._outputs)

    def outputsAt(self, i: int) -> Value:
        return self._outputs[i]

    def output(self, i: int | None = None) -> Value:
        """Output number `i`; without a number the only one, and RuntimeError if there are others
        or none.
        """
        if i is None:
            if len(self._outputs) != 1:
                raise RuntimeError(
                    corrected(
                        f"{self._kind} has {len(self._outputs)} outputs, not one",
                        "node.output()",
                        "node.output(0)",
                    )
                )
            i = 0
        return self._outputs[i]

    def addOutput(self) -> Value:
        self._outputs.append(Value(self, len(self._outputs)))
        self._forget_operator()
        return self._outputs[-1]

    def insertOutput(self, i: int) -> Value:
        value = Value(self, i)
        self._outputs.insert(i, value)
        self._number_outputs()
        return value

    def eraseOutput(self, i: int) -> None:
        """Remove output number `i`. Raises RuntimeError while it is used."""
        value = self._outputs[i]
        if value._uses:
            raise RuntimeError(
                f"%{value.debugName()} cannot be erased: it is used by {value._uses[0].user.kind()}"
            )
        value.setDebugName("")
        del self._outputs[i]
        self._number_outputs()

    def permuteOutputs(self, order: list[int]) -> None:
        """Output `order[0]` becomes the first, and so on; each use keeps its value."""
        self._outputs = [self._outputs[i] for i in order]
        self._number_outputs()

    def _number_outputs(self) -> None:
        for i, v in enumerate(self._outputs):
            v._offset = i
        self._forget_operator()

    def hasUses(self) -> bool:
        return any(v._uses for v in self._outputs)

    def hasMultipleOutputs(self) -> bool:
        return len(self._outputs) > 1

    def replaceAllUsesWith(self, other: Node) -> None:
        """Every use of an output becomes a use of the same output of `other`."""
        if len(self._outputs) != len(other._outputs):
            raise RuntimeError(f"{self._kind} and {other._kind} have different numbers of outputs")
        for mine, theirs in zip(self._outputs, other._outputs):
            mine.replaceAllUsesWith(theirs)

    # Blocks

    def blocks(self) -> list[Block]:
        return list(self._blocks)

    def addBlock(self) -> Block:
        from .block import Block

        self._blocks.append(Block(self.graph, self))
        self._forget_operator()
        return self._blocks[-1]

    def eraseBlock(self, i: int) -> None:
        self._blocks[i].destroy()
        del self._blocks[i]

    def findNode(self, kind: str) -> Node | None:
        return next(iter(self.findAllNodes(kind)), None)

    def findAllNodes(self, kind: str) -> list[Node]:
        """The nodes of a kind in the blocks of this one, at any depth."""
        return [n for b in self._blocks for n in b.findAllNodes(kind)]

    # Its place in the block

    def next(self) -> Node:
        assert self._next is not None
        return self._next

    def prev(self) -> Node:
        assert self._prev is not None
        return self._prev

    def insertBefore(self, other: Node) -> Node:
        """Insert this node, which is in no block yet, before `other`; returns it."""
        return self._link(other.prev(), other)

    def insertAfter(self, other: Node) -> Node:
        return self._link(other, other.next())

    def moveBefore(self, other: Node) -> None:
        self._unlink()
        self.insertBefore(other)

    def moveAfter(self, other: Node) -> None:
        self._unlink()
        self.insertAfter(other)

    def isBefore(self, other: Node) -> bool:
        """Whether this node runs before `other`.

        Nodes in different blocks are compared by the nodes around them in the innermost block that
        both are in; a node is not before the nodes inside it, nor after.
        """
        if self is other:
            return False
        mine, theirs = {id(n._block): n for n in self._chain()}, other._chain()
        for n in theirs:
            same = mine.get(id(n._block))
            if same is not None:
                assert n._block is not None
                n._block._number_nodes()
                return same._position < n._position
        raise RuntimeError("the two nodes are not in the same graph")

    def isAfter(self, other: Node) -> bool:
        return other.isBefore(self)

    def destroy(self) -> None:
        """Remove the node and its blocks. If the insert point is at or in the node, it moves to the
        next node. Raises RuntimeError while an output is used.
        """
        for v in self._outputs:
            if v._uses:
                raise RuntimeError(
                    corrected(
                        f"%{v.debugName()} is still used by {v._uses[0].user.kind()}: "
                        f"{self._kind} cannot be destroyed",
                        "node.destroy()",
                        "node.replaceAllUsesWith(other); node.destroy()",
                    )
                )
        if self._block is not None:
            place = self.owningGraph().insertPoint()
            if self._is_around(place):
                self.owningGraph().setInsertPoint(self.next())
        for b in self._blocks:
            b.destroy()
        self.removeAllInputs()
        for v in self._outputs:
            v.setDebugName("")
        if self._block is not None:
            self._unlink()

    def _is_around(self, other: Node | None) -> bool:
        """Whether `other` is this node or somewhere inside it."""
        while other is not None and other is not self:
            other = other._block.owningNode() if other._block is not None else None
        return other is self

    def _chain(self) -> list[Node]:
        """This node, the node in whose block it is, and so on outwards."""
        chain, node = [], self
        while True:
            chain.append(node)
            owner = node.owningBlock().owningNode()
            if owner is None:
                return chain
            node = owner

    def _link(self, before: Node, after: Node) -> Node:
        """Insert this node between two neighbours."""
        if self._block is not None:
            raise RuntimeError(
                corrected(
                    f"this {self._kind} node is in a block already",
                    "graph.insertNode(node)",
                    "node.moveBefore(other)",
                )
            )
        self._block = after.owningBlock()
        self._prev, self._next = before, after
        before._next = after._prev = self
        self._position = (before._position + after._position) // 2
        if not before._position < self._position < after._position:
            # no number left between the two: all are numbered anew at the next question
            self._block._numbered = False
        return self

    def _unlink(self) -> None:
        before, after = self.prev(), self.next()
        before._next, after._prev = after, before
        self._block = self._prev = self._next = None

    # The operator it calls

    def operator(self) -> Operator | None:
        """The overload this node calls; None for control flow and for kinds that are not
        operators.
        """
        if self._operator is _UNKNOWN:
            from internals.jit.operators.registry import operator_for

            self._operator = operator_for(self)
        return self._operator

    def schema(self) -> FunctionSchema | None:
        found = self.operator()
        return found.schema if found else None

    def matches(self, schema: str) -> bool:
        """Whether this node calls the operator `schema`: `aten::add` for any overload,
        `aten::add.Tensor` for one, or a whole schema.
        """
        name, _, rest = schema.partition("(")
        kind, _, overload = name.partition(".")
        if kind != self._kind:
            return False
        if not overload and not rest:
            return True
        mine = self.schema()
        return mine is not None and (
            str(mine) == schema if rest else mine.overload_name == overload
        )

    def isNondeterministic(self) -> bool:
        from internals.jit.operators.properties import is_nondeterministic

        return is_nondeterministic(self)

    def hasSideEffects(self) -> bool:
        from internals.jit.operators.properties import has_side_effects

        return has_side_effects(self)

    def mustBeNone(self) -> bool:
        """Whether this is the constant None."""
        return (
            self._kind == "prim::Constant"
            and not self._attributes
            and self.output().type().kind() == "NoneType"
        )

    def _forget_operator(self) -> None:
        self._operator = _UNKNOWN

    # Where it came from

    def scopeName(self) -> str:
        """The path of the modules it was made in: `__module.seq/__module.seq.0`; "" for none."""
        return self._scope

    def setScope(self, scope: str) -> Node:
        self._scope = scope
        return self

    def sourceRange(self) -> Any:
        """The `SourceRange` or `StackRange` of the line of code that the node stands for, or
        None.
        """
        return self._range

    def setSourceRange(self, range: SourceRange | StackRange | None) -> Node:
        self._range = range
        return self

    def copyMetadata(self, other: Node) -> Node:
        """Take scope, source range, call stack and debug handle of `other`; returns this node."""
        self._scope, self._range, self.callstack = other._scope, other._range, other.callstack
        self.debug_handle = other.debug_handle
        return self

    def __str__(self) -> str:
        return node_text(self)

    __repr__ = __str__


_UNKNOWN = object()  # not looked up yet; None is a result: the kind is not an operator's
_handles = itertools.count()
