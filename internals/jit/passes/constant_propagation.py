"""Constant propagation: nodes with constant inputs are computed in advance
(`torch/csrc/jit/passes/constant_propagation.cpp`).

| node                                                      | becomes                              |
|-----------------------------------------------------------|--------------------------------------|
| an operator, a list or a tuple whose inputs are constants | its result, a constant               |
| an If with a constant condition                           | the nodes of the arm it takes        |
| an output of an If that is equal in both arms             | that value, or that constant         |
| a Loop that never runs (0 trips, or condition False)      | its initial values                   |
| a value that a Loop carries unchanged                     | its initial value                    |

If anything has changed, dead code elimination follows. An operator is *not* run if

| guard                                                  | why                                     |
|--------------------------------------------------------|-----------------------------------------|
| it has side effects, is random, or memory is written   | its result is not the same every time   |
| it raises an error                                     | the error must be raised when the node  |
|                                                        | runs, if it ever does                   |
| its result is a tensor or list that the caller may get | every call must return a new one, which |
|                                                        | the caller may write to                 |
| its result requires grad, or is an object              | a constant has no history, and must be  |
|                                                        | printable                               |
| it is much work, or its result large                   | see `folding_limits.py`                 |

How the real one differs: it also folds results that the caller gets. There, `return torch.zeros(2)`
returns the same tensor every time, with all that the last caller wrote to it. And it sets no limit
on the size.
"""

from __future__ import annotations

from typing import Any

from internals.autograd.grad_mode import no_grad
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Block, Graph, Node, Value, constant_of, is_constant
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.passes.aliasing import escapes, is_written
from internals.jit.passes.control_flow import erase_carried, erase_if_output, splice
from internals.jit.passes.dce import dce
from internals.jit.passes.folding_limits import TOTAL, fits, is_affordable, moderately, nbytes
from internals.jit.passes.node_equality import value_key
from internals.jit.passes.registry import graph_pass

NEVER_RUN = (
    "prim::Constant", "prim::Uninitialized", "prim::AutogradZero", "prim::Undefined",
    "prim::unchecked_cast",
    "aten::format", "aten::percentFormat",  # they take any number of arguments
)  # fmt: skip


@graph_pass("constants computed now")
def constant_propagation(graph: Graph) -> bool:
    """Compute the nodes that depend on constants only, and decide Ifs and Loops by them."""
    changed = _Propagator(AliasDb(graph)).block(graph.block())
    if changed:
        dce(graph)
    return changed


class _Propagator:
    """The pass over one graph. Each method returns whether it has changed something."""

    def __init__(self, aliases: AliasDb) -> None:
        self.aliases, self.left = aliases, TOTAL  # bytes that results may still take

    def block(self, block: Block) -> bool:
        changed = False
        for node in block.nodes():
            changed |= self.node(node)
        return changed

    def node(self, node: Node) -> bool:
        if node.kind() == "prim::If":
            return self.conditional(node)
        if node.kind() == "prim::Loop":
            return self.loop(node)
        changed = False
        for b in node.blocks():
            changed |= self.block(b)
        return self.fold(node) or changed

    def fold(self, node: Node) -> bool:
        """Run a node whose inputs are constants, and replace it by its results. True if that was
        possible.
        """
        if not self.can_run(node):
            return False
        inputs = [constant_of(v) for v in node.inputs()]
        if not is_affordable(node, inputs):
            return False
        try:
            results = _evaluate(node, inputs)
        except Exception:  # it is raised where the node stands, when and if that is run
            return False
        size = sum(map(nbytes, results))
        if not all(map(fits, results)) or size > self.left:
            return False
        self.left -= size
        graph = node.owningGraph()
        with graph.insert_point_guard(node):
            for old, value in zip(node.outputs(), results, strict=True):
                # The type of None or an empty list cannot be seen from the value.
                new = graph.insertConstant(
                    value, old.type() if value is None or isinstance(value, (list, tuple)) else None
                )
                new.node().copyMetadata(node)
                old.replaceAllUsesWith(new)
        node.destroy()
        return True

    def can_run(self, node: Node) -> bool:
        """Whether the node's result is the same constant whenever it runs."""
        if (
            node.kind() in NEVER_RUN
            or node.blocks()
            or not node.outputs()
            or not all(map(is_constant, node.inputs()))
        ):
            return False
        if node.hasSideEffects() or node.isNondeterministic():
            return False
        values = node.inputs() + node.outputs()
        return not is_written(self.aliases, values) and not escapes(self.aliases, node.outputs())

    def conditional(self, node: Node) -> bool:
        """Replace an If by the arm that a constant condition takes, or simplify its outputs."""
        condition = node.input()
        if condition.isConstant():
            taken = node.blocks()[0 if constant_of(condition) else 1]
            self.block(taken)
            splice(taken, node)
            return True
        changed = [self.block(b) for b in node.blocks()]
        return self.equal_in_both_branches(node) or any(changed)

    def equal_in_both_branches(self, node: Node) -> bool:
        """Erase the outputs of an If that have the same value, or equal constants, in both arms."""
        changed = False
        arms = node.blocks()
        graph = node.owningGraph()
        # from the last output, as erasing one changes the numbers of those after it
        for i in range(node.outputsSize() - 1, -1, -1):
            yes, no, output = arms[0].outputs()[i], arms[1].outputs()[i], node.outputsAt(i)
            if yes is not no:
                if not _equal_constants(yes, no):
                    continue
                with graph.insert_point_guard(node):
                    yes = graph.insertConstant(constant_of(yes), yes.type())
            output.replaceAllUsesWith(yes)
            erase_if_output(node, i)
            changed = True
        return changed

    def loop(self, node: Node) -> bool:
        """Replace a Loop that never runs by its initial values; erase values carried unchanged."""
        trips, condition = node.input(0), node.input(1)
        if (trips.isConstant() and constant_of(trips) <= 0) or (
            condition.isConstant() and not constant_of(condition)
        ):
            for given, output in zip(node.inputs()[2:], node.outputs()):
                output.replaceAllUsesWith(given)
            node.destroy()
            return True
        body = node.blocks()[0]
        changed = self.block(body)
        for i in range(node.outputsSize() - 1, -1, -1):
            # Inputs of the Loop: trip count, condition, carried values; of the body: the index,
            # carried values; outputs of the body: the next condition, carried values.
            given, carried = node.input(i + 2), body.inputs()[i + 1]
            if body.outputs()[i + 1] is not carried and body.outputs()[i + 1] is not given:
                continue
            node.outputsAt(i).replaceAllUsesWith(given)
            carried.replaceAllUsesWith(given)
            erase_carried(node, i)
            changed = True
        return changed


def _evaluate(node: Node, inputs: list[Any]) -> tuple[Any, ...]:
    """The results of a node for constant inputs, one for each output."""
    from internals.jit.runtime.node_functions import function_of

    with no_grad(), moderately():
        result = function_of(node)(*inputs)
    return tuple(result) if node.outputsSize() != 1 else (result,)


def _equal_constants(a: Value, b: Value) -> bool:
    if not (a.isConstant() and b.isConstant()) or a.type() != b.type():
        return False
    x, y = constant_of(a), constant_of(b)
    return not isinstance(x, (TensorImpl, list)) and value_key(x) == value_key(y)
