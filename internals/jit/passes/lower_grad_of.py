"""Lowering of `prim::GradOf` to an If (`torch/csrc/jit/passes/lower_grad_of.cpp`).

    %dx = prim::GradOf[name="aten::mul"](%dy)        %any : bool = prim::AnyDefined(%dy)
      block0():                                       %dx = prim::If(%any)
        %g = aten::mul(%dy, %b)             becomes     block0():
        -> (%g)                                           %g = aten::mul(%dy, %b)
                                                          -> (%g)
                                                        block1():
                                                          %none = prim::Undefined()
                                                          -> (%none)

A formula is linear in the gradients of the node's outputs: if all of these are undefined, so are
the gradients of its inputs. After this pass, the interpreter need not know GradOf.

How the real one differs: today the condition is `prim::AutogradAnyNonZero`, and the second arm
returns `prim::AutogradZero`.
"""

from __future__ import annotations

from internals.jit.ir import BoolType, Graph, Node, all_nodes
from internals.jit.passes.registry import graph_pass


@graph_pass("GradOf becomes If")
def lower_grad_of(graph: Graph) -> bool:
    """Replace every GradOf by an If that checks at run time whether any gradient is defined."""
    changed = False
    for node in all_nodes(graph.block(), inner_first=True):
        if node.kind() == "prim::GradOf":
            _replace(node)
            changed = True
    return changed


def _replace(node: Node) -> None:
    """Replace one GradOf by an If whose second arm returns undefined gradients."""
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        any_defined = graph.insertNode(graph.create("prim::AnyDefined", node.inputs()))
        any_defined.output().setType(BoolType.get())
        choice = graph.insertNode(
            graph.create("prim::If", any_defined.outputs(), node.outputsSize())
        )
    choice.addBlock().cloneFrom(node.blocks()[0], lambda v: v)
    otherwise = choice.addBlock()
    missing = otherwise.appendNode(graph.create("prim::Undefined")).output()
    for old, new in zip(node.outputs(), choice.outputs()):
        otherwise.registerOutput(missing)
        new.copyMetadata(old)
    node.replaceAllUsesWith(choice)
    node.destroy()
