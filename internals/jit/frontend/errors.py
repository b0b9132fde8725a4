"""Errors for Python syntax that TorchScript does not have (`torch/jit/frontend.py`).

    NotSupportedError: else branches of for loops aren't supported:
      File "model.py", line 4
        for i in range(3):
        ~~~ <--- HERE

They are raised while the tree is built, before any type is known. Later errors of the compiler are
RuntimeErrors (`error_report.py`). Both show the chain of callers for which the function is being
compiled.

How the real one differs: an `else` of a `while` raises a TypeError there, because an error without
a range cannot be built.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from internals.core.source_range import SourceRange

from . import error_report

if TYPE_CHECKING:
    from .source import SourceContext


class FrontendError(Exception):
    """An error with its message, `msg`, and the range in the source it is about, `source_range`,
    which is None if there is no single one.
    """

    def __init__(self, source_range: SourceRange | None, msg: str) -> None:
        super().__init__(source_range, msg)
        self.source_range, self.msg = source_range, msg
        where = ":\n" + source_range.highlight() if source_range is not None else ""
        # taken now: when the error is printed, the stack of callers has been unwound
        self.report = where + error_report.call_stack()

    def __str__(self) -> str:
        return self.msg + self.report


class NotSupportedError(FrontendError):
    """A use of Python syntax that TorchScript does not support."""


class FrontendTypeError(FrontendError):
    """A use of a type where TorchScript does not allow one."""


class UnsupportedNodeError(NotSupportedError):
    """A whole kind of statement or expression that TorchScript does not have."""

    def __init__(self, context: SourceContext, node: ast.stmt | ast.expr, reason: str = "") -> None:
        name, token = NAMES.get(type(node), (type(node).__name__, " "))
        super().__init__(
            context.range_of(node, len(token)),
            f"{name} {reason + ' ' if reason else ''}aren't supported",
        )


# The name of each unsupported kind of node, and the word it begins with, which is underlined.
NAMES: dict[type[ast.AST], tuple[str, str]] = {
    ast.FunctionDef: ("function definitions", "def"),
    ast.AsyncFunctionDef: ("async function definitions", "async def"),
    ast.ClassDef: ("class definitions", "class"),
    ast.Import: ("import statements", "import"),
    ast.ImportFrom: ("import statements", "from"),
    ast.Global: ("global variables", "global"),
    ast.Nonlocal: ("nonlocal variables", "nonlocal"),
    ast.Try: ("try blocks", "try"),
    ast.AsyncFor: ("async for loops", "async for"),
    ast.AsyncWith: ("async with statements", "async with"),
    ast.AnnAssign: ("annotated assignments", " "),
}
