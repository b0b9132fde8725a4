"""Specialisation of a backward graph to the gradients that are defined
(`torch/csrc/jit/passes/specialize_autogradzero.cpp`).

The backward graph of a differentiable subgraph must work for any combination of gradients: if an
output was not used, its gradient is missing. So every gradient formula is inside a `prim::GradOf`,
whose results are missing if all its inputs are, and sums are `prim::AutogradAdd`, which takes a
missing gradient for zero. When the executor makes a plan it knows which inputs are missing; this
pass uses that:

| node                            | with                     | becomes                  |
|---------------------------------|--------------------------|--------------------------|
| `prim::GradOf[...](dys) {body}` | all of dys missing       | missing                  |
| `prim::GradOf[...](dys) {body}` | none of dys unknown      | its body                 |
| `prim::AutogradAdd(a, b)`       | a missing                | b                        |
| `prim::AutogradAdd(a, b)`       | b missing                | a                        |
| `prim::AutogradAdd(a, b)`       | both there               | `aten::add(a, b)`        |

The type of a graph input says whether it is there. A GradOf with unknown gradients is left to
`lower_grad_of`.

How the real one differs: in 1.0.1 an unknown input of a GradOf is an internal error. Today the pass
is called `specialize_autogradzero` and the missing gradient `prim::AutogradZero`; it guards the
specialised graph by a run-time check.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, Node, TensorType, Value
from internals.jit.passes.control_flow import splice
from internals.jit.passes.registry import graph_pass

MISSING_KINDS = ("prim::Undefined", "prim::AutogradZero")
MISSING, THERE, UNKNOWN = "missing", "there", "unknown"


@graph_pass("missing gradients")
def specialize_undef(graph: Graph) -> bool:
    """Replace the GradOfs and AutogradAdds of the top level whose gradients are known to be there
    or missing.
    """
    known = {v: _by_type(v) for v in graph.inputs()}
    changed = False
    for node in graph.nodes():
        if node.kind() == "prim::GradOf":
            changed |= _grad_of(node, known)
        elif node.kind() == "prim::AutogradAdd":
            changed |= _add(node, known)
        else:
            _note(node, known)
    return changed


def _by_type(value: Value) -> str:
    """The state of a graph input: missing if its type says undefined, there if it has a dtype."""
    type = value.type()
    if not isinstance(type, TensorType) or (type.undefined is None and type.dtype() is None):
        return UNKNOWN
    return MISSING if type.undefined else THERE


def _note(node: Node, known: dict[Value, str]) -> None:
    """Record the state of an operator's outputs: what it computes is there."""
    for v in node.outputs():
        known[v] = MISSING if node.kind() in MISSING_KINDS else THERE


def _grad_of(node: Node, known: dict[Value, str]) -> bool:
    """Replace a GradOf by a missing gradient, or by its body, or record that it is unknown."""
    states = [known.get(v, UNKNOWN) for v in node.inputs()]
    if all(s == MISSING for s in states):
        graph = node.owningGraph()
        with graph.insert_point_guard(node):
            missing = graph.insertNode(graph.create("prim::Undefined")).output()
        known[missing] = MISSING
        for v in node.outputs():
            v.replaceAllUsesWith(missing)
        node.destroy()
        return True
    if UNKNOWN in states:
        known.update(dict.fromkeys(node.outputs(), UNKNOWN))
        return False
    # At least one gradient is there, so the body would run: it replaces the GradOf.
    body: Block = node.blocks()[0]
    for inner in body.nodes():
        _note(inner, known)
    splice(body, node)
    return True


def _add(node: Node, known: dict[Value, str]) -> bool:
    """Replace the sum of two gradients by one of them, or by `aten::add`, as their states allow."""
    a, b = node.inputs()
    states = known.get(a, UNKNOWN), known.get(b, UNKNOWN)
    if MISSING in states:
        node.output().replaceAllUsesWith(b if states[0] == MISSING else a)
    elif states == (THERE, THERE):
        graph = node.owningGraph()
        with graph.insert_point_guard(node):
            total = graph.insert("aten::add", [a, b, 1]).setType(node.output().type())
        known[total] = THERE
        node.output().replaceAllUsesWith(total)
    else:
        known[node.output()] = UNKNOWN
        return False
    node.destroy()
    return True
