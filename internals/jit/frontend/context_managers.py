"""`with` (`emitWith` of `ir_emitter.cpp`).

An object of a compiled class may be entered if it has `__enter__` and `__exit__`: `prim::Enter` and `prim::Exit` call them. Of the
library's own, `torch.no_grad()` and `torch.enable_grad()` are known: they become calls of `aten::set_grad_enabled` around the body.

How the real one differs: `no_grad` is an object of a compiled class too, `__torch__.torch.autograd.grad_mode.no_grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import ClassType

from . import tree
from .error_report import error

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_with_items(c: Compiler, items: Sequence[tree.WithItem]) -> Callable[[], None]:
    """Enter the objects. Returns what leaves them, last entered first."""
    entered = []
    for item in items:
        value = c.emit(item.target)
        node = c.graph.insertNode(c.graph.create("prim::Enter", [value]))
        entered.append(value)
        t = value.type()
        where = item.target.range
        if not isinstance(t, ClassType):
            raise error(where, "With item expression must return an object")
        enter, leave = t.findMethod("__enter__"), t.findMethod("__exit__")
        if enter is None or leave is None:
            raise error(where, "Object returned by with item expression does not define __enter__ and __exit__ methods")
        if len(enter.schema.arguments) != 1:
            raise error(where, "__enter__ must have only one argument and one return value")
        if len(leave.schema.arguments) != 4:
            raise error(where, "__exit__ must have four arguments")
        node.output().setType(enter.schema.returns[0].type)
        if isinstance(item.var, tree.Var):
            c.environment.set_value(item.var.range, item.var.name.name, node.output())

    def leave_all() -> None:
        for value in reversed(entered):
            c.graph.insertNode(c.graph.create("prim::Exit", [value]))

    return leave_all
