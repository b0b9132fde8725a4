"""Shape propagation: dtype, device, rank and sizes of tensors before they exist
(`torch/csrc/jit/passes/shape_analysis.cpp`).

The executor makes a plan for inputs of given dtypes, devices and ranks (`Float(*, *)`); a trace
knows sizes and strides, too. This pass carries that knowledge through the graph, node by node, into
the types of the values:

1. Control flow: the type of an If's output is what both arms agree on; the types around a Loop are
   widened until another walk over its body changes nothing.
2. An operator is called without data (`shape_trials.py`), with as much as is known of its
   arguments; it checks them and makes its result.
3. The output of an operator that needs data is just a `Tensor`.

The shape of a tensor that an in-place operation may give another shape (`t_`, `resize_`) is never
known.

How the real one differs: 1.0.1 stopped with "operation failed shape propagation" if running an
operator failed; here that output is a `Tensor`, since the node may be in an arm that is never
taken. 1.0.1 also made implicit broadcasting explicit here, with `aten::expand`, where sizes were
known. Today shapes come from running (profiling), or from functions on symbolic sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated.op_facts import INPLACE_VIEW
from internals.core.device import device as Device
from internals.core.dtype import bool_ as bool_dtype, float64, int64
from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.ir.block import all_nodes
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import TupleType
from internals.jit.ir.unify import unify_types
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.operators.second_names import first_name
from internals.jit.passes.overloads import constant
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.shape_trials import result_types

if TYPE_CHECKING:
    from internals.jit.ir.types import Type

# operators that give their first input another shape, in place
RESIZING = frozenset({"aten::data", *(f"aten::{name.partition('.')[0]}" for name in INPLACE_VIEW)})


@graph_pass("propagate shapes")
def propagate_input_shapes(graph: Graph) -> bool:
    """Fill in the types of all tensors from those of the inputs. True if a type changed."""
    return _Propagation(graph).block(graph.block())


class _Propagation:
    """The pass over one graph. `resized` are the tensors that an operator reshapes in place."""

    def __init__(self, graph: Graph) -> None:
        self.changed = False
        nodes = all_nodes(graph.block())
        self.resized = [n.inputsAt(0) for n in nodes if first_name(n.kind()) in RESIZING]
        self.aliases: Any = None
        if self.resized:
            self.aliases = AliasDb(graph)

    def block(self, block: Block) -> bool:
        """Walk a block. True if a type changed since this object was made."""
        for v in block.inputs():
            self.set(v, v.type())
        for node in block.nodes():
            self.node(node)
        return self.changed

    def node(self, node: Node) -> None:
        kind = node.kind()
        if kind == "prim::If":
            self.branches(node)
        elif kind == "prim::Loop":
            self.loop(node)
        elif kind in STRUCTURAL:
            for v, t in zip(node.outputs(), STRUCTURAL[kind](node)):
                self.set(v, t)
        elif kind.startswith("aten::"):
            self.operator(node)

    def branches(self, node: Node) -> None:
        then, otherwise = node.blocks()
        self.block(then)
        self.block(otherwise)
        for v, a, b in zip(node.outputs(), then.outputs(), otherwise.outputs()):
            self.set(v, _agree(a.type(), b.type()))

    def loop(self, node: Node) -> None:
        body = node.blocks()[0]
        # What is known only becomes less from walk to walk, so this ends.
        types = [v.type() for v in node.inputs()[2:]]
        while True:
            for v, t in zip(body.inputs()[1:], types):
                self.set(v, t)
            self.block(body)
            after = [_agree(t, v.type()) for t, v in zip(types, body.outputs()[1:])]
            if after == types:
                break
            types = after
        for v, t in zip(node.outputs(), types):
            self.set(v, t)

    def operator(self, node: Node) -> None:
        tensors = [v for v in node.outputs() if isinstance(v.type(), TensorType)]
        if not tensors:
            return
        for v, t in zip(tensors, _types_of_results(node) or [TensorType.get()] * len(tensors)):
            self.set(v, t)

    def set(self, v: Value, t: Any) -> None:
        """Give `v` the type `t`, except for `requires_grad`, which is another pass's, and stays."""
        old = v.type()
        if isinstance(t, TensorType):
            if not isinstance(old, TensorType):
                return
            if self.aliases is not None and any(self.aliases.may_alias(v, r) for r in self.resized):
                t = t.with_(sizes=None, strides=None)
            t = t.with_(requires_grad=old.requires_grad())
        elif not _holds_tensors(t):
            return  # an `int?` stays one, although an int goes in here
        if t != old:
            v.setType(t)
            self.changed = True


def _holds_tensors(t: Type) -> bool:
    return isinstance(t, TensorType) or any(map(_holds_tensors, t.containedTypes()))


def _types_of_results(node: Node) -> list[TensorType] | None:
    """The types of an operator's results; None if nothing is known of them. The result of an
    in-place operator has the sizes of the tensor written to.
    """
    schema = node.schema()
    if schema is None or not schema.is_mutable:
        return result_types(node)
    written: Any = node.inputsAt(0).type()
    in_place = schema.name.endswith("_") and isinstance(written, TensorType)
    return [written.with_(strides=None)] if in_place else None


def _agree(a: Any, b: Any) -> Any:
    """The common type of one value in two arms or two turns."""
    return unify_types(a, b) or b


def _tuple_types(node: Node) -> list[Any]:
    old: Any = node.output().type()
    return [TupleType([v.type() for v in node.inputs()], old.names, old.qualified_name)]


def _element_types(node: Node) -> list[Any]:
    t = node.inputsAt(0).type()
    return list(t.containedTypes()) if isinstance(t, TupleType) else []


def _index_type(node: Node) -> list[Any]:
    t, i = node.inputsAt(0).type(), constant(node.inputsAt(1))
    return [t.elements[i]] if isinstance(t, TupleType) and isinstance(i, int) else []


def _number_type(node: Node) -> list[Any]:
    dtypes = {"IntType": int64, "FloatType": float64, "BoolType": bool_dtype}
    return [TensorType(dtypes.get(node.input().type().kind()), Device("cpu"), ())]


def _chunk_types(node: Node) -> list[TensorType]:
    like, chunks, dim = node.inputsAt(0).type(), node.i("chunks"), node.i("dim")
    sizes = like.varyingSizes() if isinstance(like, TensorType) else None
    if not sizes or not isinstance(like, TensorType):
        return [TensorType.get()] * node.outputsSize()
    # chunks of ceil(total / chunks), and the rest: 7 in 3 chunks are 3, 3, 1
    at, total = dim % len(sizes), sizes[dim]
    regular = None if total is None else -(-total // chunks)
    found = [regular] * (chunks - 1)
    found.append(None if total is None or regular is None else total - regular * (chunks - 1))
    return [like.with_sizes([*sizes[:at], n, *sizes[at + 1 :]]) for n in found]


STRUCTURAL = {
    "prim::TupleConstruct": _tuple_types,
    "prim::TupleUnpack": _element_types,
    "prim::TupleIndex": _index_type,
    "prim::NumToTensor": _number_type,
    "prim::ConstantChunk": _chunk_types,
}
