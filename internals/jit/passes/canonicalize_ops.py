"""Canonical operators: calls are rewritten to the form that later passes expect
(`torch/csrc/jit/passes/canonicalize_graph_fuser_ops.cpp`).

| node                                                            | becomes                        |
|-----------------------------------------------------------------|--------------------------------|
| `addmm(m, a, b, beta=1, alpha=1)`                               | `add(m, mm(a, b))`             |
| `add sub mul div floor_divide` of x and a constant 0-dim tensor | the same with a number         |
| `chunk(x, n, dim)`, unpacked at once into n values              | `prim::ConstantChunk[chunks=n, |
|                                                                 | dim=dim](x)`                   |

The first shows the addition to autodiff and the fuser. The second is frequent in traces, where `x +
1` adds the tensor 1. The third makes each chunk a value, without a list in between. The pass ends
with dead code elimination.

A 0-d tensor and a number don't always promote alike: added to a 0-d tensor x of int32, a tensor 1
of int64 gives int64, the number 1 gives int32. Unless the types exclude that, or the tracer made
the tensor of a number, the node is left alone.

How the real one differs: it ignores the dtypes. Today it leaves addmm alone (`decompose_ops.cpp`
splits it on request).
"""

from __future__ import annotations

from typing import Any

from internals.core.dtype import dtype as DType
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Block, Graph, Node, TensorType, Value, all_nodes
from internals.jit.passes.dce import dce
from internals.jit.passes.overloads import constant, overload_of
from internals.jit.passes.registry import graph_pass

WITH_A_TENSOR = (
    "aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor",
    "aten::div.Tensor_mode", "aten::floor_divide"
)  # fmt: skip


@graph_pass("operators in one form")
def canonicalize_ops(graph: Graph) -> bool:
    """Split addmm, replace constant 0-d tensors by numbers, and make the chunks of a tensor
    values.
    """
    changed = _canonicalize(graph.block())
    return dce(graph) or changed


def _canonicalize(block: Block) -> bool:
    """Rewrite the nodes of a block and of the blocks inside. True if there were any."""
    changed = False
    for node in all_nodes(block, inner_first=True):
        if node.kind() == "aten::addmm":
            changed |= _split_addmm(node)
        elif node.kind() == "aten::chunk":
            changed |= _name_chunks(node)
        elif overload_of(node) in WITH_A_TENSOR:
            changed |= _tensor_to_number(node)
    return changed


def _split_addmm(node: Node) -> bool:
    """addmm(m, a, b), with m (rows, columns) or broadcast to it, a (rows, k), b (k, columns)."""
    if node.inputsSize() != 5 or constant(node.input(3)) != 1 or constant(node.input(4)) != 1:
        return False
    m, a, b = node.inputs()[:3]
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        product = graph.insert("aten::mm", [a, b])
        product.node().copyMetadata(node)
        total = graph.insert("aten::add", [m, product, 1])
        total.node().copyMetadata(node)
    _replace(node, total)
    return True


def _tensor_to_number(node: Node) -> bool:
    """Replace the second operand, if it is a constant 0-d tensor, by its number."""
    x, other = node.inputs()[:2]
    value = constant(other)
    if not isinstance(value, TensorImpl) or value.dim() != 0:
        return False
    if not getattr(value, "_is_wrapped_number", False) and not _promotes_like_its_number(
        x, value.dtype
    ):
        return False
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        number: Any = value.item()  # type: ignore[attr-defined]
        same = graph.insert(node.kind(), [x, number, *node.inputs()[2:]])
        same.node().copyMetadata(node)
    _replace(node, same)
    return True


def _promotes_like_its_number(x: Value, other: DType) -> bool:
    """Whether x and a 0-d tensor of dtype `other` give the same dtype as x and a Python number.

    They do if x has that dtype, or one of a higher category (bool < int < float < complex). And if
    x has dimensions, a 0-d tensor counts only by its category, like a number; then a tensor of the
    default dtype of its category, or of the category of x, is as good as its number.
    """
    type = x.type()
    if not isinstance(type, TensorType):
        return False
    mine = type.dtype()
    if mine is not None and (mine is other or mine.category > other.category):
        return True
    is_default = other.name in ("float32", "int64", "bool", "complex64")
    return bool(type.dim()) and (
        is_default or (mine is not None and mine.category == other.category)
    )


def _name_chunks(node: Node) -> bool:
    """Replace `chunk` and the `prim::ListUnpack` of its list by one `prim::ConstantChunk`."""
    if node.inputsSize() != 3:
        return False
    chunks, dim = constant(node.input(1)), constant(node.input(2))
    uses = node.output().uses()
    if not isinstance(chunks, int) or not isinstance(dim, int) or len(uses) != 1:
        return False
    unpack = uses[0].user
    # chunk may return fewer than it was asked for, so the numbers must agree
    if unpack.kind() != "prim::ListUnpack" or unpack.outputsSize() != chunks:
        return False
    graph = node.owningGraph()
    with graph.insert_point_guard(unpack):
        pieces = graph.insertNode(graph.create("prim::ConstantChunk", [node.input(0)], chunks))
    pieces.i_("chunks", chunks).i_("dim", dim).copyMetadata(node)
    for old, new in zip(unpack.outputs(), pieces.outputs()):
        new.copyMetadata(old)
    unpack.replaceAllUsesWith(pieces)
    unpack.destroy()
    return True


def _replace(node: Node, value: Value) -> None:
    value.copyMetadata(node.output())
    node.output().replaceAllUsesWith(value)
    node.destroy()
