"""Finds the overload of PyTorch 1.0.1 for a call of an operator, and the arguments for it.

    aten::sum(%x, %none)                        ->  aten::sum(%x)
    aten::slice(%x, %dim, %none, %end, %step)   ->  aten::slice(%x, %dim, 0, %end, %step)
    aten::gelu(%x, "none")                      ->  RuntimeError: 1.0.1 had no gelu

Operators have got new arguments since, and new overloads. A new argument is omitted if it is a
constant without an effect, as its default is. An argument that may be None today, but was required
then, is filled in. If no overload in the table `operators.yaml` takes the result, the program
cannot be expressed in 1.0.1.

How the real one differs: PyTorch never writes an older format than its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from internals.core.device import device
from internals.core.dtype import BY_CODE, get_default_dtype
from internals.jit.ir import (
    DeviceObjType,
    FloatType,
    IntType,
    Node,
    NoneType,
    OptionalType,
    Type,
    Value,
    VarType,
)
from internals.jit.schema import Argument, FunctionSchema
from internals.jit.schema_parser import parse_schema
from internals.jit.type_variables import evaluate, match_type_variables

# (operator, newer argument) -> the values for which the operator does the same as before it had the
# argument, in addition to the argument's default. "*" is any operator.
NEUTRAL: dict[tuple[str, str], tuple[Any, ...]] = {
    ("*", "memory_format"): (None, 0, 1), ("*", "pin_memory"): (None, False),
    ("*", "layout"): (None, 0), ("*", "dtype"): (None,), ("*", "device"): (None,),
    ("aten::_convolution", "allow_tf32"): (True, False),
}  # fmt: skip

# operators that create a tensor of the default dtype
FACTORIES = (
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "linspace",
    "logspace",
    "eye",
    "zeros_like",
    "ones_like",
)
LARGEST = 2**63 - 1  # the end of a slice without one
NEWEST_DTYPE = 7  # float64; complex, bool and all others came later


class Call(NamedTuple):
    """An overload and its arguments: values of the graph, or Python values for constants that have
    to be inserted.
    """

    schema: FunctionSchema
    arguments: list[Any]


def operators_101(symbol: str) -> list[FunctionSchema]:
    """The overloads of a symbol (`aten::add`) in 1.0.1, in the order in which they were tried."""
    return [parse_schema(text) for text in _table().get(symbol, [])]


def call_101(node: Node, symbol: str | None = None) -> Call:
    """The call in 1.0.1 that does the same as `node`, of the operator `symbol` (default: the node's
    kind).

    Raises RuntimeError, with the name of the operator, if 1.0.1 had no such operator or overload.
    """
    symbol = symbol or node.kind()
    candidates = _parsed(symbol)
    if not candidates:
        raise RuntimeError(f"PyTorch 1.0.1 had no operator {symbol}; {_place(node)}")
    found = [call for schema in candidates if (call := _match(node, symbol, schema)) is not None]
    if not found:
        schema = node.schema()
        had = "\n  ".join(map(str, candidates))
        raise RuntimeError(
            f"PyTorch 1.0.1 had no {schema or symbol}; {_place(node)}. It had\n  {had}"
        )
    # the overload that uses most of the node's own values
    return max(found, key=lambda call: sum(isinstance(a, Value) for a in call.arguments))


def accepts(formal: Type, value: Value, env: dict[str, Type]) -> bool:
    """Whether an argument of type `formal` takes the value. `env` holds the type variables bound so
    far, and is extended.
    """
    actual = value.type()
    if isinstance(actual, NoneType):
        return isinstance(formal, (OptionalType, VarType))
    if match_type_variables(formal, actual, env) is not None:
        return False
    wanted = evaluate(formal, env)
    return wanted is not None and actual.isSubtypeOf(wanted)


def _match(node: Node, symbol: str, schema: FunctionSchema) -> Call | None:
    """The call of one overload, or None if it cannot do what the node does."""
    if schema.is_vararg:
        return Call(schema, node.inputs())
    given = _by_name(node, schema)
    if given is None or not all(_may_leave_out(symbol, a, v) for a, v in given[1]):
        return None
    named = given[0]
    arguments: list[Any] = []
    env: dict[str, Type] = {}
    for argument in schema.arguments:
        value = named.get(argument.name, _default(argument))
        if isinstance(value, Value) and not accepts(argument.type, value, env):
            value = (
                _fill(symbol, argument, named)
                if isinstance(value.type(), NoneType)
                else _only_element(argument, value)
            )
            if value is None:
                return None
        arguments.append(value)
    _check_dtype(node, schema, arguments)
    return Call(schema, arguments)


def _by_name(
    node: Node, schema: FunctionSchema
) -> tuple[dict[str, Value], list[tuple[Argument | None, Value]]] | None:
    """Assigns the node's inputs to the arguments of `schema`. Returns the values by name, and the
    inputs that it has no argument for, with their argument today; None if some are missing.
    """
    today, names = node.schema(), [a.name for a in schema.arguments]
    formal: Sequence[Argument | None] = (
        today.arguments if today is not None else [None] * node.inputsSize()
    )
    pairs = list(zip(formal, node.inputs()))
    if all(
        a.has_default_value() or a.name in {f.name for f in formal if f} for a in schema.arguments
    ):
        named = {f.name: v for f, v in pairs if f is not None and f.name in names}
        return named, [(f, v) for f, v in pairs if f is None or f.name not in names]
    if len(names) <= len(pairs):  # arguments may have been renamed: assign them by position
        return {name: v for name, (_, v) in zip(names, pairs)}, pairs[len(names) :]
    return None


def _may_leave_out(symbol: str, argument: Argument | None, value: Value) -> bool:
    """Whether a newer argument is a constant without an effect, so that it can be omitted."""
    if argument is None or not value.isConstant():
        return False
    neutral = NEUTRAL.get((symbol, argument.name)) or NEUTRAL.get(("*", argument.name), ())
    if argument.has_default_value():
        neutral = (*neutral, argument.default_value)
    return any(_same(value.toIValue(), n) for n in neutral)


def _same(a: int, b: int) -> bool:
    """Whether two constants are equal and of one type: 0 is not False."""
    return (
        type(a) is type(b)
        and isinstance(a, (type(None), bool, int, float, str, list))
        and bool(a == b)
    )


def _only_element(argument: Argument, value: Value) -> Value | int | None:
    """The only element of a list, for an argument that is an int: `sum(dim=[1])` was `sum(1)`.
    None if the list has another length.
    """
    if not isinstance(argument.type, IntType):
        return None
    constant = value.toIValue()
    if isinstance(constant, list) and len(constant) == 1:
        return int(constant[0])
    elements = value.node().inputs() if value.node().kind() == "prim::ListConstruct" else []
    return elements[0] if len(elements) == 1 and isinstance(elements[0].type(), IntType) else None


def _fill(symbol: str, argument: Argument, named: dict[str, Value]) -> Any:
    """The value that 1.0.1 needed where None is allowed today; None if there is none."""
    name = symbol.removeprefix("aten::")
    if name == "slice" and argument.name in ("start", "end"):
        return 0 if argument.name == "start" else LARGEST
    if argument.name == "dtype" and argument.has_default_value():
        return _default_dtype(name, named)
    return _default(argument) if argument.name in ("layout", "device") else None


def _default(argument: Argument) -> Any:
    value = argument.default_value if argument.has_default_value() else None
    return (
        device(value)
        if isinstance(argument.type, DeviceObjType) and isinstance(value, str)
        else value
    )


def _default_dtype(name: str, named: dict[str, Value]) -> int | None:
    """The code of the dtype that a factory chooses today without `dtype`; None if that cannot be
    known here.
    """
    if name in FACTORIES:
        return get_default_dtype().code
    if name in ("randint", "randperm", "tril_indices", "triu_indices"):
        return 4  # int64
    if name in ("arange", "full"):
        numbers = [named[n].type() for n in ("start", "end", "step", "fill_value") if n in named]
        if all(isinstance(t, IntType) for t in numbers):
            return 4
        if all(isinstance(t, (IntType, FloatType)) for t in numbers):
            return get_default_dtype().code
    return None


def _check_dtype(node: Node, schema: FunctionSchema, arguments: list[Any]) -> None:
    """Raises RuntimeError if a call asks for a dtype that 1.0.1 lacked."""
    for argument, value in zip(schema.arguments, arguments):
        if (
            argument.name == "dtype"
            and isinstance(value, Value)
            and isinstance(number := value.toIValue(), int)
        ):
            if number > NEWEST_DTYPE:
                raise RuntimeError(
                    f"PyTorch 1.0.1 had no {BY_CODE[number]}, which {node.kind()} asks for; "
                    f"{_place(node)}"
                )


def _place(node: Node) -> str:
    """The line of source that a node comes from, for messages."""
    place = getattr(node.sourceRange(), "file_line_col", lambda: None)()
    return f"it is called in {place[0]}, line {place[1]}" if place else "it is called here"


@cache
def _parsed(symbol: str) -> tuple[FunctionSchema, ...]:
    return tuple(operators_101(symbol))


@cache
def _table() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in _lines():
        found.setdefault(text.partition("(")[0], []).append(text)
    return found


def _lines() -> Iterator[str]:
    for line in Path(__file__).with_name("operators.yaml").read_text().splitlines():
        if line.startswith("- "):
            text = line[2:]
            yield text if "::" in text.partition("(")[0] else f"aten::{text}"
