"""Nodes that are a single operator of Python: `x + y` instead of `add_Tensor(x, y, 1)`.

The result is the same, and the path is shorter: a sum of two tensors takes the fast path of
`Tensor.__add__`, one of two numbers is one instruction of the Python interpreter. Both executors
use this table.

| operator                             | becomes    | if                                     |
|--------------------------------------|------------|----------------------------------------|
| `add`, `sub` of tensors, or a number | `+ -`      | the factor `alpha` is the constant 1   |
| `mul`, `div` of tensors, or a number | `* /`      |                                        |
| `add sub mul` of floats, comparisons | as written | both sides compared have the same type |
| `add sub mul` of ints                | `+ - *`    | it cannot overflow (`int_overflow.py`) |
| `floordiv`, `remainder` of ints      | `// %`     | the divisor is a constant above 0      |
| `not`, `is`, `and`, `or` of bools    | as written |                                        |

How the real one differs: it has no shortcuts, as a call costs C++ the same for all operators.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from internals.jit.ir import BoolType, FloatType, IntType, Node, Value, constant_of

from .int_overflow import operator_name, positive_constant
from .reuse import INTO_FIRST, INTO_SECOND


class Shortcut(NamedTuple):
    """A node as a Python operator: `symbol` between (or before) the inputs; `function` does the
    same to their values.

    `scalar`: it computes with numbers. `into_first`, `into_second`: the functions to call instead
    if the first or second input, a tensor, is not used any more (`reuse.py`).
    """

    symbol: str
    function: Callable[..., Any]
    inputs: tuple[Value, ...]
    scalar: bool
    into_first: Callable[..., Any] | None = None
    into_second: Callable[..., Any] | None = None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "is": operator.is_,
    "is not": operator.is_not, "and": operator.and_, "or": operator.or_, "not": operator.not_,
}  # fmt: skip
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
DIVISIONS = {"floordiv": "//", "remainder": "%"}
LOGIC = {
    "aten::__and__.bool": "and", "aten::__or__.bool": "or", "aten::__not__": "not",
    "aten::__is__": "is", "aten::__isnot__": "is not",
}  # fmt: skip
IDENTITY = ("aten::__is__", "aten::__isnot__")  # Python warns of `1 is None`
FLOATS = ("float", "int_float", "float_int")


def shortcut(node: Node, plain: set[Node]) -> Shortcut | None:
    """The Python operator for `node`, None if there is none. `plain`: the int operations that
    cannot overflow.
    """
    name = operator_name(node)
    if name in LOGIC:
        literal = any(v.isConstant() and constant_of(v) is not None for v in node.inputs())
        return None if literal and name in IDENTITY else scalar(node, LOGIC[name])
    symbol, dot, overload = name.removeprefix("aten::").partition(".")
    if not dot:
        return None
    if symbol in ARITHMETIC and overload in ("Tensor", "Scalar"):
        return of_tensor(node, ARITHMETIC[symbol], overload)
    if overload in FLOATS and symbol in ("add", "sub", "mul"):
        return scalar(node, ARITHMETIC[symbol])
    if overload in ("float", "int", "bool") and symbol in COMPARISONS:
        return scalar(node, COMPARISONS[symbol])
    if overload == "int" and (
        node in plain or (symbol in DIVISIONS and positive_constant(node.input(1)))
    ):
        return scalar(node, {**ARITHMETIC, **DIVISIONS}[symbol])
    return None


def scalar(node: Node, symbol: str) -> Shortcut:
    """The shortcut of an operator on numbers or bools."""
    return Shortcut(symbol, FUNCTIONS[symbol], tuple(node.inputs()), True)


def of_tensor(node: Node, symbol: str, overload: str) -> Shortcut | None:
    """The shortcut of `add sub mul div` with a tensor; None unless `alpha` is the constant 1."""
    inputs = node.inputs()
    if len(inputs) == 3 and not (inputs[2].isConstant() and constant_of(inputs[2]) == 1):
        return None
    if overload == "Scalar" and not isinstance(inputs[1].type(), (IntType, FloatType)):
        return None
    reuse = overload == "Tensor"
    into = (INTO_FIRST.get(symbol), INTO_SECOND.get(symbol)) if reuse else (None, None)
    return Shortcut(symbol, FUNCTIONS[symbol], (inputs[0], inputs[1]), False, *into)


def is_number(value: Value) -> bool:
    """Whether a value is an int, float or bool, which holds no memory worth freeing."""
    return isinstance(value.type(), (IntType, FloatType, BoolType))
