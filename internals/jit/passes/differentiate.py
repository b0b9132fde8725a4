"""Symbolic differentiation: from a graph `f`, the graph `df` of its backward
(`torch/csrc/jit/autodiff.cpp`).

    f:   inputs                                              -> outputs, temporaries
    df:  gradients of outputs and temporaries, captures      -> gradients of inputs

1. The reverse program is written in a block of its own: for the nodes of `f`, from the last to the
   first, the node's formula (`symbolic_gradients.py`) in a `prim::GradOf` block. Several gradients
   of one value are added by `prim::AutogradAdd`.
2. It is cleaned: constants are copied into it, equal subexpressions are merged, the size of a
   tensor is read from the tensor if that is captured anyway, and unused gradients are removed.
3. It is cut off. Each value of `f` that it uses is *captured*: an input, an output, or a temporary,
   which becomes one more output of `f`.

A captured temporary has a gradient of its own: if `df` is differentiated in turn, there is one.

A formula of several inputs may compute gradients that are not used. They stay in `df`, as in 1.0.1;
the executor of `df` removes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.constant_pooling import constant_pooling
from internals.jit.passes.cse import cse
from internals.jit.passes.dce import dce
from internals.jit.passes.registry import verify_after_every_pass
from internals.jit.passes.symbolic_gradients import autograd_add, gradient_of


@dataclass
class Gradient:
    """The graphs `f` and `df`, and how they fit together, as positions in lists of inputs and
    outputs. The inputs of `df` are, in this order:

        df_input_vjps               gradients of these outputs of `f`
        df_input_captured_inputs    the values of these inputs of `f`
        df_input_captured_outputs   the values of these outputs of `f`

    `df_output_vjps` has for each output of `df` the input of `f` whose gradient it is. The first
    `f_real_outputs` outputs of `f` are those of the original graph; temporaries follow.
    """

    f: Graph
    df: Graph
    f_real_outputs: int = 0
    df_input_vjps: list[int] = field(default_factory=list)
    df_input_captured_inputs: list[int] = field(default_factory=list)
    df_input_captured_outputs: list[int] = field(default_factory=list)
    df_output_vjps: list[int] = field(default_factory=list)


def differentiate(graph: Graph) -> Gradient:
    """Differentiate `graph`, which becomes the `f` of the result and is changed. All its nodes must
    be differentiable.

    There is a gradient for every tensor unless its type says that it requires none.
    """
    gradient = Gradient(graph, Graph())
    # The holder is in no block, so that no pass over `graph` walks into it.
    holder = graph.create("prim::Reverse", (), 0)
    reverse = holder.addBlock()
    gradients = _write_reverse(gradient, reverse)
    _copy_constants(reverse)
    with verify_after_every_pass(False):
        # while `reverse` uses its values from outside, the graph is not well formed
        cse(graph)
        _ask_sizes_of_captures(graph, reverse)
        _drop_dead(reverse, gradients)
        dce(graph)
    _cut_off(gradient, reverse, gradients)
    holder.destroy()
    constant_pooling(gradient.df)
    return gradient


def may_require_grad(v: Value) -> bool:
    """Whether `v` is a tensor, unless its type says that it requires no gradient."""
    t = v.type()
    return isinstance(t, TensorType) and t.requires_grad() is not False


# 1. The reverse program


def _write_reverse(gradient: Gradient, reverse: Block) -> dict[Value, Value]:
    """Fill the block `reverse`; returns the gradient of each value that has one."""
    graph = gradient.f
    gradients: dict[Value, Value] = {}

    def add(v: Value, dv: Value) -> None:
        before = gradients.get(v)
        gradients[v] = dv if before is None else autograd_add(before, dv)

    def find(v: Value) -> Value:
        if v not in gradients:
            gradients[v] = graph.insertNode(graph.create("prim::Undefined")).output()
        return gradients[v]

    with graph.insert_point_guard(reverse):
        # the gradients of the outputs are inputs of the reverse program
        for i, v in enumerate(graph.outputs()):
            if may_require_grad(v):
                add(v, reverse.addInput().setType(v.type()))
                gradient.df_input_vjps.append(i)
        for node in graph.nodes(reverse=True):
            if not any(may_require_grad(v) for v in node.outputs()):
                continue
            # All users of the outputs come later, so their gradients are complete by now.
            dvs = _grad_of(node, [find(v) for v in node.outputs()])
            for v, dv in zip(node.inputs(), dvs):
                if dv is not None and may_require_grad(v):
                    add(v, dv)
        for i, v in enumerate(graph.inputs()):
            if may_require_grad(v) and v in gradients:
                reverse.registerOutput(gradients[v])
                gradient.df_output_vjps.append(i)
    return gradients


def _grad_of(node: Node, dys: list[Value]) -> list[Value | None]:
    """Insert the node's formula in a `prim::GradOf` block. Returns the gradients of its inputs;
    None for an input that has none.
    """
    graph = node.owningGraph()
    linear = graph.insertNode(graph.create("prim::GradOf", dys, 0)).s_("name", node.kind())
    block = linear.addBlock()
    with graph.insert_point_guard(block):
        inner = gradient_of(node, dys)
    dvs: list[Value | None] = []
    for v in inner:
        if v is not None:
            block.registerOutput(v)
        dvs.append(None if v is None else linear.addOutput().setType(v.type()))
    if not linear.outputsSize():
        linear.destroy()
    return dvs


# 2. Cleaning


def _copy_constants(reverse: Block) -> None:
    """Copy the constants of `f` that the reverse program uses: that is cheaper than capturing."""
    graph = reverse.owningGraph()
    for top in reverse.nodes():
        for body in top.blocks():
            for node in body.nodes():
                for i, v in enumerate(node.inputs()):
                    if v.node().kind() == "prim::Constant" and v.node().owningBlock() is not body:
                        copy = reverse.prependNode(graph.createClone(v.node(), lambda v: v))
                        copy.output().setDebugName("")
                        node.replaceInput(i, copy.output())


def _ask_sizes_of_captures(graph: Graph, reverse: Block) -> None:
    """Let the reverse program compute `size(x)` if it captures x anyway: one capture less."""
    captures = _captures(graph)
    known = set(captures)
    for v in captures:
        node = v.node()
        if node.kind() != "aten::size" or node.inputsSize() != 1 or node.input() not in known:
            continue
        if all(use.user.owningBlock() is not graph.block() for use in v.uses()):
            with graph.insert_point_guard(reverse.param_node().next()):
                v.replaceAllUsesWith(graph.insert("aten::size", [node.input()]))
            node.destroy()


def _drop_dead(reverse: Block, gradients: dict[Value, Value]) -> None:
    """Remove the nodes that no output of the reverse program needs, and their `gradients`."""
    dead = set()
    for node in reverse.nodes(reverse=True):
        if not node.hasUses():
            dead.update(node.outputs())
            node.destroy()
    for v in [v for v, dv in gradients.items() if dv in dead]:
        del gradients[v]


def _captures(graph: Graph) -> list[Value]:
    """The values of `f` that the reverse program uses, in the order they are made."""
    block = graph.block()
    made = [*graph.inputs(), *(v for n in graph.nodes() for v in n.outputs())]
    return [v for v in made if any(use.user.owningBlock() is not block for use in v.uses())]


# 3. Cutting it off


def _cut_off(gradient: Gradient, reverse: Block, gradients: dict[Value, Value]) -> None:
    """Make `df` of the reverse block, with inputs for the values that it captures."""
    graph = gradient.f
    gradient.f_real_outputs = len(graph.outputs())
    for v in _captures(graph):
        outputs, inputs = graph.outputs(), graph.inputs()
        if v in outputs:
            gradient.df_input_captured_outputs.append(outputs.index(v))
        elif v in inputs:
            gradient.df_input_captured_inputs.append(inputs.index(v))
        else:
            gradient.df_input_captured_outputs.append(graph.registerOutput(v))
    _add_gradients_of_temporaries(gradient, reverse, gradients)
    formal: dict[Value, int] = {}  # captured value of `f` → number of its input of `df`
    captured = [graph.inputs()[i] for i in gradient.df_input_captured_inputs]
    captured += [graph.outputs()[i] for i in gradient.df_input_captured_outputs]
    for v in captured:
        formal[v] = len(reverse.inputs())
        reverse.addInput().setType(v.type())
    names = {i: v.debugName() for v, i in formal.items() if v.hasDebugName()}
    df = gradient.df
    df.block().cloneFrom(reverse, lambda v: df.inputs()[formal[v]])
    for i, name in names.items():
        df.inputs()[i].setDebugName(name)


def _add_gradients_of_temporaries(
    gradient: Gradient, reverse: Block, gradients: dict[Value, Value]
) -> None:
    """Add to the gradient of each temporary a gradient from outside, a new input of `df`: `f`
    returns the temporary now, so it may be used there.
    """
    graph = gradient.f
    for i, v in list(enumerate(graph.outputs()))[gradient.f_real_outputs :]:
        inner = gradients.get(v)
        if inner is None:
            continue
        outer = reverse.addInput().setType(v.type())
        # The second input is `outer` for now: `inner` would be replaced by the total itself below.
        total = graph.create("prim::AutogradAdd", (outer, outer))
        if inner.node() is reverse.param_node():
            reverse.prependNode(total)
        else:
            total.insertAfter(inner.node())
        inner.replaceAllUsesWith(total.output())
        total.replaceInput(1, inner)
        gradient.df_input_vjps.append(i)
