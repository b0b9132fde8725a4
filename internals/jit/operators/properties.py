"""The properties of a node that decide whether a pass may move, merge or remove it
(`Node::hasSideEffects`, `Node::isNondeterministic`).

A node with a side effect stays even if its outputs are not used. Two calls of a nondeterministic
operator are not the same expression. A node that writes to one of its inputs must keep its order
with all nodes that read that memory, which `alias_analysis.py` finds.

How the real one differs: an operator registered by a user declares how much the compiler may assume
of it. In 1.0.1 both questions were answered by lists of kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals._generated.op_facts import NONDETERMINISTIC_SEEDED

if TYPE_CHECKING:
    from internals.jit.ir.graph import Graph
    from internals.jit.ir.node import Node

# These change the state of the program or of the outside world, or depend on it.
SIDE_EFFECTS = frozenset({
    "prim::Print", "prim::RaiseException", "aten::warn",
    "prim::PythonOp", "prim::IgnoredPythonOp", "prim::CallFunction", "prim::CallMethod",
    "prim::SetAttr", "prim::Enter", "prim::Exit",
    "prim::AddStatValue", "prim::TimePoint", "prim::BailOut", "prim::BailoutTemplate",
    "aten::wait", "aten::save", "aten::manual_seed",
    "aten::set_grad_enabled", "aten::is_grad_enabled", "aten::backward", "aten::grad", "aten::seed",
    "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled",
})  # fmt: skip

# These draw random numbers from a generator.
NONDETERMINISTIC = frozenset(f"aten::{name.partition('.')[0]}" for name in NONDETERMINISTIC_SEEDED)


def has_side_effects(node: Node) -> bool:
    """Whether the node does more than compute its outputs. Nodes in its blocks do not count, nor
    does writing to memory, which alias analysis tracks. Python code (`^name`) may do anything.
    """
    return node.kind() in SIDE_EFFECTS or node.kind().startswith("^")


def is_nondeterministic(node: Node) -> bool:
    """Whether two runs with the same inputs may give different results. Dropout with the constant
    False for `train` does not.
    """
    kind = node.kind()
    if kind not in NONDETERMINISTIC:
        return False
    if kind in ("aten::dropout", "aten::dropout_") and node.inputsSize() > 2:
        train = node.inputsAt(2)
        return not (train.isConstant() and train.toIValue() is False)
    return True


def changes_grad_mode(graph: Graph) -> bool:
    """Whether a part of the graph runs with another grad mode. Its nodes are not merged or grouped
    then: of two equal nodes, one may record a gradient and the other not.
    """
    return any(
        graph.findNode(kind) is not None for kind in ("aten::set_grad_enabled", "prim::Enter")
    )


def is_mutable(node: Node) -> bool:
    """Whether the node's operator writes to one of its arguments."""
    schema = node.schema()
    return schema is not None and schema.is_mutable
