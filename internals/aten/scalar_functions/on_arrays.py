"""Turns a formula into a function of whole arrays, for small tensors where numpy has no loop.

    gelu = scalar(lambda x: x * T(0.5) * (T(1) + erf(x * T(SQRT_HALF))))

    def gelu(x, out):
        multiply(x * c0, c1 + erf(x * c2), out=out)

The formula's text is rewritten: a choice becomes numpy's `where`, and the last step writes to
`out`. This is done once for each dtype, with constants of that dtype. Half precision is computed in
single precision and rounded once, unless the formula rounds nothing.

How the real one differs: small tensors take the same compiled loop as large ones.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from copy import copy
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array

from .entry import ScalarFunction

UFUNCS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def parsed(entry: ScalarFunction) -> ast.Lambda | ast.FunctionDef:
    """The syntax tree of the formula of `entry`, which the caller may change. Raises ValueError if
    its lines of source have two formulas."""
    assert entry.formula is not None
    source = textwrap.dedent(inspect.getsource(entry.formula.function))
    found = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.Lambda, ast.FunctionDef))]
    if len(found) != 1:
        raise ValueError(f"{entry.name}: a line with two formulas cannot be told apart: {source}")
    _check_unchanged(entry, found[0])
    return found[0]


def _check_unchanged(entry: ScalarFunction, node: ast.expr | ast.stmt) -> None:
    """Raises RuntimeError if the source has another formula now: the file was edited after its
    import.
    """
    assert entry.formula is not None
    line = ast.Expr(node) if isinstance(node, ast.expr) else node
    if isinstance(line, ast.FunctionDef):
        line = copy(line)
        line.decorator_list = []
    module = compile(ast.fix_missing_locations(ast.Module([line], [])), "", "exec")
    code = next((c for c in module.co_consts if isinstance(c, CodeType)), None)
    if code is None or _content(code) != _content(entry.formula.function.__code__):
        raise RuntimeError(
            f"the formula of {entry.name} was changed after it was imported: start anew"
        )


def _content(code: CodeType) -> tuple[Any, ...]:
    """The parts of a code object that do not depend on where it stands in a file."""
    return code.co_code, code.co_consts, code.co_names


def loop_of(entry: ScalarFunction) -> Any:
    """The loop for small tensors: `loop(*operands, out=array, **numbers)`."""
    operands, numbers = entry.operands, entry.numbers
    given = ", ".join([*operands, "out", *numbers])
    scope: dict[str, Any] = {"versions": _Versions(entry)}
    # generated, so that Python itself matches arguments to names: def loop(x, out, alpha): ...
    exec(f"def loop({given}):\n    versions[{operands[0]}.dtype.char]({given})", scope)
    loop = scope["loop"]
    loop.__name__ = loop.__qualname__ = entry.name
    return loop


def rounds(entry: ScalarFunction) -> bool:
    """Whether the formula does arithmetic. If it only compares and chooses, half precision gives
    the same result as single."""
    nodes = list(ast.walk(parsed(entry)))
    called = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return any(isinstance(n, tuple(UFUNCS)) for n in nodes) or not called <= {"maximum", "minimum"}


class _Versions(dict[str, Any]):
    """The function for each dtype, by numpy's letter for it ("f"); made when it is asked for."""

    def __init__(self, entry: ScalarFunction) -> None:
        self.entry = entry

    def __missing__(self, letter: str) -> Any:
        single = letter == "e" and rounds(self.entry)
        made = function(self.entry, np.dtype("f" if single else letter), writes=True)
        self[letter] = made = _in_single(made, len(self.entry.operands)) if single else made
        return made


def _in_single(version: Callable[..., Any], count: int) -> Any:
    """`version`, a function of float32, for float16: `count` operands are converted before it, and
    the result after it."""

    def run(*given: Any) -> None:
        operands, out, numbers = given[:count], given[count], given[count + 1 :]
        result = np.empty(out.shape, np.float32)
        version(*[_single(x) for x in operands], result, *numbers)
        out[...] = result

    return run


def _single(x: Scalar | Array) -> Any:
    return np.asarray(x, np.float32) if getattr(x, "dtype", None) == np.float16 else x


@cache
def function(entry: ScalarFunction, d: np.dtype[Any], writes: bool = False) -> Any:
    """The function of arrays of dtype `d`, which returns its result or, if it `writes`, stores it
    in an argument `out` that follows the operands."""
    if entry.own_loop is not None and not writes:
        return _returning(entry.loop)
    operands, numbers = entry.operands, entry.numbers
    writer = _Writer(entry, d)
    body = parsed(entry).body
    lines = body if isinstance(body, list) else [ast.Return(body)]
    text = [f"def made({', '.join([*operands, *['out'] * writes, *numbers])}):"]
    text += [f"{n} = T({n})" for n in numbers]  # else float32 times a float would be float64
    for line in lines:
        line = writer.visit(line)
        if isinstance(line, ast.Return) and writes:
            line = ast.Expr(_written(line.value))
        text.append(ast.unparse(ast.fix_missing_locations(line)))
    exec("\n    ".join(text), writer.scope)
    return writer.scope["made"]


def _returning(loop: Callable[..., Any]) -> Any:
    """`loop`, as a function that returns a new array."""
    if isinstance(loop, np.ufunc):
        return loop

    def returning(*operands: Any) -> Any:
        out = np.empty_like(operands[0])
        loop(*operands, out=out)
        return out

    return returning


class _Writer(ast.NodeTransformer):
    """Rewrites a formula for arrays. `scope` has the values of the names in the new text."""

    def __init__(self, entry: ScalarFunction, d: np.dtype[Any]) -> None:
        assert entry.formula is not None
        self.globals, self.dtype = entry.formula.function.__globals__, d
        known = (*UFUNCS.values(), "where", "copyto")
        self.scope: dict[str, Any] = {"T": d.type, **{name: getattr(np, name) for name in known}}

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """`a if c else b` as `where(c, a, b)`."""
        self.generic_visit(node)
        return _call("where", node.test, node.body, node.orelse)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A constant T(1) as the name of a number made once; other calls with their functions put
        into `scope`."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "T":
            value = eval(ast.unparse(node.args[0]), {**self.globals, "__builtins__": {}})
            constant = f"c{len(self.scope)}"
            self.scope[constant] = self.dtype.type(value)
            return ast.Name(constant, ast.Load())
        self.generic_visit(node)
        if name in self.globals:
            self.scope[name] = function(self.globals[name], self.dtype)
        return node


def _written(value: Any) -> ast.expr:
    """The last step, written to `out`: a + b as add(a, b, out=out), anything else by copyto."""
    out = ast.Name("out", ast.Load())
    if isinstance(value, ast.BinOp):
        value = _call(UFUNCS[type(value.op)], value.left, value.right)
        value.keywords = [ast.keyword("out", out)]
        return value
    return _call("copyto", out, value)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
