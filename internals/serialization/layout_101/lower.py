"""A method as PyTorch 1.0.1 knew it: one graph, with the module's tensors as `self.conv1.weight`,
of operators that there were.

| today                                                   | in 1.0.1                               |
|---------------------------------------------------------|----------------------------------------|
| calls of methods and functions                          | their bodies: every call was inlined   |
| `prim::GetAttr[name="weight"]` of                       | an input of the graph, printed as      |
| `prim::GetAttr[name="fc"](self)`                        | `self.fc.weight`                       |
| an attribute that is no tensor                          | a constant, which is allowed as long   |
|                                                         | as no method sets it                   |
| a branch that such a constant decides                   | the branch                             |
| an operator                                             | the overload it had (`operators.py`),  |
|                                                         | or what it is made of (`decompose.py`) |
| `prim::Uninitialized`, which is never looked at         | some constant of the type              |

How the real one differs: its compiler made such graphs in the first place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from internals.core.device import device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import (
    BoolType,
    ClassType,
    DeviceObjType,
    DictType,
    FloatType,
    Graph,
    IntType,
    ListType,
    Node,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    Value,
    all_nodes,
    base_name,
)
from internals.jit.passes.control_flow import splice
from internals.jit.passes.dce import dce
from internals.jit.passes.inline import inline
from internals.jit.schema import FunctionSchema
from internals.jit.script_function import schema_of_graph
from internals.jit.script_module import ScriptModule, get_attribute

from .decompose import DECOMPOSED
from .operators import call_101

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

Path = tuple[str, ...]

# What is syntax in the text, and so has no schema.
SPECIAL = {
    "prim::Constant", "prim::If", "prim::Loop", "prim::TupleConstruct", "prim::TupleUnpack",
    "prim::TupleIndex", "prim::TupleSlice", "prim::ListConstruct", "prim::ListUnpack",
    "prim::Print", "prim::GetAttr", "prim::fork", "aten::wait",
}  # fmt: skip
RENAMED = {
    "aten::Bool": "prim::Bool", "aten::Int": "prim::Int", "aten::Float": "prim::Float",
    "aten::IntImplicit": "prim::ImplicitTensorToNum",
    "aten::FloatImplicit": "prim::ImplicitTensorToNum",
    "aten::ScalarImplicit": "prim::ImplicitTensorToNum", "aten::maximum": "aten::max",
    "aten::minimum": "aten::min", "aten::outer": "aten::ger",
}  # fmt: skip
RENAMED_ON_LISTS = {"aten::__getitem__": "aten::select"}
SCALARS = (bool, int, float, str, type(None))


class Method(NamedTuple):
    """`parameters`: which values are tensors of the module, and where they are; `schemas`: what the
    nodes call; `forked`: the method that each fork starts."""

    name: str
    graph: Graph
    schema: FunctionSchema
    parameters: dict[Value, Path]
    schemas: dict[Node, FunctionSchema]
    forked: dict[Node, Method]


def method_101(function: ScriptFunction, module: ScriptModule | None = None) -> Method:
    """A compiled function, or a method of `module`. The original is not changed.

    Raises RuntimeError, naming what it is, for what could not be said in 1.0.1.
    """
    graph = function.graph.copy()
    inline(graph)
    lowering = _Lowering(graph)
    if module is not None:
        lowering.find_members(module)
    decide_branches(graph)
    lowering.operators()
    lowering.members_become_inputs()
    _check_types(function, graph)
    return Method(
        function.name,
        graph,
        function.schema,
        lowering.parameters,
        lowering.schemas,
        lowering.forked,
    )


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parameters: dict[Value, Path] = {}
        self.schemas: dict[Node, FunctionSchema] = {}
        self.forked: dict[Node, Method] = {}
        self.started = {
            n: _Lowering(n.g("Subgraph").copy())
            for n in all_nodes(graph.block())
            if n.kind() == "prim::fork"
        }
        for lowering in self.started.values():
            inline(lowering.graph)

    # The module

    def find_members(self, module: ScriptModule) -> None:
        """What the graph reads from `self`: tensors get their path, other values become
        constants.
        """
        owner = self.graph.inputs()[0]
        self.members(owner, module, ())

    def members(self, value: Value, module: Any, path: Path) -> None:
        for user, offset in value.uses():
            kind = user.kind()
            if kind == "prim::fork":
                self.hand_over(user, offset, module, path)
                continue
            where = (
                ".".join((*path, user.s("name")))
                if kind in ("prim::GetAttr", "prim::SetAttr")
                else ""
            )
            if kind == "prim::SetAttr":
                raise RuntimeError(
                    f"the attribute '{where}' is set by a method; modules of PyTorch 1.0.1 had "
                    "tensors only. Make it a buffer and write to it in place, or use the modern "
                    "format"
                )
            if kind != "prim::GetAttr":
                raise RuntimeError(
                    f"a module is handed to {kind}, which PyTorch 1.0.1 could not do"
                )
            self.member(user, get_attribute(module, user.s("name")), (*path, user.s("name")))

    def members_become_inputs(self) -> None:
        """Behind the inputs that there are comes one for each tensor of the module that is read."""
        inputs: dict[Path, Value] = {}
        for value, path in self.parameters.items():
            if path not in inputs:
                inputs[path] = self.graph.addInput().setType(value.type())
            value.replaceAllUsesWith(inputs[path])
        for node in reversed(self.graph.findAllNodes("prim::GetAttr")):
            if not node.hasUses():
                node.destroy()
        self.parameters = {value: path for path, value in inputs.items()}

    def hand_over(self, fork: Node, offset: int, module: Any, path: Path) -> None:
        """A module does not go into a fork; the tensors that are read from it there do, as
        arguments.
        """
        inside = self.started[fork]
        inside.members(inside.graph.inputs()[offset], module, path)
        for value, where in inside.parameters.items():
            with self.graph.insert_point_guard(fork):
                outside = self.graph.insert(
                    "prim::GetAttr", [fork.inputsAt(offset)], name=where[-1]
                ).setType(value.type())
            self.parameters[outside] = where
            fork.addInput(outside)
            value.replaceAllUsesWith(inside.graph.addInput().setType(value.type()))
        inside.parameters.clear()

    def member(self, node: Node, value: Any, path: Path) -> None:
        if isinstance(value, ScriptModule):
            self.members(node.output(), value, path)
        elif isinstance(value, TensorImpl):
            self.parameters[node.output()] = path
        else:
            self.constant(node, value, ".".join(path))

    def constant(self, node: Node, value: object, name: str) -> None:
        with self.graph.insert_point_guard(node):
            try:
                constant = self.graph.insertConstant(
                    value, None if value is None else node.output().type()
                )
            except TypeError:
                raise RuntimeError(
                    f"the attribute '{name}' is a {type(value).__name__}, which archives of "
                    "PyTorch 1.0.1 have no place for"
                ) from None
        node.output().replaceAllUsesWith(constant)

    # Operators

    def operators(self) -> None:
        for node in list(all_nodes(self.graph.block())):
            if node.kind() == "prim::Constant" or (
                node.kind() == "prim::ListConstruct" and node.inputsSize() > 1
            ):
                self.spell_out(node)
        for node in list(all_nodes(self.graph.block())):
            if node.kind() == "prim::Uninitialized":
                with self.graph.insert_point_guard(node):
                    self.replace(node, placeholder(self.graph, node.output().type()))
            elif node.kind() in DECOMPOSED:
                place = (
                    self.graph.insert_point_guard(node),
                    self.graph.scope_guard(node.scopeName()),
                )
                with place[0], place[1], self.graph.source_range_guard(node.sourceRange()):
                    value = DECOMPOSED[node.kind()](self.graph, node)
                if value is not None:
                    self.replace(node, value)
        for node in list(all_nodes(self.graph.block())):
            self.operator(node)
        for fork, inside in self.started.items():
            self.forked[fork] = inside.started_method(fork)

    def started_method(self, fork: Node) -> Method:
        """The method that a fork starts, without the inputs that were modules."""
        for i in range(fork.inputsSize() - 1, -1, -1):
            if isinstance(fork.inputsAt(i).type(), ClassType):
                fork.removeInput(i)
                for node in reversed(self.graph.findAllNodes("prim::GetAttr")):
                    if not node.hasUses():
                        node.destroy()
                self.graph.eraseInput(i)
        decide_branches(self.graph)
        self.operators()
        schema = schema_of_graph("__forked_function", self.graph)
        return Method("__forked_function", self.graph, schema, {}, self.schemas, self.forked)

    def spell_out(self, node: Node) -> Value:
        """A list of lists or tuples is filled one by one: 1.0.1 took no two types for equal but
        those of simple values.

        Returns the value that stands for the node's output then.
        """
        list_of = node.output()
        type = list_of.type()
        if not isinstance(type, ListType) or not isinstance(type.element, (ListType, TupleType)):
            return list_of
        elements: list[Any] = list_of.toIValue() if list_of.isConstant() else node.inputs()
        with self.graph.insert_point_guard(node):
            filled = self.graph.insert("prim::ListConstruct").setType(type)
            for element in elements:
                if not isinstance(element, Value):
                    element = self.spell_out(
                        self.graph.insertConstant(element, type.element).node()
                    )
                self.graph.insert("aten::append", [filled, element]).setType(type)
        self.replace(node, filled)
        return filled

    def replace(self, node: Node, value: Value) -> None:
        name = base_name(node.output().debugName()) if node.output().hasDebugName() else ""
        node.output().replaceAllUsesWith(value)
        node.destroy()
        if name and not value.isConstant() and not value.hasDebugName():
            value.setDebugName(name)

    def operator(self, node: Node) -> None:
        kind = node.kind()
        if kind == "prim::RaiseException":
            for i in range(1, node.inputsSize()):
                node.removeInput(i)
            self.schemas[node] = call_101(node).schema
        elif kind in ("prim::unchecked_cast", "aten::_unwrap_optional"):
            if not isinstance(node.input().type(), OptionalType):
                self.replace(node, node.input())
            else:
                self.renamed(node, "aten::_unwrap_optional")
        elif kind.startswith("^"):
            raise RuntimeError(
                f"could not export python function call {kind[1:]}. Remove calls to python "
                "functions before export."
            )
        elif kind not in SPECIAL:
            on_list = node.inputsSize() > 0 and isinstance(node.inputsAt(0).type(), ListType)
            self.renamed(
                node, (RENAMED_ON_LISTS.get(kind) if on_list else RENAMED.get(kind)) or kind
            )

    def renamed(self, node: Node, kind: str) -> None:
        """Put a node in the place of `node` that calls what 1.0.1 had."""
        schema, arguments = call_101(node, kind)
        with self.graph.insert_point_guard(node):
            values = [
                a if isinstance(a, Value) else self.graph.insertConstant(a) for a in arguments
            ]
            new = self.graph.insertNode(self.graph.create(kind, values, node.outputsSize()))
        new.copyMetadata(node)
        names = [base_name(v.debugName()) if v.hasDebugName() else "" for v in node.outputs()]
        for old, value in zip(node.outputs(), new.outputs()):
            value.setType(old.type())
            old.replaceAllUsesWith(value)
        node.destroy()
        for value, name in zip(new.outputs(), names):
            if name:
                value.setDebugName(name)
        self.schemas[new] = schema


def decide_branches(graph: Graph) -> None:
    """An If whose condition only depends on constants becomes the arm that is taken; what is not
    needed any more goes.
    """
    changed = False
    while (decided := _decided_branch(graph)) is not None:
        node, taken = decided
        splice(node.blocks()[0 if taken else 1], node)
        changed = True
    if changed:
        dce(graph)


def _decided_branch(graph: Graph) -> tuple[Node, bool] | None:
    seen: dict[Value, Any] = {}
    for node in graph.findAllNodes("prim::If"):
        condition = known(node.input(), seen)
        if condition is not None:
            return node, bool(condition)
    return None


def known(value: Value, seen: dict[Value, Any]) -> Any:
    """The number or string that a value surely is, from constants alone; None if it is not known.
    `seen` are answers given.
    """
    if value not in seen:
        seen[value] = _known(value, seen)
    return seen[value]


def _known(value: Value, seen: dict[Value, Any]) -> Any:
    node, kind = value.node(), value.node().kind()
    if value.isConstant():
        constant = value.toIValue()
        return constant if isinstance(constant, SCALARS) else None
    if kind in ("aten::__is__", "aten::__isnot__"):
        same = _both_none(*node.inputs())
        return same if same is None or kind == "aten::__is__" else not same
    if (
        not isinstance(value.type(), (BoolType, IntType, FloatType))
        or node.blocks()
        or not node.inputs()
    ):
        return None
    if node.operator() is None or node.hasSideEffects() or node.isNondeterministic():
        return None
    inputs = [known(v, seen) for v in node.inputs()]
    if any(v is None for v in inputs):
        return None
    try:
        return node.operator().fn(*inputs)  # type: ignore[union-attr]
    except Exception:  # it is raised where the node stands, if that is ever run
        return None


def _both_none(a: Value, b: Value) -> bool | None:
    """Whether `a is b`, where one of them is None; None if that depends."""
    none = [v.isConstant() and v.toIValue() is None for v in (a, b)]
    depends = any(isinstance(v.type(), OptionalType) and not n for v, n in zip((a, b), none))
    return None if depends or not any(none) else all(none)


def placeholder(graph: Graph, type: Type) -> Value:
    """A value of a type, which nobody will look at."""
    simple: tuple[tuple[Any, Any], ...] = (
        ((OptionalType, NoneType), None), (BoolType, False), ((IntType, NumberType), 0),
        (FloatType, 0.0), (StringType, ""), (DeviceObjType, device("cpu")),
    )  # fmt: skip
    for kinds, value in simple:
        if isinstance(type, kinds):
            return graph.insertConstant(value, type if value is None else None)
    if isinstance(type, TensorType):
        size = graph.insert("prim::ListConstruct", [0]).setType(ListType(IntType.get()))
        made = graph.insert("aten::zeros", [size, 6, 0, device("cpu"), False])
        return made.setType(type)
    if isinstance(type, ListType):
        return graph.insert("prim::ListConstruct").setType(type)
    if isinstance(type, TupleType):
        parts = [placeholder(graph, t) for t in type.elements]
        return graph.insert("prim::TupleConstruct", parts).setType(type)
    raise _no_type(type)


def _no_type(type: Type) -> RuntimeError:
    return RuntimeError(f"PyTorch 1.0.1 had no type {type.annotation_str}")


def _check_types(function: ScriptFunction, graph: Graph) -> None:
    """Dicts, classes, named tuples, complex numbers: none of them existed."""
    for argument in (
        *function.schema.arguments[int(function.is_method) :],
        *function.schema.returns,
    ):
        if isinstance(argument.type, TupleType) and argument.type.names:
            raise RuntimeError(
                f"PyTorch 1.0.1 had no named tuples: {argument.type.annotation_str} in "
                f"'{function.name}'"
            )
    values = [v for n in all_nodes(graph.block()) for v in n.outputs()]
    for value in (*graph.inputs()[int(function.is_method) :], *values):
        if value.type() not in CHECKED and value.hasUses():
            _check_type(value.type())


CHECKED = {BoolType.get(), IntType.get(), FloatType.get(), StringType.get(), TensorType.get()}


def _check_type(type: Type) -> None:
    if isinstance(type, (DictType, ClassType)) or type.kind() in (
        "ComplexType",
        "AnyType",
        "UnionType",
        "EnumType",
    ):
        raise _no_type(type)
    for inner in type.containedTypes():
        _check_type(inner)
