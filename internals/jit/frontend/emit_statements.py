"""Statements (`emitStatements` of `ir_emitter.cpp`).

Each function here emits the nodes of one kind of statement at the insert point; the table `EMIT` at
the end chooses it. A block ends with a statement that leaves it: a `return`, a `raise`, or an `if`
with one of these in both arms. The statements after it are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    AnyType,
    Block,
    ClassType,
    NoneType,
    SourceRange,
    StringType,
    TensorType,
    Value,
    unify_types,
)

from . import tree
from .context_managers import emit_with_items
from .emit_assignments import emit_assign, emit_aug_assign
from .emit_loops import emit_for, emit_while
from .environment import Environment
from .error_report import at, error, spell
from .fork import Closure
from .refinement import Condition, Refinements, emit_condition, insert_refinements
from .schema_matching import NamedValue, try_convert_to_type
from .sugared_values import ExceptionMessage, ExceptionValue, SimpleValue

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_statements(c: Compiler, statements: Sequence[tree.Stmt]) -> None:
    """Emit statements in order, up to the first that leaves the block."""
    for statement in statements:
        at(statement.range)
        EMIT[type(statement)](c, statement)
        if c.environment.block in c.exited_blocks:
            return


def emit_expression_statement(c: Compiler, stmt: tree.ExprStmt) -> None:
    c.emit_sugared(stmt.expr, 0)


# Leaving.


def emit_return(c: Compiler, stmt: tree.Return) -> None:
    """`return x`. x is converted to the declared return type; without one, the types of all
    `return`s are unified. Raises RuntimeError if the type does not fit.
    """
    declared = c.context.declared
    result = c.emit(stmt.expr, declared)
    if declared is not None:
        # a bare `return` where a Tensor was declared: leave the None, for the error below
        forgotten = isinstance(declared, TensorType) and isinstance(result.type(), NoneType)
        if not forgotten:
            result = try_convert_to_type(c, stmt.range, declared, result, allow_conversions=True)
        if not result.type().isSubtypeOf(declared):
            raise error(
                stmt.range,
                f"Return value was annotated as having type {spell(declared)} but is actually of "
                f"type {spell(result.type())}",
            )
        c.context.merged = declared
        if isinstance(declared, AnyType) and not isinstance(result.type(), AnyType):
            result = c.add_node("prim::unchecked_cast", [result]).output().setType(declared)
    else:
        before = c.context.merged
        merged = result.type() if before is None else unify_types(before, result.type())
        if merged is None:
            assert before is not None
            raise error(
                stmt.range,
                f"Previous return statement returned a value of type {spell(before)} but this "
                f"return statement returns a value of type {spell(result.type())}",
            )
        c.context.merged = merged
    c.add_node("prim::ReturnStmt", [result], 0)
    c.exited_blocks.add(c.environment.block)


def _leave_loop(c: Compiler, where: SourceRange, word: str, kind: str) -> None:
    """`break` or `continue`, as a node of this kind. Raises RuntimeError outside a loop, and in an
    unrolled one.
    """
    if not c.loop:
        raise error(where, f"SyntaxError: '{word}' outside loop")
    if c.loop == "unrolled":
        raise error(
            where,
            "Because we emit iteration over modulelists or tuples as unrolled loops, we do not "
            "support break or continue inside the body of these loops",
        )
    c.add_node(kind, [], 0, where)


def emit_raise(c: Compiler, stmt: tree.Raise) -> None:
    """`raise E(message)` or `raise E`. The node has the message and, where it is known, the name of
    the exception's class.
    """
    exception = c.emit_sugared(stmt.expr, 1)
    name: Value | None = None
    if isinstance(exception, ExceptionMessage):
        message, name = exception.message, exception.qualified_name
    elif isinstance(exception, ExceptionValue):
        message = c.constant("", stmt.range)
    else:
        raise error(stmt.range, "exceptions must derive from BaseException")
    if not isinstance(message.type(), StringType):
        message = c.insert("aten::str", [message], None)
    c.insert("prim::RaiseException", [message] if name is None else [message, name], stmt.range)
    c.exited_blocks.add(c.environment.block)


def emit_assert(c: Compiler, stmt: tree.Assert) -> None:
    """`assert test, msg` is `if test: pass` `else: raise AssertionError(msg)`."""
    condition = emit_condition(c, stmt.test)
    where = stmt.range
    message = stmt.msg if stmt.msg is not None else tree.StringLiteral(where, "")
    exception = tree.Apply(where, tree.Var(where, tree.Ident(where, "AssertionError")), (message,))
    emit_if_else(c, where, condition, (), (tree.Raise(where, exception),))


# Branching.


def emit_if(c: Compiler, stmt: tree.If) -> None:
    emit_if_else(c, stmt.range, emit_condition(c, stmt.cond), stmt.true_branch, stmt.false_branch)


def emit_if_else(
    c: Compiler,
    where: SourceRange,
    condition: Condition,
    true: Sequence[tree.Stmt],
    false: Sequence[tree.Stmt],
) -> None:
    """Emit a `prim::If`; or, if the condition is known while compiling, just the branch taken."""
    if condition.static is not None:
        known = condition.refinements if condition.static else condition.refinements.negated()
        insert_refinements(c, where, known.true)
        emit_statements(c, true if condition.static else false)
        return
    node = c.add_node("prim::If", [condition.value], 0, where)
    blocks = node.addBlock(), node.addBlock()
    frames = (
        _emit_branch(c, where, blocks[0], true, condition.refinements),
        _emit_branch(c, where, blocks[1], false, condition.refinements.negated()),
    )
    left = tuple(b in c.exited_blocks for b in blocks)  # whether each branch returns or raises
    if all(left):
        c.exited_blocks.add(c.environment.block)
    for name in sorted(_assigned(c, where, blocks, frames, left)):
        if not all(left):
            _merge(c, where, name, blocks, frames, left)


def _emit_branch(
    c: Compiler,
    where: SourceRange,
    block: Block,
    statements: Sequence[tree.Stmt],
    refinements: Refinements,
) -> Environment:
    """Emit one branch into its block. Returns its frame, with the names assigned in it."""
    with c.frame(block) as frame:
        insert_refinements(c, statements[0].range if statements else where, refinements.true)
        emit_statements(c, statements)
    return frame


def _assigned(
    c: Compiler,
    where: SourceRange,
    blocks: Sequence[Block],
    frames: Sequence[Environment],
    left: Sequence[bool],
) -> set[str]:
    """The names that are defined after the `if`: those assigned in one branch and known in the
    other, or in a branch when the other one returns or raises.

    For any other name it records why it is undefined, as the error message in case it is used.
    """
    names: set[str] = set()
    for this, that, branch in ((0, 1, "false"), (1, 0, "true")):
        for name in sorted(frames[this].defined()):
            with c.graph.insert_point_guard(blocks[that]):
                known = frames[that].find(name) is not None
            if known or left[that]:
                names.add(name)
            else:
                text = str(error(where, f"{name} is not defined in the {branch} branch"))
                c.environment.set_error(name, text)
    return names


def _merge(
    c: Compiler,
    where: SourceRange,
    name: str,
    blocks: Sequence[Block],
    frames: Sequence[Environment],
    left: Sequence[bool],
) -> None:
    """Find the type of a name after the `if`. A branch that returns or raises stores an
    uninitialized value in it, so that both branches have one. If the two types cannot be unified, a
    name that was known before the `if` is an error; any other becomes undefined.
    """
    # the value at the end of each branch that does not return or raise
    values: list[Value | None] = [None, None]
    for i in (0, 1):
        if not left[i]:
            with c.graph.insert_point_guard(blocks[i]):
                values[i] = frames[i].get_value(name, where)
    for i in (0, 1):
        if left[i]:
            other = values[1 - i]
            assert other is not None
            uninitialized = (
                c.graph.create("prim::Uninitialized")
                .insertBefore(blocks[i].returnNode())
                .output()
                .setType(other.type())
            )
            c.graph.create("prim::Store", [uninitialized], 0).s_("name", name).insertBefore(
                blocks[i].returnNode()
            )
            values[i] = uninitialized
    true, false = values
    assert true is not None and false is not None
    known_outside = c.environment.find(name) is not None
    unified = unify_types(true.type(), false.type())
    if unified is not None:
        c.environment.set_type(name, unified)
        return
    mismatch = error(
        where,
        f"Type mismatch: {name} is set to type {spell(true.type())} in the true branch and type "
        f"{spell(false.type())} in the false branch",
    )
    if known_outside:
        raise mismatch
    c.environment.set_error(name, str(mismatch))


# The rest.


def emit_delete(c: Compiler, stmt: tree.Delete) -> None:
    """`del x`, which undefines a name and emits nothing, and `del xs[i]`."""
    for target in stmt.targets:
        if isinstance(target, tree.Var):
            c.environment.remove(target.name.name, target.name.range)
            continue
        if not isinstance(target, tree.Subscript):
            raise error(
                target.range,
                "del statements are only supported for deleting list and dict items and variables",
            )
        if isinstance(target.subscript_exprs[0], tree.SliceExpr):
            raise error(
                target.range,
                "del statements only support deletion at a single index, slicing is not supported "
                "(see https://github.com/pytorch/pytorch/issues/31430)",
            )
        container = c.emit_sugared(target.value, 1)
        index = c.emit(target.subscript_exprs[0])
        value = container.as_value(target.value.range, c)
        if isinstance(value.type(), ClassType):
            method = SimpleValue(value).attr(target.range, c, "__delitem__")
            method.call(stmt.range, c, [NamedValue(index)], [], 0)
        else:
            c.add_node("aten::Delete", [value, index], 0, target.range)


def emit_with(c: Compiler, stmt: tree.With) -> None:
    """`with torch.no_grad():` and objects that have `__enter__` and `__exit__`."""
    leave = emit_with_items(c, stmt.targets)
    emit_statements(c, stmt.body)
    leave()


def emit_closure(c: Compiler, stmt: tree.Def) -> None:
    """`def __forked_function(): ...`, in the code of an archive: it is only remembered here, and
    emitted where `fork` calls it.
    """
    c.environment.set(stmt.range, stmt.name.name, Closure(stmt))


EMIT: dict[type[tree.Stmt], Callable[[Compiler, Any], None]] = {
    tree.If: emit_if,
    tree.While: emit_while,
    tree.For: emit_for,
    tree.Assign: emit_assign,
    tree.AugAssign: emit_aug_assign,
    tree.ExprStmt: emit_expression_statement,
    tree.Return: emit_return,
    tree.Raise: emit_raise,
    tree.Assert: emit_assert,
    tree.Break: lambda c, stmt: _leave_loop(c, stmt.range, "break", "prim::BreakStmt"),
    tree.Continue: lambda c, stmt: _leave_loop(c, stmt.range, "continue", "prim::ContinueStmt"),
    tree.Delete: emit_delete,
    tree.With: emit_with,
    tree.Pass: lambda c, stmt: None,
    tree.Def: emit_closure,
}
