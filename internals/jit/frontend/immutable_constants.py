"""Constant propagation for immutable values (`ConstantPropagationImmutableTypes` of
`torch/csrc/jit/passes/constant_propagation.cpp`).

Every compiled graph goes through it: when you see the graph, `3 / 2` is 1.5 and `if False:` is
gone. Nodes with tensors, lists and dicts stay, because these may be changed in place. So the pass
needs no alias analysis, and running it again changes nothing.

How the real one differs: it is full constant propagation with a switch, in one class.
"""

from __future__ import annotations

from internals.jit.ir import (
    ClassType,
    DictType,
    FutureType,
    Graph,
    ListType,
    Node,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from internals.jit.passes.constant_propagation import NEVER_RUN, _Propagator


def propagate_immutable_constants(graph: Graph) -> bool:
    """Compute the nodes whose inputs are constants and whose values are immutable, and keep only
    the branch taken of an `if` with a constant condition. Returns whether anything changed.
    """
    # None for the alias analysis, which this pass does not use
    return _Immutable(None).block(graph.block())  # type: ignore[arg-type]


class _Immutable(_Propagator):
    """Constant propagation that skips nodes with mutable inputs or outputs."""

    def fold(self, node: Node) -> bool:
        """Replace `node` by its value, if it is constant; returns whether it is. The new constant
        gets the graph's current source range, not that of `node`.
        """
        graph = node.owningGraph()
        before = node.prev()
        if not super().fold(node):
            return False
        assert before is not None
        new = before.next()  # the constant stands where `node` stood
        assert new is not None
        new.setSourceRange(graph.current_source_range)
        return True

    def can_run(self, node: Node) -> bool:
        """Whether the node can be computed while compiling: constant inputs, nothing mutable, no
        side effects, the same result each time.
        """
        if (
            node.kind() in NEVER_RUN
            or node.blocks()
            or not node.outputs()
            or not all(v.isConstant() for v in node.inputs())
        ):
            return False
        if any(is_mutable(v.type()) for v in (*node.inputs(), *node.outputs())):
            return False
        return not node.hasSideEffects() and not node.isNondeterministic()


def is_mutable(t: Type) -> bool:
    """Whether a value of this type, or a value inside it, can be changed in place."""
    if isinstance(t, (TensorType, ListType, DictType, ClassType)):
        return True
    return isinstance(t, (OptionalType, TupleType, FutureType)) and any(
        is_mutable(part) for part in t.containedTypes()
    )
