"""From statements of Python's `ast` to statements of the tree (`StmtBuilder` of
`torch/jit/frontend.py`).

One function builds each kind of statement, and the table `BUILDERS` at the end chooses it. A kind
that is missing there does not exist in TorchScript: `try`, `global`, `import`, `match`, and
everything `async`.

A definition inside a function is allowed in the code of an archive only, where `fork` is written
that way.

How the real one differs: it also has `with torch.jit._IgnoreContextManager(...)`, which moves its
body into an ignored function that it generates and runs with `exec`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from . import tree
from .build_expressions import build_expression
from .errors import NotSupportedError, UnsupportedNodeError
from .source import SourceContext

AUGMENTED = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Pow: "**",
}


def build_statements(
    context: SourceContext, statements: Sequence[ast.stmt]
) -> tuple[tree.Stmt, ...]:
    """The statements of a body, in order. Raises NotSupportedError at the first that TorchScript
    does not have.
    """
    return tuple(build_statement(context, each) for each in statements)


def build_statement(context: SourceContext, statement: ast.stmt) -> tree.Stmt:
    """The tree of one statement. Raises UnsupportedNodeError if TorchScript does not have it."""
    build = BUILDERS.get(type(statement))
    if build is None or (isinstance(statement, ast.FunctionDef) and not context.is_archive):
        raise UnsupportedNodeError(context, statement)
    return build(context, statement)


def build_expr(context: SourceContext, s: ast.Expr) -> tree.Stmt:
    value = build_expression(context, s.value)
    return tree.ExprStmt(value.range, value)


def build_assign(context: SourceContext, s: ast.Assign) -> tree.Stmt:
    rhs = build_expression(context, s.value)
    return tree.Assign(
        rhs.range, tuple(build_expression(context, target) for target in s.targets), rhs
    )


def build_annotated_assign(context: SourceContext, s: ast.AnnAssign) -> tree.Stmt:
    """`x: T = v`. Raises UnsupportedNodeError without a value, and ValueError for `self.x: T = v`
    outside `__init__`.
    """
    if s.value is None:
        raise UnsupportedNodeError(context, s, "without assigned value")
    if (
        isinstance(s.target, ast.Attribute)
        and _is_self(s.target.value)
        and context.function_name != "__init__"
    ):
        # the underlined part: `self.x: T`, or `self.x` when T is not a plain name
        length = len(f"self.{s.target.attr}")
        length += len(f": {s.annotation.id}") if isinstance(s.annotation, ast.Name) else 0
        raise ValueError(
            "Type annotations on instance attributes must be declared in __init__, not "
            f"'{context.function_name}': "
            f"SourceRange at:\n{context.range_of(s, length).highlight()}"
        )
    rhs = build_expression(context, s.value)
    target = build_expression(context, s.target)
    return tree.Assign(rhs.range, (target,), rhs, build_expression(context, s.annotation))


def build_augmented_assign(context: SourceContext, s: ast.AugAssign) -> tree.Stmt:
    """`x += v` and so on. Raises NotSupportedError for `//=` and `@=`."""
    lhs = build_expression(context, s.target)
    rhs = build_expression(context, s.value)
    op = AUGMENTED.get(type(s.op))
    if op is None:
        # `ast` has no position for the operator: underline its last two characters, as in `@=`
        equals = context.text[: rhs.range.start].rindex("=")
        kind = type(s.op).__name__
        where = context.raw_range(equals - 1, equals + 1)
        raise NotSupportedError(where, f"unsupported kind of augmented assignment: {kind}")
    return tree.AugAssign(lhs.range, lhs, op, rhs)


def build_return(context: SourceContext, s: ast.Return) -> tree.Stmt:
    where = context.range_of(s, len("return"))
    return tree.Return(
        where, tree.NoneLiteral(where) if s.value is None else build_expression(context, s.value)
    )


def build_raise(context: SourceContext, s: ast.Raise) -> tree.Stmt:
    where = context.range_of(s, len("raise"))
    if s.exc is None:
        raise NotSupportedError(where, "raise without an exception is not supported")
    return tree.Raise(where, build_expression(context, s.exc))


def build_assert(context: SourceContext, s: ast.Assert) -> tree.Stmt:
    where = context.range_of(s, len("assert"))
    test = build_expression(context, s.test)
    return tree.Assert(where, test, build_expression(context, s.msg) if s.msg is not None else None)


def build_delete(context: SourceContext, s: ast.Delete) -> tree.Stmt:
    where = context.range_of(s, len("del"))
    return tree.Delete(where, tuple(build_expression(context, target) for target in s.targets))


def build_if(context: SourceContext, s: ast.If) -> tree.Stmt:
    where = context.range_of(s, len("if"))
    test = build_expression(context, s.test)
    return tree.If(
        where, test, build_statements(context, s.body), build_statements(context, s.orelse)
    )


def build_while(context: SourceContext, s: ast.While) -> tree.Stmt:
    """`while test: body`. Raises NotSupportedError for an `else`."""
    where = context.range_of(s, len("while"))
    if s.orelse:
        raise NotSupportedError(where, "else branches of while loops aren't supported")
    return tree.While(where, build_expression(context, s.test), build_statements(context, s.body))


def build_for(context: SourceContext, s: ast.For) -> tree.Stmt:
    """`for target in iter: body`. Raises NotSupportedError for an `else`."""
    where = context.range_of(s, len("for"))
    if s.orelse:
        raise NotSupportedError(where, "else branches of for loops aren't supported")
    target = build_expression(context, s.target)
    return tree.For(
        where, (target,), (build_expression(context, s.iter),), build_statements(context, s.body)
    )


def build_with(context: SourceContext, s: ast.With) -> tree.Stmt:
    where = context.range_of(s, len("with"))
    items = tuple(build_with_item(context, item) for item in s.items)
    return tree.With(where, items, build_statements(context, s.body))


def build_with_item(context: SourceContext, item: ast.withitem) -> tree.WithItem:
    """`target as var`. Raises NotSupportedError unless `var` is a name."""
    target = build_expression(context, item.context_expr)
    var = build_expression(context, item.optional_vars) if item.optional_vars is not None else None
    if var is not None and not isinstance(var, tree.Var):
        raise NotSupportedError(var.range, "the target of `with ... as` must be a name")
    # the length that PyTorch has; no error underlines this range
    where = context.range_of(item.context_expr, len("with statements"))
    return tree.WithItem(where, target, var)


def build_closure(context: SourceContext, s: ast.FunctionDef) -> tree.Stmt:
    """A definition inside a function of an archive: the body of a fork, which takes no arguments
    and uses the names around it.
    """
    where = context.range_of(s, len("def"))
    if s.args.posonlyargs or s.args.args or s.args.kwonlyargs or s.args.vararg or s.args.kwarg:
        raise NotSupportedError(where, "a function inside a function takes no arguments")
    return tree.Def(
        where, tree.Ident(where, s.name), tree.Decl(where, ()), build_statements(context, s.body)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


BUILDERS: dict[type[ast.stmt], Callable[[SourceContext, Any], tree.Stmt]] = {
    ast.Expr: build_expr,
    ast.Assign: build_assign,
    ast.AnnAssign: build_annotated_assign,
    ast.AugAssign: build_augmented_assign,
    ast.Return: build_return,
    ast.Raise: build_raise,
    ast.Assert: build_assert,
    ast.Delete: build_delete,
    ast.If: build_if,
    ast.While: build_while,
    ast.For: build_for,
    ast.With: build_with,
    ast.Pass: lambda context, s: tree.Pass(context.range_of(s, len("pass"))),
    ast.Break: lambda context, s: tree.Break(context.range_of(s, len("break"))),
    ast.Continue: lambda context, s: tree.Continue(context.range_of(s, len("continue"))),
    ast.FunctionDef: build_closure,
}
