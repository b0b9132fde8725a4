"""Loops and comprehensions (`emitLoopCommon`, `emitFor`, `emitListComprehension` of
`ir_emitter.cpp`).

A loop is a `prim::Loop` whose input is the trip count (for a `while`, the largest int), with two
blocks: the body, whose parameter is the counter, and the condition. `loop_forms.py` later moves the
condition to the end of the body.

A comprehension is a loop that appends to a list. It is emitted in a `prim::ComprehensionScope`, so
that its variables are not visible outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import (
    DictType,
    IntType,
    ListType,
    SourceRange,
    StringType,
    TensorType,
    Type,
    Value,
)

from . import tree
from .emit_assignments import assign_all, check_targets
from .error_report import error, spell
from .loop_forms import MAX_TRIP_COUNT
from .refinement import emit_bool
from .schema_matching import NamedValue
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler

EmitBody = Callable[[], None]
LARGEST_UNROLLED = 1 << 15  # values in the graph, before unrolling a loop is given up


def emit_for(c: Compiler, stmt: tree.For) -> None:
    loop_over(c, stmt.targets, stmt.itrs, stmt.range, lambda: c.emit_statements(stmt.body))


def emit_while(c: Compiler, stmt: tree.While) -> None:
    emit_loop(c, stmt.range, lambda: c.emit_statements(stmt.body), condition=stmt.cond)


def loop_over(
    c: Compiler,
    targets: Sequence[tree.Expr],
    iterables: Sequence[tree.Expr],
    where: SourceRange,
    emit_body: EmitBody,
) -> None:
    """`for targets in iterables`: unrolled if the length is known (a tuple, a list of modules),
    else a `prim::Loop`.
    """
    if len(iterables) != 1:
        raise error(where, "List of iterables is not supported currently")
    iterable = c.emit_sugared(iterables[0], 1).iter(where, c)
    if iterable.static_length() is None:
        emit_loop(c, where, emit_body, iterable, targets)
    else:
        emit_unrolled(c, where, emit_body, iterable, targets)


def emit_loop(
    c: Compiler,
    where: SourceRange,
    emit_body: EmitBody,
    iterable: SugaredValue | None = None,
    targets: Sequence[tree.Expr] = (),
    condition: tree.Expr | None = None,
) -> None:
    """A `prim::Loop`: of a `for` with its `iterable` and `targets`, of a `while` with its
    `condition`.
    """
    count = c.literal(MAX_TRIP_COUNT, where) if iterable is None else iterable.length(where, c)
    node = c.add_node("prim::Loop", [], 0, where)
    body, test = node.addBlock(), node.addBlock()
    if condition is None:  # a `for`: its condition is always True
        with c.graph.insert_point_guard(node):
            condition_value = c.constant(True, where)
    else:
        with c.frame(test):
            condition_value = emit_bool(c, condition.range, c.emit(condition))
    test.registerOutput(condition_value)
    node.addInput(count)
    counter = body.addInput().setType(IntType.get())
    with c.in_loop("loop"), c.frame(body):
        if iterable is not None:
            element = iterable.getitem(where, c, counter).as_value(where, c)
            check_targets(targets, where)
            if len(targets) > 1:  # `for a, b in pairs`: unpack the element
                targets = (tree.TupleLiteral(where, tuple(targets)),)
            assign_all(c, targets, [SimpleValue(element)], where, 1)
        emit_body()


def emit_unrolled(
    c: Compiler,
    where: SourceRange,
    emit_body: EmitBody,
    iterable: SugaredValue,
    targets: Sequence[tree.Expr],
) -> None:
    """Emit the body once for every element, in the frame around the loop: so a name may have
    another type in each iteration.

    Raises RuntimeError when the graph gets too large: five nested loops over ten elements would
    emit the innermost body a hundred thousand times.
    """
    length, most = iterable.static_length(), getattr(c.resolver, "most_unrolled", LARGEST_UNROLLED)
    assert length is not None
    with c.in_loop("unrolled"):
        for i in range(length):
            if c.graph.created_values > most:
                raise error(
                    where, f"loops over tuples and modules are unrolled, into {most} values at most"
                )
            element = iterable.getitem(where, c, c.literal(i, where))
            assign_all(c, targets, [element], targets[0].range, 1)
            emit_body()


def emit_list_comprehension(c: Compiler, comp: tree.ListComp, hint: Type | None) -> Value:
    """`[elt for target in iterable]`. Its element type is that of the hint, or that of the first
    element emitted.
    """
    where = comp.range
    node = c.add_node("prim::ListConstruct")
    out = node.output().setType(ListType(TensorType.get()))
    typed = hint is not None
    if hint is not None:
        if not isinstance(hint, ListType):
            raise error(where, f"Expected an annotation of type List but got {spell(hint)}")
        out.setType(hint)

    def emit_body() -> None:
        nonlocal typed
        element = c.emit(comp.elt)
        if not typed:  # known only now; before `append`, which needs the type
            out.setType(ListType(element.type()))
            typed = True
        c.call_builtin(
            where, "aten::append", [NamedValue(element, where)], [], NamedValue(out, where, "self")
        )

    _in_own_scope(c, where, comp.target, comp.iter, emit_body)
    return out


def emit_dict_comprehension(c: Compiler, comp: tree.DictComp, hint: Type | None) -> Value:
    """`{key: value for target in iterable}`, typed like a list comprehension."""
    where = comp.range
    out = c.dict_construct(DictType(StringType.get(), TensorType.get()), [], [])
    typed = hint is not None
    if hint is not None:
        if not isinstance(hint, DictType):
            raise error(where, f"Expected an annotation of type Dict but got {spell(hint)}")
        out.setType(hint)

    def emit_body() -> None:
        nonlocal typed
        key, value = c.emit(comp.key), c.emit(comp.value)
        if not typed:
            out.setType(DictType(key.type(), value.type()))
            typed = True
        c.call_builtin(where, "aten::_set_item", [NamedValue(v, where) for v in (out, key, value)])

    _in_own_scope(c, where, comp.target, comp.iter, emit_body)
    return out


def _in_own_scope(
    c: Compiler, where: SourceRange, target: tree.Expr, iterable: tree.Expr, emit_body: EmitBody
) -> None:
    """Emit a loop whose target and other names are not visible after it."""
    scope = c.add_node("prim::ComprehensionScope", [], 0, where)
    with c.frame(scope.addBlock()):
        loop_over(c, (target,), (iterable,), where, emit_body)
