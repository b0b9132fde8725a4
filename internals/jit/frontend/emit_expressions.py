"""Expressions (`emitSugaredExpr` and `emitSimpleExpr` of `ir_emitter.cpp`).

Python's operators become calls of the library's: `a + b` is `aten::add`, whatever the types of a
and b, and schema matching finds the overload for two tensors, two lists or two strings.

How the real one differs: lists of different types become lists of unions there, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    Block,
    DictType,
    ListType,
    SourceRange,
    StringType,
    TensorType,
    Type,
    Value,
    unify_type_list,
    unify_types,
)
from internals.jit.ir.constants import constant_of, is_constant

from . import tree
from .emit_loops import emit_dict_comprehension, emit_list_comprehension
from .emit_special_forms import emit_special_form
from .emit_subscripts import emit_subscript
from .error_report import error, spell
from .refinement import Condition, KnownTypes, emit_condition, insert_refinements
from .schema_matching import NamedValue, unwrap_optional
from .sugared_values import BuiltinFunction, MagicMethod, SimpleValue, SpecialForm, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_sugared(
    c: Compiler, expr: tree.Expr, n_binders: int, hint: Type | None = None
) -> SugaredValue:
    """The meaning of an expression. Names, attributes, calls and subscripts need not be values (a
    module, a function); all other expressions are.

    `n_binders` is the number of names the results are assigned to, `hint` the type expected.
    """
    if isinstance(expr, tree.Var):
        return c.environment.get(expr.name.name, expr.name.range)
    if isinstance(expr, tree.Select):
        return c.emit_sugared(expr.value, 1).attr(expr.range, c, expr.selector.name)
    if isinstance(expr, tree.Apply):
        return emit_call(c, expr, n_binders, hint)
    if isinstance(expr, tree.Subscript):
        return emit_subscript(c, expr, hint)
    emit = EMIT.get(type(expr))
    if emit is None:
        raise error(expr.range, f"Cannot emit expr for: {expr.sexpr()}\n")
    return SimpleValue(emit(c, expr, hint))


# Calls.


def emit_call(c: Compiler, call: tree.Apply, n_binders: int, hint: Type | None) -> SugaredValue:
    """`f(x, *xs, k=v)`: the callee's sugared value decides what is emitted."""
    callee = c.emit_sugared(call.callee, 1)
    if isinstance(callee, SpecialForm):  # it handles its arguments itself, unevaluated
        return emit_special_form(c, callee.form, call, hint)
    args = emit_arguments(c, call.inputs)
    return callee.call(call.callee.range, c, args, emit_keywords(c, call), n_binders)


def emit_arguments(c: Compiler, exprs: Sequence[tree.Expr]) -> list[NamedValue]:
    """The values of positional arguments; `*xs` is unpacked into its elements."""
    values = []
    for expr in exprs:
        if isinstance(expr, tree.Starred):
            parts = c.emit_sugared(expr.expr, 1).as_tuple(expr.range, c)
            values += [NamedValue(part.as_value(expr.range, c), expr.range) for part in parts]
        else:
            values.append(NamedValue(c.emit(expr), expr.range))
    return values


def emit_keywords(c: Compiler, call: tree.Apply) -> list[NamedValue]:
    return [NamedValue(c.emit(a.value), a.range, a.name.name) for a in call.attributes]


def emit_values(c: Compiler, exprs: Sequence[tree.Expr]) -> list[Value]:
    return [a.get(c) for a in emit_arguments(c, exprs)]


# Operators. Each has the name of its `aten` operator, and that of the method (`__add__`) which is
# called if an operand is an object of a compiled class.

BINARY = {
    "+": ("add", "add"), "-": ("sub", "sub"), "*": ("mul", "mul"), "/": ("div", "truediv"),
    "%": ("remainder", "mod"), "**": ("pow", "pow"), "!=": ("ne", "ne"), "==": ("eq", "eq"),
    "<": ("lt", "lt"), ">": ("gt", "gt"), "<=": ("le", "le"), ">=": ("ge", "ge"),
    "&": ("__and__", "and"), "|": ("__or__", "or"), "^": ("__xor__", "xor"),
    "<<": ("__lshift__", "lshift"), ">>": ("__rshift__", "rshift"),
    "in": ("__contains__", "contains"),
}  # fmt: skip
UNARY = {"-": ("neg", "neg"), "~": ("bitwise_not", "invert")}
WITHOUT_MAGIC = {"//": "aten::floordiv", "@": "aten::matmul"}


def emit_binary(c: Compiler, expr: tree.BinOp, hint: Type | None) -> Value:
    """`a + b`, `a in b`, `a and b`; `"..." % x` is a format."""
    kind = expr.kind
    if kind in ("and", "or", "is", "is not"):
        return emit_condition(c, expr).value
    if kind in WITHOUT_MAGIC:
        return c.call_builtin(
            expr.range, WITHOUT_MAGIC[kind], emit_arguments(c, (expr.lhs, expr.rhs))
        )
    # As in PyTorch, the left operand is emitted once to learn its type, and again for its value.
    if kind == "%" and isinstance(
        c.emit_sugared(expr.lhs, 0).as_value(expr.lhs.range, c).type(), StringType
    ):
        node = c.add_node(
            "aten::percentFormat", emit_values(c, (expr.lhs, expr.rhs)), 1, expr.range
        )
        return node.output().setType(StringType.get())
    operator, magic = BINARY[kind]
    args = emit_arguments(c, (expr.lhs, expr.rhs))
    if kind == "in":  # `a in b` is `b.__contains__(a)`
        args.reverse()
    called = MagicMethod(f"__{magic}__", BuiltinFunction(f"aten::{operator}")).call(
        expr.range, c, args, [], 0
    )
    return called.as_value(expr.range, c)


def emit_unary(c: Compiler, expr: tree.UnaryOp, hint: Type | None) -> Value:
    """`-x`, `~x`, `not x`. Of a constant it is a constant: `-3` is one node."""
    if expr.kind == "not":
        return emit_condition(c, expr).value
    operator, magic = UNARY[expr.kind]
    args = emit_arguments(c, (expr.operand,))
    method = MagicMethod(f"__{magic}__", BuiltinFunction(f"aten::{operator}"))
    value = method.call(expr.range, c, args, [], 0).as_value(expr.range, c)
    if value.node().kind() == f"aten::{operator}" and is_constant(value.node().input()):
        number = constant_of(value.node().input())
        if isinstance(number, (int, float, complex)):
            return c.constant(-number if expr.kind == "-" else ~number, expr.range)  # type: ignore[operator]
    return value


# Choices.


def emit_ternary(c: Compiler, expr: tree.TernaryIf, hint: Type | None) -> Value:
    """`a if c else b`."""
    condition = emit_condition(c, expr.cond)
    if condition.static is not None:  # known while compiling: the other side is not compiled
        known = condition.refinements if condition.static else condition.refinements.negated()
        insert_refinements(c, expr.range, known.true)
        return c.emit(expr.true_expr if condition.static else expr.false_expr, hint)
    return emit_if_expr(
        c,
        expr.range,
        condition,
        lambda: c.emit(expr.true_expr, hint),
        lambda: c.emit(expr.false_expr, hint),
    )


def emit_if_expr(
    c: Compiler,
    where: SourceRange,
    condition: Condition,
    true: Callable[[], Value],
    false: Callable[[], Value],
) -> Value:
    """A `prim::If` with one output, the value of `true()` or of `false()`, each emitted in its own
    block with what the condition implies about types. Raises RuntimeError if the types differ.
    """
    node = c.add_node("prim::If", [condition.value], 0, where)
    blocks = node.addBlock(), node.addBlock()

    def emit_arm(block: Block, known: KnownTypes, emit: Callable[[], Value]) -> None:
        with c.frame(block):
            insert_refinements(c, where, known)
            block.registerOutput(emit())

    emit_arm(blocks[0], condition.refinements.true, true)
    emit_arm(blocks[1], condition.refinements.false, false)
    types = [b.outputs()[0].type() for b in blocks]
    unified = unify_types(types[0], types[1])
    if unified is None:
        raise error(
            where,
            f"if-expression's true branch has type {spell(types[0])} but false branch has type "
            f"{spell(types[1])}",
        )
    return node.addOutput().setType(unified)


# Literals.


def emit_list(c: Compiler, expr: tree.ListLiteral, hint: Type | None) -> Value:
    """`[a, b]`. The element type is that of the hint, else the common type of the elements, else
    Tensor.

    `[]` may still become a list of another type where it is passed (`try_convert_to_type`).
    """
    if hint is not None and not isinstance(unwrap_optional(hint), ListType):
        raise error(expr.range, f"Expected an annotation of type List but got {spell(hint)}")
    values = emit_values(c, expr.inputs)
    if hint is None and not values:  # a list of whatever it is passed as
        node = c.add_node("prim::EmptyListLiteral")
        return node.output().setType(ListType(TensorType.get()))
    element: Type | None = TensorType.get()
    if hint is not None:
        wanted = unwrap_optional(hint)
        assert isinstance(wanted, ListType)
        element = wanted.element
    elif values:
        element = unify_type_list([v.type() for v in values])
        if element is None:
            first = next(v for v in values if unify_types(values[0].type(), v.type()) is None)
            raise error(
                expr.range,
                f"Lists must contain only a single type, expected: {spell(values[0].type())} but "
                f"found {spell(first.type())} instead",
            )
    assert element is not None
    if not all(v.type().isSubtypeOf(element) for v in values):
        unified = unify_type_list([v.type() for v in values])
        have = "no common type" if unified is None else spell(unified)
        raise error(
            expr.range,
            f"List type annotation `{spell(ListType(element))}` did not match the types of the "
            f"given list elements, which were unified to {have}",
        )
    return c.list_construct(element, values)


def emit_dict(c: Compiler, expr: tree.DictLiteral, hint: Type | None) -> Value:
    """`{k: v}`. Its type is the hint, else that of the first key and value, else
    `Dict[str, Tensor]`. Raises RuntimeError for an entry of another type.
    """
    pairs = [(c.emit(k), c.emit(v)) for k, v in zip(expr.key_inputs, expr.value_inputs)]
    keys, values = [k for k, _ in pairs], [v for _, v in pairs]
    wanted = None if hint is None else unwrap_optional(hint)
    if isinstance(wanted, DictType):
        t = wanted
    elif pairs:
        t = DictType(keys[0].type(), values[0].type())
    else:
        t = DictType(StringType.get(), TensorType.get())
    # an error is about the whole literal if its type was given, else about the entry that differs
    for what, wanted_type, given, exprs in (
        ("keys", t.key, keys, expr.key_inputs),
        ("values", t.value, values, expr.value_inputs),
    ):
        for v, e in zip(given, exprs):
            if v.type().isSubtypeOf(wanted_type):
                continue
            if isinstance(wanted, DictType):
                raise error(
                    expr.range,
                    f"Type annotation was inferred to be {spell(t)}but the type of {what} given "
                    f"by the dict literal is {spell(v.type())}",
                )
            raise error(
                e.range,
                f"Dict {what} must contain only a single type. Expected: {spell(wanted_type)} but "
                f"found {spell(v.type())} instead",
            )
    return c.dict_construct(t, keys, values)


def emit_misplaced_star(c: Compiler, expr: tree.Starred, hint: Type | None) -> Value:
    raise error(expr.range, "Unexpected starred expansion. File a bug report")


EMIT: dict[type[tree.Expr], Callable[[Compiler, Any, Type | None], Value]] = {
    tree.BinOp: emit_binary,
    tree.UnaryOp: emit_unary,
    tree.TernaryIf: emit_ternary,
    tree.Const: lambda c, expr, hint: c.literal(expr.value, expr.range),
    tree.StringLiteral: lambda c, expr, hint: c.constant(expr.text, expr.range),
    tree.TrueLiteral: lambda c, expr, hint: c.constant(True, expr.range),
    tree.FalseLiteral: lambda c, expr, hint: c.constant(False, expr.range),
    tree.NoneLiteral: lambda c, expr, hint: c.constant(None, expr.range),
    tree.ListLiteral: emit_list,
    tree.TupleLiteral: lambda c, expr, hint: c.tuple_construct(emit_values(c, expr.inputs)),
    tree.DictLiteral: emit_dict,
    tree.ListComp: emit_list_comprehension,
    tree.DictComp: emit_dict_comprehension,
    tree.Starred: emit_misplaced_star,
}
