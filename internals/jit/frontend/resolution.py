"""Looking up names from outside the function (`createResolutionCallbackFromClosure` of
`torch/_jit_internal.py`).

A function is compiled long after it was defined, so its names are looked up where the function
object still refers to them: in its closure, in the globals of its module, then in `typing` and
among the builtins.

A resolver is a function that takes a name and returns the object. It raises NameError for an
unknown name.

How the real one differs: its resolvers return None for an unknown name, so a global that is None
counts as undefined.
"""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

Resolver = Callable[[str], Any]


def closure_resolver(fn: Callable[..., Any]) -> Resolver:
    """The resolver for the names that a function sees. For a decorated function
    (`functools.wraps`), these are the names that the original function sees.
    """
    function = getattr(fn, "__func__", fn)  # of a bound method
    function = inspect.unwrap(function)
    return mapping_resolver(closure_of(function))


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The globals of a function and the variables it closes over, with their values. A variable
    that has not been assigned yet is omitted.
    """
    names = dict(getattr(function, "__globals__", {}))
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code is not None else (), cells):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet: the global of that name is hidden all the same
            names.pop(name, None)
    return names


def frame_resolver(frames_up: int = 0) -> Resolver:
    """The resolver for the names visible in the function that calls the caller of this one, or
    `frames_up` callers further up. It is for source that is given as a string.
    """
    frame = inspect.currentframe()
    for _ in range(frames_up + 2):  # this function, its caller, the caller's caller
        assert frame is not None
        frame = frame.f_back
    assert frame is not None
    return mapping_resolver({**frame.f_globals, **frame.f_locals})


def mapping_resolver(names: Mapping[str, Any]) -> Resolver:
    """The resolver for these names, then those of `typing`, then the builtins."""

    def resolve(name: str) -> Any:
        if name in names:
            return names[name]
        for module in (typing, builtins):
            if hasattr(module, name):
                return getattr(module, name)
        raise NameError(f"name '{name}' is not defined")

    return resolve
