"""Lowers a method to the form that PyTorch 1.0.1 saved: one graph of the operators of that version,
in which the module's tensors are inputs named `self.conv1.weight`.

| today                                                   | in 1.0.1                               |
|---------------------------------------------------------|----------------------------------------|
| calls of methods and functions                          | their bodies: every call was inlined   |
| `prim::GetAttr[name="weight"]` of                       | an input of the graph, printed as      |
| `prim::GetAttr[name="fc"](self)`                        | `self.fc.weight`                       |
| a non-tensor attribute                                  | a constant, which is allowed as long   |
|                                                         | as no method sets it                   |
| an `if` that such a constant decides                    | the arm that is taken                  |
| an operator                                             | its overload then (`operators.py`), or |
|                                                         | the ones it consists of                |
|                                                         | (`decompose.py`)                       |
| `prim::Uninitialized`, which is never read              | some constant of the type              |

How the real one differs: the compiler of 1.0.1 produced such graphs directly; there is no lowering.
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

# These are printed as syntax (`if`, `(a, b)`, `x[0]`), not as calls, so they need no schema.
SPECIAL = {
    "prim::Constant", "prim::If", "prim::Loop", "prim::TupleConstruct", "prim::TupleUnpack",
    "prim::TupleIndex", "prim::TupleSlice", "prim::ListConstruct", "prim::ListUnpack",
    "prim::Print", "prim::GetAttr", "prim::fork", "aten::wait",
}  # fmt: skip
# today's name -> the name in 1.0.1
RENAMED = {
    "aten::Bool": "prim::Bool", "aten::Int": "prim::Int", "aten::Float": "prim::Float",
    "aten::IntImplicit": "prim::ImplicitTensorToNum",
    "aten::FloatImplicit": "prim::ImplicitTensorToNum",
    "aten::ScalarImplicit": "prim::ImplicitTensorToNum", "aten::maximum": "aten::max",
    "aten::minimum": "aten::min", "aten::outer": "aten::ger",
}  # fmt: skip
RENAMED_ON_LISTS = {"aten::__getitem__": "aten::select"}
# the constants that `decide_branches` computes with
SCALARS = (bool, int, float, str, type(None))


class Method(NamedTuple):
    """A lowered method. `parameters` are the graph's inputs that are tensors of the module, with
    their attribute path; `schemas` the 1.0.1 schema that each node calls; `forked` the method that
    each fork starts."""

    name: str
    graph: Graph
    schema: FunctionSchema
    parameters: dict[Value, Path]
    schemas: dict[Node, FunctionSchema]
    forked: dict[Node, Method]


def method_101(function: ScriptFunction, module: ScriptModule | None = None) -> Method:
    """Lowers a compiled function, or a method of `module`, leaving the original unchanged.

    Raises RuntimeError for anything that 1.0.1 could not express, and names it.
    """
    graph = function.graph.copy()
    inline(graph)
    lowering = _Lowering(graph)
    # Attributes first: once they are constants, more branches are decided, and operators in the
    # branches that vanish need not exist in 1.0.1.
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
    """The steps of `method_101` on one graph, and on those of its forks (`started`)."""

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
        """Follows every attribute that the graph reads from `self`: a tensor is recorded with its
        path, another value becomes a constant.
        """
        owner = self.graph.inputs()[0]
        self.members(owner, module, ())

    def members(self, value: Value, module: Any, path: Path) -> None:
        """Follows the uses of `value`, which is the submodule `module` at `path`."""
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
        """Appends one input for each tensor of the module that is read, and drops the GetAttrs."""
        inputs: dict[Path, Value] = {}
        for value, path in self.parameters.items():
            if path not in inputs:
                inputs[path] = self.graph.addInput().setType(value.type())
            value.replaceAllUsesWith(inputs[path])
        # Backwards: `self.fc.weight` has to go before `self.fc`, which it uses.
        for node in reversed(self.graph.findAllNodes("prim::GetAttr")):
            if not node.hasUses():
                node.destroy()
        self.parameters = {value: path for path, value in inputs.items()}

    def hand_over(self, fork: Node, offset: int, module: Any, path: Path) -> None:
        """Passes the tensors that a fork reads from a module as arguments, as it cannot take the
        module itself.
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
        inside.parameters.clear()  # they are ordinary inputs of the fork's graph now

    def member(self, node: Node, value: Any, path: Path) -> None:
        """Handles one attribute: the GetAttr `node` reads `value`, which is at `path`."""
        if isinstance(value, ScriptModule):
            self.members(node.output(), value, path)
        elif isinstance(value, TensorImpl):
            self.parameters[node.output()] = path
        else:
            self.constant(node, value, ".".join(path))

    def constant(self, node: Node, value: object, name: str) -> None:
        """Replaces a GetAttr by the value that the attribute has now."""
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
        """Replaces each node by one or more that 1.0.1 had. The lists of nodes are copies, as the
        graph changes in each pass; the last pass also sees the nodes that `DECOMPOSED` inserted.
        """
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
                guards = (
                    self.graph.insert_point_guard(node),
                    self.graph.scope_guard(node.scopeName()),
                )
                with guards[0], guards[1], self.graph.source_range_guard(node.sourceRange()):
                    value = DECOMPOSED[node.kind()](self.graph, node)
                if value is not None:
                    self.replace(node, value)
        for node in list(all_nodes(self.graph.block())):
            self.operator(node)
        for fork, inside in self.started.items():
            self.forked[fork] = inside.started_method(fork)

    def started_method(self, fork: Node) -> Method:
        """Returns the method that a fork starts, without the inputs that were modules."""
        for i in range(fork.inputsSize() - 1, -1, -1):  # backwards: removal shifts what follows
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
        """Builds a list of lists or tuples by appending to an empty one: when it checked that all
        elements of a list have one type, 1.0.1 took only simple types for equal.

        Returns the value that replaces the node's output.
        """
        output = node.output()
        type = output.type()
        if not isinstance(type, ListType) or not isinstance(type.element, (ListType, TupleType)):
            return output
        elements: list[Any] = output.toIValue() if output.isConstant() else node.inputs()
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
        """Uses `value` in place of the node's output; it takes over the name, if it has none."""
        name = base_name(node.output().debugName()) if node.output().hasDebugName() else ""
        node.output().replaceAllUsesWith(value)
        node.destroy()
        if name and not value.isConstant() and not value.hasDebugName():
            value.setDebugName(name)

    def operator(self, node: Node) -> None:
        """Replaces one node by what 1.0.1 called it; raises RuntimeError for what it lacked."""
        kind = node.kind()
        if kind == "prim::RaiseException":  # only the message: it had no class of the exception
            for i in range(1, node.inputsSize()):
                node.removeInput(i)
            self.schemas[node] = call_101(node).schema
        elif kind in ("prim::unchecked_cast", "aten::_unwrap_optional"):
            if not isinstance(node.input().type(), OptionalType):  # not None anyway
                self.replace(node, node.input())
            else:
                self.renamed(node, "aten::_unwrap_optional")
        elif kind.startswith("^"):  # a call of a Python function
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
        """Replaces `node` by a call of `kind` with the arguments of its 1.0.1 schema."""
        schema, arguments = call_101(node, kind)
        with self.graph.insert_point_guard(node):
            values = [
                a if isinstance(a, Value) else self.graph.insertConstant(a) for a in arguments
            ]
            new = self.graph.insertNode(self.graph.create(kind, values, node.outputsSize()))
        new.copyMetadata(node)
        # Names are unique in a graph: the new values can take them only when the old are gone.
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
    """Replaces each If whose condition depends on constants only by the arm that is taken, and
    removes the nodes that are then unused.
    """
    changed = False
    while (decided := _decided_branch(graph)) is not None:
        node, taken = decided
        splice(node.blocks()[0 if taken else 1], node)
        changed = True
    if changed:
        dce(graph)


def _decided_branch(graph: Graph) -> tuple[Node, bool] | None:
    """The first If whose condition is known, with that condition."""
    seen: dict[Value, Any] = {}
    for node in graph.findAllNodes("prim::If"):
        condition = known(node.input(), seen)
        if condition is not None:
            return node, bool(condition)
    return None


def known(value: Value, seen: dict[Value, Any]) -> Any:
    """The number or string that a value is in every run, as constants alone decide it; None if it
    is not known. `seen` caches the answers.
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
    # Anything else is computed: a pure operator on known scalars.
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
    except Exception:  # `1 / 0`: the node stays, and raises if it is ever run
        return None


def _both_none(a: Value, b: Value) -> bool | None:
    """Whether `a is b`, where one of them is None; None if that is known only at run time."""
    none = [v.isConstant() and v.toIValue() is None for v in (a, b)]
    depends = any(isinstance(v.type(), OptionalType) and not n for v, n in zip((a, b), none))
    return None if depends or not any(none) else all(none)


def placeholder(graph: Graph, type: Type) -> Value:
    """Inserts some value of a type, for a `prim::Uninitialized` that is never read."""
    simple: tuple[tuple[Any, Any], ...] = (
        ((OptionalType, NoneType), None), (BoolType, False), ((IntType, NumberType), 0),
        (FloatType, 0.0), (StringType, ""), (DeviceObjType, device("cpu")),
    )  # fmt: skip
    for types, value in simple:
        if isinstance(type, types):
            return graph.insertConstant(value, type if value is None else None)
    if isinstance(type, TensorType):
        size = graph.insert("prim::ListConstruct", [0]).setType(ListType(IntType.get()))
        # dtype 6 is float32, layout 0 is strided
        zeros = graph.insert("aten::zeros", [size, 6, 0, device("cpu"), False])
        return zeros.setType(type)
    if isinstance(type, ListType):
        return graph.insert("prim::ListConstruct").setType(type)
    if isinstance(type, TupleType):
        parts = [placeholder(graph, t) for t in type.elements]
        return graph.insert("prim::TupleConstruct", parts).setType(type)
    raise _no_type(type)


def _no_type(type: Type) -> RuntimeError:
    return RuntimeError(f"PyTorch 1.0.1 had no type {type.annotation_str}")


def _check_types(function: ScriptFunction, graph: Graph) -> None:
    """Raises RuntimeError for a value whose type 1.0.1 lacked: dicts, classes, named tuples and
    complex numbers, among others."""
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


# the types of almost all values, which are known to be fine
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
