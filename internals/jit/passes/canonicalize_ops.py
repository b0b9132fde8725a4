"""Operators in the form that later passes expect
(`torch/csrc/jit/passes/canonicalize_graph_fuser_ops.cpp`).

| node                                                            | becomes                        |
|-----------------------------------------------------------------|--------------------------------|
| `addmm(m, a, b, beta=1, alpha=1)`                               | `add(m, mm(a, b))`             |
| `add sub mul div floor_divide` of x and a constant 0-dim tensor | the same with a number         |
| `chunk(x, n, dim)`, unpacked at once into n values              | `prim::ConstantChunk[chunks=n, |
|                                                                 | dim=dim](x)`                   |

The first lets autodiff and the fuser see the addition, the second is what traces are full of (`x +
1` is traced as adding the tensor 1), the third gives each piece a name, without a list between.
Ends with dead code elimination.

A tensor without dimensions and a number don't always promote alike: for an int x of no dimension, a
tensor 1 of int64 gives int64, the number 1 leaves x as it is. Unless the types exclude that, or the
tensor is one that the tracer made of a number, the node is left alone.

How the real one differs: it does not look at the dtypes. Today it leaves addmm alone
(`decompose_ops.cpp` does that when asked).
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
    """Split addmm, write numbers as numbers, and give the pieces of a chunk their names."""
    changed = _canonicalize(graph.block())
    return dce(graph) or changed


def _canonicalize(block: Block) -> bool:
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
    """Whether x and a tensor of no dimension of dtype `other` give the dtype that x and a Python
    number give.
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
    if node.inputsSize() != 3:
        return False
    chunks, dim = constant(node.input(1)), constant(node.input(2))
    uses = node.output().uses()
    if not isinstance(chunks, int) or not isinstance(dim, int) or len(uses) != 1:
        return False
    unpack = uses[0].user
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
