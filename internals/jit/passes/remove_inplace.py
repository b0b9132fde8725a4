"""Removal of in-place operators whose write cannot be seen elsewhere: they return new tensors
instead (`torch/csrc/jit/passes/remove_mutation.cpp`, `remove_inplace_ops.cpp`).

A write restricts all nodes around it: no pass may move, merge or remove a node that may read that
memory. Often the write is only meant to save memory (`y = x * 2; y.relu_()`), and y is not used
elsewhere. Then the same can be computed without a write:

    %y  = aten::mul(%x, %two)                  %y  = aten::mul(%x, %two)
    %y1 = aten::relu_(%y)           becomes    %y1 = aten::relu(%y)
    use of %y                                  use of %y1

A pointwise `op_` becomes `op`, `zero_` becomes `zeros_like`, `fill_` becomes `full_like`; every
later use of %y becomes one of the result. This is correct only if all of these hold:

| guard                                                  | why                                     |
|--------------------------------------------------------|-----------------------------------------|
| an operator in the same block made %y, in new memory   | the caller, a list, or another turn of  |
|                                                        | a loop cannot have it                   |
| no value used after the write may share memory with %y | a view would still show the old numbers |
| by the types, the result of the operator without `_`   | `y += z` keeps the dtype and size of y, |
| has the dtype of %y, and the other operands broadcast  | `y + z` may not; `y.eq_(z)` keeps the   |
| to its size                                            | dtype, `y.eq(z)` is bool                |

If the dtype is not known, a program that the write would have stopped (`exp_` of a tensor of ints)
does not raise its error after this pass.

How the real one differs: `remove_inplace_ops`, for exporters, replaces every `add_ sub_ mul_ div_`
without checks. `remove_mutation` has the checks of this pass except those of dtypes and sizes. Both
exist today; 1.0.1 had the first.
"""

from __future__ import annotations

from internals._generated.op_facts import POINTWISE
from internals.jit.ir import Block, Graph, Node, TensorType, all_values
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.passes.overloads import overload_of
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.shape_trials import keeps_dtype

LIKE = {"aten::zero_": "aten::zeros_like", "aten::fill_": "aten::full_like"}


@graph_pass("writes nobody can tell from new tensors")
def remove_inplace(graph: Graph) -> bool:
    """Replace in-place operators by their out-of-place counterparts where no other value shares the
    memory.
    """
    changed = False
    while _remove_one(graph.block(), AliasDb(graph)):
        changed = True
    return changed


def _remove_one(block: Block, aliases: AliasDb) -> bool:
    """Replace one in-place operator, after which memory must be analysed anew. True if there was
    one.
    """
    for node in block.nodes():
        if any(_remove_one(b, aliases) for b in node.blocks()):
            return True
        if _keeps_dtype_and_size(node) and _is_alone(node, aliases):
            _replace(node)
            return True
    return False


def _keeps_dtype_and_size(node: Node) -> bool:
    """Whether the operator without `_` returns a tensor of the dtype and size of the one that is
    written to.
    """
    name = overload_of(node).removeprefix("aten::")
    if node.kind() in LIKE:
        return not any(isinstance(v.type(), TensorType) for v in node.inputs()[1:])
    if name not in POINTWISE or not name.partition(".")[0].endswith("_") or not node.inputsSize():
        return False
    mine = node.input(0).type()
    others = [t for v in node.inputs()[1:] if isinstance(t := v.type(), TensorType)]
    if not isinstance(mine, TensorType):
        return False
    if mine.dtype() is None and "." in name:  # `y *= 0.5` stops where y is of ints
        return False
    sizes = mine.sizes()
    if others and (sizes is None or not all(_fits(t.sizes(), sizes) for t in others)):
        return False
    return keeps_dtype(node)


def _fits(sizes: list[int] | None, into: list[int]) -> bool:
    """Whether a tensor of `sizes` can be broadcast to `into`; False if its sizes are not known."""
    return (
        sizes is not None
        and len(sizes) <= len(into)
        and all(a in (1, b) for a, b in zip(sizes[::-1], into[::-1]))
    )


def _is_alone(node: Node, aliases: AliasDb) -> bool:
    """Whether the memory written to is new, and other values that may share it are not used
    afterwards.
    """
    written = node.input(0)
    maker = written.node()
    if (
        maker.kind() == "prim::Param"
        or maker.owningBlock() is not node.owningBlock()
        or maker.blocks()
        or maker.hasSideEffects()
    ):
        return False
    # The caller or a list may have it; or it is the maker's input itself, or a view of it.
    if aliases.may_alias_wildcard([written]) or aliases.may_contain_alias(
        maker.inputs(), [written]
    ):
        return False
    # Every other value that may share the memory, such as a view, must not be used after the write.
    others = [
        v
        for v in all_values(node.owningGraph().block())
        if v is not written and v is not node.output()
    ]
    sharing = [v for v in others if aliases.may_contain_alias([v], [written])]
    return not any(use.user.isAfter(node) for v in sharing for use in v.uses())


def _replace(node: Node) -> None:
    graph, written = node.owningGraph(), node.input(0)
    kind = node.kind()
    with graph.insert_point_guard(node):
        if kind in LIKE:
            # dtype, layout, device, pin_memory, memory_format: those of %y
            new = graph.insert(LIKE[kind], [*node.inputs(), *[None] * 5])
        else:
            new = graph.insert(kind.removesuffix("_"), node.inputs())
    new.node().copyMetadata(node)
    new.copyMetadata(node.output())
    written.replaceAllUsesAfterNodeWith(node, new)
    node.output().replaceAllUsesWith(new)
    node.destroy()
