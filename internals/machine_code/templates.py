"""Template parameters for Python functions (as C++ templates have them), and the values of the
names in a kernel's source.

A `DeviceFunction` is a Python function and *bindings*, values for some of its names; `bind` makes
another instance with more of them. Executors do not look at the function's globals themselves. They
ask for the `names()` it mentions, and for the `meaning(name)` of each: a bound value, a variable of
an enclosing function, or a global of the module. If that is another device function, it gets this
instance's bindings for the parameters that it leaves open, as a template used inside another one
gets its arguments.

How the real one differs: the arguments of a C++ template are written where it is used, `op<T>(x)`;
here they are matched by name, and a function that leaves `T` open gets the `T` of its caller.
"""

from __future__ import annotations

import dis
import importlib
import threading
import types
from collections.abc import Callable
from typing import Any

MISSING = object()


class _Asked(threading.local):
    """The functions whose open parameters this thread is searching, to stop at recursion."""

    functions: frozenset[Any] = frozenset()


_asked = _Asked()


class DeviceFunction:
    """A function that kernels may call: the Python `function`, and `bindings` for some or all of
    its template parameters.
    """

    def __init__(
        self, function: Callable[..., Any], bindings: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        self.function = function
        self.bindings = bindings
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._bound: dict[Any, Any] = {}
        self._open: frozenset[str] | None = None

    def bind(self, **names: Any) -> Any:
        """The instance of this template with `names` bound; the same names and values give the same
        object.

        Raises TypeError for a name that is not a template parameter here or in a called function.
        """
        key = tuple(sorted(names.items()))
        found = self._bound.get(key)
        if found is None:
            for name in names:
                known = isinstance(
                    self.function.__globals__.get(name), Template
                ) or name in closure(self.function)
                if not known and name not in self.open_parameters():
                    raise TypeError(f"{self.name} has no template parameter '{name}'")
            merged = {**dict(self.bindings), **names}
            found = self._bound.setdefault(key, self._instance(tuple(sorted(merged.items()))))
        return found

    def _instance(self, bindings: tuple[tuple[str, Any], ...]) -> Any:
        return type(self)(self.function, bindings)

    def meaning(self, name: str) -> Any:
        """The value of a global or enclosing `name` in this instance; `MISSING` if it has none (a
        builtin).

        A device function that leaves template parameters open gets this instance's bindings of the
        same names.
        """
        value = self._written(name)
        if isinstance(value, Template) and value.default is not None:
            return value.default
        if isinstance(value, Choice):
            return Choice(self._pass_bindings(value.gpu), self._pass_bindings(value.elsewhere))
        return self._pass_bindings(value) if isinstance(value, DeviceFunction) else value

    def _pass_bindings(self, called: Any) -> Any:
        """`called` with this instance's bindings for its open parameters."""
        if isinstance(called, DeviceFunction):
            # again and again, as a bound function may have open parameters of its own
            while passed_on := {n: v for n, v in self.bindings if n in called.open_parameters()}:
                called = called.bind(**passed_on)
        return called

    def open_parameters(self) -> frozenset[str]:
        """The template parameters that are not bound yet, of this function and of the device
        functions that it calls.
        """
        if self._open is None:
            asked = _asked.functions
            if self in asked:  # a recursive function: the outer search finds its parameters
                return frozenset()
            _asked.functions = asked | {self}
            try:
                self._open = frozenset(self._find_open())
            finally:
                _asked.functions = asked
        return self._open

    def _find_open(self) -> set[str]:
        """`open_parameters`, computed from the names in the code."""
        found = set()
        for name in self.names():
            value = self._written(name)
            if isinstance(value, Template):
                found.add(name)
            for called in (value.gpu, value.elsewhere) if isinstance(value, Choice) else (value,):
                if isinstance(called, DeviceFunction):
                    found |= called.open_parameters() - {bound for bound, _ in self.bindings}
        return found

    def _written(self, name: str) -> Any:
        """The value of `name`: its binding, else the enclosing variable, else the global."""
        for bound, value in self.bindings:
            if bound == name:
                return value
        inner = closure(self.function)
        return inner[name] if name in inner else self.function.__globals__.get(name, MISSING)

    def names(self) -> list[str]:
        """The global and enclosing names that the code mentions and that have a value, in order."""
        code = self.function.__code__
        # Not `co_names`, which has attributes too: the `exp` of math.exp is no global.
        loaded = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
        return [
            n
            for n in dict.fromkeys((*loaded, *code.co_freevars))
            if self._written(n) is not MISSING
        ]

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name} is a device function: only a kernel can call it")

    def __repr__(self) -> str:
        filled = ", ".join(
            f"{name}={getattr(v, '__name__', None) or getattr(v, 'name', v)}"
            for name, v in self.bindings
        )
        return f"<{type(self).__name__.lower()} {self.name}{f'[{filled}]' if filled else ''}>"


class Template:
    """A name in a kernel's source that gets its value by `bind`; without one it has the value
    `default`, if that is not None.
    """

    def __init__(self, name: str, default: Any = None) -> None:
        self.name, self.default = name, default

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"template parameter '{self.name}' was not bound")

    def __repr__(self) -> str:
        return f"<template parameter {self.name}>"


class Choice:
    """A choice of two device functions that do the same: `gpu` uses instructions that only hardware
    has, `elsewhere` does without.

    It may also be a choice of two constants, which have nothing to bind.
    """

    def __init__(self, gpu: Any, elsewhere: Any) -> None:
        self.gpu, self.elsewhere = gpu, elsewhere

    def bind(self, **names: Any) -> Choice:
        return Choice(self.gpu.bind(**names), self.elsewhere.bind(**names))


class Intrinsic:
    """A function that only a GPU has. `target` is the "module:name" of numba's function for it,
    which is imported when a kernel that calls it is compiled.

    `elsewhere` is the Python function that the simulators call instead.
    """

    def __init__(self, target: str, elsewhere: Callable[..., Any]) -> None:
        self.target, self.elsewhere = target, elsewhere

    def load(self) -> Any:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


def closure(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that `function` mentions, with their values."""
    cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
