"""Canonical numbers: the values of a graph are numbered in order
(`torch/csrc/jit/passes/canonicalize.cpp`).

A value keeps the number it was made with, and the numbers of removed values are not used again; so
two graphs that compute the same rarely print the same. After this pass the numbers run from 0 in
the order of the text, and texts can be compared: the trace checker compares two traces of one
function in this way.

How the real one differs: it returns a new graph; here the graph itself is renumbered, and
`canonicalized` makes a copy.
"""

from __future__ import annotations

from internals.jit.ir import Graph, all_values
from internals.jit.passes.registry import graph_pass


@graph_pass("values renumbered")
def canonicalize(graph: Graph) -> bool:
    """Number the values of the graph in order: inputs, then for each node its outputs before the
    values in its blocks. True if any number has changed.
    """
    graph._uniques = 0
    changed = False
    for v in all_values(graph.block()):
        old, v._unique = v._unique, graph._next_unique()
        changed |= old != v._unique
    return changed


def canonicalized(graph: Graph, keep_unique_names: bool = True) -> Graph:
    """A copy with its values numbered in order, and without their names if `keep_unique_names` is
    False.
    """
    new = graph.copy()
    if not keep_unique_names:
        for v in all_values(new.block()):
            v.setDebugName("")
    canonicalize(new)
    return new
