"""Removal of implicit expansions, which broadcasting makes superfluous
(`torch/csrc/jit/passes/remove_expands.cpp`).

Shape propagation of 1.0.1 made broadcasting explicit, `x + y` as `x + y.expand(sizes)`, so that
every operator has operands of one shape. It marked these with `implicit=True`. They are removed
before the graph is executed: the operators broadcast on their own, and faster.

| node                               | becomes |
|------------------------------------|---------|
| `aten::expand(x, sizes, implicit=True)` | x  |

An expansion that the user wrote has implicit=False and stays.
"""

from __future__ import annotations

from internals.jit.ir import Graph, constant_of
from internals.jit.passes.registry import graph_pass


@graph_pass("implicit expansions")
def remove_expands(graph: Graph) -> bool:
    """Remove every `aten::expand` that is marked implicit."""
    changed = False
    for node in graph.findAllNodes("aten::expand"):
        if (
            node.inputsSize() == 3
            and node.input(2).isConstant()
            and constant_of(node.input(2)) is True
        ):
            node.output().replaceAllUsesWith(node.input(0))
            node.destroy()
            changed = True
    return changed
