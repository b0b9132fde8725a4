"""Constant pooling: every constant once, at the top of the graph
(`torch/csrc/jit/passes/constant_pooling.cpp`).

Constants are written where the source has them, often in a loop, and often several times. This pass
walks the graph in order and moves each constant before the first node; one that equals an earlier
constant is replaced by it. Each is put before the previous one, so the constants of an executed
graph are in reverse order.

| guard                                                | why                                       |
|------------------------------------------------------|-------------------------------------------|
| two tensors or lists are kept apart if either is     | they would turn from two objects into     |
| written to, or if both can reach the caller          | one, and a write to one would be seen in  |
| (`safe_to_merge`)                                    | the other                                 |

How the real one differs: it takes 0.0 and -0.0 for the same constant (see `node_equality.py`).
"""

from __future__ import annotations

from collections.abc import Hashable

from internals.jit.ir import Block, Graph, Node, all_nodes
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.passes.aliasing import safe_to_merge
from internals.jit.passes.node_equality import node_key
from internals.jit.passes.registry import graph_pass


@graph_pass("every constant once, at the top")
def constant_pooling(graph: Graph) -> bool:
    """Move all constants to the top of the graph and merge those that are equal."""
    return _pool(graph.block(), {}, AliasDb(graph))


def _pool(block: Block, known: dict[Hashable, Node], aliases: AliasDb) -> bool:
    changed = False
    for node in list(all_nodes(block, inner_first=True)):  # they move while we walk
        if node.kind() != "prim::Constant":
            continue
        key = node_key(node)
        existing = known.setdefault(key, node) if key is not None else node
        if existing is not node:
            if _same_object(node, existing) or safe_to_merge(
                aliases, node.outputs(), existing.outputs()
            ):
                node.replaceAllUsesWith(existing)
                node.destroy()
                changed = True
            continue
        first = next(node.owningGraph().nodes())
        if node is not first:
            node.moveBefore(first)
            changed = True
    return changed


def _same_object(a: Node, b: Node) -> bool:
    """Whether both hold the same tensor object, as copies of a node do: then merging them does not
    change which tensors share memory.
    """
    return all(n.hasAttribute("value") and n.kindOf("value") == "t" for n in (a, b)) and a.t(
        "value"
    ) is b.t("value")
