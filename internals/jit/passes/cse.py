"""Common subexpression elimination: equal expressions are computed once
(`torch/csrc/jit/passes/common_subexpression_elimination.cpp`).

The pass walks the graph once, in order. A node that equals an earlier one, in this block or in one
around it (`node_equality.py`: same kind, same inputs, same attributes), is replaced by that one. A
node in a block does not count after the block's end, since it may not have run.

| left alone                                      | why                                            |
|-------------------------------------------------|------------------------------------------------|
| print, raise, calls, other side effects         | a print twice is not a print once              |
| random operators                                | they give another result every time            |
| nodes whose inputs or outputs may be written to | between the two, `x + 1` may have become       |
|                                                 | something else                                 |
| two results that can both reach the caller      | they would turn from two tensors into one      |

How the real one differs: 1.0.1 lacked the last rule.
"""

from __future__ import annotations

from collections.abc import Hashable

from internals.jit.ir import Block, Graph, Node
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.operators.properties import changes_grad_mode
from internals.jit.passes.aliasing import is_written, safe_to_merge
from internals.jit.passes.node_equality import node_key
from internals.jit.passes.registry import graph_pass

Seen = dict[Hashable, "Node"]


@graph_pass("common subexpressions")
def cse(graph: Graph) -> bool:
    """Replace every node that computes the same as an earlier one by that one."""
    return not changes_grad_mode(graph) and _eliminate(graph.block(), {}, AliasDb(graph))


def _eliminate(block: Block, outside: Seen, aliases: AliasDb) -> bool:
    changed = False
    seen = dict(outside)  # a copy: what this block computes is not known outside of it
    for node in block.nodes():
        for b in node.blocks():
            changed |= _eliminate(b, seen, aliases)
        key = node_key(node)
        if key is None or not _repeatable(node, aliases):
            continue
        existing = seen.setdefault(key, node)
        if existing is not node and safe_to_merge(aliases, node.outputs(), existing.outputs()):
            node.replaceAllUsesWith(existing)
            node.destroy()
            changed = True
    return changed


def _repeatable(node: Node, aliases: AliasDb) -> bool:
    """Whether a second computation has the same result, and omitting it cannot be observed."""
    if node.hasSideEffects() or node.isNondeterministic():
        return False
    return not is_written(aliases, node.inputs() + node.outputs())
