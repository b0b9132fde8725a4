"""Source in, tree out: the same tree as PyTorch's, with the same places."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

import pytest

from internals.jit.frontend import build_expressions, build_statements, tree
from internals.jit.frontend.build_tree import default_arguments, tree_of
from internals.jit.frontend.errors import FrontendError
from internals.jit.frontend.source import parse_function
from tests.answers import answer, oracle
from tests.jit.sources import define, plain

# One function a feature; bodies of f(x, y).
BODIES = [
    "return x + y * x - x / y // x % y ** x @ y",
    "return x & y | x ^ y << 1 >> 2",
    "return -x, ~x, not x",
    "return 1 < x <= y != x == 3 > y >= 0",
    "return x is None, x is not None, x in y, x not in y",
    "return x and y or x and not y",
    "return x if y else y",
    "return 1, 1.5, 1e3, 2j, 1e400, 0x10, 1_000, True, False, None, 'a', 'a' 'b', ...",
    "return [], [x, y], (), (x,), {}, {'a': x, 'b': y}",
    "return [a + 1 for a in x], {a: b for a, b in x}, sum(a for a in x)",
    "return x.y.z(1, *x, k=y)(2)",
    "return x[0], x[1:], x[:2, ::3, ..., None], x[()], x[x[1]], x[(1, 2)], x[1:2:3]",
    "return f'a{x}b{y + 1}', f'{x}', f'plain'",
    "a = b = x\nreturn a",
    "a, (b, *c) = x\na[0], a.b = y\nreturn c",
    "a: int = 3\na += 1\na -= 1\na *= 2\na /= 2\na %= 2\na |= 1\na &= 1\na ^= 1\na <<= 1\na >>= "
    "1\na **= 2\nx.a += 1\nx[0] += 1",
    "if x:\n return 1\nelif y:\n return 2\nelse:\n pass\nreturn 3",
    "while x < 3:\n if y:\n  break\n continue",
    "for i in range(3):\n for a, b in zip(x, y):\n  pass",
    "with x.no_grad() as g, y:\n return g",
    "assert x, f'no {x}'\nassert y\nraise ValueError('no')",
    "del x, y[0]\nreturn",
    "'''docstring'''\nx.foo()\nprint(x, y)",
    "return (x\n  + y\n  . z\n  [0]\n )",
    "return x . \\\n  y",
]  # fmt: skip


def body(text: str) -> str:
    return "def f(x, y):\n" + "\n".join("    " + line for line in text.split("\n"))


@pytest.mark.parametrize("text", BODIES)
def test_trees_are_pytorchs(text: str) -> None:
    fn = define(body(text))
    real = answer(lambda torch: words(str(torch.jit.frontend.get_jit_def(fn, "g"))), family="jit")
    assert words(tree_of(fn, "g").sexpr()) == real


@pytest.mark.parametrize("text", BODIES)
def test_places_are_pytorchs(text: str) -> None:
    """The range of every statement and expression."""
    fn = define(body(text))
    assert count_equal_places(fn, answer(lambda torch: places(torch, fn), family="jit")) > 2


@pytest.mark.sampled(1 / 4)
def test_the_library_of_python_itself() -> None:
    """Hundreds of functions that nobody wrote for this test: same trees, same places or same
    refusals.
    """
    torch = oracle()
    import argparse
    import textwrap

    functions = [
        f
        for module in (textwrap, argparse, inspect)
        for f in vars(module).values()
        if isinstance(f, types.FunctionType)
    ]
    functions += [
        f for f in vars(argparse.ArgumentParser).values() if isinstance(f, types.FunctionType)
    ]
    compared = 0
    for fn in functions:
        real = outcome(torch.jit.frontend.get_jit_def, fn)
        ours = outcome(tree_of, fn)
        if "object has no attribute" in real:  # a bare raise
            continue
        assert words(ours) == words(real)
        compared += 1 + count_equal_places(fn, places(torch, fn))
    assert compared > 9_000


def parts(fn: Any) -> list[ast.expr | ast.stmt]:
    """The statements and expressions of a function."""
    nodes = ast.walk(parse_function(fn).definition)
    kinds = (ast.expr, ast.stmt)
    return [
        n
        for n in nodes
        if isinstance(n, kinds) and not isinstance(n, ast.Slice | ast.FormattedValue)
    ]


def places(torch: Any, fn: Any) -> list[tuple[int, int, str] | None]:
    """Where real PyTorch finds each of them: the range, and what it shows of it; None of what it
    refuses.
    """
    frontend, context = torch.jit.frontend, torch._sources.parse_def(fn).ctx

    def place(node: ast.expr | ast.stmt) -> tuple[int, int, str] | None:
        try:
            found = (frontend.build_expr if isinstance(node, ast.expr) else frontend.build_stmt)(
                context, node
            ).range()
        except Exception:
            return None
        return found.start, found.end, plain(found.highlight())

    return list(map(place, parts(fn)))


def count_equal_places(fn: Any, theirs: list[tuple[int, int, str] | None]) -> int:
    context = parse_function(fn).context
    for node, expected in zip(parts(fn), theirs, strict=True):
        if expected is not None:
            is_expression = isinstance(node, ast.expr)
            build = (
                build_expressions.build_expression
                if is_expression
                else build_statements.build_statement
            )
            found = build(context, node).range  # type: ignore[arg-type]
            assert (found.start, found.end, plain(found.highlight())) == expected, ast.unparse(node)
    return sum(expected is not None for expected in theirs)


def outcome(make: Any, fn: Any) -> str:
    try:
        made = make(fn, fn.__name__)
        return made.sexpr() if isinstance(made, tree.Def) else str(made)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def words(text: str) -> str:
    return "".join(text.split())


def test_the_outline_has_a_line_for_every_node() -> None:
    fn = define("def f(x, *, n: int):\n    return x.t() + n[1:] if x < 2 else f'{n}'")
    assert str(tree_of(fn, "f")) == OUTLINE.strip("\n")


OUTLINE = """
Def f
  decl: Decl
    params[0]: Param x
    params[1]: Param n kwarg_only
      type: Var int
  body[0]: Return
    expr: TernaryIf
      cond: BinOp <
        lhs: Var x
        rhs: Const '2'
      true_expr: BinOp +
        lhs: Apply
          callee: Select t
            value: Var x
        rhs: Subscript
          value: Var n
          subscript_exprs[0]: SliceExpr
            start: Const '1'
      false_expr: Apply
        callee: Select format
          value: StringLiteral '{}'
        inputs[0]: Var n
"""


def test_nodes_know_their_children_and_cannot_be_changed() -> None:
    t = tree_of(define("def f(x):\n    return x + x"), "f")
    kinds = [type(node).__name__ for node in t.walk()]
    assert kinds == [
        "Def",
        "Ident",
        "Decl",
        "Param",
        "Ident",
        "Return",
        "BinOp",
        "Var",
        "Ident",
        "Var",
        "Ident",
    ]
    assert t.range.text() == "def f(x):\n    return x + x"
    first, second = (node for node in t.walk() if isinstance(node, tree.Var))
    assert first != second and first.name.name == second.name.name
    with pytest.raises(AttributeError):
        first.name = second.name  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.0", 1.0), ("1e-05", 1e-5), ("inf", float("inf")), ("1j", 1j),
     ("12345678901234567890", 12345678901234567890)],
)  # fmt: skip
def test_numbers_are_text(text: str, value: Any) -> None:
    t = tree_of(define("def f():\n    return 1"), "f")
    const = tree.Const(t.range, text)
    assert const.value == value and type(const.value) is type(value)


def test_methods_name_the_type_of_self() -> None:
    t = tree_of(define("def forward(self, x):\n    return x"), "forward", "M")
    assert (
        t.decl.params[0].type is not None
        and t.decl.params[0].type.sexpr() == "(variable (ident M))"
    )
    assert t.decl.params[1].type is None


def test_defaults_come_from_the_function() -> None:
    fn = define("K = 3\ndef f(x, n=K + 1, s='a'):\n    return x")
    assert default_arguments(fn) == {"n": 4, "s": "a"} and default_arguments(None) == {}
    assert [p.default for p in tree_of(fn, "f").decl.params] == [None, None, None]


def test_unused_functions_lose_their_bodies() -> None:
    from internals.jit.frontend.modifiers import FunctionModifiers, unused

    fn = unused(define("def f(x: Whatever, *args, y: int) -> int:\n    yield 1", Whatever=int))
    assert tree_of(fn, "f").sexpr() == (
        "(def (ident f) (decl (list (param (ident x) (option (variable (ident Any))) (option) "
        "(False)) (param (ident y) (option (variable (ident Any))) (option) (True))) (option "
        "(variable (ident int)))) (list (raise (apply (variable (ident RuntimeError)) (list "
        "(string_literal Cannot call @unused methods)) (list)))))"
    )
    fn._torchscript_modifier = FunctionModifiers._DROP
    assert tree_of(fn, "f").decl.return_type is None


def test_errors_say_where() -> None:
    with pytest.raises(FrontendError) as caught:
        tree_of(define("def f(x):\n    y = x\n    return [{y, x},\n      y]"), "f")
    lines = str(caught.value).split("\n")
    assert lines[0] == "Set aren't supported:" and lines[1].endswith('.py", line 3')
    assert lines[2:] == [
        "def f(x):",
        "    y = x",
        "    return [{y, x},",
        "            ~ <--- HERE",
        "      y]",
        "",
    ]
