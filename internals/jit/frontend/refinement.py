"""Conditions, and the types that follow from them (`RefinementSet`, `CondValue` and `emitCondExpr`
of `ir_emitter.cpp`).

In

    if x is not None:
        return x + 1

`x` is an `Optional[Tensor]` outside and a `Tensor` inside. A condition therefore has, besides its
value, refinements: the types that names have if it is true, and those they have if it is false.
`and`, `or` and `not` combine refinements. If `a and b` is true, both operands are true, and both
their refinements hold; if it is false, it is unknown which operand is, so only refinements that
both have in common hold. At the start of a branch, a refined name is assigned
`prim::unchecked_cast(x)`, which has the narrower type.

A condition may also be decided while compiling (`static`): `x is None` for an x that cannot be
None, `hasattr(self, "bias")`, `torch.jit.is_scripting()`, `True`. Then only the branch taken is
compiled; the other one need not even be valid.

How the real one differs: it also refines unions, by removing members.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from internals.jit.ir import (
    AnyListType,
    AnyTupleType,
    AnyType,
    BoolType,
    ListType,
    NoneType,
    OptionalType,
    SourceRange,
    TupleType,
    Type,
    Value,
)
from internals.jit.ir.constants import constant_of, is_constant

from . import tree
from .error_report import error, spell
from .sugared_values import SimpleValue, SpecialForm

if TYPE_CHECKING:
    from .compiler import Compiler

KnownTypes = dict[str, Type]


@dataclass
class Refinements:
    """The types that names have if a condition is true, and those they have if it is false."""

    true: KnownTypes = field(default_factory=dict)
    false: KnownTypes = field(default_factory=dict)

    def both(self, other: Refinements) -> Refinements:
        """The refinements of `a and b`, for `self` of a and `other` of b."""
        return Refinements(_all_of(self.true, other.true), _common(self.false, other.false))

    def either(self, other: Refinements) -> Refinements:
        """The refinements of `a or b`."""
        return Refinements(_common(self.true, other.true), _all_of(self.false, other.false))

    def negated(self) -> Refinements:
        return Refinements(self.false, self.true)


@dataclass
class Condition:
    """A condition: its value, a bool of the graph; its refinements; and `static`, its result if
    that is known while compiling.
    """

    value: Value
    refinements: Refinements = field(default_factory=Refinements)
    static: bool | None = None


def _all_of(a: KnownTypes, b: KnownTypes) -> KnownTypes:
    """The entries of both, without the names for which they have different types."""
    return {n: t for n, t in {**a, **b, **a}.items() if b.get(n, t) == t}


def _common(a: KnownTypes, b: KnownTypes) -> KnownTypes:
    """The entries that both have."""
    return {n: t for n, t in a.items() if n in b and b[n] == t}


def emit_condition(c: Compiler, expr: tree.Expr) -> Condition:
    """Emit an expression as a condition. Tensors, numbers and containers are converted to bool."""
    if isinstance(expr, tree.BinOp) and expr.kind in ("and", "or"):
        return emit_short_circuit(c, expr)
    if isinstance(expr, tree.UnaryOp) and expr.kind == "not":
        operand = emit_condition(c, expr.operand)
        value = c.insert("aten::__not__", [operand.value], expr.range)
        return Condition(
            value,
            operand.refinements.negated(),
            None if operand.static is None else not operand.static,
        )
    if isinstance(expr, tree.BinOp) and expr.kind in ("is", "is not"):
        return emit_is(c, expr)
    if isinstance(expr, tree.Apply):
        name = expr.callee.name.name if isinstance(expr.callee, tree.Var) else ""
        if name == "isinstance":
            c.check_call(expr, 2)
            return emit_isinstance(c, expr.inputs[0], expr.inputs[1])
        if name == "hasattr":
            c.check_call(expr, 2)
            return emit_hasattr(c, expr.inputs[0], expr.inputs[1])
        callee = c.emit_sugared(expr.callee, 1)
        # `torch.jit.isinstance`, which is found by its object, not by its name
        if isinstance(callee, SpecialForm) and callee.form == "isinstance":
            c.check_call(expr, 2)
            return emit_isinstance(c, expr.inputs[0], expr.inputs[1])
    value = emit_bool(c, expr.range, c.emit(expr))
    # operators with a fixed result in compiled code decide, although they are not constants
    static: bool | None = None
    if value.node().kind() == "aten::is_scripting":
        static = True
    elif value.node().kind() == "aten::has_torch_function":
        static = False
    if is_constant(value):
        static = constant_of(value)
    return Condition(value, Refinements(), static)


def emit_bool(c: Compiler, where: SourceRange, value: Value) -> Value:
    """`bool(value)`. Raises RuntimeError for a type that cannot be converted to bool."""
    try:
        out = (
            c.environment.get("bool", where)
            .call(where, c, [c.named(value)], [], 0)
            .as_value(where, c)
        )
    except RuntimeError:
        raise error(where, f"Could not cast value of type {spell(value.type())} to bool") from None
    if not isinstance(out.type(), BoolType):
        raise error(
            where, f"expected a bool expression for condition but found {spell(out.type())}"
        )
    return out


def emit_short_circuit(c: Compiler, expr: tree.BinOp) -> Condition:
    """`a and b` is `b if a else False`, `a or b` is `True if a else b`: b is evaluated only if a
    does not decide.
    """
    is_or = expr.kind == "or"
    lhs = emit_condition(c, expr.lhs)
    # b's condition, which is emitted inside the arm of an `if`, where a's refinements hold
    rhs_conditions: list[Condition] = []

    def constant() -> Value:
        return c.constant(is_or, expr.range)

    def rhs_value() -> Value:
        rhs_conditions.append(emit_condition(c, expr.rhs))
        return rhs_conditions[0].value

    if is_or:
        value = c.emit_if_expr(expr.range, lhs, constant, rhs_value)
        rhs = rhs_conditions[0]
        refinements = lhs.refinements.either(rhs.refinements)
    else:
        value = c.emit_if_expr(expr.range, lhs, rhs_value, constant)
        rhs = rhs_conditions[0]
        refinements = lhs.refinements.both(rhs.refinements)
    static: bool | None = None
    if is_or in (lhs.static, rhs.static):  # a False decides `and`, a True decides `or`
        static = is_or
    elif lhs.static is not None and rhs.static is not None:
        static = not is_or
    return Condition(value, refinements, static)


def emit_is(c: Compiler, expr: tree.BinOp) -> Condition:
    """`a is b`, `a is not b`: decided while compiling if one side is None, and the other one is
    always or never None.
    """
    lhs, rhs = c.emit(expr.lhs), c.emit(expr.rhs)
    left, right = can_be_none(lhs), can_be_none(rhs)
    its_is = expr.kind == "is"
    if left is True and right is True:
        return Condition(c.constant(its_is, expr.range), static=its_is)
    if {left, right} == {True, False}:
        return Condition(c.constant(not its_is, expr.range), static=not its_is)
    value = c.insert("aten::__is__" if its_is else "aten::__isnot__", [lhs, rhs], expr.range)
    return Condition(value, _none_refinements(expr, lhs, rhs))


def can_be_none(v: Value) -> bool | None:
    """True if `v` is always None, False if it never is, None if it may be."""
    if isinstance(v.type(), NoneType) or v.node().mustBeNone():
        return True
    return None if isinstance(v.type(), OptionalType) else False


def _none_refinements(expr: tree.BinOp, lhs: Value, rhs: Value) -> Refinements:
    """If `x is None` is false, an x of type Optional[T] is a T. If it is true, nothing is
    refined.
    """
    name, value = expr.lhs, lhs
    if not isinstance(expr.rhs, tree.NoneLiteral):
        if not isinstance(expr.lhs, tree.NoneLiteral):
            return Refinements()
        name, value = expr.rhs, rhs
    t = value.type()
    if not isinstance(name, tree.Var) or not isinstance(t, OptionalType):
        return Refinements()
    present = {name.name.name: t.element}
    return Refinements({}, present) if expr.kind == "is" else Refinements(present, {})


def emit_isinstance(c: Compiler, obj: tree.Expr, classinfo: tree.Expr) -> Condition:
    """`isinstance(x, T)`: decided while compiling if x's type suffices, else a `prim::isinstance`
    checks it at run time.
    """
    wanted = _types_in(c, classinfo)
    value = c.emit(obj)
    t = value.type()
    refinements = Refinements()
    if len(wanted) == 1 and wanted[0].isSubtypeOf(t) and isinstance(obj, tree.Var):
        refinements.true[obj.name.name] = wanted[0]
        if isinstance(t, OptionalType) and wanted[0] in (t.element, NoneType.get()):
            refinements.false[obj.name.name] = (
                NoneType.get() if wanted[0] == t.element else t.element
            )
    if any(t.isSubtypeOf(w) for w in wanted):
        return Condition(c.constant(True, obj.range), refinements, True)
    if not any(w.isSubtypeOf(t) or _may_be(w, t) for w in wanted):
        return Condition(c.constant(False, obj.range), refinements, False)
    node = c.add_node("prim::isinstance", [value]).tys_("types", wanted)
    return Condition(node.output().setType(BoolType.get()), refinements)


def _types_in(c: Compiler, classinfo: tree.Expr) -> list[Type]:
    """The types in the second argument of isinstance: one, or those of a (nested) tuple."""
    if isinstance(classinfo, tree.TupleLiteral):
        return [t for e in classinfo.inputs for t in _types_in(c, e)]
    return [c.type_of_annotation(classinfo)]


def _may_be(wanted: Type, actual: Type) -> bool:
    """Whether a value of type `actual` may be a list, if `wanted` is `list` without an element
    type; likewise for `tuple`.
    """
    inner = actual.element if isinstance(actual, OptionalType) else actual
    if isinstance(wanted, AnyListType):
        return isinstance(actual, AnyType) or (inner is not actual and isinstance(inner, ListType))
    if isinstance(wanted, AnyTupleType):
        return isinstance(actual, AnyType) or (inner is not actual and isinstance(inner, TupleType))
    return False


def emit_hasattr(c: Compiler, obj: tree.Expr, name: tree.Expr) -> Condition:
    """`hasattr(x, "name")`: always decided while compiling. Raises RuntimeError for a name that is
    not a literal.
    """
    value = c.emit_sugared(obj, 1)
    if not isinstance(name, tree.StringLiteral):
        raise error(name.range, "hasattr's second argument must be a string literal")
    answer = value.has_attr(obj.range, c, name.text)
    return Condition(c.constant(answer, obj.range), static=answer)


def insert_refinements(c: Compiler, where: SourceRange, known: KnownTypes) -> None:
    """At the start of a branch, assign each refined name to itself, cast to its narrower type."""
    for name, t in known.items():
        value = c.environment.get(name, where).as_value(where, c)
        cast = c.add_node("prim::unchecked_cast", [value]).output().setType(t)
        c.environment.set(where, name, SimpleValue(cast))
