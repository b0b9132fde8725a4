"""From the typed tree to the graph: the compiler's table of contents (`struct to_ir`,
`torch/csrc/jit/frontend/ir_emitter.cpp`).

`compile_def` makes the graph of one function in three steps.

1. Emit. Walk the statements, in order; give every expression its nodes. Names are read and written
   by `prim::Load` and `prim::Store` (`environment.py`); `return`, `break` and `continue` are nodes
   that leave.
       emit_statements.py    if, return, raise, assert, with, del
       emit_loops.py         for, while, comprehensions
       emit_assignments.py   =, +=, unpacking
       emit_expressions.py   operators, literals, calls
       emit_subscripts.py    x[...]
       emit_special_forms.py calls that are not calls: range, zip, isinstance, list, dict,
                             annotate, fork
       refinement.py         conditions, and what they tell about types
   What the parts of an expression may be besides values is in `sugared_values.py`; which overload
   of an operator a call means, and what is converted for it, in `schema_matching.py`.
2. Get rid of names and exits: `convert_to_ssa.py`, `exit_transforms.py`, `loop_forms.py`.
3. Clean up: `cleanup.py`.

`steps.py` shows the graph after each of them.

How the real one differs: it can also compile nested functions (closures) when it is fed by its own
parser of Python text.
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
Watch = Callable[[str, Graph], None]  # told the name of each step when it is done (`steps.py`)


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

    `resolver(name)` gives the Python object a name means where the function was defined, or raises
    NameError. Raises RuntimeError that shows the place, for whatever cannot be compiled.
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
    """`compile_def` with the schema it found: names and types of the arguments, `defaults`, and the
    type of what is returned.

    `make_self` makes the sugared value of the first argument of a method; by default it is an
    object of `self_type`.
    """
    called = name or definition.name.name
    if self_type is not None:
        called = f"{getattr(self_type, 'name', lambda: '')().rpartition('.')[2]}.{called}"
    with compiling(called, definition.range):
        c = Compiler(resolver, name or definition.name.name, is_builtin)
        schema = c.emit_def(definition, self_type, make_self, defaults or {})
        watch("emitted", c.graph)
        convert_to_ssa(c.graph, watch)
        canonicalize_modified_loops(c.graph.block())
        lift_forks(c.graph)
        clean_up(c.graph)
        watch("cleaned up", c.graph)
    return c.graph, schema


@dataclass
class DefContext:
    """What is known of the type that the function being compiled returns."""

    declared: Type | None = None
    merged: Type | None = None  # of the returns met so far


class Compiler:
    """The state of compiling one function, and the small steps that all parts of the compiler
    share.
    """

    def __init__(self, resolver: Resolver, name: str, is_builtin: bool = False) -> None:
        self.resolver, self.name, self.is_builtin = resolver, name, is_builtin
        self.graph = Graph()
        self.environment = Environment(self, self.graph.block())
        self.literals: dict[Any, Value] = {}
        self.left_blocks: set[Block] = set()  # what follows in these is not reached
        self.loop = ""  # "", "loop" or "unrolled": what a `break` would leave
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
        if self.graph.block() not in self.left_blocks:
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
        placeholder = self.add_node("prim::Uninitialized").output().setType(returned)
        self.graph.registerOutput(placeholder)
        return _with_return(schema, returned)

    # Statements and expressions.

    def emit_statements(self, statements: Sequence[tree.Stmt]) -> None:
        emit_statements(self, statements)

    def emit(self, expr: tree.Expr, hint: Type | None = None) -> Value:
        """The value of an expression. `hint` is the type it is wanted for: `[]` is a list of
        that.
        """
        at(expr.range)
        value = self.emit_sugared(expr, 1, hint).as_value(expr.range, self)
        if isinstance(hint, AnyType) and not isinstance(value.type(), AnyType):
            return self.add_node("prim::unchecked_cast", [value]).output().setType(hint)
        return value

    def emit_sugared(
        self, expr: tree.Expr, n_binders: int, hint: Type | None = None
    ) -> SugaredValue:
        """What an expression is, which need not be a value."""
        return emit_sugared(self, expr, n_binders, hint)

    def emit_if_expr(
        self,
        where: SourceRange,
        condition: Condition,
        true: Callable[[], Value],
        false: Callable[[], Value],
    ) -> Value:
        return emit_if_expr(self, where, condition, true, false)

    # Nodes.

    def add_node(
        self,
        kind: str,
        inputs: Sequence[Value] = (),
        num_outputs: int = 1,
        where: SourceRange | None = None,
    ) -> Node:
        """A new node at the insert point; `where` if that is another place than that of the
        statement.
        """
        node = self.graph.insertNode(self.graph.create(kind, inputs, num_outputs))
        if where is not None:
            node.setSourceRange(where)
        return node

    def constant(
        self, value: object, where: SourceRange | None = None, type: Type | None = None
    ) -> Value:
        """A `prim::Constant` here."""
        out = self.graph.insertConstant(value, type)
        if where is not None:
            out.node().setSourceRange(where)
        return out

    def literal(self, value: complex, where: SourceRange) -> Value:
        """A number in the source: one constant in the whole function, before all else."""
        key = type(value), repr(value)
        if key not in self.literals:
            with self.graph.insert_point_guard(first_node(self.graph.block())):
                self.literals[key] = self.constant(value, where)
        return self.literals[key]

    def function_constant(self, function: ScriptFunction) -> Value:
        """A compiled function as a value: the callee of `prim::CallFunction`."""
        node = self.add_node("prim::Constant").s_("name", function.name)
        return node.output().setType(FunctionType(function))

    def insert(
        self, kind: str, inputs: Sequence[Any], where: SourceRange | None, **kwargs: Any
    ) -> Value:
        """Call the operator `kind` with values or constants."""
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
        return emit_builtin_call(self, where, symbol, args, kwargs, self_value)

    def list_construct(self, element: Type, values: Sequence[Value]) -> Value:
        return self.add_node("prim::ListConstruct", values).output().setType(ListType(element))

    def dict_construct(self, t: DictType, keys: Sequence[Value], values: Sequence[Value]) -> Value:
        pairs = [v for pair in zip(keys, values) for v in pair]
        return self.add_node("prim::DictConstruct", pairs).output().setType(t)

    def tuple_construct(self, values: Sequence[Value], t: TupleType | None = None) -> Value:
        node = self.add_node("prim::TupleConstruct", values)
        return node.output().setType(t if t is not None else TupleType([v.type() for v in values]))

    def unpack_tuple(self, value: Value) -> list[Value]:
        """The parts of a tuple; of one just made, what it was made of."""
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
        """What a name means that is no local: a Python builtin, or what the resolver finds."""
        found = builtin_name(name)
        if found is not None:
            return found
        try:
            obj = self.resolver(name)
        except NameError:
            return None
        return to_sugared_value(obj, self, where, is_constant=True)

    def compiled(self, fn: Callable[..., Any]) -> Any:
        """What a call of a Python function calls: its compiled form, or the mark that it is being
        compiled.
        """
        return recursion.compile_function(fn)

    def compiled_overloads(self, fn: Callable[..., Any]) -> list[Any]:
        """The compiled forms of a function with several signatures."""
        return recursion.compile_overloads(fn)

    def upgrades(self, symbol: str) -> dict[str, Any]:
        """For code of an older version: overloads of an operator that meant something else then, by
        name, and what they meant.
        """
        find = getattr(self.resolver, "upgrades", None)
        return {} if find is None else find(symbol)

    def check_operator(self, symbol: str, where: SourceRange | None) -> None:
        """Raises RuntimeError for an operator that this code may not call."""
        check = getattr(self.resolver, "check_operator", None)
        if check is not None:
            check(symbol, where)

    def type_of_annotation(self, expr: tree.Expr) -> Type:
        """The type an annotation means. Raises RuntimeError if it means none."""
        return type_of_annotation(self, expr)

    def temporary(self, prefix: str) -> str:
        """A name that no program can use."""
        self._temporaries += 1
        return f"{prefix}{self._temporaries - 1}"

    def check_call(self, call: tree.Apply, n_inputs: int) -> None:
        """A special form takes this many arguments, none by keyword."""
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
        """Emit into `block`; names assigned meanwhile are its own."""
        inner = self.environment = Environment(self, block, self.environment)
        with self.graph.insert_point_guard(block):
            try:
                yield inner
            finally:
                assert inner.outer is not None
                self.environment = inner.outer

    @contextmanager
    def in_loop(self, kind: str) -> Iterator[None]:
        outer, self.loop = self.loop, kind
        try:
            yield
        finally:
            self.loop = outer


def _with_return(schema: FunctionSchema, returned: Type) -> FunctionSchema:
    return FunctionSchema(schema.name, "", schema.arguments, (Argument("", returned),))
