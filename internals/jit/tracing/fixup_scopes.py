"""From one long recording to one method for each submodule
(`torch/csrc/jit/passes/fixup_trace_scope_blocks.cpp`).

While a module is traced, each call of a submodule is recorded in the block of a node
`prim::TracedModuleForward[scope="__module.fc"]`, and parameters are nodes
`prim::TracedAttr[scope="__module.fc.weight"]` at the top of the graph. In four steps, the blocks
become the methods `forward` of the submodules:

| step           | before                                 | after                                  |
|----------------|----------------------------------------|----------------------------------------|
| attributes     | `%TracedAttr` is used in the block     | `prim::GetAttr[name="weight"](%self)`, |
|                |                                        | in the block, `self` its input         |
| results        | a value of the block is used behind it | it is an output of the block and its   |
|                |                                        | node                                   |
| lambda lifting | a value from outside is used in the    | it is an input of the block            |
|                | block                                  |                                        |
| calls          | the node with its block                | `prim::CallMethod[name="forward"](%fc, |
|                |                                        | %x)`; the second call of `fc` is of    |
|                |                                        | `forward1`                             |

A traced function that calls modules has no module that could own such methods, so its blocks are
inlined.

How the real one differs: it also turns blocks of forks into real forks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.jit.ir import Block, ClassType, Graph, Node, TupleType, Value, all_nodes, unshaped
from internals.jit.passes.dce import dce
from internals.jit.passes.lower_tuples import lower_simple_tuples
from internals.jit.script_function import ScriptFunction

from .get_attributes import attributes_to_getattrs

if TYPE_CHECKING:
    from internals.jit.script_module import ScriptModule

FORWARD = "prim::TracedModuleForward"


def fixup_scopes(graph: Graph, module: ScriptModule | None = None) -> None:
    """Turn the blocks of submodules into methods of `module`'s submodules, in place; without a
    module, inline the blocks.
    """
    if module is not None:
        attributes_to_getattrs(graph)
    _Dominance().run(graph.block())
    _one_result_each(graph.block())
    if module is None:
        _inline_blocks(graph.block())
    else:
        _lift(graph.block())
        _create_methods(graph)
        for m in module.modules():
            for function in m._jit_type.methods.values():
                _clean_up(function.graph)
    _clean_up(graph)


def _clean_up(graph: Graph) -> None:
    """Remove the tuples that are unpacked right away, and dead nodes."""
    lower_simple_tuples(graph)
    dce(graph)


class _Dominance:
    """Makes each value that is used outside of its block an output of the block: after that, each
    use is in the block of the value's node, or in a block inside it.
    """

    def __init__(self) -> None:
        self.lifted: dict[Value, Value] = {}  # value -> the output of the node around its block

    def run(self, block: Block) -> None:
        """Correct all nodes of `block`, in order, and then its outputs."""
        for n in (*block.nodes(), block.return_node()):
            self.node(n, block)

    def node(self, node: Node, block: Block) -> None:
        """Correct the inputs of one node of `block`, and the nodes in its own block."""
        for i, used in enumerate(node.inputs()):
            v = used
            while v in self.lifted:  # an earlier use has lifted it already
                v = self.lifted[v]
            if v.node().owningBlock() is not block:
                common = _blocks_around(block)
                at = v.node().owningBlock()
                before = v
                # out of one block after another, until the block contains the use
                while not any(at is b for b in common):
                    at.registerOutput(v)
                    owner = at.owningNode()
                    assert owner is not None
                    v = owner.addOutput().setType(v.type())
                    at = owner.owningBlock()
                if v is not before:
                    self.lifted[before] = v
            if v is not used:
                node.replaceInput(i, v)
        if node.kind() == FORWARD:
            self.run(node.blocks()[0])


def _blocks_around(block: Block) -> list[Block]:
    """`block` and the blocks that contain it, innermost first."""
    blocks = [block]
    while (owner := blocks[-1].owningNode()) is not None:
        blocks.append(owner.owningBlock())
    return blocks


def _one_result_each(block: Block) -> None:
    """Give each block exactly one output, because a method returns one value: several become a
    tuple, which the caller unpacks, and none becomes None.
    """
    graph = block.owningGraph()
    for node in block.nodes():
        if node.kind() != FORWARD:
            continue
        inner = node.blocks()[0]
        _one_result_each(inner)
        outputs = inner.outputs()
        if len(outputs) > 1:
            with graph.insert_point_guard(inner.return_node()):
                result = graph.insertNode(graph.create("prim::TupleConstruct", outputs)).output()
            result.setType(TupleType([v.type() for v in outputs]))
            for _ in outputs:
                inner.eraseOutput(0)
            inner.registerOutput(result)
            # outside, the same: one output, unpacked right after the node
            types = [v.type() for v in node.outputs()]
            packed = node.addOutput().setType(TupleType(types))
            unpack = graph.create("prim::TupleUnpack", [packed], len(types)).insertAfter(node)
            for i in reversed(range(len(types))):
                node.outputs()[i].replaceAllUsesWith(unpack.outputs()[i].setType(types[i]))
                node.eraseOutput(i)
        elif not outputs:
            with graph.insert_point_guard(inner.return_node()):
                inner.registerOutput(graph.insertConstant(None))
            node.addOutput().setType(inner.outputs()[0].type())


def _lift(block: Block) -> None:
    """Turn the block of every submodule into a graph, innermost first; values from outside become
    its inputs.
    """
    for node in block.nodes():
        if node.kind() == FORWARD:
            _lift(node.blocks()[0])
            node.g_("Subgraph", _as_graph(node))
            node.eraseBlock(0)


def _as_graph(node: Node) -> Graph:
    """A graph with a copy of the node's block. Values from outside become inputs of the graph and
    of the node.
    """
    graph = Graph()
    outside: dict[Value, Value] = {}

    def lifted(v: Value) -> Value:
        if v not in outside:
            outside[v] = graph.addInput().copyMetadata(v)
            node.addInput(v)
        return outside[v]

    graph.block().cloneFrom(node.blocks()[0], lifted)
    return graph


def _create_methods(graph: Graph) -> None:
    """Add the graph of each node to its module's type, as a method, and replace the node by a call
    of it.
    """
    for node in graph.nodes():
        if node.kind() != FORWARD:
            continue
        type, body = node.input(0).type(), node.g("Subgraph")  # the first input is the module
        assert isinstance(type, ClassType)
        _create_methods(body)
        name = _free_name("forward", type)
        qualified = f"{type.qualified_name}.{name}"
        type.addMethod(name, ScriptFunction(name, body, qualified_name=qualified, is_method=True))
        call = graph.create("prim::CallMethod", node.inputs()).s_("name", name).insertBefore(node)
        call.setSourceRange(node.sourceRange())
        call.output().setType(unshaped(body.outputs()[0].type()))
        node.output().replaceAllUsesWith(call.output())
        node.destroy()


def _free_name(name: str, type: ClassType) -> str:
    """`forward`, or `forward1`, `forward2`, ... if the type has such methods already."""
    free, n = name, 0
    while type.findMethod(free) is not None:
        n += 1
        free = f"{name}{n}"
    return free


def _inline_blocks(block: Block) -> None:
    """Replace the nodes of submodules by the nodes in their blocks."""
    for node in all_nodes(block, inner_first=True):
        if node.kind() != FORWARD:
            continue
        graph = node.owningGraph()
        body = _as_graph(node)
        with graph.insert_point_guard(node):
            results = graph.insertGraph(body, node.inputs())
        for old, new in zip(node.outputs(), results):
            old.replaceAllUsesWith(new)
        node.destroy()
