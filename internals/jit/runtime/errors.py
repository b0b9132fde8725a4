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
from typing import Any, NamedTuple, NoReturn

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
        first, _, rest = text.partition("\n")
        if self.function and first.startswith('  File "'):
            return f"{first}, in {self.function}\n{rest}"
        return text


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


def raise_at(
    error: Exception, node: Node, function: str, outer: Sequence[CodeFrame] = ()
) -> NoReturn:
    """Raise the script's error for `error`, which was raised at `node` of `function`, called from
    the frames `outer`.

    An error of a called script, or of a part of this one (`Subgraph`), has frames already: those of
    a callee follow the frames of the node, those of a part replace them.
    """
    frames = (*outer, *frames_of(node, function))
    inner: Failure | None = getattr(error, "torchscript", None)

    # 1. The node holds a part of this script, such as a fused group. The frames inside are lines of
    # this script already, and more exact than the node's own:
    #       line 7, in f:  y = x * w      <- only the inner frame; it gets the name f here
    #       RuntimeError: The size of tensor a (2) must match ...
    if inner is not None and node.hasAttribute("Subgraph"):
        named = (f._replace(function=f.function or function) for f in inner.frames)
        raise_failure(inner._replace(frames=(*outer, *named)), error.__cause__)

    # 2. The node calls another script, whose error has its last line and its cause:
    #       line 7, in f:  return g(x)    <- the frame of the node
    #       line 3, in g:  y = x * w      <- the inner frames
    if inner is not None and node.kind() in ("prim::CallFunction", "prim::CallMethod"):
        raise_failure(inner._replace(frames=(*frames, *inner.frames)), error.__cause__)

    # 3. The node's operator has failed: here the script's error begins, with `error` as its cause.
    #       line 3, in g:  y = x * w      <- the frame of the node
    #       RuntimeError: The size of tensor a (2) must match ...
    kind: type[Exception] = RuntimeError
    if isinstance(error, Error):
        kind = Error
    elif isinstance(error, NotImplementedError):
        kind = NotImplementedError
    name = getattr(error, "python_class_name", None)
    last_line = f"{name or 'RuntimeError'}: {message_of(error)}"
    raise_failure(Failure(frames, last_line, kind, name), error)


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


def raise_failure(failure: Failure, cause: BaseException | None) -> NoReturn:
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
