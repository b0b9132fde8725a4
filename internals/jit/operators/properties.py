"""What a pass must know of a node before it moves, merges or removes it (`Node::hasSideEffects`, `Node::isNondeterministic`).

A node with a side effect stays although nobody uses what it gives. Two calls of a nondeterministic operator are not the same
expression. A node that writes to one of its inputs is tied to everybody who reads that memory: whom, tells `alias_analysis.py`.

How the real one differs: PyTorch finds randomness by a tag of the operator in native_functions.yaml; and operators registered by
users say themselves how much the compiler may assume of them. In 1.0.1 both questions were lists of kinds, as here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

# They take numbers from a generator: PyTorch's tag `nondeterministic_seeded`. The same names, followed by `_`, write.
NONDETERMINISTIC = frozenset({
    "aten::dropout", "aten::dropout_", "aten::native_dropout", "aten::feature_dropout", "aten::feature_dropout_",
    "aten::alpha_dropout", "aten::alpha_dropout_", "aten::feature_alpha_dropout", "aten::feature_alpha_dropout_",
    "aten::bernoulli", "aten::bernoulli_", "aten::multinomial", "aten::poisson", "aten::binomial",
    "aten::normal", "aten::normal_", "aten::normal_functional", "aten::uniform_", "aten::random_", "aten::exponential_",
    "aten::cauchy_", "aten::log_normal_", "aten::geometric_",
    "aten::rand", "aten::rand_like", "aten::randint", "aten::randint_like", "aten::randn", "aten::randn_like", "aten::randperm",
    "aten::rrelu", "aten::rrelu_", "aten::rrelu_with_noise", "aten::rrelu_with_noise_", "aten::scaled_dot_product_attention",
    "aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu",
})  # fmt: skip


def has_side_effects(node: Node) -> bool:
    """Whether the node does more than compute its outputs, its own blocks aside. Writing to memory does not count.

    Python code (`^name`) may do anything.
    """
    return node.kind() in SIDE_EFFECTS or node.kind().startswith("^")


def is_nondeterministic(node: Node) -> bool:
    """Whether two runs may give different results. Dropout does not when `train` is the constant False."""
    kind = node.kind()
    if kind not in NONDETERMINISTIC:
        return False
    if kind in ("aten::dropout", "aten::dropout_") and node.inputsSize() > 2:
        train = node.inputsAt(2)
        return not (train.isConstant() and train.toIValue() is False)
    return True


def changes_grad_mode(graph: Graph) -> bool:
    """Whether part of it runs without gradients. Nodes are not merged or gathered then: the same means something else."""
    return any(graph.findNode(kind) is not None for kind in ("aten::set_grad_enabled", "prim::Enter"))


def is_mutable(node: Node) -> bool:
    """Whether the node's operator writes to one of its arguments."""
    schema = node.schema()
    return schema is not None and schema.is_mutable
