"""The registry of all operators that a graph may call (`torch/csrc/jit/runtime/operator.h`,
`operator.cpp`).

    find_operators("aten::add")              # every overload: those of tensors first, then those of
                                             # numbers, lists, strings
    find_operator("aten::add.Tensor")        # one of them
    operator_for(node)                       # the overload that fits a node's kind and the types
                                             # of its inputs
    register_operator("my::twice(int a) -> int", lambda a: 2 * a)

An operator is a schema and a function of run-time values in the schema's order. There are two
sorts. The operators of the dispatcher (from `native_functions/`, or defined at any time by
`internals.library`) are taken over as they are: the function is the generated one. The others exist
only for the JIT, because Python does their work where there is no graph: arithmetic of numbers,
methods of lists, dicts and strings, properties of tensors. They are in the files beside this one.

In the IR a dtype, layout or memory format is an int. Functions of the dispatcher take objects, so
for operators with such an argument, and only for those, a wrapper converts it.

How the real one differs: an operator pops its arguments off a stack and pushes its results; and
selective builds omit the operators that a model does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.jit.ir.enums import OBJECTS
from internals.jit.ir.node import Node
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import ListType, Type
from internals.jit.schema import FunctionSchema
from internals.jit.schema_parser import parse_schema
from internals.jit.type_variables import evaluate, match_type_variables

from .overload_order import overload_order

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Operator:
    """One overload. `name` is "aten::add.Tensor"; the schema is parsed, and the function looked
    up, on first use: there are some thousands, of which a program needs few.

    `handle` is the dispatcher's operator, None for one that only the JIT has.
    """

    __slots__ = ("name", "text", "handle", "_schema", "_fn")

    def __init__(
        self, text: str, fn: Function | None = None, handle: OperatorHandle | None = None
    ) -> None:
        self.text, self.handle, self._fn = text, handle, fn
        head = text.partition("(")[0]
        self.name = head if "::" in head else f"aten::{head}"
        self._schema: FunctionSchema | None = None

    @property
    def schema(self) -> FunctionSchema:
        if self._schema is None:
            self._schema = parse_schema(self.text)
        return self._schema

    @property
    def fn(self) -> Function:
        """The function of run-time values in the schema's order. It returns the value, a tuple for
        several, None for none.
        """
        if self._fn is None:
            assert self.handle is not None
            self._fn = _callable_with_ir_values(self.handle, self.schema)
        return self._fn

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"


class _Registry:
    """Operators by symbol. The dispatcher's may be defined and removed at any time, so what is
    cached of them is dropped when the dispatcher's `version` has changed.
    """

    def __init__(self) -> None:
        self.jit_only: dict[str, list[Operator]] = {}
        self.orders = overload_order()
        # Caches: `find`, `taken_over` and `operator_for`.
        self.by_symbol: dict[str, list[Operator]] = {}
        self.known: dict[OperatorHandle, Operator] = {}
        self.matched: dict[tuple[str, tuple[Type, ...]], Operator | None] = {}
        self.version = 0  # the dispatcher's, for which the caches hold

    def register(self, text: str, fn: Function) -> Operator:
        """Add an operator. Raises RuntimeError if there is one of the same name and overload."""
        operator = Operator(text, fn)
        symbol = operator.name.partition(".")[0]
        if any(o.name == operator.name for o in self.jit_only.get(symbol, ())):
            raise RuntimeError(
                f"Tried to register an operator ({text}) with the same name and overload name "
                "multiple times."
            )
        self.jit_only.setdefault(symbol, []).append(operator)
        self.forget()
        return operator

    def find(self, symbol: str) -> list[Operator]:
        """The overloads of a symbol, in the order in which they are tried."""
        if self.version != dispatcher.operators.version:
            self.forget()
        found = self.by_symbol.get(symbol)
        if found is None:
            found = [self.taken_over(handle) for handle in dispatcher.operators.overloads(symbol)]
            found += self.jit_only.get(symbol, [])
            if symbol in self.orders:
                _sort(found, self.orders[symbol])
            self.by_symbol[symbol] = found
        return found

    def taken_over(self, handle: OperatorHandle) -> Operator:
        """The operator for a handle of the dispatcher, the same one each time."""
        known = self.known.get(handle)
        return known or self.known.setdefault(handle, Operator(handle.text, handle=handle))

    def forget(self) -> None:
        """Drop the caches, which then hold for the dispatcher's operators as they are now.

        An operator that was found is kept, for its parsed schema and its function: `taken_over`
        returns it again if the dispatcher still has its handle. Those that were kept the last time
        but not found since are dropped.
        """
        self.known = {o.handle: o for found in self.by_symbol.values() for o in found if o.handle}
        self.by_symbol.clear()
        self.matched.clear()
        self.version = dispatcher.operators.version


def _sort(operators: list[Operator], order: list[str]) -> None:
    """Sort by the names of the overloads as in `order`, where "-" is the one without a name;
    overloads that it does not mention come last.
    """
    place = {name: i for i, name in enumerate(order)}
    operators.sort(key=lambda o: place.get(o.name.partition(".")[2] or "-", len(place)))


_registry = _Registry()


def find_operators(symbol: str) -> list[Operator]:
    """All overloads of a symbol ("aten::add"), in the order in which the compiler tries them; an
    empty list for an unknown symbol.
    """
    return list(_registry.find(symbol))


def find_operator(name: str) -> Operator:
    """The operator with this name and overload name: "aten::add.Tensor". Raises RuntimeError if
    there is none.
    """
    for operator in _registry.find(name.partition(".")[0]):
        if operator.name == name:
            return operator
    known = ", ".join(o.name for o in _registry.find(name.partition(".")[0]))
    raise RuntimeError(
        f"Could not find schema for {name}" + (f"; the overloads are {known}" if known else "")
    )


def all_operators() -> list[Operator]:
    """Every operator, of the dispatcher and of the JIT alone."""
    symbols = dict.fromkeys(name.partition(".")[0] for name in dispatcher.operators)
    symbols |= dict.fromkeys(_registry.jit_only)
    return [o for symbol in symbols for o in _registry.find(symbol)]


def operator_for(node: Node) -> Operator | None:
    """The overload that `node` calls: the first whose arguments accept its inputs, one for one,
    without conversions; None for control flow and other kinds that are not operators.

    `Node.operator` caches the answer until an input or a type changes.
    """
    kind = node.kind()
    candidates = _registry.find(kind)
    if not candidates:
        return None
    types = tuple(
        [_ANY_TENSOR if isinstance(t, TensorType) else t for t in (v.type() for v in node.inputs())]
    )
    key = kind, types  # shapes do not matter for the choice, so few keys serve all nodes
    if key not in _registry.matched:
        # In a node, `max(x, y)` and `max(x, out=y)` look alike: overloads with `out` come last.
        ordered = sorted(candidates, key=lambda o: any(a.is_out for a in o.schema.arguments))
        _registry.matched[key] = next((o for o in ordered if accepts(o.schema, types)), None)
    return _registry.matched[key]


def accepts(schema: FunctionSchema, types: tuple[Type, ...]) -> bool:
    """Whether a node whose inputs have these types can be a call of `schema` (`Node::matches`). A
    node has an input for every argument, so defaults do not count.
    """
    formals = schema.arguments
    if len(types) < len(formals) or (len(types) > len(formals) and not schema.is_vararg):
        return False
    env: dict[str, Type] = {}  # type variables of the schema, as bound by the inputs so far
    for formal, actual in zip(formals, types):
        if match_type_variables(formal.type, actual, env) is not None:
            return False
        if not actual.isSubtypeOf(evaluate(formal.type, env) or formal.type):
            return False
    return True


def register_operator(schema_text: str, fn: Function) -> Operator:
    """Add an operator for the JIT alone. Raises RuntimeError if there is one of that name already,
    and for a text that is not a schema.
    """
    return _registry.register(schema_text, fn)


def register_operators(functions: Mapping[str, Function]) -> None:
    """Add an operator for each schema and its function."""
    for schema_text, fn in functions.items():
        register_operator(schema_text, fn)


def op(*schema_texts: str) -> Callable[[F], F]:
    """Decorator: the function implements these operators."""

    def register(fn: F) -> F:
        for text in schema_texts:
            register_operator(text, fn)
        return fn

    return register


_ANY_TENSOR = TensorType.get()


def _callable_with_ir_values(handle: OperatorHandle, schema: FunctionSchema) -> Function:
    """Returns the function that calls a dispatcher's operator with values of the IR: ints for
    dtypes, and lists for tuples of tensors.
    """
    fn: Function = handle.call
    places = [(i, OBJECTS[a.enum]) for i, a in enumerate(schema.arguments) if a.enum]
    if places:
        fn = _with_objects(fn, places)
    if len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType):
        fn = _with_a_list(fn)
    return fn


def _with_objects(fn: Function, places: list[tuple[int, dict[int, Any]]]) -> Function:
    """Returns `fn` with the ints at the arguments `places` replaced by dtypes, layouts and memory
    formats.
    """

    def call(*args: Any) -> Any:
        values = list(args)
        for i, objects in places:
            values[i] = objects.get(values[i], values[i])
        return fn(*values)

    return call


def _with_a_list(fn: Function) -> Function:
    """Returns `fn` with its tuple of tensors as a list: a `Tensor[]` of a graph can be appended
    to.
    """
    return lambda *args: list(fn(*args))
