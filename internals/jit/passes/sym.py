"""Symbolic values: values of a graph for which every operation emits a node.

    x, y = Sym(graph.inputs()[0]), Sym(graph.inputs()[1])
    (x * y).exp()                            # aten::mul and aten::exp, at the insert point
    emit("where", x > y, x, 0.0)             # any operator as a function
    evaluate("grad * self.cos()", {"grad": x, "self": y})         # a line of `derivatives`

A function of `internals/autograd/formulas` that a line calls is evaluated likewise: the same
function is called, with functions that emit nodes in place of the operators that it calls.

How the real one differs: 1.0.1 had this (`torch/csrc/jit/symbolic_variable.h`), with a method for
each operator that passes needed; it evaluated no lines of text.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from internals.autograd import formulas
from internals.core.dtype import bool_ as bool_dtype
from internals.jit.ir import Value
from internals.jit.ir.constants import type_of
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import Type
from internals.jit.operators.registry import accepts, find_operators


class NotSymbolic(Exception):
    """Raised for a line that cannot be evaluated without tensors; the message says why."""


def _emits(name: str) -> Callable[..., Sym]:
    """A method of `Sym` that emits `aten::name`."""
    return lambda self, *arguments: self.op(name, *arguments)


class Sym:
    """A value of a graph that computes by emitting nodes."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def op(self, name: str, *arguments: Any, **named: Any) -> Sym:
        """Emit `aten::name(self, *arguments)`."""
        return emit(name, self, *arguments, **named)

    __add__ = __radd__ = _emits("add")
    __mul__ = __rmul__ = _emits("mul")
    __sub__, __truediv__, __pow__, __neg__ = map(_emits, ("sub", "div", "pow", "neg"))
    __lt__, __le__, __gt__, __ge__ = map(_emits, ("lt", "le", "gt", "ge"))
    __eq__, __ne__ = map(_emits, ("eq", "ne"))  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __rsub__(self, other: int) -> Sym:
        return -self + other

    def __rtruediv__(self, other: Any) -> Sym:
        return self.reciprocal() * other

    def __getattr__(self, name: str) -> Callable[..., Sym]:
        """`x.cos()`: any operator as a method."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: self.op(name, *arguments, **named)

    def __bool__(self) -> bool:
        raise NotSymbolic("what a tensor or a number is, is known when the graph runs")

    def bool(self) -> Sym:
        return self.op("to", bool_dtype.code, False, False, None)

    def is_complex(self) -> bool:  # type: ignore[valid-type]
        """False: graphs with complex numbers are not optimised."""
        return False

    def sum_to_size(self, size: Sym) -> Sym:
        graph = self.value.node().owningGraph()
        return Sym(graph.insert("prim::SumToSize", [self.value, _unwrapped(size)]))


def emit(name: str, *arguments: Any, **named: Any) -> Sym:
    """Emit a node that calls the first overload of `aten::name` that accepts these arguments, with
    its defaults for the others; returns its output. Raises NotSymbolic if there is none.
    """
    given = next((a for a in (*arguments, *named.values()) if isinstance(a, Sym)), None)
    if given is None:
        raise NotSymbolic(f"{name} of numbers")
    graph = given.value.node().owningGraph()
    values = [_unwrapped(a) for a in arguments]
    schemas = [operator.schema for operator in find_operators(f"aten::{name}")]
    # overloads with `out` last: their types would fit calls that mean another argument
    for schema in sorted(schemas, key=lambda s: any(a.is_out for a in s.arguments)):
        formals = schema.arguments[len(values) :]
        if any(not f.has_default and f.name not in named for f in formals):
            continue
        every = values + [_unwrapped(named.get(f.name, f.default_value)) for f in formals]
        if accepts(schema, tuple([_type_of(v) for v in every])):
            return Sym(graph.insert(f"aten::{name}", every))
    raise NotSymbolic(f"no operator aten::{name} takes these arguments")


def _type_of(argument: int | Value) -> Type:
    t = argument.type() if isinstance(argument, Value) else type_of(argument)
    return TensorType.get() if isinstance(t, TensorType) else t


def _unwrapped(argument: int | Sym) -> Any:
    return argument.value if isinstance(argument, Sym) else argument


# Replacements for names in lines that are not operators, or functions that look at a tensor's data.
IN_GRAPHS: dict[str, Any] = {
    "conj": lambda x: x,  # programs of complex numbers are not optimised
    "maybe_multiply": lambda grad, factor: grad * factor,
    "sum_to": lambda grad, sizes: grad.sum_to_size(sizes),
    "mm_mat1_backward": lambda grad, mat2, *about: _scaled(grad.mm(mat2.t()), *about),
    "mm_mat2_backward": lambda grad, mat1, *about: _scaled(mat1.t().mm(grad), *about),
    "is_grad_enabled": lambda: True,
    "grad_input_mask": (True,) * 8,
    "pi": math.pi,
    "inf": math.inf,
    "nan": math.nan,
}


def _scaled(product: Sym, sizes: Sym, strides: Any, alpha: Any = None) -> Sym:
    return product if alpha is None else product * alpha


def evaluate(line: str, names: dict[str, Any]) -> Any:
    """The value of a line of `derivatives`, with `names` for the names in it. Raises NotSymbolic if
    the line needs to know tensors.
    """
    return eval(_compiled(line), {"__builtins__": {}}, _Names(names))


@cache
def _compiled(line: str) -> CodeType:
    return compile(line, line, "eval")


class _Names(dict[str, Any]):
    """The names in a line: the values of a node, and then all functions."""

    def __missing__(self, name: str) -> Any:
        found = _function(name)
        if found is None:
            raise NotSymbolic(f"graphs have no {name}")
        return found


@cache
def _function(name: str) -> Any:
    """The function called `name` in lines, as one that emits nodes: a replacement, an operator, or
    a formula. None if there is none.
    """
    if name in IN_GRAPHS:
        return IN_GRAPHS[name]
    if find_operators(f"aten::{name}"):
        return _operator(name)
    for module in pkgutil.iter_modules(formulas.__path__):
        found = getattr(import_module(f"{formulas.__name__}.{module.name}"), name, None)
        if isinstance(found, FunctionType):
            return _in_graphs(found)
    return None


def _operator(name: str) -> Callable[..., Sym]:
    return lambda *arguments, **named: emit(name, *arguments, **named)


def _in_graphs(formula: FunctionType) -> FunctionType:
    """The same code with other globals: functions that emit nodes in place of the operators."""
    used = [name for name in formula.__code__.co_names if name in formula.__globals__]
    names = {name: _of_graphs(name, formula.__globals__[name]) for name in used}
    return FunctionType(formula.__code__, names, formula.__name__, formula.__defaults__)


def _of_graphs(name: str, found: object) -> Any:
    """The replacement for a global of a formula."""
    if name == "ops":
        return _Operators()
    if isinstance(found, FunctionType) and found.__module__.startswith(formulas.__name__):
        return IN_GRAPHS.get(name) or _in_graphs(found)
    return _function(name) or found


class _Operators:
    """Replaces `ops` in formulas: `ops.masked_fill_Scalar(...)` emits `aten::masked_fill`."""

    def __getattr__(self, identifier: str) -> Callable[..., Sym]:
        # drop the overload from the end until an operator's name is left
        while identifier and not find_operators(f"aten::{identifier}"):
            identifier = identifier.rpartition("_")[0]
        return _operator(identifier)
