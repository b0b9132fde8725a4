"""What a pass must know of a node before it moves, merges or removes it (`Node::hasSideEffects`,
`Node::isNondeterministic`).

A node with a side effect stays although nobody uses what it gives. Two calls of a nondeterministic
operator are not the same expression. A node that writes to one of its inputs is tied to everybody
who reads that memory: whom, tells `alias_analysis.py`.

How the real one differs: operators registered by users say themselves how much the compiler may
assume of them. In 1.0.1 both questions were lists of kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals._generated.op_facts import NONDETERMINISTIC_SEEDED

if TYPE_CHECKING:
    from internals.jit.ir.graph import Graph
    from internals.jit.ir.node import Node

# They do something in the world, or depend on what others have done there.
SIDE_EFFECTS = frozenset({
    "prim::Print", "prim::RaiseException", "aten::warn",
    "prim::PythonOp", "prim::IgnoredPythonOp", "prim::CallFunction", "prim::CallMethod",
    "prim::SetAttr", "prim::Enter", "prim::Exit",
    "prim::AddStatValue", "prim::TimePoint", "prim::BailOut", "prim::BailoutTemplate",
    "aten::wait", "aten::save", "aten::manual_seed",
    "aten::set_grad_enabled", "aten::is_grad_enabled", "aten::backward", "aten::grad", "aten::seed",
    "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled",
})  # fmt: skip

# They take numbers from a generator.
NONDETERMINISTIC = frozenset(f"aten::{name.partition('.')[0]}" for name in NONDETERMINISTIC_SEEDED)


def has_side_effects(node: Node) -> bool:
    """Whether the node does more than compute its outputs, its own blocks aside. Writing to memory
    does not count.

    Python code (`^name`) may do anything.
    """
    return node.kind() in SIDE_EFFECTS or node.kind().startswith("^")


def is_nondeterministic(node: Node) -> bool:
    """Whether two runs may give different results. Dropout does not when `train` is the constant
    False.
    """
    kind = node.kind()
    if kind not in NONDETERMINISTIC:
        return False
    if kind in ("aten::dropout", "aten::dropout_") and node.inputsSize() > 2:
        train = node.inputsAt(2)
        return not (train.isConstant() and train.toIValue() is False)
    return True


def changes_grad_mode(graph: Graph) -> bool:
    """Whether part of it runs without gradients. Nodes are not merged or gathered then: the same
    means something else.
    """
    return any(
        graph.findNode(kind) is not None for kind in ("aten::set_grad_enabled", "prim::Enter")
    )


def is_mutable(node: Node) -> bool:
    """Whether the node's operator writes to one of its arguments."""
    schema = node.schema()
    return schema is not None and schema.is_mutable
