"""Constant propagation: what can be computed now is
(`torch/csrc/jit/passes/constant_propagation.cpp`).

| node                                                      | becomes                              |
|-----------------------------------------------------------|--------------------------------------|
| an operator, a list or a tuple whose inputs are constants | the constant it gives when it is run |
| an If with a constant condition                           | the nodes of the arm it takes        |
| an output of an If for which both arms give the same      | that value, or that constant         |
| a Loop that never runs (0 trips, or condition False)      | nothing: what goes in comes out      |
| a value that a Loop carries unchanged                     | the value that goes in               |

If anything was done, dead code elimination removes what is left over. An operator is *not* run when

| guard                                                  | why                                     |
|--------------------------------------------------------|-----------------------------------------|
| it has side effects, is random, or memory is written   | it does not give the same every time    |
| it raises an error                                     | the error belongs to the moment it      |
|                                                        | runs, if it ever does                   |
| its result is a tensor or list that the caller may get | every call gives a new one, for the     |
|                                                        | caller to write to                      |
| its result requires grad, or is an object              | a constant has no history, and must be  |
|                                                        | printable                               |
| it is much work, or its result large                   | see `folding_limits.py`                 |

How the real one differs: it folds results that the caller gets, too. There, `return torch.zeros(2)`
gives the same tensor every time, with whatever the last caller wrote into it. And it sets no limit
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
    """Run what depends on constants only, and take the branches they decide."""
    changed = _Propagator(AliasDb(graph)).block(graph.block())
    if changed:
        dce(graph)
    return changed


class _Propagator:
    def __init__(self, aliases: AliasDb) -> None:
        self.aliases, self.left = aliases, TOTAL

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
        """Run a node whose inputs are constants and put the results in its place."""
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
                new = graph.insertConstant(
                    value, old.type() if value is None or isinstance(value, (list, tuple)) else None
                )
                new.node().copyMetadata(node)
                old.replaceAllUsesWith(new)
        node.destroy()
        return True

    def can_run(self, node: Node) -> bool:
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
        condition = node.input()
        if condition.isConstant():
            taken = node.blocks()[0 if constant_of(condition) else 1]
            self.block(taken)
            splice(taken, node)
            return True
        changed = [self.block(b) for b in node.blocks()]
        return self.same_in_both_arms(node) or any(changed)

    def same_in_both_arms(self, node: Node) -> bool:
        changed = False
        arms = node.blocks()
        graph = node.owningGraph()
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
            given, carried = node.input(i + 2), body.inputs()[i + 1]
            if body.outputs()[i + 1] is not carried and body.outputs()[i + 1] is not given:
                continue
            node.outputsAt(i).replaceAllUsesWith(given)
            carried.replaceAllUsesWith(given)
            erase_carried(node, i)
            changed = True
        return changed


def _evaluate(node: Node, inputs: list[Any]) -> tuple[Any, ...]:
    """What a node with constant inputs gives, one value for each output."""
    from internals.jit.runtime.node_functions import function_of

    with no_grad(), moderately():
        result = function_of(node)(*inputs)
    return tuple(result) if node.outputsSize() != 1 else (result,)


def _equal_constants(a: Value, b: Value) -> bool:
    if not (a.isConstant() and b.isConstant()) or a.type() != b.type():
        return False
    x, y = constant_of(a), constant_of(b)
    return not isinstance(x, (TensorImpl, list)) and value_key(x) == value_key(y)
