"""From expressions of Python's `ast` to expressions of the tree (`ExprBuilder` of
`torch/jit/frontend.py`).

One function builds each kind of expression, and the table `BUILDERS` at the end chooses it. A kind
that is missing there does not exist in TorchScript: `lambda`, `:=`, `yield`, `await`, sets.

Some expressions get simpler: `1 < x < 3` becomes `1 < x and x < 3` (`x` is evaluated twice),
`f"{x} left"` becomes `"{} left".format(x)`, a generator becomes a list comprehension.

Of a number only Python's `str()` is kept, as in PyTorch: an error about `1e3` therefore underlines
as many characters as `1000.0` has.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import tree
from .errors import FrontendError, NotSupportedError, UnsupportedNodeError
from .source import SourceContext

RESERVED_PREFIX = "__jit"

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.BitOr: "|",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
UNARY = {ast.Not: "not", ast.USub: "-", ast.Invert: "~"}
BOOLEAN = {ast.And: "and", ast.Or: "or"}
COMPARISON = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def build_expression(context: SourceContext, node: ast.expr) -> tree.Expr:
    """The tree of an expression. Raises NotSupportedError if TorchScript does not have it."""
    build = BUILDERS.get(type(node))
    if build is None:
        raise UnsupportedNodeError(context, node)
    return build(context, node)


def build_all(context: SourceContext, nodes: list[ast.expr]) -> tuple[tree.Expr, ...]:
    return tuple(build_expression(context, node) for node in nodes)


# Names and literals


def build_name(context: SourceContext, node: ast.Name) -> tree.Expr:
    """A name; `Ellipsis` is written `...`. Raises NotSupportedError for names that start with
    `__jit`.
    """
    where = context.range_of(node, len(node.id))
    if node.id.startswith(RESERVED_PREFIX):
        raise NotSupportedError(
            where, f"names of variables used in JIT-ed functions can't start with {RESERVED_PREFIX}"
        )
    if node.id == "Ellipsis":
        return tree.Dots(where)
    return tree.Var(where, tree.Ident(where, node.id))


def build_constant(context: SourceContext, node: ast.Constant) -> tree.Expr:
    """A literal. Raises FrontendError for bytes, the only kind that TorchScript does not have."""
    value = node.value
    where = context.range_of(node, len(str(value)))
    if value is None:
        return tree.NoneLiteral(where)
    if isinstance(value, bool):
        return tree.TrueLiteral(where) if value else tree.FalseLiteral(where)
    if isinstance(value, (int, float, complex)):
        return tree.Const(where, str(value))
    if isinstance(value, str):
        # the opening quote and the text
        return tree.StringLiteral(context.range_of(node, len(value) + 1), value)
    if value is Ellipsis:
        return tree.Dots(context.range_of(node, len("...")))
    raise FrontendError(where, "Unknown Constant expression type")


def build_formatted_string(context: SourceContext, node: ast.JoinedStr) -> tree.Expr:
    """`f"{x} left"` becomes `"{} left".format(x)`. Raises NotSupportedError for conversions (`!r`)
    and formats (`:.3f`).
    """
    text, args = "", []
    for part in node.values:
        where = context.range_of(part, 1)
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        if not isinstance(part, ast.FormattedValue):
            raise NotSupportedError(where, "Unsupported value in JoinedStr")
        if part.conversion != -1:
            raise NotSupportedError(where, "Don't support conversion in JoinedStr")
        if part.format_spec is not None:
            raise NotSupportedError(where, "Don't support formatting in JoinedStr")
        text += "{}"
        args.append(build_expression(context, part.value))
    where = context.range_of(node, 1)
    method = tree.Select(where, tree.StringLiteral(where, text), tree.Ident(where, "format"))
    return tree.Apply(where, method, tuple(args))


# Operators


def build_binary(context: SourceContext, node: ast.BinOp) -> tree.Expr:
    lhs = build_expression(context, node.left)
    return tree.BinOp(lhs.range, BINARY[type(node.op)], lhs, build_expression(context, node.right))


def build_unary(context: SourceContext, node: ast.UnaryOp) -> tree.Expr:
    """`not x`, `-x`, `~x`. Raises NotSupportedError for `+x`."""
    operand = build_expression(context, node.operand)
    kind = UNARY.get(type(node.op))
    if kind is None:
        raise NotSupportedError(
            operand.range, f"unsupported unary operator: {type(node.op).__name__}"
        )
    # In an archive `-1` is a literal; in Python's source it is `neg(1)`, which the compiler folds.
    if context.is_archive and kind == "-" and isinstance(operand, tree.Const):
        return tree.Const(context.range_of(node, 1 + len(operand.text)), f"-{operand.text}")
    return tree.UnaryOp(context.range_of(node, len(kind)), kind, operand)


def build_boolean(context: SourceContext, node: ast.BoolOp) -> tree.Expr:
    """`a and b and c`, one node in Python's `ast`, becomes `(a and b) and c`."""
    result, *others = build_all(context, node.values)
    for other in others:
        result = tree.BinOp(result.range, BOOLEAN[type(node.op)], result, other)
    return result


def build_comparison(context: SourceContext, node: ast.Compare) -> tree.Expr:
    """`a < b < c` becomes `a < b and b < c`, so that b is evaluated twice; `a not in b` becomes
    `not a in b`.
    """
    operands = build_all(context, [node.left, *node.comparators])
    result: tree.Expr | None = None
    for lhs, op, rhs in zip(operands, node.ops, operands[1:]):
        if isinstance(op, ast.NotIn):
            # the characters of " not in " itself
            between = context.raw_range(lhs.range.end, rhs.range.start)
            each: tree.Expr = tree.UnaryOp(between, "not", tree.BinOp(lhs.range, "in", lhs, rhs))
        else:
            each = tree.BinOp(lhs.range, COMPARISON[type(op)], lhs, rhs)
        result = each if result is None else tree.BinOp(result.range, "and", result, each)
    assert result is not None
    return result


def build_ternary(context: SourceContext, node: ast.IfExp) -> tree.Expr:
    test = build_expression(context, node.test)
    return tree.TernaryIf(
        test.range,
        test,
        build_expression(context, node.body),
        build_expression(context, node.orelse),
    )


# Calls, attributes, subscripts


def build_attribute(context: SourceContext, node: ast.Attribute) -> tree.Expr:
    """`value.name`. Python's `ast` has no position for the name, so it is searched for behind the
    value.
    """
    value = build_expression(context, node.value)
    start = value.range.end + 1  # after the dot
    while context.text[start].isspace():
        start += 1
    name = tree.Ident(context.raw_range(start, start + len(node.attr)), node.attr)
    return tree.Select(value.range, value, name)


def build_call(context: SourceContext, node: ast.Call) -> tree.Expr:
    """`f(x, *xs, k=v)`. Raises NotSupportedError for `**kwargs`."""
    callee = build_expression(context, node.func)
    args = build_all(context, node.args)
    keywords = []
    for keyword in node.keywords:
        value = build_expression(context, keyword.value)
        if keyword.arg is None:
            raise NotSupportedError(value.range, "keyword-arg expansion is not supported")
        keywords.append(tree.Attribute(value.range, tree.Ident(value.range, keyword.arg), value))
    return tree.Apply(callee.range, callee, args, tuple(keywords))


def build_subscript(context: SourceContext, node: ast.Subscript) -> tree.Expr:
    """`x[i, a:b]`: the tuple of indices is split into its parts, while `x[()]` keeps its empty
    tuple. The range ends at the closing bracket.
    """
    value = build_expression(context, node.value)
    if isinstance(node.slice, ast.Tuple) and not node.slice.elts:
        empty = context.range_at(node.lineno, node.slice.col_offset, len("()"))
        indices: tuple[tree.Expr, ...] = (tree.TupleLiteral(empty, ()),)
    else:
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple(_index(context, value, each) for each in nodes)
    where = context.raw_range(value.range.start, indices[-1].range.end + 1)
    return tree.Subscript(where, value, indices)


def _index(context: SourceContext, value: tree.Expr, node: ast.expr) -> tree.Expr:
    """One part of an index. A slice has the range of the subscripted `value`, as in PyTorch."""
    if not isinstance(node, ast.Slice):
        return build_expression(context, node)
    bounds = [
        each if each is None else build_expression(context, each)
        for each in (node.lower, node.upper, node.step)
    ]
    return tree.SliceExpr(value.range, *bounds)


def build_starred(context: SourceContext, node: ast.Starred) -> tree.Expr:
    return tree.Starred(context.range_of(node, 1), build_expression(context, node.value))


# Containers


def build_list(context: SourceContext, node: ast.List) -> tree.Expr:
    return tree.ListLiteral(context.range_of(node, 1), build_all(context, node.elts))


def build_tuple(context: SourceContext, node: ast.Tuple) -> tree.Expr:
    return tree.TupleLiteral(context.range_of(node, 1), build_all(context, node.elts))


def build_dict(context: SourceContext, node: ast.Dict) -> tree.Expr:
    """`{k: v}`. Raises NotSupportedError for `{**d}`, which has None for a key in `ast`."""
    where = context.range_of(node, 1)
    keys = [key for key in node.keys if key is not None]
    if len(keys) < len(node.keys):
        raise NotSupportedError(where, "Dict expansion (e.g. `{**dict}`) is not supported")
    return tree.DictLiteral(where, build_all(context, keys), build_all(context, node.values))


def build_list_comprehension(
    context: SourceContext, node: ast.ListComp | ast.GeneratorExp
) -> tree.Expr:
    where, generator = _only_generator(context, node)
    elt = build_expression(context, node.elt)
    return tree.ListComp(where, elt, *_target_and_iter(context, generator))


def build_dict_comprehension(context: SourceContext, node: ast.DictComp) -> tree.Expr:
    where, generator = _only_generator(context, node)
    key, value = build_expression(context, node.key), build_expression(context, node.value)
    return tree.DictComp(where, key, value, *_target_and_iter(context, generator))


def _only_generator(
    context: SourceContext, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
) -> tuple[Any, Any]:
    """The range of a comprehension and its only `for`. Raises NotSupportedError if it has several,
    or an `if`.
    """
    where = context.range_of(node, 0)
    if len(node.generators) != 1:
        raise NotSupportedError(where, "Only a single generator is currently supported")
    if node.generators[0].ifs:
        raise NotSupportedError(where, "Comprehension ifs are not supported yet")
    return where, node.generators[0]


def _target_and_iter(
    context: SourceContext, generator: ast.comprehension
) -> tuple[tree.Expr, tree.Expr]:
    return build_expression(context, generator.target), build_expression(context, generator.iter)


BUILDERS: dict[type[ast.expr], Callable[[SourceContext, Any], tree.Expr]] = {
    ast.Name: build_name,
    ast.Constant: build_constant,
    ast.JoinedStr: build_formatted_string,
    ast.BinOp: build_binary,
    ast.UnaryOp: build_unary,
    ast.BoolOp: build_boolean,
    ast.Compare: build_comparison,
    ast.IfExp: build_ternary,
    ast.Attribute: build_attribute,
    ast.Call: build_call,
    ast.Subscript: build_subscript,
    ast.Starred: build_starred,
    ast.List: build_list,
    ast.Tuple: build_tuple,
    ast.Dict: build_dict,
    ast.ListComp: build_list_comprehension,
    ast.GeneratorExp: build_list_comprehension,
    ast.DictComp: build_dict_comprehension,
}
