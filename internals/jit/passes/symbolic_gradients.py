"""The derivatives of operators as graph code (`torch/csrc/jit/runtime/autodiff.cpp`,
`symbolic_script.cpp`).

The derivatives that autograd computes in backward are in `internals/autograd/derivatives/`, a line
for each argument:

    - name: sin(Tensor self) -> Tensor
      self: grad * conj(self.cos())

Here the same line is *written into a graph*: it is evaluated on `Sym`s, values of the graph whose
operations emit nodes. So the whole backward of a part of a program becomes a graph, which can be
optimised and fused like any other. In a line

    grad                      is the gradient of the result
    self, other, alpha, ...   are the arguments of the node: a `Sym`, or the value of a constant
    result, result1, ...      are the outputs of the node
    self_shape                is the size of an argument, read before the node
    where(...), maybe_multiply(...)    call an operator, or a function of
                              `internals/autograd/formulas`, which is evaluated likewise

If broadcasting repeats an argument, its gradient is summed by a `prim::SumToSize`. The value of a
line is linear in `grad`; so `differentiate` may put it into a `prim::GradOf` block, which is
skipped as a whole if `grad` is undefined, which stands for zero.

A node is differentiable if its operator is pointwise, or one of a few (`codegen/gen_facts.py`), and
its line can be evaluated: a line that reads numbers of a tensor, or its dtype, cannot.

How the real one differs: its formulas are a second text beside autograd's, TorchScript source that
is compiled on first use; in 1.0.1 they were C++. Three formulas of 1.0.1 had other gradients than
autograd: `max` and `min` of equal numbers, `clamp` at its bounds, `where` of an infinite gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from internals._generated.op_facts import DERIVATIVES, OUTPUTS, POINTWISE, SAME_AS
from internals.core.dtype import BY_CODE
from internals.jit.ir import Graph, Node, Value
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import ListType
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of
from internals.jit.passes.sym import NotSymbolic, Sym, emit, evaluate

# Lines that differ from those of `derivatives`, or are missing there, and why.
EXCEPTIONS: dict[str, dict[str, str]] = {
    # As in the graphs of 1.0.1 and in `symbolic_script.cpp`: pointwise operations, which can be
    # fused, where autograd calls one operator, such as sigmoid_backward.
    "sigmoid": {"self": "(1 - result) * result * grad"},
    "tanh": {"self": "grad * (1 - result * result)"},
    "relu": {"self": "grad * (result > 0).type_as(result)"},
    # Composites: autograd differentiates the operators that they call, which a graph does not have.
    "square": {"self": "grad * self * 2"},
    "relu6": {"self": "hardtanh_backward(grad, self, 0, 6)"},
    "reshape": {"self": "grad.reshape(self_shape)"},
    "type_as": {"self": "grad.type_as(self)"},
    "to.dtype": {"self": "grad.type_as(self)"},
    "softmax.int": {"self": "result * (grad - (grad * result).sum([dim], True))"},
    "log_softmax.int": {"self": "grad - result.exp() * grad.sum([dim], True)"},
}

# The gradients of nodes that only graphs have.
GRAPH_ONLY: dict[str, Callable[[Node, list[Sym]], Sequence[Sym]]] = {
    "prim::AutogradAdd": lambda node, dys: (dys[0], dys[0]),
    "prim::SumToSize": lambda node, dys: (dys[0].expand(Sym(size_before(node, node.inputsAt(0)))),),
    "prim::ConstantChunk": lambda node, dys: (_cat(node, dys),),
}

# Conditions for lines that need constant arguments, or the sizes of a tensor.
CONDITIONS: dict[str, Callable[[Node], bool]] = {
    "view": lambda n: _is_complete(n) and named_constant(n, "size") is not NOT_CONSTANT,
    "reshape": lambda n: _is_complete(n) and named_constant(n, "shape") is not NOT_CONSTANT,
    "expand": lambda n: _is_complete(n) and named_constant(n, "size") is not NOT_CONSTANT,
    "log_softmax.int": lambda n: named_constant(n, "dtype") is None,
    "softmax.int": lambda n: named_constant(n, "dtype") is None,
    "to.dtype": lambda n: _from_float_to_float(n),
}
WITHOUT_FORMULA = frozenset(("prim::Constant", "prim::Undefined"))  # they have no inputs


def is_differentiable(node: Node) -> bool:
    """Whether `gradient_of` can differentiate this node."""
    kind = node.kind()
    if kind in WITHOUT_FORMULA or kind in GRAPH_ONLY:
        return True
    if kind == "prim::GradOf":
        return all(is_differentiable(n) for n in node.blocks()[0].nodes())
    key = overload_of(node).removeprefix("aten::")
    if lines_of(key) is None or not all(isinstance(v.type(), TensorType) for v in node.outputs()):
        return False
    if key in CONDITIONS and not CONDITIONS[key](node):
        return False
    # Whether the line can be evaluated depends only on the arguments that are constants.
    known = tuple([constant(v).__class__ for v in node.inputs()])
    if (key, known) not in _tried:
        _tried[key, known] = _can_be_written(node)
    return _tried[key, known]


def gradient_of(node: Node, dys: Sequence[Value]) -> list[Value | None]:
    """Emit the gradients of the inputs of `node`, given those of its outputs (`dys`), at the insert
    point of its graph.

    Returns one for each input, None for an input without a gradient. Raises RuntimeError for a node
    that is not differentiable.
    """
    if not is_differentiable(node):
        raise RuntimeError(
            f"differentiation of {node.kind()} is not supported, or it is missing necessary type "
            "information"
        )
    return _written(node, dys)


def lines_of(key: str) -> dict[str, str] | None:
    """The lines for the overload `key`, by argument; None if there are none."""
    return EXCEPTIONS[key] if key in EXCEPTIONS else DERIVATIVES.get(_with_line(key))


def _with_line(key: str) -> str:
    """The overload that has the lines of `key`: itself, the one that it is a synonym of, or, for a
    composite such as `where.ScalarOther`, the overload of the same name that takes tensors.
    """
    key = SAME_AS.get(key, key)
    if key in DERIVATIVES or key not in POINTWISE:
        return key
    name = key.partition(".")[0]
    return next((k for k in (f"{name}.self", f"{name}.Tensor") if k in DERIVATIVES), key)


_tried: dict[Any, bool] = {}


def _can_be_written(node: Node) -> bool:
    """Whether the lines of such a node can be evaluated; it is tried in a scratch graph."""
    scratch = Graph()

    def copied(v: Value) -> Value:
        if (found := constant(v)) is not NOT_CONSTANT:
            return scratch.insertConstant(found, v.type())
        return scratch.addInput().setType(v.type())

    copy = scratch.insertNode(scratch.createClone(node, copied))
    with suppress(NotSymbolic, TypeError, AttributeError, RuntimeError, NotImplementedError):
        _written(copy, [scratch.addInput() for _ in copy.outputs()])
        return True
    return False


def _written(node: Node, dys: Sequence[Value]) -> list[Value | None]:
    """The gradients of the inputs of a node, None for an input without one."""
    if node.kind() in WITHOUT_FORMULA:
        return []
    grads = [Sym(v) for v in dys]
    if node.kind() in GRAPH_ONLY:
        results = [r.value for r in GRAPH_ONLY[node.kind()](node, grads)]
        return [*results, *[None] * (node.inputsSize() - len(results))]
    return _evaluated(node, grads)


def _evaluated(node: Node, grads: list[Sym]) -> list[Value | None]:
    """Evaluate the lines of a node's operator; returns the gradients of its inputs."""
    key = overload_of(node).removeprefix("aten::")
    lines, schema = lines_of(key), node.schema()
    assert lines is not None and schema is not None
    inputs = dict(zip([a.name for a in schema.arguments], node.inputs()))
    tensors = [name for name, v in inputs.items() if isinstance(v.type(), TensorType)]
    names: dict[str, Any] = {name: _given(v) for name, v in inputs.items()}
    sizes = [name for name in tensors if f"{name}_shape" in str(lines)]
    names |= {f"{name}_shape": _size(node, inputs[name]) for name in sizes}
    names |= {f"{name}_stride": None for name in tensors}
    results = OUTPUTS.get(_with_line(key), ["result"])
    names |= zip(results, [Sym(v) for v in node.outputs()])
    names |= {"grad": grads[0], "grads": grads}
    gradients: dict[str, Value | None] = {}
    # A line for several arguments, "self, other", evaluates to a tuple of their gradients.
    for of, line in lines.items():
        arguments = of.split(", ")
        if not any(name in tensors for name in arguments):
            continue
        found = evaluate(line, names)
        for name, g in zip(arguments, found if len(arguments) > 1 else (found,)):
            if name in tensors and g is not None:
                if _may_be_repeated(key, name, tensors):
                    g = g.sum_to_size(Sym(size_before(node, inputs[name])))
                gradients[name] = g.value
    return [gradients.get(name) for name in inputs]


def _may_be_repeated(key: str, name: str, tensors: list[str]) -> bool:
    """Whether broadcasting may have repeated this argument: a tensor of a pointwise operator, or
    the first argument of addmm, to which the product is added.
    """
    if key == "addmm":
        return name == "self"
    return len(tensors) > 1 and key in POINTWISE and key != "type_as"


def autograd_add(a: Value, b: Value) -> Value:
    """The sum of two gradients, either of which may be undefined, at the insert point."""
    graph = a.node().owningGraph()
    return graph.insertNode(graph.create("prim::AutogradAdd", (a, b))).output()


def size_before(node: Node, v: Value) -> Value:
    """`v.size()`, read just before `node`."""
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        return graph.insert("aten::size", [v])


def _size(node: Node, v: Value) -> Any:
    """The size of `v`: a list if its type knows it, else a `Sym`."""
    t = v.type()
    known = t.sizes() if isinstance(t, TensorType) else None
    return Sym(size_before(node, v)) if known is None else list(known)


def _given(v: Value) -> Any:
    """An argument for a line: the value of a constant number, a `Sym` for all else."""
    found = constant(v)
    return Sym(v) if found is NOT_CONSTANT or isinstance(v.type(), TensorType) else found


def _cat(node: Node, dys: Sequence[Sym]) -> Sym:
    """The gradient of a tensor from those of its chunks: their concatenation. An unused chunk has
    the gradient zero.
    """
    graph: Graph = node.owningGraph()
    zeros = [emit("zeros_like", Sym(v)) for v in node.outputs()]
    pieces = [autograd_add(dy.value, zero.value) for dy, zero in zip(dys, zeros)]
    construct = graph.insertNode(graph.create("prim::ListConstruct", pieces))
    construct.output().setType(ListType(TensorType.get()))
    return Sym(construct.output()).op("cat", node.i("dim"))


def _is_complete(node: Node) -> bool:
    t = node.inputsAt(0).type()
    return isinstance(t, TensorType) and t.sizes() is not None


def _from_float_to_float(node: Node) -> bool:
    """Whether this is a cast from one floating dtype to another: integers have no gradient."""
    t, to = node.inputsAt(0).type(), named_constant(node, "dtype")
    dtype = t.dtype() if isinstance(t, TensorType) else None
    return (
        dtype is not None
        and dtype.is_floating_point
        and isinstance(to, int)
        and BY_CODE[to].is_floating_point
    )
