"""From the typed tree to the graph: the compiler's table of contents (`struct to_ir`,
`torch/csrc/jit/frontend/ir_emitter.cpp`).

`compile_def` makes the graph of one function in three steps.

1. Emit. Walk the statements in order, and add nodes for every expression. Names are read and
   written by `prim::Load` and `prim::Store` (`environment.py`); `return`, `break` and `continue`
   are nodes, too.
       emit_statements.py    if, return, raise, assert, with, del
       emit_loops.py         for, while, comprehensions
       emit_assignments.py   =, +=, unpacking
       emit_expressions.py   operators, literals, calls
       emit_subscripts.py    x[...]
       emit_special_forms.py calls that are not calls: range, zip, isinstance, list, dict,
                             annotate, fork
       refinement.py         conditions, and what follows from them about types
   `sugared_values.py` has what a part of an expression may be besides a value;
   `schema_matching.py` chooses the overload of an operator, and converts the arguments for it.
2. Remove names and exits: `convert_to_ssa.py`, `exit_transforms.py`, `loop_forms.py`.
3. Clean up: `cleanup.py`.

`steps.py` shows the graph after each of them.

How the real one differs: with its own parser of Python text, it can also compile nested functions
(closures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    AnyType,
    Block,
    DictType,
    FunctionType,
    Graph,
    ListType,
    Node,
    NoneType,
    SourceRange,
    TupleType,
    Type,
    Value,
)
from internals.jit.schema import Argument, FunctionSchema

from . import recursion, tree
from .builtin_calls import emit_builtin_call
from .cleanup import clean_up
from .convert_to_ssa import convert_to_ssa
from .emit_expressions import emit_if_expr, emit_sugared
from .emit_statements import emit_return, emit_statements
from .environment import Environment, meaningful
from .error_report import at, compiling, error
from .fork import lift_forks
from .globals import builtin_name
from .loop_forms import canonicalize_modified_loops, first_node
from .python_values import to_sugared_value
from .schema_matching import NamedValue
from .signatures import schema_of_def, type_of_annotation
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

    from .refinement import Condition

Resolver = Callable[[str], Any]  # may also have what `archive_names.Namespace` has
MakeSelf = Callable[[Value], SugaredValue]
Watch = Callable[[str, Graph], None]  # called with the name of each finished step (`steps.py`)


def compile_def(
    definition: tree.Def,
    resolver: Resolver,
    *,
    name: str | None = None,
    self_type: Type | None = None,
    make_self: MakeSelf | None = None,
    defaults: dict[str, Any] | None = None,
) -> Graph:
    """The graph of a function; of a method of `self_type`, if that is given.

    `resolver(name)` returns the Python object that a name refers to where the function was defined,
    or raises NameError. Raises RuntimeError, with the line in question, if the function cannot be
    compiled.
    """
    return compile_with_schema(
        definition, resolver, name=name, self_type=self_type, make_self=make_self, defaults=defaults
    )[0]


def compile_with_schema(
    definition: tree.Def,
    resolver: Resolver,
    *,
    name: str | None = None,
    self_type: Type | None = None,
    make_self: MakeSelf | None = None,
    defaults: dict[str, Any] | None = None,
    is_builtin: bool = False,
    watch: Watch = lambda step, graph: None,
) -> tuple[Graph, FunctionSchema]:
    """The graph of a function (see `compile_def`) and its schema: the names, types and default
    values of the arguments, and the return type.

    `make_self` returns the sugared value of a method's first argument; by default it is a plain
    value of type `self_type`. `is_builtin` is for the functions of `builtin_calls.py`.
    """
    called = name or definition.name.name
    if self_type is not None:
        called = f"{getattr(self_type, 'name', lambda: '')().rpartition('.')[2]}.{called}"
    with compiling(called, definition.range):
        c = Compiler(resolver, name or definition.name.name, is_builtin)
        schema = c.emit_def(definition, self_type, make_self, defaults or {})
        watch("emitted", c.graph)
        convert_to_ssa(c.graph, watch)
        # these need SSA form, in which all values that a loop or a fork uses are known
        canonicalize_modified_loops(c.graph.block())
        lift_forks(c.graph)
        clean_up(c.graph)
        watch("cleaned up", c.graph)
    return c.graph, schema


@dataclass
class DefContext:
    """The return type of the function being compiled, as far as it is known."""

    declared: Type | None = None
    merged: Type | None = None  # of the returns met so far


class Compiler:
    """The state while one function is compiled, and the small steps that all parts of the compiler
    share. The parts are functions with the compiler as their first argument, `c`.
    """

    def __init__(self, resolver: Resolver, name: str, is_builtin: bool = False) -> None:
        self.resolver, self.name, self.is_builtin = resolver, name, is_builtin
        self.graph = Graph()
        self.environment = Environment(self, self.graph.block())
        self.literals: dict[Any, Value] = {}
        self.exited_blocks: set[Block] = set()  # blocks that end early, by a return or a raise
        self.loop = ""  # the innermost loop, which a `break` would leave: "", "loop", "unrolled"
        self.context = DefContext()
        self.self_value: SugaredValue | None = None  # of a method
        self._temporaries = 0

    # The function as a whole.

    def emit_def(
        self,
        definition: tree.Def,
        self_type: Type | None,
        make_self: MakeSelf | None,
        defaults: dict[str, Any],
    ) -> FunctionSchema:
        """Emit the whole function: its parameters, its statements and its return. Returns its
        schema.
        """
        is_method = self_type is not None
        schema = schema_of_def(self, definition, self_type, defaults)
        self.context = DefContext(schema.returns[0].type if schema.returns else None)
        for i, (param, argument) in enumerate(zip(definition.decl.params, schema.arguments)):
            value = self.graph.addInput()
            if meaningful(argument.name):
                value.setDebugName(argument.name)
            value.setType(argument.type)
            if i == 0 and is_method:
                sugared = make_self(value) if make_self is not None else SimpleValue(value)
                self.self_value = sugared
                self.environment.set(param.name.range, argument.name, sugared)
            else:
                self.environment.set_value(param.name.range, argument.name, value)
        self.emit_statements(definition.body)
        if self.graph.block() not in self.exited_blocks:
            if self.context.declared is not None and not isinstance(
                self.context.declared, NoneType
            ):
                raise error(
                    definition.range,
                    "Function was not annotated as having type None, but does not return along all "
                    "paths",
                )
            emit_return(self, tree.Return(definition.range, tree.NoneLiteral(definition.range)))
        elif self.context.merged is None:  # it always raises
            self.context.merged = self.context.declared or NoneType.get()
        returned = self.context.merged
        assert returned is not None
        # The graph's output, for now: removing the exits puts the values of the `return`s there.
        placeholder = self.add_node("prim::Uninitialized").output().setType(returned)
        self.graph.registerOutput(placeholder)
        return _with_return(schema, returned)

    # Statements and expressions.

    def emit_statements(self, statements: Sequence[tree.Stmt]) -> None:
        emit_statements(self, statements)

    def emit(self, expr: tree.Expr, hint: Type | None = None) -> Value:
        """The value of an expression. `hint` is the type that is expected, which decides for
        example what a `[]` is a list of.
        """
        at(expr.range)
        value = self.emit_sugared(expr, 1, hint).as_value(expr.range, self)
        if isinstance(hint, AnyType) and not isinstance(value.type(), AnyType):
            return self.add_node("prim::unchecked_cast", [value]).output().setType(hint)
        return value

    def emit_sugared(
        self, expr: tree.Expr, n_binders: int, hint: Type | None = None
    ) -> SugaredValue:
        """The meaning of an expression, which need not be a value: a module, a function, a type.
        `n_binders` is the number of names that its results are assigned to.
        """
        return emit_sugared(self, expr, n_binders, hint)

    def emit_if_expr(
        self,
        where: SourceRange,
        condition: Condition,
        true: Callable[[], Value],
        false: Callable[[], Value],
    ) -> Value:
        """The value of `true()` if the condition is true, else that of `false()`."""
        return emit_if_expr(self, where, condition, true, false)

    # Nodes.

    def add_node(
        self,
        kind: str,
        inputs: Sequence[Value] = (),
        num_outputs: int = 1,
        where: SourceRange | None = None,
    ) -> Node:
        """Insert a new node at the insert point. `where` is its range in the source, if that is not
        the range of the statement.
        """
        node = self.graph.insertNode(self.graph.create(kind, inputs, num_outputs))
        if where is not None:
            node.setSourceRange(where)
        return node

    def constant(
        self, value: object, where: SourceRange | None = None, type: Type | None = None
    ) -> Value:
        """Insert a `prim::Constant` at the insert point."""
        out = self.graph.insertConstant(value, type)
        if where is not None:
            out.node().setSourceRange(where)
        return out

    def literal(self, value: complex, where: SourceRange) -> Value:
        """A number in the source. Equal numbers share one constant, at the start of the graph,
        where all blocks can use it.
        """
        key = type(value), repr(value)  # 1, 1.0 and True are equal, 0.0 and -0.0 as well
        if key not in self.literals:
            with self.graph.insert_point_guard(first_node(self.graph.block())):
                self.literals[key] = self.constant(value, where)
        return self.literals[key]

    def function_constant(self, function: ScriptFunction) -> Value:
        """A compiled function as a value, to be the first input of a `prim::CallFunction`."""
        node = self.add_node("prim::Constant").s_("name", function.name)
        return node.output().setType(FunctionType(function))

    def insert(
        self, kind: str, inputs: Sequence[Any], where: SourceRange | None, **kwargs: Any
    ) -> Value:
        """Emit a call of the operator `kind`; its inputs may be values, or Python objects that
        become constants.
        """
        named = [NamedValue(value, where, name) for name, value in kwargs.items()]
        return emit_builtin_call(self, where, kind, [NamedValue(v, where) for v in inputs], named)

    def call_builtin(
        self,
        where: SourceRange | None,
        symbol: str,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue] = (),
        self_value: NamedValue | None = None,
    ) -> Value:
        """Call the operator `symbol` with the arguments of a call in the source."""
        return emit_builtin_call(self, where, symbol, args, kwargs, self_value)

    def list_construct(self, element: Type, values: Sequence[Value]) -> Value:
        return self.add_node("prim::ListConstruct", values).output().setType(ListType(element))

    def dict_construct(self, t: DictType, keys: Sequence[Value], values: Sequence[Value]) -> Value:
        interleaved = [v for pair in zip(keys, values) for v in pair]  # k0, v0, k1, v1, ...
        return self.add_node("prim::DictConstruct", interleaved).output().setType(t)

    def tuple_construct(self, values: Sequence[Value], t: TupleType | None = None) -> Value:
        node = self.add_node("prim::TupleConstruct", values)
        return node.output().setType(t if t is not None else TupleType([v.type() for v in values]))

    def unpack_tuple(self, value: Value) -> list[Value]:
        """The elements of a tuple; of a `prim::TupleConstruct`, its inputs, without a new node."""
        if value.node().kind() == "prim::TupleConstruct":
            return value.node().inputs()
        t = value.type()
        assert isinstance(t, TupleType)
        node = self.add_node("prim::TupleUnpack", [value], len(t.elements))
        return [v.setType(e) for v, e in zip(node.outputs(), t.elements)]

    def named(self, value: Any, where: SourceRange | None = None, name: str = "") -> NamedValue:
        return NamedValue(value, where, name)

    # Names and types.

    def find_global(self, name: str, where: SourceRange) -> SugaredValue | None:
        """The meaning of a name that is not a local: a Python builtin, or what the resolver finds.
        None if it is undefined.
        """
        found = builtin_name(name)
        if found is not None:
            return found
        try:
            obj = self.resolver(name)
        except NameError:
            return None
        return to_sugared_value(obj, self, where, is_constant=True)

    def compiled(self, fn: Callable[..., Any]) -> Any:
        """The compiled form of a Python function that is called; for a recursive call, a mark that
        it is still being compiled.
        """
        return recursion.compile_function(fn)

    def compiled_overloads(self, fn: Callable[..., Any]) -> list[Any]:
        """The compiled forms of a function with several signatures."""
        return recursion.compile_overloads(fn)

    def upgrades(self, symbol: str) -> dict[str, Any]:
        """For the code of an old archive: the overloads of an operator whose meaning has changed
        since, by name, with functions that do what they did then. Otherwise empty.
        """
        find = getattr(self.resolver, "upgrades", None)
        return {} if find is None else find(symbol)

    def check_operator(self, symbol: str, where: SourceRange | None) -> None:
        """Raises RuntimeError for an operator that this code may not call."""
        check = getattr(self.resolver, "check_operator", None)
        if check is not None:
            check(symbol, where)

    def type_of_annotation(self, expr: tree.Expr) -> Type:
        """The type that an annotation stands for. Raises RuntimeError if it is not a type."""
        return type_of_annotation(self, expr)

    def temporary(self, prefix: str) -> str:
        """A new name; with a `$` in its prefix, it cannot clash with a name of the program."""
        self._temporaries += 1
        return f"{prefix}{self._temporaries - 1}"

    def check_call(self, call: tree.Apply, n_inputs: int) -> None:
        """Raises RuntimeError unless a special form is called with `n_inputs` positional arguments
        and no keywords.
        """
        name = (
            call.callee.name.name if isinstance(call.callee, tree.Var) else call.callee.range.text()
        )
        if len(call.inputs) != n_inputs:
            raise error(
                call.range,
                f"{name} expected exactly {n_inputs} arguments but found {len(call.inputs)}",
            )
        if call.attributes:
            raise error(call.range, f"{name} takes no keyword arguments")

    # Blocks.

    @contextmanager
    def frame(self, block: Block) -> Iterator[Environment]:
        """Within this context, nodes are inserted into `block`, and names are assigned in a new
        `Environment` of its own.
        """
        inner = self.environment = Environment(self, block, self.environment)
        with self.graph.insert_point_guard(block):
            try:
                yield inner
            finally:
                assert inner.outer is not None
                self.environment = inner.outer

    @contextmanager
    def in_loop(self, kind: str) -> Iterator[None]:
        """Within this context, `loop` is `kind`: "loop" or "unrolled"."""
        outer, self.loop = self.loop, kind
        try:
            yield
        finally:
            self.loop = outer


def _with_return(schema: FunctionSchema, returned: Type) -> FunctionSchema:
    return FunctionSchema(schema.name, "", schema.arguments, (Argument("", returned),))
