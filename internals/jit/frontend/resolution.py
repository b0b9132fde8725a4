"""What a name outside the function means (`createResolutionCallbackFromClosure` of
`torch/_jit_internal.py`).

A function is compiled long after it was written, so a name can only be looked up where the function
object still knows it: in its closure, in the globals of its module, then among the builtins. Names
of `typing` are known everywhere.

A resolver is a function from a name to the object. It raises NameError.

How the real one differs: its resolvers give None for what they do not find, so a global that is
None is undefined there.
"""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

Resolver = Callable[[str], Any]


def closure_resolver(fn: Callable[..., Any]) -> Resolver:
    """The names a function sees. For a method, those of the function in it; for what wraps a
    function, its own.
    """
    function = getattr(fn, "__func__", fn)
    function = inspect.unwrap(function)
    return mapping_resolver(closure_of(function))


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The globals of a function and what it closes over. A variable that is not assigned yet is
    left out.
    """
    names = dict(getattr(function, "__globals__", {}))
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code is not None else (), cells):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # it is assigned further down, after this function is compiled
            names.pop(name, None)
    return names


def frame_resolver(frames_up: int = 0) -> Resolver:
    """The names that the caller of the caller sees, `frames_up` callers further up. For source that
    comes as a string.
    """
    frame = inspect.currentframe()
    for _ in range(frames_up + 2):
        assert frame is not None
        frame = frame.f_back
    assert frame is not None
    return mapping_resolver({**frame.f_globals, **frame.f_locals})


def mapping_resolver(names: Mapping[str, Any]) -> Resolver:
    """These names, then those of `typing`, then the builtins."""

    def resolve(name: str) -> Any:
        if name in names:
            return names[name]
        for module in (typing, builtins):
            if hasattr(module, name):
                return getattr(module, name)
        raise NameError(f"name '{name}' is not defined")

    return resolve
