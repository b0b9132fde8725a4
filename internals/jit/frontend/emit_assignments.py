"""Assignments to names, attributes and elements, unpacking, and `+=` (`emitAssignment` and the
functions it calls, in `ir_emitter.cpp`).

`x += v` changes a tensor or a list in place: the operators are `add_`, `mul_` and so on. For
numbers and strings it means `x = x + v`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import (
    AnyTupleType,
    BoolType,
    ClassType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    SourceRange,
    TensorType,
    Type,
    Value,
)

from . import tree
from .emit_subscripts import split_indices
from .error_report import error, span, spell
from .schema_matching import NamedValue
from .sugared_values import BuiltinFunction, MagicMethod, SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_assign(c: Compiler, stmt: tree.Assign) -> None:
    """`a = v`. In `a = b = v`, v is evaluated once, stored in a temporary, and assigned from left
    to right.
    """
    if stmt.rhs is None:
        raise error(stmt.range, "For an assignment, expected an expression on the right-hand side")
    if len(stmt.lhs_list) == 1:
        _assign_one(c, stmt, stmt.lhs, stmt.rhs)
        return
    name = c.temporary("$tmp_assign_")
    c.environment.set(stmt.rhs.range, name, c.emit_sugared(stmt.rhs, 1))
    value = tree.Var(stmt.rhs.range, tree.Ident(stmt.rhs.range, name))
    for lhs in stmt.lhs_list:
        _assign_one(c, tree.Assign(stmt.range, (lhs,), value), lhs, value)


def _assign_one(c: Compiler, stmt: tree.Assign, lhs: tree.Expr, rhs: tree.Expr) -> None:
    """Assign `rhs` to one target: a name, a tuple of targets, an attribute or an element."""
    if isinstance(lhs, tree.Var):
        t = None if stmt.type is None else c.type_of_annotation(stmt.type)
        c.environment.set(lhs.range, lhs.name.name, c.emit_sugared(rhs, 1, t), t)
    elif isinstance(lhs, tree.TupleLiteral):
        n, starred = check_targets(lhs.inputs, lhs.range)
        unpack(c, lhs, c.emit_sugared(rhs, n), rhs.range, n, starred)
    elif isinstance(lhs, tree.Select):
        t = None if stmt.type is None else c.type_of_annotation(stmt.type)
        owner = c.emit_sugared(lhs.value, 1)
        value = c.emit_sugared(rhs, 1, t).as_value(rhs.range, c)
        owner.set_attr(stmt.range, c, lhs.selector.name, value)
    elif isinstance(lhs, tree.Subscript):
        assign_element(c, stmt.range, lhs, NamedValue(c.emit(rhs), rhs.range))
    else:
        raise error(lhs.range, "unexpected expression on left-hand side of assignment")


# Unpacking.


def check_targets(targets: Sequence[tree.Expr], where: SourceRange) -> tuple[int, bool]:
    """The number of targets that take one value each, and whether another one is starred and takes
    the rest. Raises RuntimeError if the targets are not valid.
    """
    n_starred = 0
    for target in targets:
        if isinstance(target, tree.Starred):
            n_starred += 1
        elif not isinstance(target, (tree.Var, tree.Subscript, tree.TupleLiteral, tree.Select)):
            raise error(
                target.range,
                "lhs of assignment must be a variable, subscript, or starred expression",
            )
    if n_starred > 1:
        raise error(where, "Only one starred expression is allowed on the lhs")
    if n_starred and n_starred == len(targets):
        raise error(
            where,
            "A Starred expression may only appear on the lhs within the presence of another "
            "non-starred expression",
        )
    return len(targets) - n_starred, bool(n_starred)


def unpack(
    c: Compiler,
    targets: tree.TupleLiteral,
    value: SugaredValue,
    where: SourceRange,
    n: int,
    starred: bool,
) -> None:
    """Unpack `value` into `n` targets, and a starred one if `starred`. Raises RuntimeError if the
    number of values does not fit.
    """
    parts = value.as_tuple(where, c, None if starred else n)
    if len(parts) < n:
        least = "at least " if starred else ""
        raise error(targets.range, f"need {least}{n} values to unpack but found only {len(parts)}")
    if len(parts) > n and not starred:
        raise error(targets.range, f"too many values to unpack: need {n} but found {len(parts)}")
    assign_all(c, targets.inputs, parts, where, n)


def assign_all(
    c: Compiler,
    targets: Sequence[tree.Expr],
    values: Sequence[SugaredValue],
    where: SourceRange,
    n: int,
) -> None:
    """Assign values to targets one by one. A starred target takes as many as the `n` other targets
    leave, as a tuple.
    """
    i = 0
    for target in targets:
        if isinstance(target, tree.Starred):
            if not isinstance(target.expr, tree.Var):
                raise error(target.expr.range, "Cannot pack a tuple into a non-variable")
            rest = values[i : i + len(values) - n]  # the other n targets take one value each
            packed = c.tuple_construct([v.as_value(target.range, c) for v in rest])
            c.environment.set_value(target.expr.range, target.expr.name.name, packed)
            i += len(rest)
            continue
        if isinstance(target, tree.Var):
            c.environment.set(target.range, target.name.name, values[i])
        elif isinstance(target, tree.Subscript):
            assign_element(c, where, target, NamedValue(values[i].as_value(where, c), where))
        elif isinstance(target, tree.TupleLiteral):
            inner, starred = check_targets(target.inputs, target.range)
            unpack(c, target, values[i], where, inner, starred)
        elif isinstance(target, tree.Select):
            owner = c.emit_sugared(target.value, 1)
            owner.set_attr(where, c, target.selector.name, values[i].as_value(where, c))
        else:
            raise error(target.range, "unexpected expression on the left-hand side")
        i += 1


# Elements.


def assign_element(c: Compiler, where: SourceRange, lhs: tree.Subscript, rhs: NamedValue) -> None:
    """`x[i] = v`: for a tensor `copy_` into a view of it, or `index_put_` if indices are tensors;
    for lists and dicts `_set_item`.
    """
    container = c.emit(lhs.value)
    if isinstance(container.type(), TensorType):
        # the ints and slices are applied to the left side, as a view; tensors of indices remain
        view, indices = split_indices(c, lhs.range, container, lhs.subscript_exprs)
        value = _as_tensor(c, rhs, view)
        if not indices:
            c.insert("aten::copy_", [view, value], where)
        else:
            c.insert(
                "aten::index_put_",
                [view, c.list_construct(OptionalType(TensorType.get()), indices), value],
                where,
            )
        return
    exprs = lhs.subscript_exprs
    if len(exprs) != 1 or isinstance(exprs[0], tree.SliceExpr):
        raise error(
            span(exprs),
            "Sliced expression not yet supported for subscripted assignment. File a bug if you "
            "want this",
        )
    if container.type().isSubtypeOf(AnyTupleType.get()):
        raise error(lhs.range, f"{spell(container.type())} does not support subscripted assignment")
    index = c.emit(exprs[0])
    args = [
        NamedValue(container, lhs.value.range, "self"),
        NamedValue(index, span(exprs), "idx"),
        rhs,
    ]
    MagicMethod("__setitem__", BuiltinFunction("aten::_set_item")).call(where, c, args, [], 0)


def _as_tensor(c: Compiler, value: NamedValue, like: Value) -> Value:
    """A number as a tensor of the dtype and device of `like`; other values as they are."""
    v = value.get(c)
    if not isinstance(v.type(), (NumberType, IntType, FloatType, BoolType)):
        return v
    dtype = c.insert("prim::dtype", [like], None)
    device = c.insert("prim::device", [like], None)
    return c.insert("aten::tensor", [v], None, dtype=dtype, device=device)


# Augmented assignment.


def emit_aug_assign(c: Compiler, stmt: tree.AugAssign) -> None:
    """`x += v`, `m.x += v` and `x[i] += v`: read the target, operate, assign the result back."""
    lhs = stmt.lhs
    if isinstance(lhs, tree.Var):
        value = c.emit(lhs)
        c.environment.set_value(lhs.range, lhs.name.name, _augmented(c, stmt, value))
    elif isinstance(lhs, tree.Select):
        owner = c.emit_sugared(lhs.value, 1)
        value = owner.attr(lhs.range, c, lhs.selector.name).as_value(lhs.range, c)
        owner.set_attr(stmt.range, c, lhs.selector.name, _augmented(c, stmt, value))
    elif isinstance(lhs, tree.Subscript):
        _augment_element(c, stmt, lhs)
    else:
        raise error(lhs.range, "unexpected expression on left-hand side of augmented assignment")


# For tensors and lists. As in PyTorch, `|`, `&`, `^` and `**` make a new tensor all the same.
IN_PLACE = {
    "+": "add_", "-": "sub_", "/": "div_", "*": "mul_", "%": "fmod_", "|": "bitwise_or",
    "&": "bitwise_and", "^": "bitwise_xor", "<<": "__ilshift__", ">>": "__irshift__", "**": "pow",
}  # fmt: skip
OUT_OF_PLACE = {
    "+": "add", "-": "sub", "/": "div", "*": "mul", "%": "fmod", "|": "__or__", "&": "__and__",
    "^": "__xor__", "<<": "__lshift__", ">>": "__rshift__", "**": "pow",
}  # fmt: skip
MAGIC = {"+": "add", "-": "sub", "/": "truediv", "*": "mul", "%": "mod"}


def _operator(stmt: tree.AugAssign, t: Type) -> str:
    """The operator of an augmented assignment whose target has type `t`."""
    table = IN_PLACE if isinstance(t, (TensorType, ListType)) else OUT_OF_PLACE
    if stmt.op not in table:
        raise error(stmt.range, f"Unknown augmented assignment: {stmt.op}")
    return "aten::" + table[stmt.op]


def _augmented(c: Compiler, stmt: tree.AugAssign, value: Value) -> Value:
    """The result of the operator on the old value of the target. An object calls its `__iadd__`, or
    else its `__add__`.
    """
    t = value.type()
    if isinstance(t, ClassType):
        if stmt.op not in MAGIC:
            raise error(stmt.range, f"Unknown augmented assignment: {stmt.op}")
        rhs = NamedValue(c.emit(stmt.rhs), stmt.rhs.range)
        names = f"__i{MAGIC[stmt.op]}__", f"__{MAGIC[stmt.op]}__"
        found = next((name for name in names if t.findMethod(name)), None)
        if found is None:
            raise error(
                stmt.range,
                f"Cannot emit inplace op on {spell(t)} since it does not define an {names[0]} or "
                f"{names[1]} method",
            )
        method = SimpleValue(value).attr(stmt.range, c, found)
        return method.call(stmt.range, c, [rhs], [], 0).as_value(stmt.range, c)
    args = [NamedValue(value), NamedValue(c.emit(stmt.rhs), stmt.rhs.range)]
    return c.call_builtin(stmt.range, _operator(stmt, t), args)


def _augment_element(c: Compiler, stmt: tree.AugAssign, lhs: tree.Subscript) -> None:
    """`x[i] += v`. With indices that are tensors, `x[i]` is a copy, which is changed and put back;
    otherwise it is a view, so that changing it changes x.
    """
    container = c.emit(lhs.value)
    t = container.type()
    if not isinstance(t, TensorType):
        _augment_item(c, stmt, lhs, container)
        return
    view, indices = split_indices(c, lhs.range, container, lhs.subscript_exprs)
    rhs = NamedValue(c.emit(stmt.rhs), stmt.rhs.range)
    if not indices:
        c.call_builtin(
            stmt.range, _operator(stmt, t), [rhs], [], NamedValue(view, lhs.range, "self")
        )
        return
    at = c.list_construct(OptionalType(TensorType.get()), indices)
    element = c.insert("aten::index", [view, at], stmt.range)
    changed = c.call_builtin(
        stmt.range, _operator(stmt, t), [rhs], [], NamedValue(element, None, "self")
    )
    c.insert("aten::index_put_", [view, at, changed], stmt.range)


def _augment_item(c: Compiler, stmt: tree.AugAssign, lhs: tree.Subscript, container: Value) -> None:
    """`xs[i] += v` for lists and dicts: get the item, operate, set the item."""
    t = container.type()
    if len(lhs.subscript_exprs) != 1:
        raise error(
            span(lhs.subscript_exprs),
            f"Sliced expression not yet supported for {spell(t)} augmented assignment. File a bug "
            "if you want this",
        )
    element = t.element if isinstance(t, ListType) else t.key if isinstance(t, DictType) else None
    if element is None:
        raise error(lhs.range, f"{spell(t)} does not support augmented assignment.")
    index = c.emit(lhs.subscript_exprs[0])
    value = c.emit(stmt.rhs)
    item = c.insert("aten::__getitem__", [container, index], stmt.range)
    changed = c.insert(_operator(stmt, element), [item, value], stmt.range)
    c.insert("aten::_set_item", [container, index, changed], stmt.range)
