"""Groups of convolutions and the layers around them, which keep activations in a blocked layout.

A convolution is fastest with a memory layout made for it, and the layers around it in a network
(`relu`, `add`, pooling, the linear layer at the end) can work on that layout as well. So a whole
region of a frozen graph becomes one node, `prim::ConvolutionGroup`, with a graph inside, and
activations are rearranged only where they enter and leave the region.
`internals/jit/runtime/convolution_group.py` runs the group; the graph inside defines its result,
and is run itself where there are no kernels.

1. Chunks of a constant (attention has the weights of three layers in one) become constants.
2. Batch norm's check of dimensions (`if dim(conv(x)) != 4: raise`) checks `x` instead, since no
   layer of a region changes the number of dimensions; then all checks are the same, and one is
   enough.
3. `relu_`, `hardtanh_`, `add_` become `relu`, `hardtanh`, `add` if their write cannot be seen
   elsewhere. Afterwards they are made in-place again, outside of groups and inside.
4. From the last node to the first, a node of the table becomes a group and takes in the nodes of
   the table that it reads.
5. Groups without a convolution, or a linear layer of some size, are dissolved.

| node                                 | if                                                        |
|--------------------------------------|-----------------------------------------------------------|
| `conv2d`, `_convolution`             | weights, strides, ... are constants; two-dimensional; not |
|                                      | transposed                                                |
| `linear`                             | weights are constants                                     |
| `relu`, `hardtanh`, `relu6`, `clamp` | bounds are constants                                      |
| `add` of tensors                     | both are computed; without alpha                          |
| `max_pool2d`, `avg_pool2d`           | sizes are constants; zeros of the padding count           |
| `adaptive_avg_pool2d`                | to one pixel                                              |
| `flatten`                            | from dimension 1 to the last                              |

How the real one differs: `optimize_for_inference` converts frozen convolutions to
`prim::mkldnn_convolution` with MKLDNN tensors between them (`frozen_ops_to_mkldnn.cpp`), which
cannot be saved; Inductor does it on its own graphs when freezing
(`torch/_inductor/fx_passes/mkldnn_fusion.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Block, Graph, Node, Use, Value, all_nodes
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.operators.properties import changes_grad_mode
from internals.jit.passes.cse import cse
from internals.jit.passes.dce import dce
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of
from internals.jit.passes.registry import graph_pass
from internals.jit.passes.subgraph_utils import (
    Reorder,
    create_singleton,
    merge_into,
    reverse_topological,
    subgraph_of,
    unmerge,
)

GROUP = "prim::ConvolutionGroup"
CONVOLUTIONS = ("aten::conv2d", "aten::_convolution")
IN_PLACE = ("aten::relu_", "aten::hardtanh_", "aten::relu6_", "aten::add_")
LARGE_LINEAR = 1 << 12  # weights of a linear layer that is worth a group of its own
KEEP_DIM = ("aten::relu", "aten::relu6", "aten::hardtanh", "aten::max_pool2d", "aten::avg_pool2d")
WAS_IN_PLACE = "in_place"


@graph_pass("convolutions and their neighbours in blocked layout")
def pack_convolutions(graph: Graph) -> bool:
    """Put regions around convolutions into `prim::ConvolutionGroup` nodes. True if there is one."""
    if changes_grad_mode(graph):
        return False
    cut_constants(graph)
    if not any(_is_worth_it(n) for n in all_nodes(graph.block())):
        return False
    ask_inputs_for_dim(graph)
    make_new_tensors(graph)
    _gather(graph.block(), Reorder(graph))
    groups = [n for n in all_nodes(graph.block()) if n.kind() == GROUP]
    for group in groups:
        if not any(_is_worth_it(n) for n in subgraph_of(group).nodes()):
            unmerge(group)
    put_writes_back(graph)
    dce(graph)
    return any(n.kind() == GROUP for n in all_nodes(graph.block()))


@graph_pass("convolution groups become their operators again")
def unpack_convolutions(graph: Graph) -> bool:
    """Replace all `prim::ConvolutionGroup` nodes by their graphs, for archives and for reading.
    True if there were any.
    """
    groups = [n for n in all_nodes(graph.block()) if n.kind() == GROUP]
    for group in groups:
        unmerge(group)
    return bool(groups)


def without_packed_groups(graph: Graph) -> Graph:
    """The graph itself, or a copy without groups if it has any."""
    if graph.findNode(GROUP) is None:
        return graph
    graph = graph.copy()
    unpack_convolutions(graph)
    return graph


# Which nodes


def is_packable(node: Node) -> bool:
    """Whether the node is in the table, with all the constants it needs."""
    check = TABLE.get(overload_of(node))
    return check is not None and check(node)


def _constants(node: Node, *names: str) -> bool:
    """Whether the arguments with these names are constants."""
    return all(named_constant(node, name) is not NOT_CONSTANT for name in names)


def _has_weights(node: Node) -> bool:
    weight, bias = constant(node.inputsAt(1)), constant(node.inputsAt(2))
    return isinstance(weight, TensorImpl) and (bias is None or isinstance(bias, TensorImpl))


def _is_convolution(node: Node) -> bool:
    if not _has_weights(node) or constant(node.inputsAt(1)).dim() != 4:
        return False
    if node.kind() == "aten::_convolution" and named_constant(node, "transposed") is not False:
        return False
    return _constants(node, "stride", "padding", "dilation", "groups")


def _is_linear(node: Node) -> bool:
    return _has_weights(node) and constant(node.inputsAt(1)).dim() == 2


def _is_average(node: Node) -> bool:
    """Whether the average is over whole windows, in which zeros of the padding count."""
    if (
        not _constants(node, "kernel_size", "stride")
        or named_constant(node, "ceil_mode") is not False
    ):
        return False
    if named_constant(node, "divisor_override") is not None:
        return False
    padding = named_constant(node, "padding")
    return padding is not NOT_CONSTANT and (
        not any(padding) or named_constant(node, "count_include_pad") is True
    )


TABLE: dict[str, Callable[[Any], bool]] = {
    "aten::conv2d": _is_convolution,
    "aten::_convolution": _is_convolution,
    "aten::linear": _is_linear,
    "aten::relu": lambda node: True,
    "aten::relu6": lambda node: True,
    "aten::hardtanh": lambda node: _constants(node, "min_val", "max_val"),
    "aten::clamp": lambda node: _constants(node, "min", "max"),
    "aten::add.Tensor": lambda node: (
        named_constant(node, "alpha") == 1 and not any(v.isConstant() for v in node.inputs()[:2])
    ),
    "aten::max_pool2d": lambda node: _constants(
        node, "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    ),
    "aten::avg_pool2d": _is_average,
    "aten::adaptive_avg_pool2d": lambda node: named_constant(node, "output_size") in ([1, 1], [1]),
    "aten::flatten.using_ints": lambda node: (
        (constant(node.inputsAt(1)), constant(node.inputsAt(2))) == (1, -1)
    ),
}


def _convolves(node: Node) -> bool:
    return node.kind() in CONVOLUTIONS and is_packable(node)


def _is_worth_it(node: Node) -> bool:
    """Whether a group is made for this node: a convolution, or a linear layer of some size."""
    if node.kind() == "aten::linear":
        return is_packable(node) and constant(node.inputsAt(1)).numel() >= LARGE_LINEAR
    return _convolves(node)


# Preparations


def cut_constants(graph: Graph) -> bool:
    """Replace `chunk` of a constant that is not written to by a constant for each chunk."""
    changed = False
    aliases: AliasDb | None = None
    for node in graph.findAllNodes("aten::chunk"):
        source = node.input(0)
        # A cast only changes the type: look through it for the constant.
        while source.node().kind() == "prim::unchecked_cast":
            source = source.node().input()
        tensor, arguments = constant(source), [constant(v) for v in node.inputs()[1:]]
        users = [u.user for u in node.output().uses()]
        if not isinstance(tensor, TensorImpl) or NOT_CONSTANT in arguments:
            continue
        if len(users) != 1 or users[0].kind() != "prim::ListUnpack":
            continue
        pieces = ops.chunk(tensor, *arguments)
        aliases = aliases or AliasDb(graph)
        if len(pieces) != users[0].outputsSize() or aliases.has_writers(source):
            continue
        with graph.insert_point_guard(node):
            for v, piece in zip(users[0].outputs(), pieces):
                v.replaceAllUsesWith(graph.insertConstant(piece.detach()).copyMetadata(v))
        changed = True
    if changed:
        dce(graph)
    return changed


def ask_inputs_for_dim(graph: Graph) -> bool:
    """Replace `dim` of a layer's result by `dim` of the value that the chain of layers began with;
    of equal checks the first stays.
    """
    changed = False
    sources: dict[Value, Value] = {}  # value → the one that its chain of layers began with
    for node in all_nodes(graph.block()):
        kind = node.kind().removesuffix("_")
        if kind == "aten::dim" and node.input() in sources:
            node.replaceInput(0, sources[node.input()])
            changed = True
        elif kind == "aten::add":
            terms = {sources.get(v, v) for v in node.inputs()[:2]}
            if len(terms) == 1:
                sources[node.output()] = terms.pop()
        elif kind in KEEP_DIM or _convolves(node):
            sources[node.output()] = sources.get(node.input(0), node.input(0))
    if changed:
        cse(graph)
        _drop_repeated_checks(graph.block())
    return changed


def _drop_repeated_checks(block: Block) -> None:
    """Destroy each `if c: raise` that follows another one with the same condition."""
    known: set[Value] = set()
    for node in list(block.nodes()):
        if node.kind() != "prim::If" or node.outputsSize():
            continue
        then, otherwise = (
            [n for n in b.nodes() if n.kind() != "prim::Constant"] for b in node.blocks()
        )
        if not then or then[-1].kind() != "prim::RaiseException" or otherwise:
            continue
        if node.input() in known:
            node.destroy()
        else:
            known.add(node.input())


def make_new_tensors(graph: Graph) -> None:
    """Replace in-place operators whose write cannot be seen elsewhere by those that return a new
    tensor, and mark these.
    """
    writes = [n for n in all_nodes(graph.block()) if n.kind() in IN_PLACE]
    if not writes:
        return
    aliases = AliasDb(graph)
    hidden: set[Node] = set()
    for node in writes:
        if _is_hidden_write(node, aliases, hidden):
            hidden.add(node)
    for node in writes:
        if node in hidden:
            new = _renamed(node, node.kind().removesuffix("_"))
            node.input(0).replaceAllUsesAfterNodeWith(node, new.output())
            new.i_(WAS_IN_PLACE, 1)
            node.destroy()


def put_writes_back(graph: Graph) -> None:
    """Make the operators marked by `make_new_tensors` in-place again, in groups and outside."""
    for node in list(all_nodes(graph.block())):
        if node.kind() == GROUP:
            put_writes_back(subgraph_of(node))
        elif node.hasAttribute(WAS_IN_PLACE):
            _renamed(node, f"{node.kind()}_")
            node.destroy()


def _is_hidden_write(write: Node, aliases: AliasDb, hidden: set[Node]) -> bool:
    """Whether the memory written to is new, and read afterwards only through the value that the
    write returns.

    It is new if a layer of the table, or an earlier such write (in `hidden`), has made it.
    """
    written = write.input(0)
    maker = written.node()
    if maker.owningBlock() is not write.owningBlock() or aliases.may_alias_wildcard([written]):
        return False
    new = is_packable(maker) and not aliases.may_contain_alias(maker.inputs(), [written])
    if not new and maker not in hidden:
        return False
    through_result = _made_from(
        [write.output(), *(o for u in _later_uses(written, write) for o in u.user.outputs())]
    )
    for node in all_nodes(write.owningGraph().block()):
        for v in node.outputs():
            if v is written or v in through_result or not _later_uses(v, write):
                continue
            if aliases.may_contain_alias([v], [written]):
                return False
    return True


def _later_uses(v: Value, node: Node) -> list[Use]:
    """The uses of `v` after `node`."""
    return [u for u in v.uses() if u.user is not node and u.user.isAfter(node)]


def _made_from(values: list[Value]) -> set[Value]:
    """These values, and all values computed from them."""
    found: set[Value] = set()
    waiting = list(values)
    while waiting:
        v = waiting.pop()
        if v not in found:
            found.add(v)
            waiting += [o for u in v.uses() for o in u.user.outputs()]
    return found


def _renamed(node: Node, kind: str) -> Node:
    """A node of another kind, inserted before `node`, whose users use it from now on."""
    new = node.owningGraph().create(kind, node.inputs(), 1).insertBefore(node)
    new.copyMetadata(node)
    new.output().copyMetadata(node.output())
    node.output().replaceAllUsesWith(new.output())
    return new


# The regions


def _gather(block: Block, reorder: Reorder) -> None:
    """Make the groups of a block, in one walk from its last node to the first."""
    node = block.return_node().prev()
    while node is not block.param_node():
        for inner in node.blocks():
            _gather(inner, reorder)
        if node.kind() == GROUP or (is_packable(node) and not reorder.has_writers(node)):
            group = node if node.kind() == GROUP else create_singleton(node, GROUP)
            while _take_in_one(group, block, reorder):
                pass
            node = group
        node = node.prev()


def _take_in_one(group: Node, block: Block, reorder: Reorder) -> bool:
    """Take the latest producer of an input that can be moved into the group. True if there was
    one.
    """
    reorder.changed()
    for v in reverse_topological(group.inputs(), block):
        producer = v.node()
        packable = producer.kind() == GROUP or (
            is_packable(producer) and not reorder.has_writers(producer)
        )
        if packable and reorder.move_before(producer, group):
            merge_into(producer, group)
            return True
    return False
