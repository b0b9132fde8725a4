"""Lowering of tuples: reads from a tuple are replaced by its elements
(`torch/csrc/jit/passes/lower_tuples.cpp`).

A tuple cannot be written to, so its elements stay those it was made of. If the graph contains its
construction, a read from it is replaced by the element. With `t = prim::TupleConstruct(a, b)`:

| node                                   | becomes                                  |
|----------------------------------------|------------------------------------------|
| `x, y = prim::TupleUnpack(t)`          | a, b                                     |
| `x = prim::TupleIndex(t, 1)`           | b (a negative index counts from the end) |
| `x = prim::TupleSlice[beg=0, end=1](t)` | `prim::TupleConstruct(a)`                |

`lower_simple_tuples` does this wherever it can; the executor runs it. `lower_all_tuples` leaves no
tuple at all, for targets that have none (ONNX): constants that are tuples, inputs and outputs of
the graph, and the values of Ifs and Loops are flattened, too, an input `%x : (Tensor, int)` into
two inputs. Both end with dead code elimination, which removes the constructions.

How the real one differs: its `lower_all_tuples` fails inside dead code elimination for an If whose
arms return a tuple that is not used.
"""

from __future__ import annotations

from internals.jit.ir import (
    Block,
    Graph,
    Node,
    TupleType,
    Value,
    all_nodes,
    all_values,
    constant_of,
)
from internals.jit.passes.dce import dce
from internals.jit.passes.registry import graph_pass

READS = ("prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice")
MAY_HOLD_TUPLES = ("prim::If", "prim::Loop", "prim::Param", "prim::Uninitialized", "prim::PythonOp")


@graph_pass("reads from tuples in sight")
def lower_simple_tuples(graph: Graph) -> bool:
    """Replace reads from tuples by the elements, where the graph contains the construction."""
    changed = _lower_reads(graph.block())
    return dce(graph) or changed


@graph_pass("no tuples at all")
def lower_all_tuples(graph: Graph) -> bool:
    """Flatten every tuple of the graph, its inputs and outputs included.

    Raises RuntimeError for a tuple that cannot be lowered: one that an operator returns, or that is
    read by a non-constant index.
    """
    before = str(graph)
    _lower_block(graph.block())
    dce(graph)
    _check_no_tuples(graph.block())
    return str(graph) != before


def _lower_reads(block: Block) -> bool:
    changed = False
    for node in all_nodes(block):
        if node.kind() in READS:
            changed |= _replace_read(node)
    return changed


def _replace_read(read: Node) -> bool:
    """Let the users of a read use the tuple's elements instead. The read itself stays, unused.
    False if the construction or the index is not known.
    """
    construct = read.input(0).node()
    if construct.kind() != "prim::TupleConstruct" or not any(v.hasUses() for v in read.outputs()):
        return False
    elements = construct.inputs()
    if read.kind() == "prim::TupleUnpack":
        for old, new in zip(read.outputs(), elements):
            old.replaceAllUsesWith(new)
    elif read.kind() == "prim::TupleIndex":
        index = constant_of(read.input(1)) if read.input(1).isConstant() else None
        if index is None or not -len(elements) <= index < len(elements):
            return False
        read.output().replaceAllUsesWith(elements[index])
    else:
        part = _construct(read.owningGraph(), elements[read.i("beg") : read.i("end")]).insertBefore(
            read
        )
        read.output().replaceAllUsesWith(part.output())
    return True


# Flattening


def _lower_block(block: Block) -> None:
    """Flatten the tuples of a block. Its inputs are the outputs of its Param node, and its outputs
    the inputs of its Return node, so both are flattened like those of any node.
    """
    _flatten_outputs(block.paramNode(), before=block.paramNode().next())
    for node in block.nodes():
        if not _spell_out_constant(node):
            _lower_node(node)
    _flatten_inputs(block.returnNode())


def _lower_node(node: Node) -> None:
    """Flatten the tuples among the inputs and outputs of a node; a read is replaced."""
    if node.kind() == "prim::TupleConstruct":
        return
    if node.kind() in READS:
        if not _replace_read(node) and any(v.hasUses() for v in node.outputs()):
            raise RuntimeError(_unmatched(node))
        return
    _flatten_inputs(node)
    for b in node.blocks():
        _lower_block(b)
    _flatten_outputs(node, before=node.next())


def _flatten_inputs(node: Node) -> None:
    """Make `op(a, t0, t1, c)` of `op(a, t, c)`. `i` stays where it is after a tuple, so a tuple
    inside of it is flattened next.
    """
    i = 0
    while i < node.inputsSize():
        value = node.inputsAt(i)
        if not isinstance(value.type(), TupleType):
            i += 1
            continue
        if value.node().kind() != "prim::TupleConstruct":
            raise RuntimeError(
                f"tuple use not matched to tuple construct. Instead found: {value.node().kind()}"
            )
        for j, element in enumerate(value.node().inputs()):
            node.insertInput(i + 1 + j, element)
        node.removeInput(i)


def _flatten_outputs(node: Node, before: Node) -> None:
    """Make `a, t0, t1, c = op()` and `t = prim::TupleConstruct(t0, t1)` of `a, t, c = op()`; the
    construction is inserted before the node `before`.
    """
    i = 0
    while i < node.outputsSize():
        value = node.outputsAt(i)
        type = value.type()
        if not isinstance(type, TupleType):
            i += 1
            continue
        if node.kind() not in MAY_HOLD_TUPLES:
            raise RuntimeError(
                "tuple appears in op outputs, but this op does not forward tuples, unsupported "
                f"kind: {node.kind()}"
            )
        parts = [node.insertOutput(i + 1 + j).setType(t) for j, t in enumerate(type.elements)]
        construct = _construct(node.owningGraph(), parts).copyMetadata(node).insertBefore(before)
        construct.output().setType(type)
        before = construct  # a tuple inside this one is constructed before it
        value.replaceAllUsesWith(construct.output())
        node.eraseOutput(i)


def _spell_out_constant(node: Node) -> bool:
    """Replace a constant tuple by a construction of constants; the node itself stays, unused. False
    for any other node.
    """
    if node.kind() != "prim::Constant" or not isinstance(node.output().type(), TupleType):
        return False
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        parts = [graph.insertConstant(v) for v in constant_of(node.output())]
        construct = graph.insertNode(_construct(graph, parts))
    construct.output().setType(node.output().type())
    node.replaceAllUsesWith(construct)
    for part in parts:
        part.node().copyMetadata(node)
        _spell_out_constant(part.node())
    return True


def _construct(graph: Graph, values: list[Value]) -> Node:
    node = graph.create("prim::TupleConstruct", values)
    node.output().setType(TupleType([v.type() for v in values]))
    return node


def _unmatched(node: Node) -> str:
    if node.input(0).node().kind() != "prim::TupleConstruct":
        return f"{node.kind()} not matched to tuple construct"
    return "tuple index with non-constant index"


def _check_no_tuples(block: Block) -> None:
    for value in all_values(block):
        if any(isinstance(t, TupleType) for t in (value.type(), *value.type().containedTypes())):
            raise RuntimeError(
                f"Couldn't lower all tuples: %{value.debugName()} is a {value.type()}"
            )
