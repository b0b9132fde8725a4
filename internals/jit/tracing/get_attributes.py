"""Parameters of traced modules become attributes of `self` (`ConvertTracedAttrReferences` in
`fixup_trace_scope_blocks.cpp`).

In the recording, a parameter is a node `prim::TracedAttr[scope="__module.seq.0.weight"]` at the top
of the graph, wherever it is used. In a block whose scope is `__module.seq`, it is replaced by the
chain of attributes that leads to it from the block's own `self`:

    %_0 = prim::GetAttr[name="0"](%self);  %weight = prim::GetAttr[name="weight"](%_0)

A module that uses a parameter of another one (a weight that two layers share) cannot reach it from
its `self`. Then the parameter becomes an input of the block, and is read in the block around it.
"""

from __future__ import annotations

import re

from internals.jit.ir import Block, ClassType, Graph, Node, Value

FORWARD, ATTRIBUTE = "prim::TracedModuleForward", "prim::TracedAttr"


def attributes_to_getattrs(graph: Graph) -> None:
    """Replace every `prim::TracedAttr` by `prim::GetAttr`s, in place. The graph's first input is
    the module.
    """
    attributes = {n.s("scope"): n.output() for n in graph.nodes() if n.kind() == ATTRIBUTE}
    _add_self(graph.block(), attributes)
    _convert(graph.block(), "__module", graph.inputs()[0])
    for v in reversed(list(attributes.values())):
        v.node().destroy()


def _add_self(block: Block, attributes: dict[str, Value]) -> None:
    """Give each block of a submodule its module as the first input, `self`."""
    for node in block.nodes():
        if node.kind() == FORWARD:
            module = attributes[node.s("scope")]
            node.addInput(module)
            node.blocks()[0].addInput("self").setType(module.type())
            _add_self(node.blocks()[0], attributes)


def _convert(block: Block, scope: str, self_value: Value) -> list[Value]:
    """Replace the attributes in a block of this scope. Returns those outside of `scope`: they have
    become inputs of the block, for which the caller adds inputs to the node.
    """
    resolved: dict[Value, Value] = {}  # attribute -> its value in this block
    unresolved: list[Value] = []

    def convert_inputs(node: Node) -> None:
        for i, v in enumerate(node.inputs()):
            if v in resolved:
                node.replaceInput(i, resolved[v])
            elif v.node().kind() == ATTRIBUTE:
                resolved[v] = _read_attribute(block, v, scope, self_value, unresolved)
                node.replaceInput(i, resolved[v])

    for node in block.nodes():
        if node.kind() == FORWARD:
            inner = node.blocks()[0]
            # the new inputs are attributes themselves, to be replaced in this block
            for v in _convert(inner, node.s("scope"), inner.inputs()[0]):
                node.addInput(v)
        convert_inputs(node)
    convert_inputs(block.return_node())
    return unresolved


def _read_attribute(
    block: Block, attribute: Value, scope: str, self_value: Value, unresolved: list[Value]
) -> Value:
    """The value of an attribute in `block`: read at its start by a chain of `prim::GetAttr`s, or,
    outside of `scope`, a new input.
    """
    graph, path = block.owningGraph(), attribute.node().s("scope")
    if not path.startswith(scope + "."):
        unresolved.append(attribute)
        return block.addInput().copyMetadata(attribute)
    value = self_value
    with graph.insert_point_guard(block.param_node().next()):
        for name in path[len(scope) + 1 :].split("."):
            type = value.type()
            assert isinstance(type, ClassType)
            node = graph.create("prim::GetAttr", [value]).s_("name", name)
            node.setScope("").setSourceRange(None)
            value = graph.insertNode(node).output().setType(type.getAttribute(name))
            value.setDebugName(_as_name(name))
    return value


def _as_name(attribute: str) -> str:
    """The name of a value that holds this attribute: `_0` for "0"."""
    return f"_{attribute}" if attribute[:1].isdigit() else re.sub(r"\W", "_", attribute)
