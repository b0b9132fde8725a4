"""The function of each node: a Python function from its inputs to its output
(`torch/csrc/jit/runtime/register_prim_ops.cpp`, `register_special_ops.cpp`).

That of an operator comes from the registry. The others, except for control flow, are below: nodes
whose work depends on their attributes, or on the types of their inputs and outputs. A function
takes the node's inputs and returns its output, a tuple for several, or None for none. Both
executors get their functions here, so they cannot disagree about the meaning of a node.

How the real one differs: a function gets the stack, pops its arguments off it and pushes its
results.
"""

from __future__ import annotations

import functools
import importlib
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals.core.dtype import bool_ as bool_dtype
from internals.jit.arguments import CastError, converter
from internals.jit.ir import FunctionType, Graph, Node, TensorType, TupleType, Type, type_of

from .errors import Error, python_error
from .future import Future, fork

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction
    from internals.jit.script_module import ScriptModule

Function = Callable[..., Any]

# Kinds whose functions are in modules of their own, which are imported when the first node of that
# kind is compiled: most scripts need none, and some of the modules import this one.
ELSEWHERE = {
    "prim::DifferentiableGraph": "internals.jit.runtime.differentiable_graph",
    **dict.fromkeys(
        (
            "prim::FusionGroup",
            "prim::ConstantChunk",
            "prim::FusedConcat",
            "prim::BroadcastSizes",
            "prim::ChunkSizes",
            "prim::SumToSize",
        ),
        "internals.jit.runtime.fusion_group",
    ),
    "prim::ConvolutionGroup": "internals.jit.runtime.convolution_group",
    **dict.fromkeys(
        ("prim::MMTreeReduce", "prim::MMBatchSide"), "internals.jit.runtime.batched_mm"
    ),
}

# kind → maker, a function from a node to the function of its inputs. Longer makers are entered by
# the decorator `node_function` below.
NODE_FUNCTIONS: dict[str, Callable[[Node], Function]] = {
    "prim::TupleUnpack": lambda node: sole if node.outputsSize() == 1 else unchanged,
    "prim::ListConstruct": lambda node: lambda *elements: list(elements),
    "prim::DictConstruct": lambda node: lambda *items: dict(zip(items[::2], items[1::2])),
    "prim::unchecked_cast": lambda node: unchanged,
    "prim::data": lambda node: unchanged,
    "prim::Uninitialized": lambda node: nothing,
    "prim::CallMethod": lambda node: executable(_method(node, node.s("name"))),
    "prim::Enter": lambda node: executable(_method(node, "__enter__")),
    "aten::wait": lambda node: Future.wait,
    # None stands for a gradient that is zero everywhere, and was not computed
    "prim::AutogradZero": lambda node: nothing,
    "prim::Undefined": lambda node: nothing,
}


def function_of(node: Node) -> Function:
    """The function that computes `node`. Raises RuntimeError for an unknown kind, and if no
    overload accepts the inputs.
    """
    kind = node.kind()
    if kind.startswith("^"):
        return call_python(node)
    if kind not in NODE_FUNCTIONS and kind in ELSEWHERE:
        importlib.import_module(ELSEWHERE[kind])
    make = NODE_FUNCTIONS.get(kind)
    if make is not None:
        return make(node)
    operator = node.operator()
    if operator is None:
        types = ", ".join(v.type().str() for v in node.inputs())
        raise RuntimeError(f"no operator {kind} takes ({types}); the node is: {str(node).strip()}")
    return operator.fn


def node_function(
    *kinds: str,
) -> Callable[[Callable[[Node], Function]], Callable[[Node], Function]]:
    """Decorator: enters a maker, `(node) -> function of its inputs`, for nodes of these kinds."""

    def enter(make: Callable[[Node], Function]) -> Callable[[Node], Function]:
        for kind in kinds:
            NODE_FUNCTIONS[kind] = make
        return make

    return enter


# Tuples, lists, dicts


@node_function("prim::TupleConstruct")
def tuple_construct(node: Node) -> Function:
    """The function from elements to a tuple; to a named tuple if the type has a qualified name."""
    type = node.output().type()
    if isinstance(type, TupleType) and type.names is not None and type.qualified_name:
        return named_tuple_class(type.qualified_name.rpartition(".")[2], type.names)
    return lambda *elements: elements


@functools.cache
def named_tuple_class(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


@node_function("prim::TupleIndex")
def tuple_index(node: Node) -> Function:
    """The function (tuple, index) → element; an index outside of the tuple raises IndexError."""

    def index(elements: tuple[Any, ...], i: int) -> Any:
        if not -len(elements) <= i < len(elements):
            raise IndexError("Tuple list index out of range")
        return elements[i]

    return index


@node_function("prim::TupleSlice")
def tuple_slice(node: Node) -> Function:
    begin, end = node.i("beg"), node.i("end")
    return lambda elements: elements[begin:end]


@node_function("prim::ListUnpack")
def list_unpack(node: Node) -> Function:
    """The function from a list to its elements; another number of them raises RuntimeError."""
    expected = node.outputsSize()

    def unpack(elements: list[Any]) -> Any:
        if len(elements) != expected:
            raise RuntimeError(f"Expected {expected} elements in a list but found {len(elements)}")
        return elements[0] if expected == 1 else tuple(elements)

    return unpack


# Objects


@node_function("prim::GetAttr")
def get_attribute(node: Node) -> Function:
    """The function that reads from the dict of the module, without `nn.Module.__getattr__`."""
    name = node.s("name")
    place = PLACES[node.input().type().kind_of(name)]  # type: ignore[attr-defined]
    if place is None:
        return lambda owner: owner.__dict__[name]
    return lambda owner: owner.__dict__[place][name]


@node_function("prim::SetAttr")
def set_attribute(node: Node) -> Function:
    """The function that stores in the dict of the module where `nn.Module` keeps such
    attributes.
    """
    name = node.s("name")
    place = PLACES[node.input(0).type().kind_of(name)]  # type: ignore[attr-defined]

    def store(owner: ScriptModule, value: Any) -> None:
        members = owner.__dict__ if place is None else owner.__dict__[place]
        members[name] = value

    return store


# Which dict of an nn.Module an attribute is in; None for an ordinary attribute.
PLACES = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules", "attribute": None}


@node_function("prim::isinstance")
def is_instance(node: Node) -> Function:
    types = node.tys("types")
    return lambda value: has_type(value, types)


def has_type(value: Any, types: list[Type]) -> bool:
    """Whether the type of a value is a subtype of one of `types`."""
    found = type_of(value)
    return any(found.isSubtypeOf(t) for t in types)


# Calls


@node_function("prim::CallFunction")
def call_function(node: Node) -> Function:
    type = node.input(0).type()
    if not isinstance(type, FunctionType) or type.function is None:
        raise RuntimeError(f"the callee is not known: {str(node).strip()}")
    return executable(type.function)


def _method(node: Node, name: str) -> Any:
    return node.input(0).type().getMethod(name)  # type: ignore[attr-defined]


def executable(function: ScriptFunction) -> Function:
    """The function that runs a scripted function without checking its arguments, whose types the
    compiler has checked.
    """
    return lambda *inputs: function.executor(*inputs)


@node_function("prim::CreateObject")
def create_object(node: Node) -> Function:
    from internals.jit.script_object import ScriptObject

    kind = node.output().type()
    return lambda: ScriptObject(kind)  # type: ignore[arg-type]


@node_function("prim::Exit")
def leave(node: Node) -> Function:
    """The function that calls `__exit__` of a context manager, without an exception."""
    call = executable(_method(node, "__exit__"))
    return lambda manager: call(manager, None, None, None)


def call_python(node: Node) -> Function:
    """The function of a `^name` node, which calls Python code and checks the type of its result."""
    function, kind = node.pyobj, node.kind()
    if function is None:
        raise RuntimeError(
            f"{kind} cannot run: the Python function is not part of the graph's text"
        )
    check = result_converter(node.output().type()) if node.outputsSize() == 1 else None

    def call(*inputs: Any) -> Any:
        try:
            result = function(*inputs)
        except Exception as error:
            raise python_error(error) from error
        return result if check is None else check(result)

    return call


def result_converter(type: Type) -> Function:
    """The function that converts a result of Python code to its declared type. None may stand for a
    Tensor, an undefined one. It raises RuntimeError if the result has another type.
    """
    convert = converter(type)

    def checked(result: object) -> Any:
        if result is None and isinstance(type, TensorType):
            return None
        try:
            return convert(result)
        except CastError as why:
            raise RuntimeError(
                f" expected value of type {type.str()} for return value but instead got value of "
                f"type {result.__class__.__name__}.\nValue: {result!r}\nCast error details: {why}"
            ) from None

    return checked


@node_function("prim::RaiseException")
def raise_exception(node: Node) -> Function:
    def throw(message: str, python_class_name: str | None = None) -> None:
        error = Error(message)
        error.python_class_name = python_class_name
        raise error

    return throw


# Futures


@node_function("prim::fork")
def fork_subgraph(node: Node) -> Function:
    from .graph_executor import GraphExecutor

    executor = GraphExecutor(node.g("Subgraph"), "<forked function>")
    return lambda *inputs: fork(executor, *inputs)


# Gradients


@node_function(
    "prim::AutogradAdd", "prim::AutogradAllNonZero", "prim::AutogradAnyNonZero", "prim::AnyDefined"
)
def autograd_add(node: Node) -> Function:
    """The functions of these nodes on gradients, of which None is undefined, and means zero."""
    if node.kind() == "prim::AutogradAllNonZero":
        return lambda *gradients: all(g is not None for g in gradients)
    if node.kind() != "prim::AutogradAdd":
        return lambda *gradients: any(g is not None for g in gradients)
    return lambda a, b: b if a is None else a if b is None else a + b


def run_subgraph(graph: Graph, kind: str = "") -> Function:
    """The function that runs `graph` without optimisation, for a node of `kind` that holds it."""
    from .graph_executor import ExecutionPlan

    return ExecutionPlan(graph, "", None, kind).run


def unchanged(value: Any) -> Any:
    return value


def sole(elements: Any) -> Any:
    return elements[0]


def nothing(*_: Any) -> None:
    return None


# Tensors as lists


@node_function("prim::tolist")
def to_list(node: Node) -> Function:
    """The function of `x.tolist()`, which checks that the annotation fits the tensor."""

    # The last two inputs come from the annotation `List[List[float]]`: the depth of the list, and a
    # number for the type of its elements, 0 int, 1 float, 2 bool, 3 complex.
    def convert(tensor: Any, dimensions: int, element: int) -> Any:
        if tensor.dim() != dimensions:
            raise RuntimeError(
                "Output annotation list dimension and runtime tensor dimension must match for "
                "tolist()"
            )
        kinds = tensor.dtype.is_floating_point, tensor.dtype.is_complex, tensor.dtype is bool_dtype
        if (element == 1, element == 3, element == 2) != kinds:
            raise RuntimeError(
                "Output annotation element type and runtime tensor element type must match for "
                "tolist()"
            )
        return tensor.tolist()

    return convert
