"""Compile errors: the message, the line it is about, and how the compiler came there
(`torch/csrc/jit/frontend/error_report.h`).

A compile error is a RuntimeError whose text is

    undefined value zz:
      File "model.py", line 3
    def f(x):
        y = x + zz
                ~~ <--- HERE
        return y

and, when the function was compiled because another one calls it, one such block for every caller.
The callers are kept in a stack that the compiler pushes to when it starts on a function
(`compiling`) and moves along as it walks (`at`).

How the real one differs: the stack is a thread-local vector of C++ objects; and a few errors raised
without a source range end in a full stop.
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
    def __init__(self) -> None:
        # [name of the function being compiled, where in it the compiler is]
        self.stack: list[list] = []


_calls = _Calls()


def error(where: SourceRange | None, message: str) -> RuntimeError:
    """The RuntimeError for `message` at `where`, callers included."""
    text = f"\n{message}"
    text += ".\n" if where is None else f":\n{where.highlight()}"
    return RuntimeError(text + call_stack())


def call_stack() -> str:
    """`'g' is being compiled since it was called from 'f'` with f's line, innermost first; "" at
    the outermost function.
    """
    text = ""
    stack = _calls.stack
    for (name, _), (caller, where) in zip(reversed(stack), list(reversed(stack))[1:]):
        text += (
            f"'{name}' is being compiled since it was called from '{caller}'\n{where.highlight()}"
        )
    return text


@contextmanager
def compiling(name: str, where: SourceRange) -> Iterator[None]:
    """While in it, `name` is the function being compiled."""
    _calls.stack.append([name, where])
    try:
        yield
    finally:
        _calls.stack.pop()


def at(where: SourceRange) -> None:
    """The compiler has come to `where`: that is what is shown if a function called there does not
    compile.
    """
    if _calls.stack:
        _calls.stack[-1][1] = where


def span(exprs: Sequence[tree.Expr]) -> SourceRange:
    """From the start of the first to the end of the last."""
    return SourceRange(exprs[0].range.source, exprs[0].range.start, exprs[-1].range.end)


def spell(t: Type) -> str:
    """A type as error messages spell it: `List[int]`, and `Tensor (inferred)` for a parameter
    without annotation.
    """
    if isinstance(t, TensorType):
        return "Tensor (inferred)" if t.inferred else "Tensor"
    return "number" if isinstance(t, NumberType) else t.annotation_str
