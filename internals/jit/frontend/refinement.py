"""Conditions, and what they tell about types (`RefinementSet`, `CondValue` and `emitCondExpr` of
`ir_emitter.cpp`).

In

    if x is not None:
        return x + 1

`x` is an `Optional[Tensor]` outside and a `Tensor` inside. A condition therefore has, beside its
value, what is known of names when it is true and when it is false. `and`, `or` and `not` combine
that: when `a and b` is true, both are; when it is false, one of them is, so only what both say then
is known. At the start of a branch the knowledge is written down: the name is assigned
`prim::unchecked_cast(x)`, of the narrower type.

A condition may also be decided while compiling: `x is None` for an x that cannot be None,
`hasattr(self, "bias")`, `torch.jit.is_scripting()`, `True`. Then only the branch that is taken is
compiled (`static`): the other may even be nonsense.

How the real one differs: unions are refined, by removing members.
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

Known = dict[str, Type]


@dataclass
class Refinements:
    """The types names are known to have when a condition is true, and when it is false."""

    true: Known = field(default_factory=dict)
    false: Known = field(default_factory=dict)

    def both(self, other: Refinements) -> Refinements:
        """Of `a and b`."""
        return Refinements(_all_of(self.true, other.true), _common(self.false, other.false))

    def either(self, other: Refinements) -> Refinements:
        """Of `a or b`."""
        return Refinements(_common(self.true, other.true), _all_of(self.false, other.false))

    def negated(self) -> Refinements:
        return Refinements(self.false, self.true)


@dataclass
class Condition:
    """A condition: its value, a bool of the graph; its refinements; and its answer if it is known
    already.
    """

    value: Value
    refinements: Refinements = field(default_factory=Refinements)
    static: bool | None = None


def _all_of(a: Known, b: Known) -> Known:
    """What either says; nothing of a name of which they say different things."""
    return {n: t for n, t in {**a, **b, **a}.items() if b.get(n, t) == t}


def _common(a: Known, b: Known) -> Known:
    return {n: t for n, t in a.items() if n in b and b[n] == t}


def emit_condition(c: Compiler, expr: tree.Expr) -> Condition:
    """Emit an expression as a condition. Tensors and numbers are made bools."""
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
        if isinstance(callee, SpecialForm) and callee.form == "isinstance":
            c.check_call(expr, 2)
            return emit_isinstance(c, expr.inputs[0], expr.inputs[1])
    value = emit_bool(c, expr.range, c.emit(expr))
    static: bool | None = None
    if value.node().kind() == "aten::is_scripting":
        static = True
    elif value.node().kind() == "aten::has_torch_function":
        static = False
    if is_constant(value):
        static = constant_of(value)
    return Condition(value, Refinements(), static)


def emit_bool(c: Compiler, where: SourceRange, value: Value) -> Value:
    """`bool(value)`. Raises RuntimeError for what has no truth value in this language."""
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
    """`a and b` is `b if a else False`, `a or b` is `True if a else b`: the second is evaluated
    only if need be.
    """
    is_or = expr.kind == "or"
    lhs = emit_condition(c, expr.lhs)
    found: list[Condition] = []

    def constant() -> Value:
        return c.constant(is_or, expr.range)

    def go_on() -> Value:
        found.append(emit_condition(c, expr.rhs))
        return found[0].value

    if is_or:
        value = c.emit_if_expr(expr.range, lhs, constant, go_on)
        rhs = found[0]
        refinements = lhs.refinements.either(rhs.refinements)
    else:
        value = c.emit_if_expr(expr.range, lhs, go_on, constant)
        rhs = found[0]
        refinements = lhs.refinements.both(rhs.refinements)
    static: bool | None = None
    if is_or in (lhs.static, rhs.static):
        static = is_or
    elif lhs.static is not None and rhs.static is not None:
        static = not is_or
    return Condition(value, refinements, static)


def emit_is(c: Compiler, expr: tree.BinOp) -> Condition:
    """`a is b`, `a is not b`: decided now if one side is None and the other is surely None or
    surely not.
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
    """True: it is None. False: it cannot be. None: it may be."""
    if isinstance(v.type(), NoneType) or v.node().mustBeNone():
        return True
    return None if isinstance(v.type(), OptionalType) else False


def _none_refinements(expr: tree.BinOp, lhs: Value, rhs: Value) -> Refinements:
    """`x is None` tells that x is something when it is false. (Nothing is made of x being None.)"""
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
    """`isinstance(x, T)`: decided now if x's type says it, else asked at run time."""
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
    if isinstance(classinfo, tree.TupleLiteral):
        return [t for e in classinfo.inputs for t in _types_in(c, e)]
    return [c.type_of_annotation(classinfo)]


def _may_be(wanted: Type, actual: Type) -> bool:
    """Whether something of type `actual` may be a list (a tuple) when any list (any tuple) is asked
    for.
    """
    inner = actual.element if isinstance(actual, OptionalType) else actual
    if isinstance(wanted, AnyListType):
        return isinstance(actual, AnyType) or (inner is not actual and isinstance(inner, ListType))
    if isinstance(wanted, AnyTupleType):
        return isinstance(actual, AnyType) or (inner is not actual and isinstance(inner, TupleType))
    return False


def emit_hasattr(c: Compiler, obj: tree.Expr, name: tree.Expr) -> Condition:
    value = c.emit_sugared(obj, 1)
    if not isinstance(name, tree.StringLiteral):
        raise error(name.range, "hasattr's second argument must be a string literal")
    answer = value.has_attr(obj.range, c, name.text)
    return Condition(c.constant(answer, obj.range), static=answer)


def insert_refinements(c: Compiler, where: SourceRange, known: Known) -> None:
    """At the start of a branch: give the names their narrower types."""
    for name, t in known.items():
        value = c.environment.get(name, where).as_value(where, c)
        cast = c.add_node("prim::unchecked_cast", [value]).output().setType(t)
        c.environment.set(where, name, SimpleValue(cast))
