"""Template parameters, and what a name in a kernel's source means in one of its instances (C++
templates).

A `DeviceFunction` is a Python function and *bindings*, values for some of its names; `bind` makes
another instance with more of them. Executors never look at its globals themselves. They go through
`names()` and ask `meaning(name)` for each: a bound value, a variable of an enclosing function, a
global of the module. Where that is another device function, it is handed on what it leaves open and
this instance has bound, as a template that is used inside another one is given its arguments.

How the real one differs: the arguments of a C++ template are written out where it is used,
`op<T>(x)`; here names do it, and a function that leaves `T` open gets the `T` of whoever calls it.
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
    """The functions whose open parameters this thread is looking for."""

    functions: frozenset[Any] = frozenset()


_asked = _Asked()


class DeviceFunction:
    """A function that kernels may call: the Python `function`, with those template parameters
    filled in that `bindings` name.
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
        """The instance of this template with `names` filled in; the same names give the same
        object.

        Raises TypeError for a name that is no template parameter of the source.
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
        """The meaning of the global or enclosing `name` in this instance; `MISSING` if it has none
        (a builtin).

        A device function that leaves template parameters open gets those of this instance that have
        the same names.
        """
        value = self._written(name)
        if isinstance(value, Template) and value.default is not None:
            return value.default
        if isinstance(value, Choice):
            return Choice(self._hand_on(value.gpu), self._hand_on(value.elsewhere))
        return self._hand_on(value) if isinstance(value, DeviceFunction) else value

    def _hand_on(self, called: Any) -> Any:
        if isinstance(called, DeviceFunction):
            while handed_on := {n: v for n, v in self.bindings if n in called.open_parameters()}:
                called = called.bind(**handed_on)  # which opens those of a function among them
        return called

    def open_parameters(self) -> frozenset[str]:
        """The template parameters that are not bound yet, here and in the device functions called
        from here.
        """
        if self._open is None:
            asked = _asked.functions
            if self in asked:  # it calls itself
                return frozenset()
            _asked.functions = asked | {self}
            try:
                self._open = frozenset(self._find_open())
            finally:
                _asked.functions = asked
        return self._open

    def _find_open(self) -> set[str]:
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
        for bound, value in self.bindings:
            if bound == name:
                return value
        inner = closure(self.function)
        return inner[name] if name in inner else self.function.__globals__.get(name, MISSING)

    def names(self) -> list[str]:
        """The global names its code mentions, in order of appearance."""
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
    """A name in a kernel's source that `bind` gives a meaning; without one it means `default`, if
    that is not None.
    """

    def __init__(self, name: str, default: Any = None) -> None:
        self.name, self.default = name, default

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"template parameter '{self.name}' was not bound")

    def __repr__(self) -> str:
        return f"<template parameter {self.name}>"


class Choice:
    """One of two device functions with the same meaning: `gpu` uses what only hardware has,
    `elsewhere` does without.

    Two constants may be chosen from as well; those have nothing to bind.
    """

    def __init__(self, gpu: Any, elsewhere: Any) -> None:
        self.gpu, self.elsewhere = gpu, elsewhere

    def bind(self, **names: Any) -> Choice:
        return Choice(self.gpu.bind(**names), self.elsewhere.bind(**names))


class Intrinsic:
    """A function that only a GPU has, as "module:name" of what numba compiles it to; looked up when
    a kernel that calls it is compiled.

    `elsewhere` is the Python function that stands for it on the simulators.
    """

    def __init__(self, target: str, elsewhere: Callable[..., Any]) -> None:
        self.target, self.elsewhere = target, elsewhere

    def load(self) -> Any:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


def closure(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that `function` mentions."""
    cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
