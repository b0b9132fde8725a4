"""Values numbered in order (`torch/csrc/jit/passes/canonicalize.cpp`).

A value keeps the number it was made with, and numbers of values that are gone are not used again;
so two graphs that do the same rarely print the same. After this pass numbers run from 0 in the
order of the text, and texts can be compared: the trace checker does that with two traces of one
function.

How the real one differs: it returns a new graph; here the graph itself is renumbered, and
`canonicalized` makes a copy.
"""

from __future__ import annotations

from internals.jit.ir import Graph, all_values
from internals.jit.passes.registry import graph_pass


@graph_pass("values renumbered")
def canonicalize(graph: Graph) -> bool:
    """Number the values of the graph in order: inputs, then the outputs of each node before what is
    inside its blocks.
    """
    graph._uniques = 0
    changed = False
    for v in all_values(graph.block()):
        old, v._unique = v._unique, graph._next_unique()
        changed |= old != v._unique
    return changed


def canonicalized(graph: Graph, keep_unique_names: bool = True) -> Graph:
    """A copy with values numbered in order; without names of values if `keep_unique_names` is
    False.
    """
    new = graph.copy()
    if not keep_unique_names:
        for v in all_values(new.block()):
            v.setDebugName("")
    canonicalize(new)
    return new
