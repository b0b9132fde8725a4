"""Chunks in fused groups: `c, d = chunk(f(x, y))` is computed as `f` of the chunks of x and y (part
of `graph_fuser.cpp`).

A chunk between two pointwise operations keeps them apart, though it computes nothing. For a
pointwise operation the order does not matter, so it moves behind the chunk, where it can join its
consumer:

    g = f(x, y)                         x', y' = broadcast_tensors([x, y])
    c, d = ConstantChunk(g)     ──▶     xc, xd = ConstantChunk(x');  yc, yd = ConstantChunk(y')
    h(c, d)                             h(f(xc, yc), f(xd, yd))

During the pass, broadcast and chunks are one node, `prim::BroadcastingChunk(x, y) -> xc, xd, yc,
yd`, so that the operation that makes x can be moved behind it as well. Chunks that are left at the
beginning of a group move into it.
"""

from __future__ import annotations

from collections.abc import Callable

from internals.jit.ir import Block, Node, Value
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import ListType
from internals.jit.passes.fuser_rows import ROW_FUNCTIONS
from internals.jit.passes.overloads import overload_of
from internals.jit.passes.subgraph_utils import (
    clone_into,
    is_tensor,
    replace_input,
    reverse_topological,
    subgraph_of,
)

BROADCASTING_CHUNK = "prim::BroadcastingChunk"
CASTS = ("aten::type_as", "aten::to")  # of the second tensor only the dtype counts


def move_chunk_up(consumer: Node, v: Value, is_fusable: Callable[[Node], bool]) -> bool:
    """If `v` is one of the chunks of `f(...)`, and all of them are read by `consumer` only: compute
    `f` of chunks instead. True if that was done.
    """
    chunk = v.node()
    if chunk.kind() not in ("prim::ConstantChunk", BROADCASTING_CHUNK):
        return False
    # An input of the chunk whose operation can move behind it; a ConstantChunk has only one input.
    found = next(
        (i for i, w in enumerate(chunk.inputs()) if _can_move_after(w, chunk, is_fusable)), None
    )
    if found is None or any(
        use.user is not consumer for piece in chunk.outputs() for use in piece.uses()
    ):
        return False
    if chunk.kind() == "prim::ConstantChunk":
        chunk = _as_broadcasting(chunk)
    _move_after(chunk, found)
    return True


def _can_move_after(v: Value, chunk: Node, is_fusable: Callable[[Node], bool]) -> bool:
    """Whether the operation that makes `v` is pointwise, and `v` is read by the chunk only."""
    node = v.node()
    if (
        node.kind() in ("prim::FusionGroup", "prim::SumToSize", *CASTS)
        or overload_of(node) in ROW_FUNCTIONS
    ):
        return False
    if not is_fusable(node) or not _broadcasts_safely(node):
        return False
    return all(use.user is chunk or _asks_size(use.user) for use in v.uses())


def _broadcasts_safely(node: Node) -> bool:
    """Whether broadcasting its tensors beforehand cannot change the result's dtype: a tensor
    without dimensions counts for less in type promotion than one with dimensions."""
    types = [v.type() for v in node.inputs() if is_tensor(v)]
    dtypes = {t.dtype() for t in types if isinstance(t, TensorType)}
    if len(dtypes) == 1 and None not in dtypes:
        return True
    return all(isinstance(t, TensorType) and (t.dim() or 0) > 0 for t in types)


def _as_broadcasting(chunk: Node) -> Node:
    """A `prim::BroadcastingChunk` of one input in the place of a `prim::ConstantChunk`."""
    new = chunk.owningGraph().create(BROADCASTING_CHUNK, chunk.inputs(), 0)
    new.copyAttributes(chunk)
    for piece in chunk.outputs():
        piece.replaceAllUsesWith(new.addOutput().copyMetadata(piece))
    new.insertAfter(chunk)
    chunk.destroy()
    return new


def _move_after(chunk: Node, position: int) -> None:
    """Move the operation that makes input number `position` of a broadcasting chunk behind it.

        g = mul(x, y)                             xc, xd, yc, yd = prim::BroadcastingChunk(x, y)
        c, d = prim::BroadcastingChunk(g)  ──▶    c = mul(xc, yc)
                                                  d = mul(xd, yd)

    In the place of the input g, the chunk gets the operation's tensors as inputs, and in the place
    of c and d, their chunks as outputs. A copy of the operation makes each of c and d.
    """
    graph, pieces = chunk.owningGraph(), chunk.i("chunks")
    # The outputs for input number i are those from pieces * i on.
    node = chunk.inputsAt(position).node()
    results = chunk.outputs()[pieces * position : pieces * (position + 1)]
    split: dict[Value, list[Value]] = {}  # tensor argument of the operation → its chunks
    for v in node.inputs():
        if is_tensor(v) and v not in split:
            split[v] = _chunks_of(chunk, v, results)
    place = chunk.next()
    for i, result in enumerate(results):
        # tensors become their chunk number i; other arguments stay
        clone = graph.createClone(node, lambda v: v)
        for number, v in enumerate(node.inputs()):
            if v in split:
                clone.replaceInput(number, split[v][i])
        clone.insertBefore(place)
        clone.output().setDebugName("").setType(result.type())
        result.replaceAllUsesWith(clone.output())
    chunk.removeInput(position)
    for _ in range(pieces):
        chunk.eraseOutput(pieces * position)
    _answer_sizes(node)
    node.destroy()


def _chunks_of(chunk: Node, v: Value, like: list[Value]) -> list[Value]:
    """The chunks of `v`, which becomes an input of the broadcasting chunk if it is not one yet."""
    pieces = len(like)
    for i, w in enumerate(chunk.inputs()):
        if w is v:
            return chunk.outputs()[pieces * i : pieces * (i + 1)]
    chunk.addInput(v)
    return [chunk.addOutput().setType(piece.type()) for piece in like]


def _answer_sizes(node: Node) -> None:
    """Replace `size(result)` by the size that the node's tensors broadcast to."""
    asking = node.output().uses()
    if not asking:
        return
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        sizes = [graph.insert("aten::size", [v]) for v in node.inputs() if is_tensor(v)]
        size = sizes[0] if len(sizes) == 1 else broadcast_sizes(sizes)
    for use in asking:
        use.user.output().replaceAllUsesWith(size)
        use.user.destroy()


def broadcast_sizes(sizes: list[Value]) -> Value:
    """`prim::BroadcastSizes(sizes...)` at the insert point."""
    graph = sizes[0].node().owningGraph()
    return (
        graph.insertNode(graph.create("prim::BroadcastSizes", sizes))
        .output()
        .setType(sizes[0].type())
    )


def _asks_size(node: Node) -> bool:
    """Whether `node` is `size(v)`, of all dimensions; `_answer_sizes` replaces such nodes."""
    return node.kind() == "aten::size" and node.inputsSize() == 1


def split_broadcasting_chunks(block: Block) -> bool:
    """Replace each broadcasting chunk by `broadcast_tensors` and a chunk for each tensor. True if
    there was one.
    """
    changed = False
    for node in block.nodes(reverse=True):
        if node.kind() == BROADCASTING_CHUNK:
            _spell_out(node)
            changed = True
    return changed


def _spell_out(chunk: Node) -> None:
    """Replace one broadcasting chunk."""
    graph, pieces, place = chunk.owningGraph(), chunk.i("chunks"), chunk.next()
    with graph.insert_point_guard(chunk):
        tensors = chunk.inputs()
        construct = graph.insertNode(graph.create("prim::ListConstruct", tensors)).output()
        construct.setType(ListType(TensorType.get()))
        same_size = graph.insert("aten::broadcast_tensors", [construct])
        unpack = graph.insertNode(graph.create("prim::ListUnpack", (same_size,), len(tensors)))
    outputs = chunk.outputs()
    for i, v in enumerate(unpack.outputs()):
        one = graph.create("prim::ConstantChunk", (v,), 0).insertBefore(place)
        one.copyAttributes(chunk)
        for piece in outputs[pieces * i : pieces * (i + 1)]:
            piece.replaceAllUsesWith(one.addOutput().copyMetadata(piece))
    chunk.destroy()


def fuse_chunk(group: Node, block: Block) -> bool:
    """Move into `group` one chunk whose outputs only the group reads. True if there was one."""
    for v in reverse_topological(group.inputs(), block):
        chunk = v.node()
        if chunk.kind() != "prim::ConstantChunk":
            continue
        # One chunk is the whole tensor, an input like any other. Inside, it would only keep out a
        # chunk of the same tensor into several pieces (`_chunk_inside`).
        if chunk.i("chunks") == 1:
            continue
        if any(use.user is not group for piece in chunk.outputs() for use in piece.uses()):
            continue
        existing = _chunk_inside(group, chunk.input())
        if existing is None:
            clone_into(group, chunk, is_tensor)
        elif existing.outputsSize() == chunk.outputsSize() and existing.i("dim") == chunk.i("dim"):
            for piece, inner in zip(chunk.outputs(), existing.outputs()):
                replace_input(group, piece, inner)
        else:
            continue
        chunk.destroy()
        return True
    return False


def _chunk_inside(group: Node, v: Value) -> Node | None:
    """The chunk of input `v` that is in the group already, if there is one: a group can chunk an
    input in one way only.
    """
    graph = subgraph_of(group)
    for outside, inside in zip(group.inputs(), graph.inputs()):
        if outside is v:
            return next(
                (use.user for use in inside.uses() if use.user.kind() == "prim::ConstantChunk"),
                None,
            )
    return None
