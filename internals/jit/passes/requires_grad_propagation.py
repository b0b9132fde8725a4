"""Propagation of `requires_grad`: the values that may require a gradient
(`torch/csrc/jit/passes/requires_grad_analysis.cpp`).

The executor knows whether its inputs require a gradient: a plan is specialised to that. This pass
carries the fact forward through the graph, into the types, so that `differentiate` can omit the
gradients that are not needed.

| node                                                      | outputs require a gradient           |
|-----------------------------------------------------------|--------------------------------------|
| comparison, `detach`                                      | no                                   |
| `type_as`                                                 | if the first input does              |
| a constant tensor                                         | if it does                           |
| If                                                        | if either arm's does                 |
| Loop                                                      | if an initial value does, or what    |
|                                                           | the body returns, until no change    |
| call, attribute, read from a tuple or list; a value that  | unknown                              |
| is written to                                             |                                      |
| any other, with a tensor input that does                  | if its dtype is floating, or unknown |
| any other                                                 | no                                   |

How the real one differs: 1.0.1 took every unknown for "requires a gradient". Here unknown stays
unknown (`requires_grad` of the type is None), and the passes that read it treat it as "may".
"""

from __future__ import annotations

from internals.core.dtype import FLOATING
from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.subgraph_utils import Reorder

Answer = bool | None  # None: unknown

COMPARISONS = frozenset(f"aten::{name}" for name in ("lt", "le", "gt", "ge", "eq", "ne"))
NEVER = COMPARISONS | {"aten::detach", "aten::zeros_like", "aten::ones_like"}
UNKNOWN = frozenset((
    "prim::PythonOp", "prim::CallFunction", "prim::CallMethod", "prim::GetAttr",
    "prim::DifferentiableGraph", "prim::unchecked_cast", "prim::Uninitialized", "aten::wait",
    "aten::requires_grad_", "aten::tensor",
))  # fmt: skip


@graph_pass("propagate requires_grad")
def propagate_requires_grad(graph: Graph) -> bool:
    """Fill in `requires_grad` in the types of all values, from those of the inputs. True if a type
    changed.
    """
    return _Propagation(graph).block(graph.block())


class _Propagation:
    """The pass over one graph. `memory` tells which values are written to."""

    def __init__(self, graph: Graph) -> None:
        self.memory = Reorder(graph)
        self.changed = False

    def block(self, block: Block) -> bool:
        """Walk a block. True if a type changed since this object was made."""
        for v in block.inputs():
            if self.memory.value_has_writers(v):
                self.set(v, None)
        for node in block.nodes():
            if node.kind() == "prim::If":
                self.branches(node)
            elif node.kind() == "prim::Loop":
                self.loop(node)
            else:
                for b in node.blocks():
                    self.block(b)
                answer = _of_results(node)
                for v in node.outputs():
                    self.set(v, answer)
        return self.changed

    def branches(self, node: Node) -> None:
        then, otherwise = node.blocks()
        self.block(then)
        self.block(otherwise)
        for v, a, b in zip(node.outputs(), then.outputs(), otherwise.outputs()):
            self.set(v, _either(_answer(a), _answer(b)))

    def loop(self, node: Node) -> None:
        body = node.blocks()[0]
        # An answer only goes from False to unknown to True, so this ends.
        state = [_answer(v) for v in node.inputs()[2:]]
        while True:
            for v, answer in zip(body.inputs()[1:], state):
                self.set(v, answer)
            self.block(body)
            after = [_either(a, _answer(v)) for a, v in zip(state, body.outputs()[1:])]
            if after == state:
                break
            state = after
        for v, answer in zip(node.outputs(), state):
            self.set(v, answer)

    def set(self, v: Value, answer: Answer) -> None:
        """Write the answer into the type, if it is that of a tensor. A tensor that is known not to
        be floating never requires a gradient; for one that is written to, it depends on the value
        written.
        """
        t = v.type()
        if not isinstance(t, TensorType):
            return
        dtype = t.dtype()
        if dtype is not None and dtype.category < FLOATING:
            answer = False
        elif self.memory.value_has_writers(v):
            answer = None
        if t.requires_grad() is not answer:
            v.setType(t.with_(requires_grad=answer))
            self.changed = True


def _of_results(node: Node) -> Answer:
    """The answer for the outputs of a node without blocks, by the table above."""
    kind = node.kind()
    if kind in NEVER:
        return False
    if kind in UNKNOWN or kind.startswith("^"):
        return None
    if kind == "prim::Constant":
        return bool(
            isinstance(node.output().type(), TensorType) and node.output().toIValue().requires_grad
        )
    answer: Answer = False
    for v in node.inputs()[:1] if kind == "aten::type_as" else node.inputs():
        answer = _either(answer, _answer(v))
    return answer


def _answer(v: Value) -> Answer:
    """Whether a value requires a gradient; unknown if it is a list, tuple or object that may have
    tensors in it.
    """
    t = v.type()
    if isinstance(t, TensorType):
        return t.requires_grad()
    may_hold = any(isinstance(e, TensorType) or e.containedTypes() for e in t.containedTypes())
    return None if may_hold or t.kind() in ("ClassType", "AnyType", "PyObjectType") else False


def _either(a: Answer, b: Answer) -> Answer:
    """`a or b` with three values: True wins over unknown, unknown over False."""
    return True if a or b else None if a is None or b is None else False
