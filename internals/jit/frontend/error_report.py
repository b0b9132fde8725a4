"""Compile errors: the message, the line it is about, and the calls that led the compiler there
(`torch/csrc/jit/frontend/error_report.h`).

A compile error is a RuntimeError whose text is

    undefined value zz:
      File "model.py", line 3
    def f(x):
        y = x + zz
                ~~ <--- HERE
        return y

and, if the function was compiled because another one calls it, one such block for every caller. The
callers are on a stack, one for each thread: the compiler pushes a function when it starts on it
(`compiling`), and updates its position as it walks through the source (`at`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from internals.jit.ir import NumberType, SourceRange, TensorType, Type

if TYPE_CHECKING:
    from . import tree


class _Calls(threading.local):
    """The stack of functions that this thread is compiling, outermost first."""

    def __init__(self) -> None:
        # [name of the function being compiled, where in it the compiler is]
        self.stack: list[list] = []


_calls = _Calls()


def error(where: SourceRange | None, message: str) -> RuntimeError:
    """The RuntimeError for `message` at `where`, with the callers. It is returned, not raised."""
    text = f"\n{message}"
    text += ".\n" if where is None else f":\n{where.highlight()}"
    return RuntimeError(text + call_stack())


def call_stack() -> str:
    """The lines `'g' is being compiled since it was called from 'f'`, each with f's source line,
    innermost first; "" in the outermost function.
    """
    text = ""
    stack = _calls.stack
    # each function with the next outer one, which calls it
    for (name, _), (caller, where) in zip(reversed(stack), list(reversed(stack))[1:]):
        text += (
            f"'{name}' is being compiled since it was called from '{caller}'\n{where.highlight()}"
        )
    return text


@contextmanager
def compiling(name: str, where: SourceRange) -> Iterator[None]:
    """Within this context, `name` is the function being compiled."""
    _calls.stack.append([name, where])
    try:
        yield
    finally:
        _calls.stack.pop()


def at(where: SourceRange) -> None:
    """Record that the compiler has reached `where`: this line is shown if a function that is called
    there does not compile.
    """
    if _calls.stack:
        _calls.stack[-1][1] = where


def span(exprs: Sequence[tree.Expr]) -> SourceRange:
    """The range from the start of the first expression to the end of the last."""
    return SourceRange(exprs[0].range.source, exprs[0].range.start, exprs[-1].range.end)


def spell(t: Type) -> str:
    """A type as error messages spell it: `List[int]`, and `Tensor (inferred)` for a parameter
    without annotation.
    """
    if isinstance(t, TensorType):
        return "Tensor (inferred)" if t.inferred else "Tensor"
    return "number" if isinstance(t, NumberType) else t.annotation_str
