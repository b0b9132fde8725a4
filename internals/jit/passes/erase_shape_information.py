"""Erasure of shapes: the type of every tensor becomes `Tensor`
(`torch/csrc/jit/passes/shape_analysis.cpp`).

A trace knows the sizes of its example inputs, a plan the dtypes of the arguments it was made for. A
graph for other arguments must not rely on them: `Float(2, 3, strides=[3, 1], requires_grad=0,
device=cpu)` becomes `Tensor`, also inside lists, tuples and optionals.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Value, unshaped
from internals.jit.passes.registry import graph_pass


@graph_pass("shapes forgotten")
def erase_shape_information(graph: Graph) -> bool:
    """Set the type of every tensor to `Tensor`, in blocks and subgraphs too."""
    return _erase(graph.block())


def _erase(block: Block) -> bool:
    """Erase the types in a block, and in the blocks and graphs inside. True if one changed."""
    changed = _erase_all(block.inputs())
    for node in block.nodes():
        changed |= _erase_all(node.outputs())
        for b in node.blocks():
            changed |= _erase(b)
        if node.hasAttribute("Subgraph"):
            changed |= _erase(node.g("Subgraph").block())
    return changed


def _erase_all(values: list[Value]) -> bool:
    changed = False
    for v in values:
        type = unshaped(v.type())
        if type != v.type():
            v.setType(type)
            changed = True
    return changed
