"""The derivatives of operators as graph code: the formulas of `torch/csrc/jit/autodiff.cpp`.

What autograd runs when backward is called stands in `internals/autograd/derivatives/`. Here the same mathematics is *written into
a graph*: calling a formula emits nodes. So the whole backward of a piece of a program becomes a graph, which can be optimised and
fused like any other. In the table below

    dy          the gradient of the result (`dys` of all results, where there are several)
    n.self      the value the node was given for the argument of that name
    n.y         the node's result
    n.fit(g, "other")    `g` summed over whatever broadcasting had repeated: `prim::SumToSize(g, other.size())`

and every operation on these emits a node at the insert point of the graph. A formula returns one gradient for each of the first
inputs, None where there is none. What a formula computes is linear in `dy`; that is why `differentiate` may put it into a
`prim::GradOf` block, to be left out as a whole when `dy` is undefined, which stands for zero.

How the real one differs: three formulas of 1.0.1 gave other gradients than autograd and are not copied: `max` and `min` where
both are equal gave zero to both sides, `clamp` gave zero at the bounds, `where` made NaN of an infinite gradient it was to drop.
Its list had convolution and batch norm, in the form that its decomposition of layers produced, and two operators that are
not here (`threshold`, `log10`); it lacked the last lines.
Today most are TorchScript source (`symbolic_script.cpp`), compiled when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.core.dtype import BY_CODE
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import IntType, ListType
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of

if TYPE_CHECKING:
    from internals.jit.ir import Graph, Node, Value


class Sym:
    """A tensor value of a graph that computes by emitting nodes (`torch/csrc/jit/symbolic_variable.h`)."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def op(self, name: str, *arguments: Any) -> Sym:
        """Emit `aten::name(self, *arguments)`."""
        return Sym(self._emit(f"aten::{name}", self, *arguments))

    def __add__(self, other: Any) -> Sym:
        return self.op("add", other, 1)

    def __sub__(self, other: Any) -> Sym:
        return self.op("sub", other, 1)

    def __radd__(self, other: Any) -> Sym:
        return self + other

    def __rsub__(self, other: Any) -> Sym:
        return -self + other

    def __mul__(self, other: Any) -> Sym:
        return self.op("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Sym:
        return self.op("div", other)

    def __neg__(self) -> Sym:
        return self.op("neg")

    def __lt__(self, other: Any) -> Sym:
        return self.op("lt", other)

    def __le__(self, other: Any) -> Sym:
        return self.op("le", other)

    def __gt__(self, other: Any) -> Sym:
        return self.op("gt", other)

    def __ge__(self, other: Any) -> Sym:
        return self.op("ge", other)

    def __getattr__(self, name: str) -> Callable[..., Sym]:
        """`x.cos()`: any operator as a method."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: self.op(name, *arguments)

    def sum_to_size(self, size: Value) -> Sym:
        return Sym(self._emit("prim::SumToSize", self, Sym(size)))

    def zero(self) -> Sym:
        """Zeros of the same shape: the gradient of what is constant almost everywhere."""
        return self.op("zeros_like", None, None, None, None, None)

    def _emit(self, kind: str, *arguments: Any) -> Value:
        graph = self.value.node().owningGraph()
        return graph.insert(kind, [a.value if isinstance(a, Sym) else a for a in arguments])


class Arguments:
    """What a formula knows of the node it differentiates. See the module's docstring."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __getattr__(self, name: str) -> Sym:
        return Sym(self.node.namedInput(name))

    @property
    def y(self) -> Sym:
        return Sym(self.node.outputsAt(0))

    def output(self, i: int) -> Sym:
        return Sym(self.node.outputsAt(i))

    def fit(self, g: Sym, name: str) -> Sym:
        """Summed to the size of argument `name`. The size is taken in the forward graph, before the node."""
        return g.sum_to_size(size_before(self.node, self.node.namedInput(name)))

    def is_none(self, name: str) -> bool:
        return named_constant(self.node, name) is None

    def constant(self, name: str) -> Any:
        return named_constant(self.node, name)

    def sizes(self, name: str) -> list[int]:
        """Known sizes of an argument; only for formulas whose condition asked for them."""
        return list(self.node.namedInput(name).type().sizes())  # type: ignore[attr-defined]


Formula = Callable[[Arguments, Any], Sequence["Sym | None"]]

# fmt: off
FORMULAS: dict[str, Formula] = {
    # arithmetic
    "aten::add.Tensor":        lambda n, dy: (n.fit(dy, "self"), n.fit(dy * n.alpha, "other")),
    "aten::add.Scalar":        lambda n, dy: (dy,),
    "aten::sub.Tensor":        lambda n, dy: (n.fit(dy, "self"), n.fit(-dy * n.alpha, "other")),
    "aten::sub.Scalar":        lambda n, dy: (dy,),
    "aten::mul.Tensor":        lambda n, dy: (n.fit(dy * n.other, "self"), n.fit(dy * n.self, "other")),
    "aten::mul.Scalar":        lambda n, dy: (dy * n.other,),
    "aten::div.Tensor":        lambda n, dy: (n.fit(dy / n.other, "self"), n.fit(-dy * n.self / (n.other * n.other), "other")),
    "aten::div.Scalar":        lambda n, dy: (dy / n.other,),
    "aten::neg":               lambda n, dy: (-dy,),
    "aten::reciprocal":        lambda n, dy: (-dy * n.y * n.y,),
    "aten::fmod.Scalar":       lambda n, dy: (dy,),
    "aten::remainder.Scalar":  lambda n, dy: (dy,),
    "aten::max.other":         lambda n, dy: _greater(n, dy, n.self, n.other),
    "aten::min.other":         lambda n, dy: _greater(n, dy, n.other, n.self),
    "aten::where.self":        lambda n, dy: (None, n.fit(_where(n, dy, 0), "self"), n.fit(_where(n, 0, dy), "other")),

    # activations
    "aten::sigmoid":           lambda n, dy: ((1 - n.y) * n.y * dy,),
    "aten::tanh":              lambda n, dy: (dy * (1 - n.y * n.y),),
    "aten::relu":              lambda n, dy: (dy * (n.y > 0).type_as(n.y),),
    "aten::clamp":             lambda n, dy: (_inside(n, dy),),
    "aten::log_softmax.int":   lambda n, dy: (dy - n.y.exp() * dy.op("sum", _dims(n), True, None),),
    "aten::softmax.int":       lambda n, dy: (n.y * (dy - (dy * n.y).op("sum", _dims(n), True, None)),),

    # exponentials and logarithms
    "aten::exp":               lambda n, dy: (dy * n.y,),
    "aten::expm1":             lambda n, dy: (dy * (n.y + 1),),
    "aten::log":               lambda n, dy: (dy / n.self,),
    "aten::log1p":             lambda n, dy: (dy / (n.self + 1),),
    "aten::log2":              lambda n, dy: (dy / (n.self * 0.6931471805599453),),
    "aten::rsqrt":             lambda n, dy: (dy * n.y.pow(3) * -0.5,),

    # trigonometry
    "aten::sin":               lambda n, dy: (dy * n.self.cos(),),
    "aten::cos":               lambda n, dy: (dy * -n.self.sin(),),
    "aten::tan":               lambda n, dy: (dy * (1 + n.y * n.y),),
    "aten::sinh":              lambda n, dy: (dy * n.self.cosh(),),
    "aten::cosh":              lambda n, dy: (dy * n.self.sinh(),),
    "aten::asin":              lambda n, dy: (dy * (-n.self * n.self + 1).rsqrt(),),
    "aten::acos":              lambda n, dy: (dy * -(-n.self * n.self + 1).rsqrt(),),
    "aten::atan":              lambda n, dy: (dy / (n.self * n.self + 1),),

    # steps, and what is constant between them
    "aten::abs":               lambda n, dy: (dy * n.self.sign(),),
    "aten::frac":              lambda n, dy: (dy,),
    "aten::ceil":              lambda n, dy: (dy.zero(),),
    "aten::floor":             lambda n, dy: (dy.zero(),),
    "aten::round":             lambda n, dy: (dy.zero(),),
    "aten::trunc":             lambda n, dy: (dy.zero(),),
    "aten::lt.Tensor":         lambda n, dy: (),
    "aten::le.Tensor":         lambda n, dy: (),
    "aten::gt.Tensor":         lambda n, dy: (),
    "aten::ge.Tensor":         lambda n, dy: (),
    "aten::eq.Tensor":         lambda n, dy: (),
    "aten::ne.Tensor":         lambda n, dy: (),

    # matrices
    "aten::t":                 lambda n, dy: (dy.t(),),
    "aten::mm":                lambda n, dy: (dy.mm(n.mat2.t()), n.self.t().mm(dy)),
    "aten::addmm":          lambda n, dy: (n.fit(dy * n.beta, "self"), dy.mm(n.mat2.t()) * n.alpha, n.mat1.t().mm(dy) * n.alpha),

    # shapes and types
    "aten::type_as":           lambda n, dy: (dy.type_as(n.self),),
    "aten::unsqueeze":         lambda n, dy: (dy.squeeze(n.dim),),
    "aten::view":              lambda n, dy: (dy.reshape(n.sizes("self")),),
    "aten::reshape":           lambda n, dy: (dy.reshape(n.sizes("self")),),
    "aten::expand":            lambda n, dy: (n.fit(dy, "self"),),
    "prim::SumToSize":         lambda n, dy: (dy.expand(Sym(size_before(n.node, n.node.inputsAt(0))), False),),
    "prim::ConstantChunk":     lambda n, dys: (_cat(n, dys),),
    "prim::AutogradAdd":       lambda n, dy: (dy, dy),

    # pooling
    "aten::avg_pool2d":                lambda n, dy: (dy.avg_pool2d_backward(*_inputs(n)),),
    "aten::max_pool2d_with_indices":   lambda n, dys: (dys[0].max_pool2d_with_indices_backward(*_inputs(n), n.output(1)),),

    # not in 1.0.1
    "aten::sqrt":              lambda n, dy: (dy / (2 * n.y),),
    "aten::erf":               lambda n, dy: (dy * (-n.self * n.self).exp() * 1.1283791670955126,),
    "aten::pow.Tensor_Scalar": lambda n, dy: (_power(n, dy),),
    "aten::bmm":               lambda n, dy: (dy.bmm(n.mat2.transpose(1, 2)), n.self.transpose(1, 2).bmm(dy)),
    "aten::square":            lambda n, dy: (dy * n.self * 2,),
    "aten::maximum":           lambda n, dy: _greater(n, dy, n.self, n.other),
    "aten::minimum":           lambda n, dy: _greater(n, dy, n.other, n.self),
    "aten::rsub.Tensor":       lambda n, dy: (n.fit(-dy * n.alpha, "self"), n.fit(dy, "other")),
    "aten::rsub.Scalar":       lambda n, dy: (-dy * n.alpha,),
    "aten::true_divide.Tensor": lambda n, dy: FORMULAS["aten::div.Tensor"](n, dy),
    "aten::addcmul":           lambda n, dy: (n.fit(dy, "self"), n.fit(dy * n.tensor2 * n.value, "tensor1"),
                                              n.fit(dy * n.tensor1 * n.value, "tensor2")),
    "aten::addcdiv":           lambda n, dy: (n.fit(dy, "self"), n.fit(dy * n.value / n.tensor2, "tensor1"),
                                              n.fit(-dy * n.value * n.tensor1 / (n.tensor2 * n.tensor2), "tensor2")),
    "aten::lerp.Tensor":       lambda n, dy: (n.fit(dy * (1 - n.weight), "self"), n.fit(dy * n.weight, "end"),
                                              n.fit(dy * (n.end - n.self), "weight")),
    "aten::clamp_min":         lambda n, dy: (dy * (n.self >= n.min).type_as(n.self),),
    "aten::clamp_max":         lambda n, dy: (dy * (n.self <= n.max).type_as(n.self),),
    "aten::masked_fill.Scalar": lambda n, dy: (n.fit(dy.masked_fill(n.mask, 0), "self"),),
    "aten::where.ScalarOther": lambda n, dy: (None, n.fit(_where(n, dy, 0), "self")),
    "aten::where.ScalarSelf":  lambda n, dy: (None, None, n.fit(_where(n, 0, dy), "other")),
    "aten::to.dtype":          lambda n, dy: (dy.type_as(n.self),),
    "aten::gelu":              lambda n, dy: (dy.gelu_backward(n.self, n.approximate),),
    "aten::silu":              lambda n, dy: (dy.silu_backward(n.self),),
    "aten::hardtanh":          lambda n, dy: (dy.hardtanh_backward(n.self, n.min_val, n.max_val),),
    "aten::relu6":             lambda n, dy: (dy.hardtanh_backward(n.self, 0, 6),),
    "aten::leaky_relu":        lambda n, dy: (dy.leaky_relu_backward(n.self, n.negative_slope, False),),
    "aten::elu":               lambda n, dy: (dy.elu_backward(n.alpha, n.scale, n.input_scale, False, n.self),),
    "aten::softplus":          lambda n, dy: (dy.softplus_backward(n.self, n.beta, n.threshold),),
    "aten::threshold":         lambda n, dy: (dy.threshold_backward(n.self, n.threshold),),
    "aten::lt.Scalar":         lambda n, dy: (),
    "aten::le.Scalar":         lambda n, dy: (),
    "aten::gt.Scalar":         lambda n, dy: (),
    "aten::ge.Scalar":         lambda n, dy: (),
    "aten::eq.Scalar":         lambda n, dy: (),
    "aten::ne.Scalar":         lambda n, dy: (),
}

# Formulas that need to know something beforehand: constants among the arguments, or the sizes of a tensor.
CONDITIONS: dict[str, Callable[[Node], bool]] = {
    "aten::clamp":             lambda n: _is_none_or_not(n, "min") and _is_none_or_not(n, "max"),
    "aten::view":              lambda n: _is_complete(n) and named_constant(n, "size") is not NOT_CONSTANT,
    "aten::reshape":           lambda n: _is_complete(n) and named_constant(n, "shape") is not NOT_CONSTANT,
    "aten::expand":            lambda n: _is_complete(n) and named_constant(n, "size") is not NOT_CONSTANT,
    "aten::log_softmax.int":   lambda n: _keeps_dtype(n),
    "aten::softmax.int":       lambda n: _keeps_dtype(n),
    "aten::pow.Tensor_Scalar": lambda n: isinstance(named_constant(n, "exponent"), (int, float)),
    "aten::to.dtype":          lambda n: _from_float_to_float(n),
}
# fmt: on

SEVERAL_RESULTS = frozenset(("prim::ConstantChunk", "aten::max_pool2d_with_indices"))
WITHOUT_FORMULA = frozenset(("prim::Constant", "prim::Undefined"))  # no gradient comes from these


def is_differentiable(node: Node) -> bool:
    """Whether `gradient_of` can differentiate this node."""
    if node.kind() in WITHOUT_FORMULA:
        return True
    if node.kind() == "prim::GradOf":
        return all(is_differentiable(n) for n in node.blocks()[0].nodes())
    key = overload_of(node)
    return key in FORMULAS and (key not in CONDITIONS or CONDITIONS[key](node))


def gradient_of(node: Node, dys: Sequence[Value]) -> list[Value | None]:
    """Emit the gradients of the inputs of `node`, given those of its outputs, at the insert point of its graph.

    One for each input, None where there is none. Raises RuntimeError for a node that is not differentiable.
    """
    if not is_differentiable(node):
        raise RuntimeError(
            f"differentiation of {node.kind()} is not supported, or it is missing necessary type information"
        )
    if node.kind() in WITHOUT_FORMULA:
        return []
    given: Any = [Sym(v) for v in dys]
    key = overload_of(node)
    results = list(FORMULAS[key](Arguments(node), given if key in SEVERAL_RESULTS else given[0]))
    results += [None] * (node.inputsSize() - len(results))
    return [None if r is None else r.value for r in results]


def autograd_add(a: Value, b: Value) -> Value:
    """The sum of two gradients, either of which may be undefined, at the insert point."""
    graph = a.node().owningGraph()
    return graph.insertNode(graph.create("prim::AutogradAdd", (a, b))).output()


def size_before(node: Node, v: Value) -> Value:
    """`v.size()`, asked right before `node`."""
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        return graph.insert("aten::size", [v])


def _greater(n: Arguments, dy: Sym, a: Sym, b: Sym) -> tuple[Sym, Sym]:
    """`self` gets the gradient where a > b, `other` where b > a, each a half where they are equal."""
    mine = ((a > b).type_as(dy) + (a >= b).type_as(dy)) * 0.5
    return n.fit(dy * mine, "self"), n.fit(dy * (1 - mine), "other")


def _where(n: Arguments, yes: Any, no: Any) -> Sym:
    return n.condition.where(yes, no)


def _inside(n: Arguments, dy: Sym) -> Sym:
    if not n.is_none("min"):
        dy = dy * (n.self >= n.min).type_as(n.self)
    if not n.is_none("max"):
        dy = dy * (n.self <= n.max).type_as(n.self)
    return dy


def _power(n: Arguments, dy: Sym) -> Sym:
    exponent = n.constant("exponent")
    return dy.zero() if exponent == 0 else dy * (n.self.pow(exponent - 1) * exponent)


def _dims(n: Arguments) -> Sym:
    """The dimension of a softmax as a list of one."""
    graph: Graph = n.node.owningGraph()
    construct = graph.insertNode(graph.create("prim::ListConstruct", [n.dim.value]))
    return Sym(construct.output().setType(ListType(IntType.get())))


def _cat(n: Arguments, dys: Sequence[Sym]) -> Sym:
    """The gradient of a chunk: those of the pieces, put together. Nobody may have used a piece; its gradient is zero then."""
    graph: Graph = n.node.owningGraph()
    pieces = []
    for i, dy in enumerate(dys):
        pieces.append(autograd_add(dy.value, n.output(i).zero().value))
    construct = graph.insertNode(graph.create("prim::ListConstruct", pieces))
    construct.output().setType(ListType(TensorType.get()))
    return Sym(construct.output()).op("cat", n.node.i("dim"))


def _inputs(n: Arguments) -> list[Sym]:
    return [Sym(v) for v in n.node.inputs()]


def _is_complete(node: Node) -> bool:
    t = node.inputsAt(0).type()
    return isinstance(t, TensorType) and t.sizes() is not None


def _is_none_or_not(node: Node, name: str) -> bool:
    """Whether it is known at least if an optional number is given."""
    v = node.namedInput(name)
    return constant(v) is not NOT_CONSTANT or v.type().kind() in ("IntType", "FloatType", "NumberType")


def _from_float_to_float(node: Node) -> bool:
    """Whether this is a cast among floating dtypes: of integers there is no gradient."""
    t, to = node.inputsAt(0).type(), named_constant(node, "dtype")
    dtype = t.dtype() if isinstance(t, TensorType) else None
    return dtype is not None and dtype.is_floating_point and isinstance(to, int) and BY_CODE[to].is_floating_point


def _keeps_dtype(node: Node) -> bool:
    return named_constant(node, "dtype") is None
