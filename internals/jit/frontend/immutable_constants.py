"""Constant propagation for what cannot be written to (`ConstantPropagationImmutableTypes` of
`torch/csrc/jit/passes/constant_propagation.cpp`).

Every compiled graph goes through it: `3 / 2` is 1.5 and `if False:` is gone before anybody sees the
graph. Tensors, lists and dicts are left alone, so that nothing has to be known of aliases, and
running it again changes nothing.

How the real one differs: it is the same class as full constant propagation, with a switch.
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
    """Compute what depends on constants only and is immutable; take the branches they decide. True
    if anything changed.
    """
    return _Immutable(None).block(graph.block())  # type: ignore[arg-type]  # it asks nothing of aliases


class _Immutable(_Propagator):
    def fold(self, node: Node) -> bool:
        """As in full constant propagation; what was computed has no place in the source."""
        graph = node.owningGraph()
        before = node.prev()
        if not super().fold(node):
            return False
        assert before is not None
        new = before.next()
        assert new is not None
        new.setSourceRange(graph.current_source_range)
        return True

    def can_run(self, node: Node) -> bool:
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
    """Whether a value of this type, or what is in it, can be written to."""
    if isinstance(t, (TensorType, ListType, DictType, ClassType)):
        return True
    return isinstance(t, (OptionalType, TupleType, FutureType)) and any(
        is_mutable(part) for part in t.containedTypes()
    )
