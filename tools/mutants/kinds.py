"""The kinds of faults: functions from a node of a syntax tree to what a slip of the hand could
have made of it.

Each is about the code and knows nothing of what it means, so that nobody chooses where it hurts.
"""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

Variants = Iterator[ast.AST]

ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.LShift, ast.RShift)
BOUNDS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITES = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OBVIOUS = (
    "isinstance",
    "issubclass",
    "hasattr",
    "getattr",
    "setattr",
    "cast",
)  # the other way round they just raise
SUMS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
EDGE = re.compile(r"alias|points?_?to|\.point\(|contain|wildcard|writ|edge", re.I)
BUMP = re.compile(r"version|bump", re.I)
GEOMETRY = re.compile(
    r"(?:.*[._])?(?:(strides?)(?:\(\w+\)|\[.+\])|(stride)|((?:storage_)?offset(?:\(\))?))"
)


def operand_order(node: ast.AST) -> Variants:
    """`a - b` becomes `b - a`, `f(a, b)` becomes `f(b, a)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ORDERED) and not _is_text(node.left):
        yield ast.BinOp(node.right, node.op, node.left)
    if (
        isinstance(node, ast.Call)
        and len(node.args) >= 2
        and getattr(node.func, "id", "") not in OBVIOUS
    ):
        first, second, *rest = node.args
        if not (
            isinstance(first, ast.Starred)
            or isinstance(second, ast.Starred)
            or _same(first, second)
        ):
            yield ast.Call(node.func, [second, first, *rest], node.keywords)


def boundary(node: ast.AST) -> Variants:
    """`<` becomes `<=`."""
    yield from _other_comparison(node, BOUNDS)


def off_by_one(node: ast.AST) -> Variants:
    """A number is one more; a `range` ends one earlier."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        end = min(len(node.args), 2) - 1
        shorter = ast.BinOp(node.args[end], ast.Sub(), ast.Constant(1))
        yield ast.Call(node.func, [*node.args[:end], shorter, *node.args[end + 1 :]], [])


def wrong_coefficient(node: ast.AST) -> Variants:
    """`+` becomes `-`, `*` becomes `/`; a factor is doubled, a sign is lost."""
    if (
        isinstance(node, ast.BinOp)
        and type(node.op) in SUMS
        and not (_is_text(node.left) or _is_text(node.right))
    ):
        yield ast.BinOp(node.left, SUMS[type(node.op)](), node.right)
    if isinstance(node, ast.Constant) and type(node.value) is float and math.isfinite(node.value):
        yield ast.Constant(node.value * 2 or 1.0)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and not isinstance(node.operand, ast.Constant)
    ):
        yield node.operand


def lost_effect(node: ast.AST) -> Variants:
    """A statement that is there for what it does is gone."""
    if (
        _is_effect(node)
        and not EDGE.search(ast.unparse(node))
        and not BUMP.search(ast.unparse(node))
    ):
        yield ast.Pass()


def missing_version_bump(node: ast.AST) -> Variants:
    """A write that nobody gets to know of."""
    if _is_effect(node) and BUMP.search(ast.unparse(node)):
        yield ast.Pass()


def missing_alias_edge(node: ast.AST) -> Variants:
    """Who may share memory with whom, or writes to it, is not noted."""
    if _is_effect(node) and EDGE.search(ast.unparse(node)):
        yield ast.Pass()


def ignored_stride_or_offset(node: ast.AST) -> Variants:
    """A stride is 1, an offset 0."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and _is_read(node):
        if found := GEOMETRY.fullmatch(ast.unparse(node)):
            yield ast.Constant(0 if found[3] else 1)


def dropped_special_value(node: ast.AST) -> Variants:
    """NaN, the infinities and -0 are numbers like any other."""
    if isinstance(node, ast.Call) and node.args:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("isnan", "isinf", "signbit", "isneginf", "isposinf"):
            yield ast.BinOp(node, ast.BitAnd(), ast.Constant(False))
        elif name == "isfinite":
            yield ast.BinOp(node, ast.BitOr(), ast.Constant(True))
        elif name in ("copysign", "nan_to_num"):
            yield node.args[0]
        elif (
            name == "float"
            and isinstance(node.args[0], ast.Constant)
            and type(node.args[0].value) is str
        ):
            yield ast.Constant(0.0)
    if isinstance(node, ast.Attribute) and node.attr in ("inf", "nan"):
        yield ast.Constant(0.0)
    if (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.NotEq)
        and _same(node.left, node.comparators[0])
    ):
        yield ast.Compare(node.left, [ast.Lt()], node.comparators)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and ast.unparse(node.operand) in ("0.0", "0")
    ):
        yield node.operand


def swapped_key(node: ast.AST) -> Variants:
    """Two neighbours in a table have each other's values, two keywords each other's arguments; one
    dispatch key is the next.
    """
    if isinstance(node, ast.Dict):
        for i in range(min(len(node.keys) - 1, 4)):
            if None not in node.keys[i : i + 2] and not _same(node.values[i], node.values[i + 1]):
                values = [
                    *node.values[:i],
                    node.values[i + 1],
                    node.values[i],
                    *node.values[i + 2 :],
                ]
                yield ast.Dict(node.keys, values)
    if (
        isinstance(node, ast.Call)
        and len(node.keywords) >= 2
        and None not in [k.arg for k in node.keywords]
    ):
        a, b, *rest = node.keywords
        if not _same(a.value, b.value):
            yield ast.Call(
                node.func,
                node.args,
                [ast.keyword(a.arg, b.value), ast.keyword(b.arg, a.value), *rest],
            )
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "DispatchKey"
    ):
        yield ast.Attribute(node.value, "AutogradCPU" if node.attr != "AutogradCPU" else "CPU")


def negated_condition(node: ast.AST) -> Variants:
    """A branch is taken when it should not be; `==` becomes `!=`."""
    test = node.test if isinstance(node, (ast.If, ast.While, ast.IfExp)) else None
    if test is not None and not any(True for _ in _other_comparison(test, OPPOSITES)):
        changed = copy.copy(node)
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        changed.test = test.operand if negated else ast.UnaryOp(ast.Not(), test)  # type: ignore[attr-defined]
        yield changed
    yield from _other_comparison(node, OPPOSITES)


def and_for_or(node: ast.AST) -> Variants:
    """`and` becomes `or`; a clause is missing."""
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for i in range(len(node.values)):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def flipped_flag(node: ast.AST) -> Variants:
    """`True` becomes `False`."""
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)


def missing_check(node: ast.AST) -> Variants:
    """What should be refused is not."""
    if (
        isinstance(node, ast.If)
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Raise)
        and not node.orelse
    ):
        yield ast.Pass()


KINDS: dict[str, Callable[[ast.AST], Variants]] = {
    function.__name__.replace("_", " "): function
    for function in (
        operand_order, boundary, off_by_one, wrong_coefficient, lost_effect, missing_version_bump,
        missing_alias_edge, ignored_stride_or_offset, dropped_special_value, swapped_key,
        negated_condition, and_for_or, flipped_flag, missing_check,
    )
}  # fmt: skip


def _is_effect(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    return isinstance(node, (ast.AugAssign, ast.Delete))


def _is_read(node: Any) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.JoinedStr)
        or isinstance(node, ast.Constant)
        and isinstance(node.value, str)
    )


def _same(a: ast.AST, b: ast.AST) -> bool:
    return ast.dump(a) == ast.dump(b)


def _other_comparison(node: ast.AST, table: dict[Any, Any]) -> Variants:
    for i, op in enumerate(node.ops if isinstance(node, ast.Compare) else ()):
        if type(op) in table:
            changed = copy.copy(node)
            changed.ops = [*node.ops[:i], table[type(op)](), *node.ops[i + 1 :]]  # type: ignore[attr-defined]
            yield changed
