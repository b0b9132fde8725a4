"""Calls of operators: `x + 1`, `torch.relu(x)`, `x.size(0)`, `len(xs)` (`emitBuiltinCall` of
`schema_matching.cpp`).

The candidates of a call are all overloads of the operator, and after them a few functions written
in TorchScript (`SOURCES`), mostly arithmetic with the number on the left, for which there is no
operator. A call of such a function is replaced by its nodes: `1 - x` becomes `neg(x) + 1`.

An archive records the version of the operators it was written for. Overloads whose meaning has
changed since are then not candidates; in their place are functions that express the old meaning in
today's operators (`upgrades`), and that are inserted in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import internals
from internals.aten.pytorch_names import advice
from internals.jit.ir import SourceRange, TupleType, Value
from internals.jit.operators import find_operators
from internals.jit.operators.registry import all_operators

from .build_tree import build_def
from .error_report import error
from .schema_matching import Matched, NamedValue, match_schemas
from .source import SourceContext, parse_module

if TYPE_CHECKING:
    from internals.jit.ir.graph import Graph
    from internals.jit.schema import FunctionSchema

    from .compiler import Compiler


def emit_builtin_call(
    c: Compiler,
    where: SourceRange | None,
    symbol: str,
    args: Sequence[NamedValue],
    kwargs: Sequence[NamedValue] = (),
    self: NamedValue | None = None,
) -> Value:
    """Emit a call of the first overload that fits, and return its result; several results are
    returned as one tuple.

    Raises RuntimeError if there is no such operator or none of its overloads fits.
    """
    upgrades = c.upgrades(symbol)
    schemas = [o.schema for o in find_operators(symbol) if o.schema.overload_name not in upgrades]
    n_operators = len(schemas)
    # The written functions call operators of their own names (`mul` calls `b * a`): while they are
    # compiled themselves, they are not candidates, or compiling them would never end.
    written = [*([] if c.is_builtin else written_functions(symbol)), *upgrades.values()]
    schemas += [function.schema for function in written]
    if not schemas:
        raise error(where, _unknown(symbol))
    if n_operators:
        c.check_operator(symbol, where)
    i, matched = match_schemas(c, schemas, where, args, kwargs, self)  # type: ignore[arg-type]
    if i >= n_operators:  # a function, whose nodes are copied into the graph
        return c.graph.insertGraph(written[i - n_operators].graph, matched.inputs)[0]
    return emit_node(c, where, symbol, matched)


def emit_node(c: Compiler, where: SourceRange | None, symbol: str, matched: Matched) -> Value:
    """Add a node that calls an operator, and return its output; unless there is exactly one, they
    are packed into a tuple, with the names of the schema's returns if it has any.
    """
    node = c.add_node(symbol, matched.inputs, 0, where)
    for t in matched.return_types:
        node.addOutput().setType(t)
    if len(node.outputs()) == 1:
        return node.output()
    if matched.return_names is not None and matched.return_types:
        return c.tuple_construct(
            node.outputs(), TupleType(matched.return_types, matched.return_names)
        )
    return c.tuple_construct(node.outputs())


def _unknown(symbol: str) -> str:
    """The error message for an unknown operator, with the known names that are spelled alike."""
    namespace, _, name = symbol.partition("::")
    text = f"Unknown builtin op: {symbol}.\n"
    hint = f"{advice(name)}\n" if namespace == "aten" and advice(name) else ""
    known = {o.name.partition(".")[0] for o in all_operators()}
    limit = min(2, len(name) - 1)  # a one-letter name is similar to itself only
    similar = [
        s
        for s in known
        if s.startswith(namespace + "::") and _distance(s.partition("::")[2], name, limit) <= limit
    ]
    if not similar:
        return (
            f"{text}Could not find any similar ops to {symbol}. This op may not exist or may not "
            f"be currently supported in TorchScript.\n{hint}"
        )
    listed = "".join(
        f"\t{s}\n"
        for s in sorted(similar, key=lambda s: (_distance(s.partition("::")[2], name, limit), s))
    )
    return f"{text}Here are some suggestions: \n{listed}\n{hint}The original call is"


def _distance(a: str, b: str, limit: int) -> int:
    """The Levenshtein distance: how many letters to insert, delete or replace to get from `a` to
    `b`. If the lengths differ by more than `limit`, the answer is `limit + 1` at once.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    # row[j] is the distance between the first i letters of a and the first j of b
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i  # the old row[j - 1], which is overwritten before it is used
        for j, y in enumerate(b, 1):
            # delete x, insert y, or replace x by y (free if they are equal)
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


# The functions written in TorchScript.

# The texts below are compiled as they stand, each with `{scalar}` replaced by several types. Their
# line numbers are seen in the graphs, so keep their lines where they are.
SCALAR_ON_THE_LEFT = """
def mul(a : {scalar}, b : Tensor) -> Tensor:
  return b * a
def add(a : {scalar}, b : Tensor) -> Tensor:
  return b + a
def ne(a : {scalar}, b : Tensor) -> Tensor:
  return b != a
def eq(a : {scalar}, b : Tensor) -> Tensor:
  return b == a
def sub(a : {scalar}, b : Tensor) -> Tensor:
  return torch.neg(b) + a
def div(a : {scalar}, b : Tensor) -> Tensor:
  return torch.reciprocal(b) * a
"""
ORDER_WITH_SCALAR_ON_THE_LEFT = """
def lt(a : {scalar}, b : Tensor) -> Tensor:
  return b > a
def le(a : {scalar}, b : Tensor) -> Tensor:
  return b >= a
def gt(a : {scalar}, b : Tensor) -> Tensor:
  return b < a
def ge(a : {scalar}, b : Tensor) -> Tensor:
  return b <= a
"""
FLOOR_DIVISION = """
def floordiv(self : Tensor, other : {scalar}) -> Tensor:
  return torch.floor_divide(self, other)
"""
NTUPLES = "\n".join(
    f"""
def _{name}(x: BroadcastingList{n}[{{scalar}}]) -> List[{{scalar}}]:
  return x
"""
    for name, n in (("single", 1), ("pair", 2), ("triple", 3), ("quadruple", 4))
)
CONTAINS = """

# x in s
def __contains__(self: {scalar}, key: {scalar}):
    return self.find(key, 0, len(self)) != -1
"""
SOURCES = (
    (SCALAR_ON_THE_LEFT, ("float", "int", "complex")),
    (ORDER_WITH_SCALAR_ON_THE_LEFT, ("float", "int")),
    (NTUPLES, ("float", "int")),
    (FLOOR_DIVISION, ("number", "Tensor")),
    (CONTAINS, ("str",)),
)
# Attributes of tensors, as `prim::` functions. `x.mT` and `x.mH` have become operators; their lines
# stay, so that `shape` keeps its line number.
PROPERTIES = """
def ndim(a : Tensor) -> int:
  return a.dim()
def T(a : Tensor) -> Tensor:
  return a.numpy_T()
def H(a : Tensor) -> Tensor:
  return a.matrix_H()
def mT(a : Tensor) -> Tensor:
  return a.transpose(-2, -1)
def mH(a : Tensor) -> Tensor:
  return a.transpose(-2, -1).conj()
def shape(a: Tensor) -> List[int]:
  return a.size()
"""


class WrittenFunction:
    """A function written in TorchScript: its schema and its graph."""

    def __init__(self, schema: FunctionSchema, graph: Graph) -> None:
        self.schema, self.graph = schema, graph


@cache
def written_functions(symbol: str) -> list[WrittenFunction]:
    """The compiled functions of one symbol, in the order in which they are tried. They are compiled
    when the symbol is first called.
    """
    from .compiler import compile_with_schema

    found = []
    for context, definition in _definitions().get(symbol, ()):
        tree = build_def(context, definition, None, definition.name)
        graph, schema = compile_with_schema(
            tree,
            _builtin_names,
            name=definition.name,
            is_builtin=True,
            defaults=_defaults(definition),
        )
        found.append(WrittenFunction(schema, graph))
    return found


@cache
def _definitions() -> dict[str, list[tuple[Any, ast.FunctionDef]]]:
    """The parsed texts: symbol -> its definitions, each with the context that has its source."""
    table: dict[str, list[tuple[Any, ast.FunctionDef]]] = {}
    texts = [
        ("aten", text.replace("{scalar}", scalar))
        for text, scalars in SOURCES
        for scalar in scalars
    ]
    for namespace, text in [*texts, ("prim", PROPERTIES)]:
        context = SourceContext(text, "<string>", 1)
        for definition in parse_module(text).body:
            assert isinstance(definition, ast.FunctionDef)
            table.setdefault(f"{namespace}::{definition.name}", []).append((context, definition))
    return table


def _defaults(definition: ast.FunctionDef) -> dict[str, Any]:
    """The default values of the arguments, by name."""
    given = definition.args.defaults  # of the last arguments
    names = [a.arg for a in definition.args.args[len(definition.args.args) - len(given) :]]
    return dict(zip(names, map(ast.literal_eval, given)))


def _builtin_names(name: str) -> Any:
    """The resolver of the written functions: they know `torch` and RuntimeError. Types are found by
    their names elsewhere (`annotations.py`).
    """
    if name in ("torch", "RuntimeError"):
        return internals if name == "torch" else RuntimeError
    raise NameError(name)
