"""Peephole optimisation: small patterns are replaced by simpler ones
(`torch/csrc/jit/passes/peephole.cpp` and its neighbours).

A rule looks at one node and at the nodes that make its inputs. The talk's example is `t(t(x))`:
transposed twice, it is x. The table of rules has three parts: `TENSOR_RULES` in
`peephole_tensors.py`, `NUMBER_RULES` in `peephole_numbers.py` (numbers, None, casts) and
`LIST_RULES` in `peephole_lists.py`. `print(rules())` shows it.

Some rules replace a new tensor by an existing value (`x * 1` becomes x), after which two results
share memory. They are applied only if neither is written to, and if the caller does not get both
(`safe_to_merge`).

How the real one differs: it has a few more rules (for dicts, convolutions, profiled types), and
four of its rules are wrong in corner cases, which is not copied. It removes `x * 1` and `x / 1`
whatever the dtype, though with a bool x the first is an int64, and with an int x the second a
float. It takes `x == x` for True if x is a float, though NaN does not equal NaN. It makes
`int(NumToTensor(2.5))` 2.5. And it makes the list of a tensor's sizes a constant even if the caller
gets that list. As in PyTorch, `x + 0` becomes x, though -0.0 + 0 is 0.0: otherwise the plans would
not be those of the talk.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, Value, all_nodes
from internals.jit.passes.aliasing import safe_to_merge
from internals.jit.passes.dce import dce
from internals.jit.passes.peephole_lists import LIST_RULES
from internals.jit.passes.peephole_numbers import NUMBER_RULES
from internals.jit.passes.peephole_rules import Constant, Facts, Rule, group
from internals.jit.passes.peephole_tensors import TENSOR_RULES
from internals.jit.passes.registry import graph_pass

RULES: tuple[Rule, ...] = (*TENSOR_RULES, *NUMBER_RULES, *LIST_RULES)


@graph_pass("small patterns")
def peephole(graph: Graph) -> bool:
    """Apply every rule of the table wherever it fits, in one walk, then remove what has become
    dead.
    """
    changed = _apply(graph.block(), group(RULES), Facts(graph))
    if changed:
        dce(graph)
    return changed


def rules() -> str:
    """The table as text: each pattern and what it becomes."""
    width = max(len(r.pattern) for r in RULES)
    return "\n".join(f"{r.pattern:<{width}}  ->  {r.becomes}" for r in RULES)


def _apply(block: Block, table: dict[str, list[Rule]], facts: Facts) -> bool:
    """Apply to each node the first rule that fits. True if there was one."""
    changed = False
    for node in all_nodes(block, inner_first=True):
        for rule in table.get(node.kind(), ()):
            if _try(rule, node, facts):
                changed = True
                break
    return changed


def _try(rule: Rule, node: Node, facts: Facts) -> bool:
    """Apply a rule to a node if it fits. The node stays, unused, for dead code elimination."""
    if not any(v.hasUses() for v in node.outputs()):
        return False
    found = rule.find(node, facts)
    if found is None:
        return False
    if rule.merges and not safe_to_merge(facts.aliases, [found], node.outputs()):
        return False
    for old, new in zip(node.outputs(), found if isinstance(found, list) else [found], strict=True):
        _replace(old, new, node)
        if rule.merges:
            facts.merged(old, new)
    return True


def _replace(old: Value, new: Value | Constant, node: Node) -> None:
    """Replace a value by another, or by a new constant, which is inserted before `node`."""
    graph = node.owningGraph()
    if isinstance(new, Constant):
        with graph.insert_point_guard(node):
            new = graph.insertConstant(new.value)
            new.node().copyMetadata(node)
    old.replaceAllUsesWith(new)
