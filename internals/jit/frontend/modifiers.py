"""Decorators that tell the compiler how to treat a function: `@ignore`, `@unused`, `@export`
(`torch/_jit_internal.py`).

    export   compile this method although nothing calls it
    ignore   leave it in Python: the graph calls the Python function
    unused   replace its body by `raise`

The decorators only set an attribute of the function, which the compiler reads when it comes across
the function. A graph that calls an ignored function cannot be saved.

How the real one differs: there are marks for overloads, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

F = TypeVar("F")
MARK = "_torchscript_modifier"


class FunctionModifiers:
    """The values of the mark. The text of each is its description."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = (
        "if this method is not scripted, copy the python method onto the scripted model"
    )
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def export(fn: F) -> F:
    """Compile this method of a module even if `forward` does not call it, directly or
    indirectly.
    """
    return _marked(fn, FunctionModifiers.EXPORT)


@overload
def ignore(drop: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def ignore(drop: bool = False, **kwargs: Any) -> Callable[[F], F]: ...
def ignore(drop: bool | Callable[..., Any] = False, **kwargs: Any) -> Any:
    """Leave this function in Python: a graph that calls it calls the Python function. Its
    parameters are Tensors unless annotated.

    Written `@ignore` or `@ignore(drop=True)`; the latter is `@unused`. Raises RuntimeError if
    `drop` is something else.
    """
    if callable(drop):  # `@ignore` without parentheses: `drop` is the function
        return _marked(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(
            f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}"
        )
    drop = drop or bool(kwargs.pop("drop_on_export", False))
    return functools.partial(
        _marked, mark=FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE
    )


def unused(fn: F) -> F:
    """Compile this function or property to one that raises an error. Its body need not be
    TorchScript.
    """
    if isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                _marked(accessor, FunctionModifiers.UNUSED)
        return fn
    return _marked(fn, FunctionModifiers.UNUSED)


def modifier(fn: Any) -> str:
    """The mark of a function or method; `DEFAULT` if it has none."""
    fn = getattr(fn, "__func__", fn)
    return getattr(fn, MARK, FunctionModifiers.DEFAULT)


def is_ignored(fn: object) -> bool:
    """Whether the body of the function is not to be compiled."""
    return modifier(fn) in (
        FunctionModifiers.UNUSED,
        FunctionModifiers.IGNORE,
        FunctionModifiers._DROP,
    )


def is_unused(fn: object) -> bool:
    """Whether the body of the function is to be replaced by `raise`."""
    return modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


def is_dropped(fn: object) -> bool:
    """Whether not even the return type of the function is to be compiled."""
    return modifier(fn) == FunctionModifiers._DROP


def _marked(fn: F, mark: str) -> F:
    setattr(fn, MARK, mark)
    return fn
