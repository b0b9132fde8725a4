"""Errors of a script, with the traceback of the script instead of that of its executor
(`torch/csrc/jit/runtime/interpreter.cpp`, `handleError`).

    RuntimeError: The following operation failed in the TorchScript interpreter.
    Traceback of TorchScript (most recent call last):
      File "model.py", line 7, in forward
        return self.fc(x)
               ~~~~~~~ <--- HERE
    RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x4)

Any error of an operator becomes a RuntimeError (a NotImplementedError stays one); the original is
its `__cause__`. An error that the script raises itself, with `raise` or `assert`, is a `jit.Error`,
whose last line names the exception class in the script.

How the real one differs: the operators, in C++, raise only a few types of errors to begin with.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from internals.jit.ir import Node

HEAD = "The following operation failed in the TorchScript interpreter.\n"


class Error(Exception):
    """Raised by a script's own `raise` or `assert`. `python_class_name` is the class in the script
    ("builtins.ValueError"), or None.
    """

    __module__ = "internals.jit"
    python_class_name: str | None = None


class CodeFrame(NamedTuple):
    """One level of the script's call stack: the range of source (None if unknown), and the function
    that it is in.
    """

    range: Any
    function: str

    def __str__(self) -> str:
        if self.range is None:
            return ""
        text = str(self.range.highlight())
        first, newline, rest = text.partition("\n")
        return (
            f"{first}, in {self.function}\n{rest}"
            if first.startswith('  File "') and self.function
            else text
        )


class Failure(NamedTuple):
    """The parts of a script's error, which it has as its attribute `torchscript`, so that a calling
    script can put its own frames before these.
    """

    frames: tuple[CodeFrame, ...]
    last_line: str
    kind: type[Exception]
    python_class_name: str | None

    def text(self) -> str:
        frames = "".join(map(str, self.frames))
        return (
            f"{HEAD}Traceback of TorchScript (most recent call last):\n{frames}{self.last_line}\n"
        )


def raise_at(error: Exception, node: Node, function: str, outer: Sequence[CodeFrame] = ()) -> None:
    """Raise the script's error for `error`, which was raised at `node` of `function`, called from
    the frames `outer`.

    If the node calls another script, the frames of that one follow its own. If it holds a part of
    this script (`Subgraph`), the frames inside replace its own.
    """
    inner = getattr(error, "torchscript", None)
    frames = [*outer, *frames_of(node, function)]
    if inner is not None and node.hasAttribute("Subgraph"):
        frames = [*outer, *(f._replace(function=f.function or function) for f in inner.frames)]
        raise_failure(inner._replace(frames=tuple(frames)), error.__cause__)
    # `inner` has its own text already, so only frames are added, and the cause stays.
    if inner is not None and node.kind() in ("prim::CallFunction", "prim::CallMethod"):
        raise_failure(inner._replace(frames=(*frames, *inner.frames)), error.__cause__)
    kind: type[Exception] = RuntimeError
    if isinstance(error, (Error, NotImplementedError)):
        kind = Error if isinstance(error, Error) else NotImplementedError
    name = getattr(error, "python_class_name", None)
    raise_failure(
        Failure(tuple(frames), f"{name or 'RuntimeError'}: {message_of(error)}", kind, name), error
    )


def frames_of(node: Node, function: str) -> list[CodeFrame]:
    """The frames of a node of `function`: its own, after one for each call that was inlined.

    `callstack` has the place of each call with its callee, so a place belongs to the function of
    the entry before it.
    """
    frames = []
    for where, callee in node.callstack:
        frames.append(CodeFrame(where, function))
        function = callee
    return [*frames, CodeFrame(node.sourceRange(), function)]


def raise_failure(failure: Failure, cause: BaseException | None) -> None:
    """Raise the error that `failure` describes, from the original error `cause`."""
    raised = failure.kind(failure.text())
    raised.torchscript = failure  # type: ignore[attr-defined]
    if isinstance(raised, Error):
        raised.python_class_name = failure.python_class_name
    raise raised from cause


def message_of(error: Exception) -> str:
    """The message of an error, or its class if it has none. A KeyError's is its argument, without
    the quotes that `str` adds.
    """
    if isinstance(error, KeyError) and len(error.args) == 1:
        return str(error.args[0])
    return str(error) or (
        "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    )


def python_error(error: Exception) -> RuntimeError:
    """The RuntimeError for an error of Python code that a script called: with its type, its
    message, and its stack, innermost first.
    """
    own = traceback.extract_tb(error.__traceback__)[1:]
    stack = "".join(f"  {f.filename}({f.lineno}): {f.name}\n" for f in reversed(own))
    return RuntimeError(f"{type(error).__name__}: {error}\n\nAt:\n{stack}")
