"""Choosing the overload of a call, and converting its arguments
(`torch/csrc/jit/frontend/schema_matching.cpp`).

`torch.add(x, 1)` names the operator `aten::add`, which has many overloads. They are tried in the
order of their registration, in two rounds: first with the arguments as they are, then with implicit
conversions. The first overload that all arguments fit is called. If there is none, the error gives
the reason for each overload.

Some conversions are made in the first round already: a tuple of ints to a list of ints, an int to
`int[2]` (it is repeated), `[]` to a list of any type, a value to an Optional of its type. In the
second round, there are more: a tensor to a number (`aten::IntImplicit`), a `Scalar` to an int or a
float, a bool to an int or a float, a str to a device, and the arguments of `x.view(2, 3)` to a
list.

A node that converts an argument is emitted while an overload is tried, and stays if the overload
does not fit after all; dead code elimination removes it.

How the real one differs: for programs from old files, it also tries schemas of older versions of an
operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    BoolType,
    ComplexType,
    DeviceObjType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    SourceRange,
    StringType,
    TensorType,
    TupleType,
    Type,
    Value,
    VarType,
)
from internals.jit.type_variables import evaluate as substitute, match_type_variables

from .error_report import error, spell

if TYPE_CHECKING:
    from internals.jit.schema import Argument, FunctionSchema

    from .compiler import Compiler


@dataclass
class NamedValue:
    """An argument of a call: a value of the graph or a Python constant, its range in the source,
    and its keyword ("" if positional).
    """

    value: Any
    where: SourceRange | None = None
    name: str = ""

    def get(self, c: Compiler) -> Value:
        """The value in the graph. A Python constant is inserted now."""
        return self.value if isinstance(self.value, Value) else c.constant(self.value)


@dataclass
class Matched:
    """A schema that fits, with the converted arguments in the order of the schema, and the types of
    the results; `return_names` is None unless all of them have names.
    """

    schema: Any
    inputs: list[Value]
    return_types: list[Type]
    return_names: list[str] | None


class _NoMatch(Exception):
    """A schema does not fit. The text, of several lines, says why."""


def match_schema(
    c: Compiler,
    schema: FunctionSchema,
    where: SourceRange,
    args: Sequence[NamedValue],
    kwargs: Sequence[NamedValue],
    self: NamedValue | None = None,
) -> Matched:
    """Match the only schema there is, with conversions. Raises RuntimeError if it does not fit."""
    try:
        return _try_match(c, schema, where, args, kwargs, self, allow_conversions=True)
    except _NoMatch as e:
        raise error(where, str(e)) from None


def match_schemas(
    c: Compiler,
    schemas: Sequence[Any],
    where: SourceRange,
    args: Sequence[NamedValue],
    kwargs: Sequence[NamedValue],
    self: NamedValue | None = None,
) -> tuple[int, Matched]:
    """The index of the first schema that fits, and the match. Raises RuntimeError, with the reason
    for each schema, if none does.
    """
    if len(schemas) == 1:
        return 0, match_schema(c, schemas[0], where, args, kwargs, self)
    for allow_conversions in (False, True):
        reasons = ""
        for i, schema in enumerate(schemas):
            try:
                return i, _try_match(c, schema, where, args, kwargs, self, allow_conversions)
            except _NoMatch as e:
                reasons += str(e)  # those of the second round are reported
    listed = "".join("  " + line for line in reasons.splitlines(keepends=True))
    raise error(
        where,
        f"Arguments for call are not valid.\nThe following variants are available:\n{listed}\nThe "
        "original call is",
    )


def try_convert_to_type(
    c: Compiler, where: SourceRange | None, wanted: Type, value: Value, allow_conversions: bool
) -> Value:
    """`value` after the implicit conversions towards `wanted`. The caller must check whether the
    result has that type: a value that cannot be converted is returned as it is, or converted in
    part.
    """
    have = value.type()
    # any value that is not None fits Optional[T] if it fits T
    if isinstance(wanted, OptionalType) and not isinstance(have, (OptionalType, NoneType)):
        return try_convert_to_type(c, where, wanted.element, value, allow_conversions)
    if value.node().kind() == "prim::EmptyListLiteral" and isinstance(wanted, ListType):
        value = c.list_construct(wanted.element, [])
    if isinstance(have, TupleType):
        value = _convert_tuple(c, where, wanted, value, allow_conversions)
    if not allow_conversions:  # the first round ends here
        return value
    have = value.type()
    if have.isSubtypeOf(TensorType.get()) and type(wanted) in FROM_TENSOR:
        value = c.insert(FROM_TENSOR[type(wanted)], [value], where)
    elif isinstance(have, NumberType) and type(wanted) in FROM_NUMBER:
        value = c.insert(FROM_NUMBER[type(wanted)], [value], where)
    elif isinstance(have, BoolType) and type(wanted) in FROM_BOOL:
        value = c.insert(FROM_BOOL[type(wanted)], [value], where)
    if isinstance(value.type(), StringType) and isinstance(wanted, DeviceObjType):
        value = c.insert("aten::device", [value], where)
    return value


FROM_TENSOR: dict[type, str] = {
    FloatType: "aten::FloatImplicit",
    ComplexType: "aten::ComplexImplicit",
    IntType: "aten::IntImplicit",
    NumberType: "aten::ScalarImplicit",
}
FROM_NUMBER: dict[type, str] = {
    FloatType: "aten::Float",
    ComplexType: "aten::Complex",
    IntType: "aten::Int",
}
FROM_BOOL: dict[type, str] = {
    FloatType: "aten::Float",
    IntType: "aten::Int",
    NumberType: "aten::Int",
}


EMPTY_LISTS = (
    "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create "
    "an empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of "
    "elements in the list for Python 2)"
)


def convertible_to_list(t: Type, wanted: Type) -> bool:
    """Whether `t` is a subtype of the list type `wanted`, or a tuple whose elements all fit it."""
    if not isinstance(wanted, ListType):
        return False
    if t.isSubtypeOf(wanted):
        return True
    return isinstance(t, TupleType) and all(e.isSubtypeOf(wanted.element) for e in t.elements)


def unwrap_optional(t: Type) -> Type:
    return t.element if isinstance(t, OptionalType) else t


# One schema.


def _try_match(
    c: Compiler,
    schema: FunctionSchema,
    where: SourceRange,
    args: Sequence[NamedValue],
    kwargs: Sequence[NamedValue],
    self: NamedValue | None,
    allow_conversions: bool,
) -> Matched:
    """Match the arguments of a call with the formal arguments of one schema. Raises _NoMatch."""

    def fail(reason: str) -> _NoMatch:
        return _NoMatch(f"\n{schema}:\n{reason}")

    if schema.name == "aten::view" and schema.overload_name == "dtype":
        # a dtype is an int in the graph, so `x.view(1)` would match this overload
        raise _NoMatch("")
    variables: dict[str, Type] = {}  # of a generic schema: `t` in `t[]` -> the type it stands for
    inputs: list[Value] = []
    used = 0  # positional arguments so far
    used_kwargs: set[int] = set()
    for i, formal in enumerate(schema.arguments):
        if formal.name == "self" and self is not None:
            actual, self = self, None
        elif not formal.kwarg_only and used < len(args):
            # `x.view(2, 3)`: all remaining arguments are collected in one list
            if (
                allow_conversions
                and _takes_the_rest_as_list(schema, i)
                and _is_not_a_list(args[used].get(c), formal)
            ):
                elements = [
                    _match_argument(
                        c,
                        "<varargs>",
                        _element_of(formal),
                        None,
                        where,
                        rest,
                        allow_conversions,
                        variables,
                        fail,
                    )
                    for rest in args[used:]
                ]
                inputs.append(c.list_construct(_element_of(formal), elements))
                used = len(args)
                continue
            actual = args[used]
            used += 1
        elif (k := find_keyword(formal.name, kwargs, schema.name.startswith("aten::"))) is not None:
            used_kwargs.add(k)
            actual = kwargs[k]
        elif formal.has_default_value():
            actual = NamedValue(_default(c, formal))
        else:
            raise fail(f"Argument {formal.name} not provided.\n")
        n = formal.N
        inputs.append(
            _match_argument(
                c, formal.name, formal.type, n, where, actual, allow_conversions, variables, fail
            )
        )
    if self is not None:
        raise fail("Provided self argument not used in schema.\n")
    if getattr(schema, "is_vararg", False):
        inputs += [a.get(c) for a in args[used:]]
    elif used < len(args):
        raise fail(
            f"Expected at most {used} arguments but found {len(args)} positional arguments.\n"
        )
    for k, given in enumerate(kwargs):
        if k not in used_kwargs:
            known = any(formal.name == given.name for formal in schema.arguments)
            raise fail(
                f"Keyword argument {given.name} {'specified twice' if known else 'unknown'}.\n"
            )
    returns = [substitute(r.type, variables) for r in schema.returns]
    assert all(t is not None for t in returns), f"{schema} has unbound type variables"
    names = [r.name for r in schema.returns]
    return Matched(schema, inputs, returns, names if names and all(names) else None)  # type: ignore[arg-type]


def _match_argument(
    c: Compiler,
    name: str,
    formal: Type,
    n: int | None,
    where: SourceRange,
    actual: NamedValue,
    allow_conversions: bool,
    variables: dict[str, Type],
    fail: Callable[[str], _NoMatch],
) -> Value:
    """The value of one argument, converted to the type `formal`, whose type variables are bound in
    `variables`. With `n`, a single number is accepted for a list of n. Raises what `fail` returns.
    """
    value = actual.get(c)
    # 3 for `int[2]` becomes [3, 3]
    if n and isinstance(value.type(), (IntType, FloatType)):
        wanted_list = unwrap_optional(formal)
        if isinstance(wanted_list, ListType) and wanted_list.element == value.type():
            value = c.list_construct(value.type(), [value] * n)
    have = spell(value.type())
    reason = match_type_variables(formal, value.type(), variables)
    if reason is not None:
        raise fail(
            f"Could not match type {have} to {spell(formal)} in argument '{name}': {reason}.\n"
        )
    wanted = substitute(formal, variables)  # None if a variable is not bound, as in None for `t?`
    if wanted is None:
        raise fail(
            f"Type variables in type {spell(formal)} could not be inferred from actual type {have}"
        )
    value = try_convert_to_type(c, where, wanted, value, allow_conversions)
    t = value.type()
    if t.isSubtypeOf(wanted):
        return value
    reason = (
        f"Expected a value of type '{spell(formal)}' for argument '{name}' but instead found type "
        f"'{spell(t)}'.\n"
    )
    if isinstance(t, TensorType) and t.inferred:
        reason += (
            f"Inferred the value for argument '{name}' to be of type 'Tensor' because it was not "
            "annotated with an explicit type.\n"
        )
    if isinstance(t, ListType) and t.element.isSubtypeOf(TensorType.get()):
        reason += EMPTY_LISTS[1:] + "\n"
    raise fail(reason)


def _default(c: Compiler, formal: Argument) -> Any:
    """The default value of an argument. A list becomes a constant of the declared type, because an
    empty list does not have a type by itself.
    """
    value = formal.default_value
    return (
        c.constant(value, type=unwrap_optional(formal.type))
        if isinstance(value, (list, tuple))
        else value
    )


def find_keyword(name: str, kwargs: Sequence[NamedValue], is_aten: bool) -> int | None:
    """The index of the keyword argument for the formal argument `name`, or None. The `self` of an
    operator's schema is called `input` in Python: `torch.relu(input=x)`.
    """
    for i, given in enumerate(kwargs):
        if given.name == name or (is_aten and name == "self" and given.name == "input"):
            return i
    return None


def _takes_the_rest_as_list(schema: FunctionSchema, i: int) -> bool:
    """Whether argument `i` is the last positional one and a list without a fixed length: the schema
    `zeros(int[] size)` accepts `zeros(2, 3)`.
    """
    formal = schema.arguments[i]
    last = i + 1 == len(schema.arguments) or schema.arguments[i + 1].kwarg_only
    return (
        last
        and isinstance(formal.type, ListType)
        and not formal.N
        and not isinstance(formal.type.element, VarType)
    )


def _is_not_a_list(value: Value, formal: Any) -> bool:
    """Whether a value is neither a list nor a tuple that can be converted to the formal list."""
    return not isinstance(value.type(), ListType) and not convertible_to_list(
        value.type(), unwrap_optional(formal.type)
    )


def _element_of(formal: Argument) -> Type:
    """The element type of a formal list, which may be optional."""
    wanted = unwrap_optional(formal.type)
    assert isinstance(wanted, ListType)
    return wanted.element


def _convert_tuple(
    c: Compiler, where: SourceRange | None, wanted: Type, value: Value, allow_conversions: bool
) -> Value:
    """A tuple converted to a list, if all its elements fit, or to another type of tuple, element by
    element; otherwise the tuple itself.
    """
    have = value.type()
    assert isinstance(have, TupleType)
    as_list = unwrap_optional(wanted)
    if isinstance(as_list, ListType) and convertible_to_list(have, as_list):
        return c.list_construct(as_list.element, c.unpack_tuple(value))
    if (
        isinstance(wanted, TupleType)
        and not have.isSubtypeOf(wanted)
        and len(have.elements) == len(wanted.elements)
    ):
        parts = zip(wanted.elements, c.unpack_tuple(value))
        return c.tuple_construct(
            [try_convert_to_type(c, where, t, v, allow_conversions) for t, v in parts]
        )
    return value
