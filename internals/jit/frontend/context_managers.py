"""`with` statements (`emitWith` of `ir_emitter.cpp`).

An object of a compiled class can be entered if it has `__enter__` and `__exit__`: `prim::Enter` and
`prim::Exit` call them.

`torch.no_grad()` and `torch.enable_grad()` are emitted as `prim::Enter(mode)` and
`prim::Exit(before)`, so that a `return` in the body does not skip the exit (`with_blocks.py`). When
all `return`s have been removed from the graph, they become calls of `aten::set_grad_enabled`.

How the real one differs: `no_grad` is an object of a compiled class too,
`__torch__.torch.autograd.grad_mode.no_grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from internals.autograd.grad_mode import enable_grad, no_grad
from internals.jit.ir import Block, BoolType, ClassType, Graph, Value, all_nodes

from . import tree
from .error_report import error
from .python_values import PythonClassValue
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_with_items(c: Compiler, items: Sequence[tree.WithItem]) -> Callable[[], None]:
    """Emit the entering of the objects. Returns a function that emits the leaving, last entered
    first.
    """
    entered: list[Value] = []
    for item in items:
        mode = _grad_mode(c, item.target)
        if mode is None:
            entered.append(_enter_object(c, item, c.emit_sugared(item.target, 1)))
            continue
        node = c.add_node("prim::Enter", [c.constant(mode, item.target.range)])
        entered.append(node.output().setType(BoolType.get()))

    def leave_all() -> None:
        for value in reversed(entered):
            c.add_node("prim::Exit", [value])

    return leave_all


def _grad_mode(c: Compiler, target: tree.Expr) -> bool | None:
    """False for `torch.no_grad()`, True for `torch.enable_grad()`, None for other things."""
    if not isinstance(target, tree.Apply) or target.inputs or target.attributes:
        return None
    callee = c.emit_sugared(target.callee, 1)
    if not isinstance(callee, PythonClassValue) or callee.cls not in (no_grad, enable_grad):
        return None
    return callee.cls is enable_grad


def _enter_object(c: Compiler, item: tree.WithItem, entered: SugaredValue) -> Value:
    """Enter an object of a compiled class, assign the result to the name after `as`, and return the
    object. Raises RuntimeError if it lacks the two methods.
    """
    where = item.target.range
    value = entered.as_value(where, c)
    node = c.add_node("prim::Enter", [value])
    t = value.type()
    if not isinstance(t, ClassType):
        raise error(where, "With item expression must return an object")
    enter, leave = t.findMethod("__enter__"), t.findMethod("__exit__")
    if enter is None or leave is None:
        raise error(
            where,
            "Object returned by with item expression does not define __enter__ and __exit__ "
            "methods",
        )
    if len(enter.schema.arguments) != 1:
        raise error(where, "__enter__ must have only one argument and one return value")
    if len(leave.schema.arguments) != 4:
        raise error(where, "__exit__ must have four arguments")  # self, type, value, traceback
    node.output().setType(enter.schema.returns[0].type)
    if isinstance(item.var, tree.Var):
        c.environment.set(item.var.range, item.var.name.name, SimpleValue(node.output()))
    return value


def lower_grad_modes(block: Block) -> None:
    """Replace `prim::Enter(mode)` by nodes that read the old mode and set the new one, and
    `prim::Exit(before)` by one that restores the old mode.
    """
    for node in list(all_nodes(block, inner_first=True)):
        if node.kind() not in ("prim::Enter", "prim::Exit") or not isinstance(
            node.input(0).type(), BoolType
        ):
            continue
        graph: Graph = node.owningGraph()
        if node.kind() == "prim::Enter":
            before = graph.create("aten::is_grad_enabled").insertBefore(node)
            node.output().replaceAllUsesWith(before.output().setType(BoolType.get()))
        graph.create("aten::set_grad_enabled", [node.input(0)], 0).insertBefore(node)
        node.destroy()
