"""`torch.jit.fork` and `torch.jit.wait` (`emitForkExpr` of `ir_emitter.cpp`, `inline_forked_closures.cpp`).

`fork(f, x)` is a node with a graph in it, which calls f: `prim::fork(Subgraph)`, of type `Future[T]`. `wait` is `aten::wait`.

How the real one differs: the call is emitted into a closure of the enclosing graph first, and lifted out of it later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import FutureType, Graph, Value

from .schema_matching import NamedValue

if TYPE_CHECKING:
    from internals.jit.ir import SourceRange

    from .compiler import Compiler
    from .sugared_values import SugaredValue


def emit_fork_node(
    c: Compiler, where: SourceRange, forked: SugaredValue, args: Sequence[NamedValue], kwargs: Sequence[NamedValue]
) -> Value:
    """Emit the call into a block, then move the block's nodes into a graph whose inputs are what the call uses from outside."""
    node = c.graph.create("prim::fork")
    node.setSourceRange(where)
    c.graph.insertNode(node)
    block = node.addBlock()
    with c.frame(block):
        block.registerOutput(forked.call(where, c, args, kwargs, 1).as_value(where, c))
    subgraph = Graph()
    here: dict[Value, Value] = {}

    def in_subgraph(v: Value) -> Value:
        if v not in here:
            node.addInput(v)
            here[v] = subgraph.addInput().copyMetadata(v)
        return here[v]

    for each in block.nodes():
        copy = subgraph.appendNode(subgraph.createClone(each, in_subgraph))
        here.update(zip(each.outputs(), copy.outputs()))
    for out in block.outputs():
        subgraph.registerOutput(here[out] if out in here else in_subgraph(out))
    result = block.outputs()[0].type()
    node.eraseBlock(0)
    node.g_("Subgraph", subgraph)
    return node.output().setType(FutureType(result))
