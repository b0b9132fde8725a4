"""`torch.jit.fork` and `torch.jit.wait` (`emitForkExpr` of `ir_emitter.cpp`,
`inline_forked_closures.cpp`).

`fork(f, x)` is a node `prim::fork` of type `Future[T]`, with a graph as its attribute `Subgraph`
that calls f. `wait` is the operator `aten::wait`.

How the real one differs: the call is emitted into a closure next to the fork.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import FutureType, Graph, Node, SourceRange, Value

from . import tree
from .error_report import error
from .schema_matching import NamedValue
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


class Closure(SugaredValue):
    """A function defined inside a function, as the code of an archive writes forks: some
    statements, then one `return`. A call emits its statements again.
    """

    kind_name = "closure"

    def __init__(self, definition: tree.Def) -> None:
        self.definition = definition

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        """The value of the `return` expression. Raises RuntimeError if there are arguments, or if
        the body returns anywhere but at its end.
        """
        *body, last = self.definition.body
        if args or kwargs:
            raise error(where, "a closure takes no arguments")
        if not isinstance(last, tree.Return):
            raise error(self.definition.range, "a closure ends with the one return statement in it")
        c.emit_statements(body)
        if c.environment.block in c.exited_blocks or c.environment.block.findAllNodes(
            "prim::ReturnStmt"
        ):
            raise error(self.definition.range, "a closure ends with the one return statement in it")
        return SimpleValue(c.emit(last.expr))


def emit_fork_node(
    c: Compiler,
    where: SourceRange,
    forked: SugaredValue,
    args: Sequence[NamedValue],
    kwargs: Sequence[NamedValue],
) -> Value:
    """Emit the call into a block of a `prim::fork` node. `lift_forks` turns the block into a graph
    later, when all Loads and Stores of names are gone. Returns the future.
    """
    node = c.add_node("prim::fork", where=where)
    block = node.addBlock()
    with c.frame(block):
        result = forked.call(where, c, args, kwargs, 1).as_value(where, c)
    block.registerOutput(result)
    return node.output().setType(FutureType(result.type()))


def lift_forks(graph: Graph) -> None:
    """Turn the block of each fork into a graph, whose inputs are the values that the block uses
    from outside.
    """
    for node in graph.findAllNodes("prim::fork"):
        if node.blocks():
            _lift(node)


def _lift(node: Node) -> None:
    """Replace the block of one fork by a graph with copies of its nodes."""
    block, subgraph = node.blocks()[0], Graph()
    copies: dict[Value, Value] = {}  # value of the block or around it -> value of the subgraph

    def in_subgraph(v: Value) -> Value:
        if v not in copies:  # from outside the block: one more input of the fork
            node.addInput(v)
            copies[v] = subgraph.addInput().copyMetadata(v)
        return copies[v]

    for each in block.nodes():
        copy = subgraph.appendNode(subgraph.createClone(each, in_subgraph))
        copies.update(zip(each.outputs(), copy.outputs()))
    for out in block.outputs():
        subgraph.registerOutput(in_subgraph(out))
    node.eraseBlock(0)
    node.g_("Subgraph", subgraph)
